// Package conformance is the black-box suite: every checkable statement about the service as one
// named check over HTTP.
//
// Purpose: tell whether a running implementation of the specification, ours or any other, keeps
// what it promises, statement by statement. A check passes only when it made at least one demand
// and all its demands held; a statement whose tools the target lacks (a test clock, an admin
// listener, a second node) is reported as skipped with the reason, never as passed. Most checks
// are data: checks/*.txt, in the language that script.go describes. What needs several nodes,
// faults, races, time, signatures or raw sockets is Go.
//
// May import: the standard library, a JOSE library as the stock verifier, the Merkle library to
// recompute proofs, audit/examine (signed checkpoints), ofac/listtest (hand-made lists). Never:
// any other room of the product. Everything that the suite knows about the target comes from its
// answers.
//
// Invariants: checks run one after another in the order of their phases (ordinary, list switch,
// clock, ledger), because the clock of the target is global and moves forward only; no credential
// and no API key is ever written into a result.
package conformance
