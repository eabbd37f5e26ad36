package httpapi

import (
	"context"
	"io"

	"railguard/audit"
	"railguard/cluster/report"
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

// Lists replicates lists of entities: chunks through the log, then staged.
type Lists interface {
	Stage(ctx context.Context, entities []byte, info wire.ListInfo, common wire.Common) (wire.Result, error)
}

// Operations are the cluster's verbs and its state for people and load balancers.
type Operations interface {
	NodeID() string
	Status(ctx context.Context) report.ClusterStatus
	Ready(ctx context.Context, query report.ReadyQuery) report.Readiness
	TransferLeader(ctx context.Context, to string) error
	Leave(ctx context.Context)
	Drain(ctx context.Context) error
	Undrain()
	Snapshot(ctx context.Context) (report.SnapshotInfo, error)
	SaveSnapshot(ctx context.Context, w io.Writer) error
	Join(ctx context.Context, id, addr string) error
	Remove(ctx context.Context, id string, force bool) error
	Promote(ctx context.Context, id string) error
	Demote(ctx context.Context, id string, force bool) error
	MatcherReady(to uint16) error // Why the matcher cannot be raised to that version; nil: it can.
}

// Syncer fetches, compiles and stages the published list, then activates it
// (POST /v1/ofac/sync). started is false when a run is under way already.
type Syncer interface {
	Sync(ctx context.Context) (started bool, err error)
}

// BackupSaver writes the parts of a backup (GET /v1/cluster/backup): history from a leaf
// on, lists in use since a log time in nanoseconds.
type BackupSaver func(ctx context.Context, w io.Writer, from uint64, since int64) error

// ListLoader compiles published files into a list (POST /v1/ofac/snapshots).
// found is what stands against their content whatever the list replaces, in the
// words of feed.Inspect.
type ListLoader func(files map[string][]byte) (entities []byte, info wire.ListInfo, found []string, err error)
