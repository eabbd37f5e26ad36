// Command foldgen writes the frozen tables of ofac/text: fold.txt, which says what every
// character becomes when a name is normalised, and han.txt, which says how Han characters
// are read.
//
// Purpose: derive the tables once from Unicode's own properties, from Unihan's variants and
// readings as OpenCC and go-pinyin have them, and from the hand-made transliterations
// beside it, so that nodes built with other Unicode tables still normalise alike.
//
// May import: the standard library, golang.org/x/text (norm, runenames, encodings), OpenCC, go-pinyin.
// Never: run in production; nothing imports it.
//
// Run it from the bench folder: go run ./foldgen > ../ofac/text/fold.txt, and
// go run ./foldgen -readings > ../ofac/text/han.txt.
package main
