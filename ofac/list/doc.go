// Package list holds the parties of sanctions lists before they are compiled for search.
//
// Purpose: the table of sources that publishers issue (source.go); a listed party, whoever
// published it (entity.go), in the one order of its parts (canonical.go); and the bytes in
// which the log keeps a list (encoding.go). The SHA-256 of the bytes is the list's name, so the
// same parties are the same list on every node.
//
// May import: the standard library.
// Never: a name's meaning, which is package text's; tables, which are package index's; clocks,
// randomness, disk, network, goroutines, locks.
package list
