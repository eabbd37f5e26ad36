// Command placegen writes ofac/place/countries.txt, the frozen table of the names of countries.
//
// Purpose: derive the table once from the names of CLDR, so that every node reads a country alike.
//
// May import: the standard library, golang.org/x/text/language and display, ofac/text.
// Never: run in production; nothing imports it.
//
// Run it from the bench folder: go run ./placegen > ../ofac/place/countries.txt
package main
