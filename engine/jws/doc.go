// Package jws signs and reads the compact tokens of this service (RFC 7515).
//
// Purpose: one strict way to take a token apart, to verify it with a key of a known set and to sign
// one, so that equal input gives equal bytes on every node. A JOSE library signs and verifies; what
// may be signed and verified at all is decided here and in the rooms that read the claims (RFC 8725).
//
// May import: the standard library, go-jose, engine (limits).
// Never: clocks, randomness (ES256 is deterministic here, RFC 6979), disk, network, goroutines.
package jws
