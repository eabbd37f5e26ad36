// Package wallet reads digital currency addresses.
//
// Purpose: one grammar for each chain, checksums verified, and one canonical
// account whatever the encoding, so that no spelling of an address is another
// address. It finds the addresses inside what wallets and people write around
// them: URIs, chain ids, explorer links, blanks, brackets.
//
// May import: the standard library, the base58, bech32 and Keccak libraries of
// docs/decisions/0020-dependencies.md.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, any other
// room of the house.
package wallet
