// Package credential verifies and mints the service's credentials.
//
// Purpose: a token is a pure function of what was registered and of a key, so
// any node mints the same bytes again; and a token says who it speaks of, never
// what that party's status is (the log knows that). Room jws signs and verifies;
// which claims are good is decided here.
//
// May import: the standard library, engine (Time, limits, TokenState), jws, possession (keys).
// Never: clocks, randomness, disk,
// network, goroutines, any other room of the house. Expiry is not judged here:
// it needs time, so it is rule R2, in the log.
package credential
