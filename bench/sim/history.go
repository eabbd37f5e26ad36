package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Op is one call of a client, with all its retries and its answer.
type Op struct {
	Name    string
	Node    string
	Kind    wire.Kind
	Agent   engine.AgentSlot
	Fleet   engine.FleetSlot // The fleet in which a payment was judged.
	To      engine.Status    // The new status, for a change of status.
	Start   time.Time
	End     time.Time
	Err     error  // nil: the call was acknowledged. wire.ErrUnknown: it may have happened. Any other error: it certainly did not happen.
	Leaf    uint64 // Index of the leaf of an acknowledged call.
	Index   uint64
	Term    uint64
	Data    []byte // The leaf's bytes; nil if a retry got the answer of the first try.
	Verdict string
	Reviews uint64      // For a disposition: the leaf of the review.
	At      engine.Time // Log time of an acknowledged call.
	User    engine.UserSlot
	Pays    uint64       // The leaf of the payment that is confirmed or redeemed.
	Refused wire.Refusal // Why the state refused the call.
	Told    uint64       // What came with that.
}

// History has all calls of clients and their answers.
type History struct {
	mu    sync.Mutex
	ops   []*Op
	acked uint64   // Highest index that was acknowledged to any client.
	when  []acked  // The same with the time, whenever it rose.
	reads int      // How many reads were answered.
	deaf  int      // How many reads were not answered.
	stale []string // Reads that missed what was acknowledged before them.
	held  []*Op    // Acknowledged payments with the verdict REVIEW, which reviewers decide on.
	paid  []*Op    // Acknowledged payments with the verdict PROCEED, which clients finish.

	approved []*Op // Of held, those whose approval was acknowledged.

	forgotten atomic.Int64 // How often a client found in files what the state has forgotten.
}

// acked says how far the log was acknowledged at a time.
type acked struct {
	at    time.Time
	index uint64
}

// currentWithin is how long ago the group may have confirmed what a node that says it is current
// answers from.
const currentWithin = 2 * time.Second

// requireCurrent requires that a node which says that it may answer from its own state has what was
// acknowledged some time before.
func (h *History) requireCurrent(host *Host) {
	node := host.Node()
	if node == nil || node.Currentness() != report.Current {
		return
	}
	applied, before := node.Applied(), time.Now().Add(-currentWithin)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range slices.Backward(h.when) {
		if a.at.Before(before) {
			if applied < a.index {
				h.stale = append(h.stale, fmt.Sprintf("%s says that it is current, applied %d, and %d was acknowledged %v before", host.ID, applied, a.index, time.Since(a.at)))
			}
			return
		}
	}
}

// Read asks a node for a read index. It must not be below any index that any node acknowledged
// before the call.
func (h *History) Read(ctx context.Context, host *Host) {
	node := host.Node()
	if node == nil {
		return
	}
	h.requireCurrent(host)
	h.mu.Lock()
	before := h.acked
	h.mu.Unlock()
	index, err := node.ReadIndex(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.deaf++
		return
	}
	h.reads++
	if index < before || node.Applied() < before {
		h.stale = append(h.stale, fmt.Sprintf("%s read at %d, applied %d, after %d was acknowledged", host.ID, index, node.Applied(), before))
	}
}

// CheckReads checks that no read missed anything that was acknowledged before it. It also demands
// a number of answered reads, because reads that all fail show nothing.
func (h *History) CheckReads(t testing.TB, least int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.stale)
	require.GreaterOrEqual(t, h.reads, least, "reads answered; %d were not", h.deaf)
	return h.reads
}

// begin makes an Op, and finish adds it to the history.
func (h *History) begin(host *Host, kind wire.Kind, name string) *Op {
	return &Op{Name: name, Node: host.ID, Kind: kind, Start: time.Now()}
}

