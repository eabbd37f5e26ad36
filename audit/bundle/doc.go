// Package bundle is an examiner's folder: records with their proofs, and all that is
// needed to read them, check them and decide each of them again, without a server.
//
// Nothing in it is trusted as it stands. Records, head and selection are covered by the log's
// signatures (audit/examine). A list is named by its digest, which the records name. All other
// files (the page, the words, policies, the table of contents) are derived from the records
// again and compared byte by byte. So the folder needs no signature of its own.
//
//	contents.go  what the records of a folder say
//	derived.go   the files that follow from them
//	page.go      index.html
//	replay.go    each decision made again, by edge/recorded
//	make.go, verify.go, pack.go
//
// May import: the standard library, audit/note, audit/proof, audit/examine, edge/recorded,
// engine, ofac, fsm/leaf, fsm/leafjson, klauspost/compress.
// Never: the network, a clock, a store.
package bundle
