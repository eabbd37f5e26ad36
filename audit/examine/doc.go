// Package examine checks exported records and proofs offline.
//
// Purpose: what `railguard verify` runs: given the file that the proof or the
// export endpoint answered, and the log's verifier keys, tell whether every
// record in it is a leaf of the tree whose head the cluster signed, and whether
// an export is whole. An examiner can read this package in an hour: begin with
// File; leaf.go is the one place that knows what the bytes of a leaf look like.
//
// May import: the standard library, audit/note, audit/proof, engine, fsm/leaf, fsm/leafjson.
// Never: the server, the store, the network, a clock.
package examine
