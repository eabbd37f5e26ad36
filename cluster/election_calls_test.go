package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// While a leader is chosen, a follower takes its records for the leader that is gone and gets them
// back, for as long as the election lasts. That is no overload. Records that are taken for as long
// and do not come back are one.
func TestRecordsThatComeBackAreNoOverload(t *testing.T) {
	for _, comesBack := range []bool{true, false} {
		clock := &handClock{wall: 10 * engine.Second, monotonic: 10 * engine.Second}
		w := newWaiters(7, 100, clock)
		w.takeApplied(3, nil, time.Time{})
		admit(t, w, wire.KindScreen)
		admit(t, w, wire.KindScreen)
		for range 200 { // A second.
			taken := w.takeAttempts(3, 1, engine.EntryMax, nil)
			if comesBack {
				w.giveBackAttempts(taken)
			} else {
				admit(t, w, wire.KindRegister)
			}
			clock.monotonic += 5 * engine.Millisecond
		}
		_, err := w.admitRecord(wire.KindScreen, []byte("body"), nil)
		if comesBack {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, wire.ErrOverloaded)
		}
	}
}

// Calls that come while a leader is killed wait for the next one. Nobody is told that a node is
// overloaded, and most get their answer.
func TestCallsInAnElection(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	dead := g.leader().NodeID()
	var mu sync.Mutex
	counts := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for id, node := range g.all() {
		if id == dead {
			continue
		}
		for range 8 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, err := node.Propose(context.WithoutCancel(ctx), wire.KindScreen, []byte("a record that the machine refuses"))
					mu.Lock()
					counts[outcomeOf(err)]++
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	time.Sleep(200 * time.Millisecond)
	g.close(dead)
	require.Eventually(t, func() bool {
		for id, n := range g.all() {
			if id != dead && n.replica.opened.Load() != 0 {
				return true
			}
		}
		return false
	}, groupPatience, 10*time.Millisecond)
	time.Sleep(400 * time.Millisecond) // The time in which what waited is served.
	cancel()
	callers.Wait()
	require.Zero(t, counts["overloaded"], "%v", counts)
	require.Zero(t, counts["other"], "%v", counts)
	require.Greater(t, counts["done"], 100, "%v", counts)
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, wire.ErrOverloaded):
		return "overloaded"
	case errors.Is(err, wire.ErrNoLeader), errors.Is(err, wire.ErrNoQuorum), errors.Is(err, wire.ErrUnknown):
		return "no leader"
	}
	return "other"
}
