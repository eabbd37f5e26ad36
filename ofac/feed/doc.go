// Package feed reads the sanctions list files that OFAC publishes.
//
// Purpose: recognise a published file by its name and its content, open it
// whether it is plain or compressed, parse the three formats (ENHANCED XML,
// ADVANCED XML, the legacy CSV set) into ofac.Entity, merge the two list
// families, and judge whether a new list may replace the one in use. A file
// that is hostile, cut short or not what it claims is refused with an *Error
// that names the file, what is wrong and what was expected.
//
// May import: the standard library, klauspost/compress (Zstandard only), ofac
// (its types only), ofac/wallet. Reading a folder is allowed here.
// Never: the network, clocks, randomness, goroutines; encoding/xml's DTD and
// entity machinery; any other room of the house.
//
// Not read: the delta publications of the Sanctions List Service. No real one
// was available to test a parser with, and only a full list makes sure that no
// removal was missed.
package feed
