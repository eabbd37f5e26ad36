// Package credential verifies and mints the service's credentials.
//
// Purpose: a token is a pure function of what was registered and of a key, so
// any node mints the same bytes again; and a token says who it speaks of, never
// what that party's status is (the log knows that). A JOSE library signs and
// verifies; what may be signed and verified at all is decided here (RFC 8725).
//
// May import: the standard library, go-jose, engine (Time, limits, TokenState).
// Never: clocks, randomness (ES256 is deterministic here, RFC 6979), disk,
// network, goroutines, any other room of the house. Expiry is not judged here:
// it needs time, so it is rule R2, in the log.
package credential
