// Package watch follows a log from outside: it keeps every checkpoint that it was
// shown, checks that each new one continues the last, and reports what a log must not do:
// fork, go back, sign wrongly, change its name, be silent.
//
// It trusts the verifier keys it was given, the keys that these endorse, and its own folder,
// and nothing that a server says. It keeps two checkpoints of one size with different roots:
// the log signed both, so they prove to anyone that it forked.
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
