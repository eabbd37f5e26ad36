package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Op is one call of a client and what it was told.
type Op struct {
	Name  string
	Node  string
	Start time.Time
	End   time.Time
	Err   error
	Leaf  uint64
	Index uint64
	Data  []byte
}

// History is what clients did and were told.
type History struct {
	mu    sync.Mutex
	ops   []*Op
	acked uint64 // Highest index acknowledged to anyone.
	reads int
	stale []string // Reads that missed what was acknowledged before them.
}

// Read asks a node for a read index: it must not be below anything that was
// acknowledged, by any node, before the call.
func (h *History) Read(ctx context.Context, host *Host) {
	node := host.Node()
	if node == nil {
		return
	}
	h.mu.Lock()
	before := h.acked
	h.mu.Unlock()
	index, err := node.ReadIndex(ctx)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	if index < before || node.Applied() < before {
		h.stale = append(h.stale, fmt.Sprintf("%s read at %d, applied %d, after %d was acknowledged", host.ID, index, node.Applied(), before))
	}
}

// CheckReads holds the reads to what was acknowledged before them.
func (h *History) CheckReads(t testing.TB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.stale)
	require.NotZero(t, h.reads)
	t.Logf("%d reads", h.reads)
}

// Register has a node register an agent under a name nobody else uses.
func (h *History) Register(ctx context.Context, host *Host, name string) *Op {
	return h.propose(ctx, host, name, wire.KindRegister, wire.Encode(&wire.Register{
		Common:      wire.Common{Fragment: []byte(`"name":"` + name + `"`)},
		OperatorKey: "acme",
		Profile: engine.AgentProfile{
			AgentName: name, OperatorLegalName: "Acme", Type: engine.Supervised,
			Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.NoLimit},
		},
	}))
}

func (h *History) propose(ctx context.Context, host *Host, name string, kind wire.Kind, body []byte) *Op {
	node := host.Node()
	if node == nil {
		return nil
	}
	op := &Op{Name: name, Node: host.ID, Start: time.Now()}
	result, err := node.Propose(ctx, kind, body)
	op.End = time.Now()
	op.Err, op.Leaf, op.Index, op.Data = err, result.Leaf, result.Index, result.Data
	if err == nil && result.Code != wire.Applied {
		op.Err = fmt.Errorf("code %d refusal %d", result.Code, result.Refusal)
	}
	h.mu.Lock()
	if op.Err == nil {
		h.acked = max(h.acked, op.Index)
	}
	h.ops = append(h.ops, op)
	h.mu.Unlock()
	return op
}

// Screen has a node screen a payment of the first agent, under a name nobody else
// uses.
func (h *History) Screen(ctx context.Context, host *Host, name string, amount engine.USD) *Op {
	node := host.Node()
	if node == nil || node.Agent(1) == nil {
		return nil
	}
	settings, agent := node.Settings(), node.Agent(1)
	basis := engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version}
	basis.Fold(engine.RevAgent, 1, agent.Rev)
	return h.propose(ctx, host, name, wire.KindScreen, wire.Encode(&wire.Screen{
		Agent: 1, Version: agent.CredentialVersion, Expires: agent.ExpiresAt, Amount: amount, Basis: basis,
		Fragment: []byte(`"name":"` + name + `"`),
	}))
}

// Spender registers the first agent, with a daily limit.
func (h *History) Spender(ctx context.Context, host *Host, limit engine.USD) *Op {
	return h.propose(ctx, host, "spender", wire.KindRegister, wire.Encode(&wire.Register{
		Common:      wire.Common{Fragment: []byte(`"name":"spender"`)},
		OperatorKey: "acme",
		Profile: engine.AgentProfile{
			AgentName: "spender", OperatorLegalName: "Acme", Type: engine.Supervised,
			Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: limit},
		},
	}))
}

// CheckSpent: the PROCEED verdicts among a node's leaves stay within the limit on
// every UTC date, each of one amount.
func CheckSpent(t testing.TB, host *Host, amount, limit engine.USD) (proceeds int) {
	days := map[string]engine.USD{}
	for _, found := range leavesOf(t, host) {
		for _, leaf := range found {
			if !bytes.Contains(leaf.data, []byte(`"verdict":"PROCEED"`)) {
				continue
			}
			_, at, _ := bytes.Cut(leaf.data, []byte(`"screenedAt":"`))
			days[string(at[:len("2000-01-01")])] += amount
			proceeds++
		}
	}
	for day, spent := range days {
		require.LessOrEqual(t, spent, limit, "%s: spent on %s", host.ID, day)
	}
	return proceeds
}

