// Package formats reads extracts of rails as settlements.
//
// Purpose: a bank's statement (camt.053), the logs of a token (ERC-20), the log of an x402
// facilitator, and lines that are settlements already. Each is read as a stream with bounds on
// everything that a file can make long or deep; what cannot be read surely is refused, and what a
// statement itself shows to be missing is a gap.
//
// May import: the standard library, audit/reconcile, engine, strictjson.
// Never: a clock, the disk, the network; a float.
package formats
