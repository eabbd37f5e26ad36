// Package spec is a small model of what the service promises about payments, with a checker.
//
// Purpose: say in few lines, apart from the product's code, how check and debit, idempotency
// keys, the term fence, forwarding, holds, redeeming and log time work together (machine.go, model.go,
// moves.go); walk through all states of a small scope and show the shortest way to one that
// breaks a promise (promises.go, search.go, scopes.go); and follow what a simulation saw, step
// by step (trace.go). Each rule of the model can be switched off, and the checker must then find
// a broken promise.
//
// May import: the standard library.
// Never: anything else of ours. Whoever has seen something translates it for this package.
package spec
