// Package passkey judges what a person signed with a passkey (WebAuthn).
//
// Purpose: an officer's act may demand that the person signs what is decided. A passkey signs the
// SHA-256 of a statement, which is one JSON object in words. This package makes the challenge of a
// statement, and tells whether an assertion is one over it: by this passkey, on this site, by a
// person who was verified. It is pure, so nodes, verify and a browser find the same for ever.
//
// May import: the standard library, engine/jws, engine/possession.
// Never: a clock, the state, the network.
package passkey
