// Package bundle is an examiner's folder: records with their proofs, and all that is
// needed to read them, check them and decide each of them again, without a server.
//
// Nothing in it is believed because it lies there. Records, head and selection are under
// the log's signatures (audit/examine); a list is named by its digest, which the records
// name; everything else (the page, the words, policies, the table of contents) is made
// from the records again and compared byte by byte. So there is no signature of the folder
// itself: it would say no more.
//
//	contents.go  what the records of a folder say
//	derived.go   the files that follow from them
//	page.go      index.html
//	replay.go    each decision made again, by edge/retrace
//	make.go, verify.go, pack.go
//
// May import: the standard library, audit/note, audit/proof, audit/examine, edge/retrace,
// engine, ofac, fsm/leaf, fsm/leafjson, klauspost/compress.
// Never: the network, a clock, a store.
package bundle
