// Package identifier names the numbers and addresses, other than names and wallets, by which a
// party can be known: a bank's code, a tax number, a ship's number, a website.
//
// Purpose: the classes of identifiers and their words in the API.
//
// May import: the standard library.
// Never: lists and verdicts, clocks, randomness, disk, network, goroutines, locks.
package identifier
