// Package match says whether a name may mean a listed party.
//
// Purpose: Screen judges a name against the tables of a list without allocation: its outcome,
// whom it may mean, and why (explain.go). The same list, version and query give the same
// answer everywhere. The documentation of package ofac lists the steps.
//
// May import: the standard library, ofac/identifier, ofac/index, ofac/list, ofac/place,
// ofac/text.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, map iteration whose
// order can leak.
package match
