package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func newTestWaiters() *waiters { return newWaiters(7, 100, SystemClock()) }

func admit(t *testing.T, w *waiters, kind wire.Kind) *proposal {
	p, err := w.admitRecord(kind, []byte("body"), nil)
	require.NoError(t, err)
	return p
}

func takeAll(w *waiters, term uint64) []attempt {
	return w.takeAttempts(term, 512, engine.EntryMax, nil)
}

func result(w *waiters, seq uint64, code wire.Code, term uint64) []wire.Result {
	return []wire.Result{{Code: code, Origin: w.origin, Seq: seq, Term: term, Index: 9}}
}

func requireAnswer(t *testing.T, p *proposal, code wire.Code, err error) {
	t.Helper()
	select {
	case a := <-p.answer:
		require.ErrorIs(t, a.err, err)
		require.Equal(t, code, a.result.Code)
	default:
		t.Fatal("no answer")
	}
}

func requireNoAnswer(t *testing.T, p *proposal) {
	t.Helper()
	require.Empty(t, p.answer)
}

func TestWaitersOwnLogAnswers(t *testing.T) {
	w := newTestWaiters()
	p := admit(t, w, wire.KindScreen)
	attempts := takeAll(w, 3)
	require.Len(t, attempts, 1)
	require.EqualValues(t, 101, attempts[0].seq)
	foreign := result(w, attempts[0].seq, wire.Applied, 3)
	foreign[0].Origin++
	w.takeApplied(3, foreign, time.Now())
	requireNoAnswer(t, p)
	w.takeApplied(3, result(w, attempts[0].seq, wire.Applied, 3), time.Now())
	requireAnswer(t, p, wire.Applied, nil)
	w.takeReplied(result(w, attempts[0].seq, wire.Applied, 3)) // The reply comes after the log's result.
	require.Empty(t, p.answer)
	require.Zero(t, w.countWaiting())
	require.Zero(t, w.bytes)
}

func TestWaitersFencedIsTriedAgain(t *testing.T) {
	w := newTestWaiters()
	p := admit(t, w, wire.KindScreen)
	first := takeAll(w, 3)
	w.takeApplied(4, result(w, first[0].seq, wire.Fenced, 4), time.Now())
	requireNoAnswer(t, p)
	second := takeAll(w, 4)
	require.Len(t, second, 1)
	require.NotEqual(t, first[0].seq, second[0].seq)
	w.takeApplied(4, result(w, second[0].seq, wire.Applied, 4), time.Now())
	requireAnswer(t, p, wire.Applied, nil)
}

// An entry of a higher term frees the attempts of lower terms. A late Fenced result of a freed
// attempt must not free the next attempt.
func TestWaitersHigherTermFrees(t *testing.T) {
	w := newTestWaiters()
	p := admit(t, w, wire.KindScreen)
	first := takeAll(w, 3)
	w.takeApplied(3, nil, time.Now())
	require.Empty(t, takeAll(w, 3), "an entry of its own term frees nothing")
	w.takeApplied(5, nil, time.Now())
	second := takeAll(w, 5)
	require.Len(t, second, 1)
	w.takeApplied(5, result(w, first[0].seq, wire.Fenced, 5), time.Now())
	require.Empty(t, takeAll(w, 5), "the second attempt is still under way")
	w.takeApplied(5, result(w, second[0].seq, wire.Applied, 5), time.Now())
	requireAnswer(t, p, wire.Applied, nil)
}

func TestWaitersNothingTakenInAnOldTerm(t *testing.T) {
	w := newTestWaiters()
	admit(t, w, wire.KindScreen)
	w.takeApplied(5, nil, time.Now())
	require.Empty(t, takeAll(w, 4))
	require.Len(t, takeAll(w, 5), 1)
}

func TestWaitersGiveBackKeepsOrder(t *testing.T) {
	w := newTestWaiters()
	for range 300 {
		admit(t, w, wire.KindScreen)
	}
	first := takeAll(w, 3)
	require.Len(t, first, 300)
	last := admit(t, w, wire.KindScreen)
	w.giveBackAttempts(first)
	w.giveBackAttempts(first) // Giving back twice is harmless.
	second := takeAll(w, 3)
	require.Len(t, second, 301)
	w.takeApplied(3, result(w, second[300].seq, wire.Applied, 3), time.Now())
	requireAnswer(t, last, wire.Applied, nil)
}

func TestWaitersJumpIsUnknown(t *testing.T) {
	w := newTestWaiters()
	old, fresh, queued := admit(t, w, wire.KindScreen), admit(t, w, wire.KindScreen), admit(t, w, wire.KindScreen)
	w.takeAttempts(3, 1, engine.EntryMax, nil)
	w.takeAttempts(6, 1, engine.EntryMax, nil)
	w.noteJump(5)
	requireAnswer(t, old, 0, wire.ErrUnknown)
	requireNoAnswer(t, fresh)
	requireNoAnswer(t, queued)
	require.Equal(t, 2, w.countWaiting())
}

func TestWaitersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWaiters()
		queued, sent := admit(t, w, wire.KindScreen), admit(t, w, wire.KindRegister)
		require.Len(t, w.takeAttempts(3, 1, engine.EntryMax, nil), 1, "urgent records go first")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.awaitAnswer(ctx, queued, func() error { return wire.ErrOverloaded })
		require.ErrorIs(t, err, wire.ErrOverloaded, "what was never sent certainly did not happen")
		_, err = w.awaitAnswer(ctx, sent, func() error { return wire.ErrOverloaded })
		require.ErrorIs(t, err, wire.ErrUnknown)
		require.Zero(t, w.countWaiting())
		require.Empty(t, takeAll(w, 3), "nobody waits for it any more")
	})
}

func TestWaitersBounds(t *testing.T) {
	w := newTestWaiters()
	screens := engine.WaitingMax - engine.WaitingMax/reservedShare
	for range screens {
		_, err := w.admitRecord(wire.KindScreen, nil, nil)
		require.NoError(t, err)
	}
	_, err := w.admitRecord(wire.KindScreen, nil, nil)
	require.ErrorIs(t, err, wire.ErrOverloaded)
	for range engine.WaitingMax - screens {
		_, err := w.admitRecord(wire.KindDisposition, nil, nil)
		require.NoError(t, err, "other records have room of their own")
	}
	_, err = w.admitRecord(wire.KindDisposition, nil, nil)
	require.ErrorIs(t, err, wire.ErrOverloaded)
	w.failQueued(wire.ErrNoLeader)
	require.Zero(t, w.countWaiting())
	_, err = w.admitRecord(wire.KindScreen, nil, nil)
	require.NoError(t, err)
}

func TestWaitersBytesBound(t *testing.T) {
	w := newTestWaiters()
	body := make([]byte, engine.RecordMax)
	var admitted int
	for {
		if _, err := w.admitRecord(wire.KindDisposition, body, nil); err != nil {
			require.ErrorIs(t, err, wire.ErrOverloaded)
			break
		}
		admitted++
	}
	require.Equal(t, engine.WaitingBytesMax/(len(body)+recordFrame), admitted)
}

func TestWaitersTakeWithinBytes(t *testing.T) {
	w := newTestWaiters()
	for range 3 {
		_, err := w.admitRecord(wire.KindRegister, make([]byte, 100), nil)
		require.NoError(t, err)
	}
	two := 2 * (100 + recordFrame)
	require.Len(t, w.takeAttempts(1, 512, two+recordFrame, nil), 2)
	require.Empty(t, w.takeAttempts(1, 512, recordFrame+99, nil))
	require.Len(t, w.takeAttempts(1, 512, recordFrame+100, nil), 1)
}

func TestWaitersEnd(t *testing.T) {
	w := newTestWaiters()
	sent := admit(t, w, wire.KindScreen)
	takeAll(w, 3)
	queued := admit(t, w, wire.KindScreen)
	w.endAll()
	requireAnswer(t, sent, 0, wire.ErrUnknown)
	requireAnswer(t, queued, 0, wire.ErrShuttingDown)
	_, err := w.admitRecord(wire.KindScreen, nil, nil)
	require.ErrorIs(t, err, wire.ErrShuttingDown)
}

func TestLaneKeepsOrder(t *testing.T) {
	var l waiterQueue
	items := make([]*proposal, 1000)
	for i := range items {
		items[i] = &proposal{seq: uint64(i)}
	}
	for _, p := range items[:600] {
		l.pushWaiter(p)
	}
	for _, p := range items[:500] {
		require.Same(t, p, l.popWaiter())
	}
	for _, p := range items[600:] {
		l.pushWaiter(p)
	}
	for i := 499; i >= 0; i-- {
		l.pushFront(items[i])
	}
	for _, p := range items {
		require.Same(t, p, l.popWaiter())
	}
	require.Nil(t, l.popWaiter())
}

func TestFateOfRaftErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want fate
	}{
		{nil, fateDone},
		{raft.ErrNotLeader, fateNothing},
		{raft.ErrEnqueueTimeout, fateNothing},
		{raft.ErrLeadershipTransferInProgress, fateNothing},
		{raft.ErrLeadershipLost, fateUnknown},
		{raft.ErrRaftShutdown, fateUnknown},
		{raft.ErrAbortedByRestore, fateUnknown},
		{context.DeadlineExceeded, fateUnknown},
	} {
		require.Equal(t, test.want, fateOf(test.err), "%v", test.err)
	}
}
