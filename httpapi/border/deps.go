package border

import (
	"context"

	"railguard/audit"
	"railguard/edge"
	"railguard/fsm/wire"
)

// Proposer puts a record into the log and waits for its outcome. The error is
// one of wire's; only wire.ErrUnknown leaves open whether it happened. Stale and
// fenced records come back as results; Fenced is retried by the proposer itself.
type Proposer interface {
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)

	// ProposeMany is Propose for records that are there at once; each has a result or
	// an error of its own, in its place.
	ProposeMany(ctx context.Context, kind wire.Kind, bodies [][]byte) ([]wire.Result, []error)
}

// Published is what this node knows now, lock-free.
type Published = edge.Published

// Records reads history and frozen state.
type Records interface {
	edge.Records
	Audit() *audit.Store
}
