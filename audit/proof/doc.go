// Package proof checks what the audit log claims, with nothing but the claim: it
// is what an institution runs years later, offline.
//
// May import: the standard library, transparency-dev/merkle, audit/merkle. Nothing else of the
// house, so that a verifier carries no server code.
//
// Never: disk, network, clock.
package proof
