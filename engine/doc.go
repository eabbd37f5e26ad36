// Package engine decides whether a payment may go ahead.
//
// Purpose: the rules and their frozen texts, exact money, policies compiled to masks and integers,
// and the rows of state that live rules read. It knows no time but the one it
// is given, and the same facts give the same decision on every machine.
//
// May import: the standard library, ofac, golang.org/x/text/unicode/norm (model names, legal names).
// Never: fsm, cluster, httpapi, audit, JSON parsers of the edge, clocks,
// randomness, disk, network, goroutines, locks, floats, map iteration.
package engine
