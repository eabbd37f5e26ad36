// Command foldgen writes ofac/text/fold.txt, the frozen table that says what every
// character becomes when a name is normalised.
//
// Purpose: derive the table once from Unicode's own properties and from the
// hand-made transliterations beside it, so that nodes built with other Unicode
// tables still normalise alike.
//
// May import: the standard library, golang.org/x/text/unicode/norm and runenames.
// Never: run in production; nothing imports it.
//
// Run it from the bench folder: go run ./foldgen > ../ofac/text/fold.txt
package main
