// Package retrace judges history again: one recorded call from its own evidence
// (replay), all calls of a time under another policy or another list (backtest), and
// the calls that come while they come (shadow). There is one way of judging a record
// again, and it is recorded.Case. Retro looks at the parties of the past with a list that was
// activated, and tells the log whom it found.
//
// Nothing here is in the way of a verdict: jobs have goroutines of their own, rest for
// longer than they work, and keep a bounded amount of everything.
//
// May import: edge/recorded, engine, ofac, audit, fsm, fsm/wire, fsm/leaf, fsm/leafjson, strictjson.
// Never: HTTP, the cluster, a table of the state machine; of writes to the log only Retro's.
package retrace

import "railguard/edge/recorded"

// Case is one recorded call as its judges saw it, and Outcome the result of judging it again.
type (
	Case    = recorded.Case
	Outcome = recorded.Outcome
)
