package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// TestTransferUnderLoad moves leadership again and again while calls come in at every node. No
// call fails (C09), and no record is applied twice.
func TestTransferUnderLoad(t *testing.T) {
	g := newGroup(t, patient)
	g.form(3)
	stop, failed := make(chan struct{}), make(chan error, 9)
	done := make(chan int, 9)
	for _, n := range g.all() {
		for range 3 {
			go func() {
				count := 0
				for {
					select {
					case <-stop:
						done <- count
						return
					default:
					}
					if _, err := n.Propose(context.Background(), wire.KindRegister, register("x")); err != nil {
						failed <- err // One error is enough: there is room for no more.
						done <- count
						return
					}
					count++
				}
			}()
		}
	}
	for range 8 {
		to := g.follower()
		_ = to.TransferLeader(t.Context(), to.NodeID())
		time.Sleep(150 * time.Millisecond)
	}
	close(stop)
	total := 0
	for range 9 {
		total += <-done
	}
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	g.awaitEqual()
	view, err := g.leader().View(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, total, view.Agents(), "each call is one agent")
}

func TestFiveNodesSurviveTwo(t *testing.T) {
	g := newGroup(t)
	g.form(5)
	require.Eventually(t, func() bool {
		return g.leader().Status(t.Context()).Quorum == report.QuorumInfo{Voters: 5, Healthy: 5, FailureTolerance: 2}
	}, 10*time.Second, 20*time.Millisecond)
	gone := 0
	for id := range g.all() {
		if gone < 2 {
			g.close(id)
			gone++
		}
	}
	var n *Node
	for _, n = range g.all() {
	}
	require.Eventually(t, func() bool {
		_, err := n.Propose(t.Context(), wire.KindRegister, register("three are enough"))
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return n.Status(t.Context()).Quorum == report.QuorumInfo{Voters: 5, Healthy: 3, FailureTolerance: 0}
	}, 10*time.Second, 20*time.Millisecond)
	g.awaitEqual()
}

// TestOverloadIsTurnedAway: waiting too long while the queue is being emptied all the time
// means overload; waiting after a pause does not.
func TestOverloadIsTurnedAway(t *testing.T) {
	c := &handClock{}
	w := newWaiters(1, 0, c)
	offer := func(kind wire.Kind) error {
		_, err := w.admitRecord(kind, nil, nil)
		return err
	}
	takeOne := func() {
		w.takeAttempts(1, 1, engine.EntryMax, nil)
	}
	for range 1000 {
		require.NoError(t, offer(wire.KindScreen))
	}
	for range 100 { // 1,000 waiting, one served every 10 ms.
		c.pass(10 * engine.Millisecond)
		takeOne()
	}
	require.ErrorIs(t, offer(wire.KindScreen), wire.ErrOverloaded)
	require.NoError(t, offer(wire.KindDisposition), "reviews get through")
	c.pass(engine.Second) // As in an election.
	require.NoError(t, offer(wire.KindScreen), "nothing is taken: no overload")
	takeOne()
	require.NoError(t, offer(wire.KindScreen), "it has just begun again")
	takeAll(w, 1)
	c.pass(400 * engine.Millisecond)
	require.NoError(t, offer(wire.KindScreen))
}
