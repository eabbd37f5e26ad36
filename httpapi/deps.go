package httpapi

import (
	"context"
	"io"

	"railguard/audit"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// Proposer puts a record into the log and waits for its outcome. The error is
// one of wire's; only wire.ErrUnknown leaves open whether it happened. Stale and
// fenced records come back as results; Fenced is retried by the proposer itself.
type Proposer interface {
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)
}

// Published is what this node knows now, lock-free.
type Published interface {
	Settings() *fsm.Settings                           // Never nil.
	List() *ofac.Index                                 // The active list; nil when none is open.
	Agent(engine.AgentSlot) *engine.AgentProfile       // nil: unknown.
	User(engine.UserSlot) *engine.UserProfile          // nil: unknown or erased.
	Fleet(engine.FleetSlot) *engine.FleetProfile       // nil: unknown.
	Disposition(leaf uint64) (uint64, bool)            // Leaf of a review's disposition.
	Comments(leaf uint64) []uint64                     // Leaves of a review's comments.
	LogTime() engine.Time                              // Log time, moved on by this node's clock since the last entry, at most 2 s.
	Applied() uint64                                   // Applied log index.
	ListByDigest(digest [32]byte) (*ofac.Index, error) // Any list of the last 90 days (replay, diff).
}

// Records reads history and frozen state.
type Records interface {
	Audit() *audit.Store
	Leaf(ctx context.Context, index uint64) ([]byte, error) // Local, else from a peer.
	View(ctx context.Context, minIndex uint64) (*fsm.View, error)
	ReadIndex(ctx context.Context) (uint64, error) // Leader's commit index, confirmed by a quorum; waits until it is applied here.
	WaitApplied(ctx context.Context, index uint64) error
}

// Lists replicates compiled lists: chunks through the log, then staged.
type Lists interface {
	Stage(ctx context.Context, compiled []byte, info wire.ListInfo, common wire.Common) (wire.Result, error)
}

// Operations are the cluster's verbs and its state for people and load balancers.
type Operations interface {
	NodeID() string
	Status(ctx context.Context) report.ClusterStatus
	Ready(ctx context.Context, query report.ReadyQuery) report.Readiness
	TransferLeader(ctx context.Context, to string) error
	Drain(ctx context.Context) error
	Undrain()
	Snapshot(ctx context.Context) (report.SnapshotInfo, error)
	SaveSnapshot(ctx context.Context, w io.Writer) error
	Join(ctx context.Context, id, addr string) error
	Remove(ctx context.Context, id string) error
	Promote(ctx context.Context, id string) error
	Demote(ctx context.Context, id string) error
}

// Syncer fetches, compiles and stages the published list, then activates it
// (POST /v1/ofac/sync). started is false when a run is under way already.
type Syncer interface {
	Sync(ctx context.Context) (started bool, err error)
}

// ListLoader compiles published files into a list (POST /v1/ofac/snapshots).
// found is what stands against their content whatever the list replaces, in the
// words of feed.Inspect.
type ListLoader func(files map[string][]byte) (compiled []byte, info wire.ListInfo, found []string, err error)
