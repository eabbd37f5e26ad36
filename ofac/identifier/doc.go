// Package identifier reads the numbers and addresses, other than names and wallets, by which a
// party can be known: a bank's code, a tax number, a ship's number, a website.
//
// Purpose: the classes of identifiers; the normal form of each, in which two spellings of one
// identifier are the same bytes (form.go, phone.go, internet.go); whether a text can be an
// identifier of its class at all (check.go); and the country that it tells (country.go).
//
// May import: the standard library, golang.org/x/net (public suffixes, domain names in other
// scripts).
// Never: lists and verdicts, clocks, randomness, disk, network, goroutines, locks, map iteration
// whose order can leak, allocation for texts in ASCII.
package identifier
