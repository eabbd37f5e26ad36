// Package merkle is the two hashes of the tree over all leaves (RFC 6962, section
// 2.1), written once: the state machine, history and the verifiers use these.
//
// May import: crypto/sha256.
// Never: clocks, randomness, disk, network, goroutines, locks.
package merkle
