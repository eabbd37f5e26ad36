// Package possession reads agents' public keys and judges proofs that whoever calls has the private
// key of a credential.
//
// Purpose: a stolen token alone is to be worth nothing. A proof binds one request to one key, one
// service, one act and a minute or two. It comes as a compact JWS (VerifyJWS) or as an HTTP message
// signature (VerifyMessage, RFC 9421). A proof is judged in one order and refused with one word.
// That a proof is used once is not judged here: its ID is the call's idempotency key.
//
// May import: the standard library, engine (times), engine/jws.
// Never: clocks (it is told the time), randomness, disk, network, goroutines, floats, and no proof,
// token or key in an error: proofs are secrets of whoever bears them.
package possession
