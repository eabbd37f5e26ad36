// Package index compiles a list to the tables in which it is searched.
//
// Purpose: Make turns the parties of a list into Tables, the same on every node. They hold rows
// of parties and names (record.go) without pointers, and four tables that are searched:
//
//	wallets   wallet.go                     accounts, whatever their encoding
//	numbers   identifier.go                 every other identifier, by family and normal form
//	forms     exactform.go                  every form in which a listed name may be written
//	words     vocabulary.go, wordlayer.go   every word of strong names and the names that hold it;
//	          deletion.go                   the words close to it, also to a word that is not listed
//
// May import: the standard library, ofac/identifier, ofac/list, ofac/perfect (the hash tables), ofac/text,
// ofac/wallet.
// Never: scores and verdicts, which are package match's; clocks, randomness, disk, network,
// goroutines, locks, floats, map iteration whose order can leak.
package index
