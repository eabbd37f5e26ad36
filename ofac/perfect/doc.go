// Package perfect looks up keys of a set that is known in advance, with two reads.
//
// Purpose: a minimal perfect hash (n keys fill n slots) and a map from such keys to
// numbers; also the 128-bit hash that both use. The same set of keys gives the
// same table on every machine.
//
// May import: the standard library.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, map iteration, any
// other room of the house.
package perfect
