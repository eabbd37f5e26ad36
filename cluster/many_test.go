package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func bodies(count int) [][]byte {
	all := make([][]byte, count)
	for i := range all {
		all[i] = []byte("body")
	}
	return all
}

// Records that wait together are queued in order, and their caller is woken when the last one
// is answered.
func TestWaitersMany(t *testing.T) {
	w := newTestWaiters()
	errs := make([]error, 4)
	errs[2] = wire.ErrTooLarge
	proposals, together := w.admitMany(wire.KindScreen, bodies(4), errs)
	require.Equal(t, []error{nil, nil, wire.ErrTooLarge, nil}, errs)
	attempts := takeAll(w, 3)
	require.Len(t, attempts, 3)
	for i, at := range []int{2, 0} {
		w.takeApplied(3, result(w, attempts[at].seq, wire.Applied, 3), time.Now())
		require.Equal(t, 2-i, together.left)
	}
	w.takeApplied(3, result(w, attempts[1].seq, wire.Fenced, 3), time.Now()) // The attempt comes to nothing and is made again.
	again := takeAll(w, 3)
	require.Len(t, again, 1)
	require.Empty(t, together.done)
	w.takeApplied(3, result(w, again[0].seq, wire.Stale, 3), time.Now())
	<-together.done
	require.Equal(t, wire.Applied, proposals[0].got.result.Code)
	require.Equal(t, wire.Stale, proposals[1].got.result.Code)
	require.Equal(t, wire.Applied, proposals[3].got.result.Code)
	require.Zero(t, w.countWaiting())
	require.Zero(t, w.bytes)
}

// A caller that waits no longer learns of each record what is certain.
func TestWaitersManyAbandoned(t *testing.T) {
	w := newTestWaiters()
	errs := make([]error, 3)
	proposals, together := w.admitMany(wire.KindScreen, bodies(3), errs)
	sent := w.takeAttempts(3, 2, engine.EntryMax, nil)
	w.takeApplied(3, result(w, sent[0].seq, wire.Applied, 3), time.Now())
	w.abandonMany(proposals, wire.ErrNoLeader)
	<-together.done
	require.NoError(t, proposals[0].got.err)
	require.ErrorIs(t, proposals[1].got.err, wire.ErrUnknown)
	require.ErrorIs(t, proposals[2].got.err, wire.ErrNoLeader)
	require.Empty(t, takeAll(w, 3), "what was given up is not proposed")
	w.takeApplied(3, result(w, sent[1].seq, wire.Applied, 3), time.Now()) // The result comes too late for the caller.
	require.Zero(t, w.countWaiting())
}

// When the queue fills up, the rest of a batch is turned away, and the records that found room
// stay.
func TestWaitersManyRoom(t *testing.T) {
	w := newTestWaiters()
	w.count = engine.WaitingMax - engine.WaitingMax/reservedShare - 2
	errs := make([]error, 4)
	_, together := w.admitMany(wire.KindScreen, bodies(4), errs)
	require.Equal(t, []error{nil, nil, wire.ErrOverloaded, wire.ErrOverloaded}, errs)
	require.Equal(t, 2, together.left)
	w.refuseNew(wire.ErrStorageLow)
	errs = make([]error, 2)
	_, together = w.admitMany(wire.KindScreen, bodies(2), errs)
	require.Equal(t, []error{wire.ErrStorageLow, wire.ErrStorageLow}, errs)
	<-together.done
}

// The end of a node also answers records that wait together.
func TestWaitersManyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWaiters()
		errs := make([]error, 3)
		proposals, together := w.admitMany(wire.KindScreen, bodies(3), errs)
		w.takeAttempts(3, 1, engine.EntryMax, nil)
		time.AfterFunc(time.Second, w.endAll)
		<-together.done
		require.ErrorIs(t, proposals[0].got.err, wire.ErrUnknown)
		require.ErrorIs(t, proposals[1].got.err, wire.ErrShuttingDown)
		require.ErrorIs(t, proposals[2].got.err, wire.ErrShuttingDown)
	})
}

// notes returns records that each write a leaf.
func notes(count int) [][]byte {
	all := make([][]byte, count)
	for i := range all {
		all[i] = wire.Encode(&wire.Note{Event: "agent.refused"})
	}
	return all
}

// requireOutcomes checks that every record has exactly one outcome.
func requireOutcomes(t *testing.T, results []wire.Result, errs []error) (applied int) {
	for i := range results {
		switch {
		case errs[i] != nil:
			require.Zero(t, results[i].Code, "record %d", i)
		default:
			require.Equal(t, wire.Applied, results[i].Code, "record %d: refusal %d", i, results[i].Refusal)
			applied++
		}
	}
	return applied
}

