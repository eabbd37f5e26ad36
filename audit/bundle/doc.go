// Package bundle is an examiner's folder: records with their proofs, and all that is
// needed to read them, check them and decide each of them again, without a server.
//
// Nothing in it is trusted as it stands. Records, head and selection are covered by the log's
// signatures (audit/examine). A list is named by its digest, which the records name. All other
// files (the words, policies, the table of contents) are derived from the records again and
// compared byte by byte. So the folder needs no signature of its own. index.html is a program, the
// second judge, and copies of the other files: which program it is, nothing in the folder shows
// (docs/decisions/0133-a-second-judge.md).
//
//	source.go    where the files are: a folder, or the memory of a browser
//	contents.go  what the records of a folder say
//	derived.go   the files that follow from them
//	page.go      index.html
//	judge.go     all of it proven, file by file: the one way, natively and in a browser
//	replay.go    each decision, confirmation and redemption made again, by edge/recorded
//	make.go, verify.go, pack.go
//
// May import: the standard library, audit/note, audit/proof, audit/examine, edge/recorded,
// engine, ofac, fsm/leaf, fsm/leafjson, klauspost/compress.
// Never: the network, a clock, a store.
package bundle
