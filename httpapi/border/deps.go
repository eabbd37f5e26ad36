package border

import (
	"context"

	"railguard/audit"
	"railguard/cluster/report"
	"railguard/edge"
	"railguard/fsm/wire"
)

// Proposer puts a record into the log and waits for its outcome. Its errors are those of
// wire; only wire.ErrUnknown leaves open whether the record was logged. A stale record
// comes back as a result. The proposer itself retries a fenced one.
type Proposer interface {
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)

	// ProposeMany is Propose for several records at once. Each has a result or an error, at
	// its index.
	ProposeMany(ctx context.Context, kind wire.Kind, bodies [][]byte) ([]wire.Result, []error)
}

// Published is this node's current state, read without locks.
type Published = edge.Published

// Records reads history and frozen state.
type Records interface {
	edge.Records
	Audit() *audit.Store
	Currentness() report.Currentness // Whether this node may answer from its state.
}
