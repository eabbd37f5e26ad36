// Package names measures the name matcher on labelled names.
//
// Purpose: read the tables of positives, negatives and collisions, screen every
// row, and report recall by category, false positives by kind, latency, and the
// trade-off over thresholds; count the words of ordinary names, and fit the numbers of
// the matcher to half of the rows and to families made from the list. It is how
// thresholds are chosen and checked.
//
// May import: the standard library, ofac, ofac/families, ofac/feed, ofac/text.
// Never: anything else of the product. It reads files and clocks and uses floats, which
// the matcher itself never does.
package names
