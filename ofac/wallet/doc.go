// Package wallet reads digital currency addresses.
//
// Purpose: one grammar for each chain, checksums verified, and one canonical
// account for all encodings, so that all spellings of an address give the same
// account. It finds the addresses among the text that wallets and people write
// around them: URIs, chain ids, explorer links, blanks, brackets.
//
// May import: the standard library, the base58, bech32 and Keccak libraries of
// docs/decisions/0020-dependencies.md.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, any other
// room of the house.
package wallet
