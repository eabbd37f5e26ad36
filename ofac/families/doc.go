// Package families makes, from a sanctions list, the names that a matcher must find and those it
// must leave alone.
//
// Purpose: write every strong listed name in the ways in which people write names, one way after
// another. A way is a family: a product of parts left out, varied and added, order, script,
// ornament and the text around the name. The share of a family that a matcher flags shows what no
// set of labelled rows shows: whole ways of writing that it does not know. Families of innocent
// names show the price.
//
// Everything follows from the list alone. Where a family chooses, for example the letter of a
// slip, a hash of the family, the entry and the name chooses, so two runs make the same names on
// every machine.
//
// May import: ofac.
// Never: clocks, randomness, disk, network, goroutines, locks; the tables of the matcher, because
// a family that is made with them would not see their faults.
package families
