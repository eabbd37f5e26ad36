// Package names measures the name matcher on labelled names.
//
// Purpose: read the tables of positives, negatives and collisions, screen every
// row, and report recall by category, false positives by kind, latency, and the
// trade-off over thresholds. It is how thresholds are chosen and checked.
//
// May import: the standard library, ofac.
// Never: anything else of the product. It reads files and clocks and uses floats, which
// the matcher itself never does.
package names
