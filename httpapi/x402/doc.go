// Package x402 is a facilitator of x402 payments that screens them: /x402/supported, /x402/verify
// and /x402/settle in front of a facilitator that knows the chain.
//
// Purpose: a guest in front of the public API. Verify opens a hold for the payment, settle judges
// again and forwards what PROCEEDs, once; the outcome of the payment settles or releases the
// hold. It keeps no state of its own: any node can answer any call, because the log has
// everything that a later call needs. The log keeps it under payment references that are made
// from the data of the payment. A refusal is 200 with its reason: a client that meets an error
// would try another facilitator.
//
// Map: facilitator.go routes, admits and answers; payment.go and tree.go read a payment, texts.go
// what it tells in words; verify.go and settle.go are the two calls, reviews.go what an officer approved; screening.go asks the API;
// upstream.go and supported.go ask the facilitator behind; assets.go says what an atomic unit is
// worth.
//
// May import: cluster/timing (how long the facilitator behind takes), ofac/identifier and
// ofac/wallet (what the texts of a payment hold). Never: httpapi, edge, the state; a rule of its own
// about who may pay whom.
package x402
