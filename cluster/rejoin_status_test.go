package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// TestNotHealthyWithoutHistory: a node that still fetches history votes and serves, but it is
// not healthy: the group could not afford to lose others.
func TestNotHealthyWithoutHistory(t *testing.T) {
	n := openAlone(t, t.TempDir())
	before := n.Status(t.Context())
	require.Equal(t, 1, before.Quorum.Healthy)
	n.history.busy.Store(true)
	after := n.Status(t.Context())
	require.False(t, after.Nodes[0].Healthy)
	require.Zero(t, after.Quorum.Healthy)
	require.Equal(t, "ok", after.Writes.State, "it takes part in the log all the same")
	require.False(t, n.makePong().Healthy)
	require.True(t, n.makePong().Missing)
}

// TestStatusOfTheGroupAsItIs: a node that has not applied what the group committed knows only
// former members, so its status says that no node may be taken down.
func TestStatusOfTheGroupAsItIs(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, late := g.leader(), g.follower()
	require.Eventually(t, func() bool { return late.Status(t.Context()).TakeDown.OK }, groupPatience, 20*time.Millisecond)
	late.adapter.mu.Lock() // The node applies nothing.
	propose(t, leader, wire.KindRegister, register("not heard of"))
	told := late.Status(t.Context()).TakeDown
	late.adapter.mu.Unlock()
	require.False(t, told.OK)
	require.Contains(t, told.Why[0], "does not know how the group is now")
	require.Eventually(t, func() bool { return late.Status(t.Context()).TakeDown.OK }, groupPatience, 20*time.Millisecond)
}

// TestSnapshotsAreNotDueTogether: no two members' snapshots are due at the same byte of the
// log, and none is due later than after twice as many bytes.
func TestSnapshotsAreNotDueTogether(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	due := map[int64]string{}
	for id, n := range g.all() {
		require.NoError(t, n.WaitApplied(context.Background(), g.leader().Applied()))
		require.Empty(t, due[n.compaction.bytesDue()])
		due[n.compaction.bytesDue()] = id
		require.GreaterOrEqual(t, n.compaction.bytesDue(), n.config.Snapshot.LogBytes)
		require.LessOrEqual(t, n.compaction.bytesDue(), 2*n.config.Snapshot.LogBytes)
	}
	require.Len(t, due, 3)
}
