// Package client calls Railguard: register agents, screen payments, hold, settle
// and release them, review, read records and limits, and verify credentials,
// permits and webhooks without a server.
//
// Purpose: an integrator's Go program pays at most once. Every call that changes
// something carries an Idempotency-Key, fails over between addresses and is made
// again by what X-Railguard-Outcome says. client/python and client/typescript do
// the same under the same names; client/testdata and bench/clients/testdata hold the
// cases all three agree on.
//
// May import: the standard library. It is a module of its own, for others to import.
// Never: makes a call again whose outcome is unknown without the key of the first;
// reads or writes money through a float; follows a redirect with an API key;
// takes what a permit says of a payment for what is about to be paid.
package client