// A batch may be proposed at any node: a follower's goes to the leader in few frames.
func TestGroupProposeMany(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	for _, n := range []*Node{g.leader(), g.follower()} {
		before := n.Applied()
		results, errs := n.ProposeMany(t.Context(), wire.KindNote, notes(700))
		require.Equal(t, 700, requireOutcomes(t, results, errs))
		entries := map[uint64]bool{}
		for i := range results {
			entries[results[i].Index] = true
			require.False(t, i > 0 && results[i].Index == results[i-1].Index && results[i].Leaf < results[i-1].Leaf, "in an entry they keep their order")
		}
		require.Less(t, len(entries), 70, "many records an entry")
		require.Greater(t, results[0].Index, before)
	}
	results, errs := g.leader().ProposeMany(t.Context(), wire.KindNote, nil)
	require.Empty(t, results)
	require.Empty(t, errs)
}

// When the leader is lost meanwhile, every record still has an outcome: applied once, certainly
// not applied, or unknown.
func TestGroupLosesItsLeaderMidBatch(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	n, leader := g.follower(), g.leader()
	type outcome struct {
		results []wire.Result
		errs    []error
	}
	done := make(chan outcome)
	const batches, size = 40, 256
	go func() {
		for range batches {
			results, errs := n.ProposeMany(context.Background(), wire.KindNote, notes(size))
			done <- outcome{results, errs}
		}
	}()
	leaves := map[uint64]bool{}
	applied, unclear := 0, 0
	for i := range batches {
		if i == 3 {
			g.close(leader.config.ID)
		}
		o := <-done
		require.Len(t, o.results, size)
		applied += requireOutcomes(t, o.results, o.errs)
		for at, err := range o.errs {
			if err == nil {
				require.False(t, leaves[o.results[at].Leaf], "two records, one leaf")
				leaves[o.results[at].Leaf] = true
				continue
			}
			unclear++
		}
	}
	require.Equal(t, batches*size, applied+unclear)
	require.Greater(t, applied, 3*size)
}

// turned waits until the sequencer has looked at the queue after this call began.
func turned(t *testing.T, n *Node) {
	for range 3 { // The third signal is taken after the second one's turn ended.
		n.sequencer.wakeSequencer()
		require.Eventually(t, func() bool { return len(n.sequencer.wake) == 0 }, 10*time.Second, time.Millisecond)
	}
}

// While an entry is on its way, the next one leaves only with gatherFor records. With none on
// its way, the first record leaves alone. Records that gathered are one entry.
func TestGathering(t *testing.T) {
	n := openAlone(t, t.TempDir())
	require.Equal(t, wire.Applied, propose(t, n, wire.KindRegister, register("alone")).Code)
	turned(t, n)
	n.sequencer.slots <- struct{}{} // The test's entry, which does not end, takes this slot.
	got := make(chan wire.Result, gatherFor)
	for range gatherFor - 1 {
		go func() {
			r, _ := n.Propose(t.Context(), wire.KindRegister, register("gathered"))
			got <- r
		}()
	}
	require.Eventually(t, func() bool { return n.waiters.countQueued() == gatherFor-1 }, 10*time.Second, time.Millisecond)
	turned(t, n)
	require.Equal(t, gatherFor-1, n.waiters.countQueued(), "one is missing")
	last := propose(t, n, wire.KindRegister, register("the last"))
	require.Equal(t, wire.Applied, last.Code)
	for range gatherFor - 1 {
		r := <-got
		require.Equal(t, wire.Applied, r.Code)
		require.Equal(t, last.Index, r.Index, "one entry")
	}
	<-n.sequencer.slots
}

// Three entries may be on their way, however much waits.
func TestGatheringBounds(t *testing.T) {
	w := newTestWaiters()
	s := &sequencer{waiters: w, slots: make(chan struct{}, entriesInFlight)}
	require.True(t, s.hasGathered())
	s.slots <- struct{}{}
	require.False(t, s.hasGathered())
	s.batches = []*peerBatch{{count: gatherFor - 2}} // A peer's records count together with the node's own.
	admit(t, w, wire.KindScreen)
	require.False(t, s.hasGathered())
	admit(t, w, wire.KindScreen)
	require.True(t, s.hasGathered())
	s.slots <- struct{}{}
	require.True(t, s.hasGathered())
	s.slots <- struct{}{}
	require.False(t, s.hasGathered())
}
