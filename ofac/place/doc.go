// Package place reads countries and regions: codes, names as people write them, and the end of an
// address.
//
// Purpose: one reading of a country or an embargoed region, in every language in which its name is
// likely to be written; what cannot be read is told apart from what is read. The tables are frozen
// texts with a version; docs/jurisdictions.md says where they come from.
//
// May import: the standard library, ofac/perfect, ofac/text.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, map iteration, any other
// room of the house.
package place
