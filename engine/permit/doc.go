// Package permit makes and verifies permits: signed statements that one payment was judged PROCEED
// and may be made once, until they expire.
//
// Purpose: a permit is a pure function of a written leaf and of a key, so that any node signs the
// same bytes again and nothing of it is stored. Whoever is paid verifies it without asking anybody.
//
// May import: the standard library, engine (amounts, times), engine/jws.
// Never: clocks (a verifier is told the time), randomness, disk, network, goroutines, and nothing of
// a call that does not stand in the claims: no name, address, identifier, rule or limit.
package permit