// Count returns how many calls ended well, unknown, and certainly not.
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

// Check holds what callers were told against every node's history, after all is
// quiet: every acknowledged call is one leaf, with the acknowledged bytes, on
// every node; a call of unknown outcome is one leaf or none; one that certainly
// did not happen is none; and the log's order contradicts no caller's clock.
func (h *History) Check(t testing.TB, w *World) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, host := range w.Hosts() {
		leaves := leavesOf(t, host)
		for _, op := range h.ops {
			found := leaves[op.Name]
			switch {
			case op.Err == nil:
				if len(found) != 1 || found[0].index != op.Leaf || !bytes.Equal(found[0].data, op.Data) {
					t.Fatalf("%s: %q was acknowledged at leaf %d and stands at %v", host.ID, op.Name, op.Leaf, found)
				}
			case errors.Is(op.Err, wire.ErrUnknown):
				if len(found) > 1 {
					t.Fatalf("%s: %q of unknown outcome happened twice: %v", host.ID, op.Name, found)
				}
			case len(found) != 0:
				t.Fatalf("%s: %q certainly did not happen (%v) and stands at %v", host.ID, op.Name, op.Err, found)
			}
		}
	}
	h.checkOrder(t)
}

// checkOrder: a call that began after another was answered stands behind it.
func (h *History) checkOrder(t testing.TB) {
	var begun, ended []*Op
	for _, op := range h.ops {
		if op.Err == nil {
			begun, ended = append(begun, op), append(ended, op)
		}
	}
	sort.Slice(begun, func(i, j int) bool { return begun[i].Start.Before(begun[j].Start) })
	sort.Slice(ended, func(i, j int) bool { return ended[i].End.Before(ended[j].End) })
	var newest *Op // The highest leaf among those answered before.
	at := 0
	for _, op := range begun {
		for ; at < len(ended) && ended[at].End.Before(op.Start); at++ {
			if newest == nil || ended[at].Leaf > newest.Leaf {
				newest = ended[at]
			}
		}
		if newest != nil && newest.Leaf >= op.Leaf {
			t.Fatalf("%q was answered (leaf %d) before %q began (leaf %d)", newest.Name, newest.Leaf, op.Name, op.Leaf)
		}
	}
}

// fetchTries times 100 ms is how long history may take to be complete again.
const fetchTries = 600

type foundLeaf struct {
	index uint64
	data  []byte
}

func (f foundLeaf) String() string { return fmt.Sprintf("%d: %s", f.index, f.data) }

// leavesOf reads a node's whole history, by the name in its leaves, and checks its
// tree head against the replicated one.
func leavesOf(t testing.TB, host *Host) map[string][]foundLeaf {
	node := host.Node()
	view, err := node.View(context.Background(), 0)
	require.NoError(t, err)
	root, err := node.Audit().Root(view.Size)
	require.NoError(t, err, host.ID)
	require.Equal(t, view.Root, [32]byte(root), "%s: tree head", host.ID)
	leaves := map[string][]foundLeaf{}
	for i := range view.Size {
		data, err := node.Audit().Leaf(i)
		for tries := 0; errors.Is(err, audit.ErrMissing) && tries < fetchTries; tries++ { // Still being fetched from peers.
			time.Sleep(100 * time.Millisecond)
			data, err = node.Audit().Leaf(i)
		}
		require.NoError(t, err, "%s: leaf %d of %d, missing %v", host.ID, i, view.Size, node.Audit().Missing(8))
		if _, rest, ok := bytes.Cut(data, []byte(`,"name":"`)); ok {
			name, _, _ := bytes.Cut(rest, []byte(`"`))
			leaves[string(name)] = append(leaves[string(name)], foundLeaf{i, data})
		}
	}
	return leaves
}

// AwaitEqual waits until every node has applied what the leader has committed.
func (w *World) AwaitEqual(patience time.Duration) {
	limit := time.Now().Add(patience)
	var index uint64
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		got, err := w.hosts[0].Node().ReadIndex(ctx)
		cancel()
		if err == nil {
			index = got
			break
		}
		require.True(w.t, time.Now().Before(limit), "no read index: %v; gave up: %v", err, w.GaveUp())
		time.Sleep(50 * time.Millisecond)
	}
	for _, h := range w.hosts {
		ctx, cancel := context.WithDeadline(context.Background(), limit)
		require.NoError(w.t, h.Node().WaitApplied(ctx, index), "%s; gave up: %v", h.ID, w.GaveUp())
		cancel()
	}
}
