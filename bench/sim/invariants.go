package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/wire"
)

// problems are the faults that a check found. Checks return them and do not fail by themselves,
// so that a negative control can see whether a check finds a fault.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Check compares the answers that callers got with every node's history. It is called when all
// calls have ended.
func (h *History) Check(t testing.TB, w *World) {
	h.CheckAll(t, w, Limits{})
}

// CheckAll is Check and also checks the limits of agents and fleets, and that the model of
// bench/spec allows every step.
func (h *History) CheckAll(t testing.TB, w *World, limits Limits) {
	found := w.requireEqual()
	first := w.leavesOf(w.hosts[0])
	for _, host := range w.hosts[1:] {
		w.requireSameLeaves(host, first)
	}
	found = append(found, h.checkCalls(first)...)
	found = append(found, h.checkOrder()...)
	limits.Need = w.need
	found = append(found, h.checkRevoked(first, limits)...)
	found = append(found, h.checkRefused(first)...)
	found = append(found, checkLeaves(first, limits)...)
	found = append(found, h.traceOf(first, limits).Check()...)
	require.Empty(t, found)
}

// checkCalls checks that every acknowledged call has one leaf with the acknowledged bytes. A call
// of unknown outcome has one leaf or none. A call that certainly did not happen has none.
func (h *History) checkCalls(leaves [][]byte) (found problems) {
	byName := map[string][]uint64{}
	for i, leaf := range leaves {
		if name := member(leaf, "name"); name != "" {
			byName[name] = append(byName[name], uint64(i))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		at := byName[op.Name]
		switch {
		case op.Err == nil:
			if len(at) != 1 || at[0] != op.Leaf || op.Data != nil && !bytes.Equal(leaves[op.Leaf], op.Data) {
				found.add("%q was acknowledged at leaf %d and stands at %v", op.Name, op.Leaf, at)
			}
		case errors.Is(op.Err, wire.ErrUnknown):
			if len(at) > 1 {
				found.add("%q of unknown outcome happened more than once: %v", op.Name, at)
			}
		case len(at) != 0:
			found.add("%q certainly did not happen (%v) and stands at %v", op.Name, op.Err, at)
		}
	}
	return found
}

// checkOrder checks that a call which began after another was answered has a later leaf.
func (h *History) checkOrder() (found problems) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var begun, ended []*Op
	for _, op := range h.ops {
		if op.Err == nil && op.Data != nil { // A replayed answer names the leaf of the first try.
			begun, ended = append(begun, op), append(ended, op)
		}
	}
	sort.Slice(begun, func(i, j int) bool { return begun[i].Start.Before(begun[j].Start) })
	sort.Slice(ended, func(i, j int) bool { return ended[i].End.Before(ended[j].End) })
	var newest *Op // The call with the highest leaf among those answered before.
	at := 0
	for _, op := range begun {
		for ; at < len(ended) && ended[at].End.Before(op.Start); at++ {
			if newest == nil || ended[at].Leaf > newest.Leaf {
				newest = ended[at]
			}
		}
		if newest != nil && newest.Leaf >= op.Leaf {
			found.add("%q was answered (leaf %d) before %q began (leaf %d)", newest.Name, newest.Leaf, op.Name, op.Leaf)
		}
	}
	return found
}

// checkRevoked checks that no call got PROCEED if it began after an acknowledged revocation of
// its agent or of an ancestor.
func (h *History) checkRevoked(leaves [][]byte, limits Limits) (found problems) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, revoked := range h.ops {
		if revoked.Kind != wire.KindStatus || revoked.To != engine.Revoked || revoked.Err != nil {
			continue
		}
		for _, op := range h.ops {
			if (op.Kind == wire.KindScreen || op.Kind == wire.KindPay) && op.Err == nil && slices.Contains(limits.chain(op.Agent), revoked.Agent) && op.Start.After(revoked.End) &&
				member(leaves[op.Leaf], "verdict") == "PROCEED" {
				found.add("%q went through after %q was acknowledged", op.Name, revoked.Name)
			}
		}
	}
	return found
}

// Proceeds counts the payments that went through.
func Proceeds(leaves [][]byte) (count int) {
	for _, leaf := range leaves {
		if member(leaf, "verdict") == "PROCEED" {
			count++
		}
	}
	return count
}

// fetchTries bounds how long a history may take to be complete again: so many times 100 ms.
const fetchTries = 600

// leavesOf reads a node's whole history and checks its tree head against the
// replicated one.
func (w *World) leavesOf(host *Host) (leaves [][]byte) {
	node := host.Node()
	view, err := node.View(context.Background(), 0)
	require.NoError(w.t, err)
	root, err := node.Audit().Root(view.Size)
	require.NoError(w.t, err, host.ID)
	require.Equal(w.t, view.Root, root, "%s: tree head", host.ID)
	for i := range view.Size {
		data, err := node.Audit().Leaf(i)
		for tries := 0; errors.Is(err, audit.ErrMissing) && tries < fetchTries; tries++ { // The leaves are still being fetched from peers.
			time.Sleep(100 * time.Millisecond)
			data, err = node.Audit().Leaf(i)
		}
		if err != nil {
			require.NoError(w.t, err, "%s: leaf %d of %d, missing %v", host.ID, i, view.Size, node.Audit().Missing(8))
		}
		leaves = append(leaves, data)
	}
	return leaves
}

// requireSameLeaves checks that two nodes' histories agree as far as both have them.
func (w *World) requireSameLeaves(host *Host, leaves [][]byte) {
	own := w.leavesOf(host)
	for i := range min(len(own), len(leaves)) {
		if !bytes.Equal(own[i], leaves[i]) {
			require.Equal(w.t, string(leaves[i]), string(own[i]), "%s: leaf %d", host.ID, i)
		}
	}
}

// observed has the roots and digests of nodes that were seen while the world ran. All nodes must
// have the same root at the same size, and the same digest at the same index, for ever.
type observed struct {
	mu      sync.Mutex
	digests map[uint64][32]byte
	roots   map[uint64][32]byte
	wrong   problems
}

// Observe notes the root and the digest of a running node.
func (w *World) Observe(host *Host) {
	node := host.Node()
	if node == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	view, err := node.View(ctx, 0)
	if err != nil {
		return
	}
	digest := view.Digest()
	o := &w.observed
	o.mu.Lock()
	defer o.mu.Unlock()
	if other, known := o.digests[view.Index]; known && other != digest {
		o.wrong.add("%s: another state at index %d", host.ID, view.Index)
	}
	if other, known := o.roots[view.Size]; known && other != view.Root {
		o.wrong.add("%s: another tree of %d leaves", host.ID, view.Size)
	}
	o.digests[view.Index], o.roots[view.Size] = digest, view.Root
}

// requireEqual checks that every node has every tree head that any node ever had.
func (w *World) requireEqual() problems {
	for _, host := range w.hosts {
		w.Observe(host)
	}
	o := &w.observed
	o.mu.Lock()
	defer o.mu.Unlock()
	found := append(problems(nil), o.wrong...)
	for _, host := range w.hosts {
		for size, root := range o.roots {
			own, err := host.Node().Audit().Root(size)
			if err == nil && own != root {
				found.add("%s: its tree of %d leaves is not the one that was seen", host.ID, size)
			}
		}
	}
	return found
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
