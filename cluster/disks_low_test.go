package cluster

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// All disks run low together. Then leadership does not go round, writes are refused with an
// error of their own, and reads and log cuts go on. Writes come back with room. If one voter
// has room, it leads.
func TestAllDisksLow(t *testing.T) {
	const total = 100 * engine.MiB
	low := map[string]*atomic.Bool{"n1": {}, "n2": {}, "n3": {}}
	g := newGroup(t, func(c *Config) {
		mine := low[c.ID]
		c.FreeSpace = func(string) (uint64, uint64, error) {
			if mine.Load() {
				return total / 100 * 8, total, nil
			}
			return total / 2, total, nil
		}
	})
	g.form(3)
	for _, each := range low {
		each.Store(true)
	}
	for id, n := range g.all() {
		require.Eventually(t, func() bool {
			_, err := n.Propose(t.Context(), wire.KindRegister, register("none"))
			return err == wire.ErrStorageLow
		}, 10*time.Second, 50*time.Millisecond, id)
	}
	time.Sleep(tickEvery) // A hand-over that began before all were low has ended by now.
	leader := g.leader()
	term := leader.replica.raft.CurrentTerm()
	time.Sleep(3 * tickEvery) // Duties would have handed leadership on by now.
	require.Equal(t, term, leader.replica.raft.CurrentTerm())
	require.Equal(t, leader.NodeID(), g.leader().NodeID())
	for id, n := range g.all() {
		_, err := n.ReadIndex(t.Context())
		require.NoError(t, err, id)
		_, err = n.Propose(t.Context(), wire.KindRegister, register("none"))
		require.ErrorIs(t, err, wire.ErrStorageLow, id)
		require.True(t, n.compaction.disk.hasRoomFor(engine.MiB))
		require.False(t, n.compaction.disk.hasRoomFor(4*engine.MiB), "never down to the mark at which the node stops")
	}

	roomy := g.follower()
	low[roomy.NodeID()].Store(false)
	require.Eventually(t, func() bool { return roomy.replica.opened.Load() != 0 }, 20*time.Second, 10*time.Millisecond, "it leads")
	for _, n := range g.all() {
		require.Eventually(t, func() bool {
			_, err := n.Propose(t.Context(), wire.KindRegister, register("again"))
			return err == nil
		}, 10*time.Second, 50*time.Millisecond)
	}
}