// try proposes a record once and notes the outcome. If the answer says that nothing happened, the
// error is not wire.ErrUnknown.
func (op *Op) try(ctx context.Context, host *Host, body []byte) error {
	node := host.Node()
	if node == nil {
		return errDown
	}
	result, err := node.Propose(ctx, op.Kind, body)
	switch {
	case host.Node() != node: // The machine lost its power, so the answer never left it.
		return wire.ErrUnknown
	case err != nil:
		return err
	case result.Code == wire.Applied, result.Code == wire.Replayed:
		op.Leaf, op.Index, op.Term, op.Data, op.At = result.Leaf, result.Index, result.Term, result.Data, result.Time
		op.Verdict = member(result.Data, "verdict")
		return nil
	}
	op.Refused, op.Told = result.Refusal, result.Value
	switch {
	case result.Code == wire.Stale:
		return errStale
	case result.Refusal == wire.RefusedShare:
		return errShareUsed
	}
	return fmt.Errorf("%w: code %d refusal %d", errRefusedByState, result.Code, result.Refusal)
}

var (
	errDown           = errors.New("sim: the node is down")
	errStale          = errors.New("sim: judged with what is not in force")
	errRefusedByState = errors.New("sim: refused by the state")
	errShareUsed      = fmt.Errorf("%w: a share is used up", errRefusedByState)
)

func (h *History) finish(op *Op, err error) *Op {
	op.End, op.Err = time.Now(), err
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	if err == nil {
		if op.Index > h.acked {
			h.acked = op.Index
			h.when = append(h.when, acked{op.End, op.Index})
		}
		switch {
		case op.Kind != wire.KindScreen: // Another judgement of a payment is no payment.
		case op.Verdict == "REVIEW":
			h.held = append(h.held, op)
		case op.Verdict == "PROCEED":
			h.paid = append(h.paid, op)
		}
	}
	return op
}

// once makes a call that is not tried again.
func (h *History) once(ctx context.Context, host *Host, op *Op, body []byte) *Op {
	return h.finish(op, op.try(ctx, host, body))
}

// Count returns how many calls succeeded, how many have an unknown outcome, and how many
// certainly did not happen.
func (h *History) Count() (good, unknown, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		switch {
		case op.Err == nil:
			good++
		case errors.Is(op.Err, wire.ErrUnknown):
			unknown++
		default:
			refused++
		}
	}
	return good, unknown, refused
}

// shown returns a leaf as a text, in which the checks look up members.
func shown(data []byte) []byte {
	switch leaf.FormOf(data) {
	case leaf.FormScreen:
		var s leaf.Screen
		var f leaf.Fragment
		if leaf.DecodeScreen(data, &s) != nil || f.Read(s.Edge) != nil {
			panic("BUG: a screening record that cannot be read")
		}
		return fmt.Appendf(nil, `{"kind":"screen","verdict":"%s","screenedAt":"%s","listVersion":%d,%s}`, s.Verdict, s.At, s.ListVersion, f.Get(leaf.TagMatches))
	case leaf.FormProfile:
		p, err := leaf.DecodeProfile(data)
		if err != nil {
			panic("BUG: a profile that cannot be read")
		}
		return fmt.Appendf(nil, `{"kind":"profile","time":"%s"}`, p.At)
	}
	return data
}

// inRecord returns the edge's part of a screening record with the given members. In a real record
// the evidence of the list stands there.
func inRecord(members []byte) []byte {
	var f leaf.Fragment
	f.Set(leaf.TagMatches, members)
	return f.Append(nil)
}

// member returns a text member of a leaf; "": the leaf does not have it.
func member(leaf []byte, name string) string {
	_, rest, found := bytes.Cut(shown(leaf), []byte(`"`+name+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// number returns an integer member of a leaf; -1: the leaf does not have it.
func number(leaf []byte, name string) int64 {
	_, rest, found := bytes.Cut(shown(leaf), []byte(`"`+name+`":`))
	if !found {
		return -1
	}
	n := int64(0)
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
