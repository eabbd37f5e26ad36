// Package watch follows a log from outside: it keeps every checkpoint that it was
// shown, demands of each new one that it continues the last, and tells what a log must
// not do: fork, go back, sign wrongly, change its name, be silent.
//
// It trusts the verifier keys it was given, what they endorse, and its own folder;
// nothing that a server says. Two checkpoints of one size and two roots prove to
// anyone that the log forked, since the log signed both: they are kept.
//
//	source.go   a log's public documents, over HTTP
//	tiles.go    consistency proofs out of hash tiles
//	state.go    the watcher's own folder, synced before anything is believed
//	watcher.go  one look at the log: what was found
//
// May import: the standard library, audit/merkle, audit/note, audit/proof,
// transparency-dev/merkle.
// Never: the server, the store, a clock: the caller says what time it is.
package watch
