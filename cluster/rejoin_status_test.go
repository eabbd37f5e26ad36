package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotHealthyWithoutHistory: a node that still fetches history votes and
// serves, yet it is not counted among those that others could be lost for.
func TestNotHealthyWithoutHistory(t *testing.T) {
	n := openAlone(t, t.TempDir())
	before := n.Status(t.Context())
	require.Equal(t, 1, before.Quorum.Healthy)
	n.history.busy.Store(true)
	after := n.Status(t.Context())
	require.False(t, after.Nodes[0].Healthy)
	require.Zero(t, after.Quorum.Healthy)
	require.Equal(t, "ok", after.Writes.State, "it takes part in the log all the same")
	require.False(t, n.pong().Healthy)
	require.True(t, n.pong().Missing)
}

// TestSnapshotsAreNotDueTogether: no two members' snapshots are due at the same
// byte of the log, and none waits for more than twice as many.
func TestSnapshotsAreNotDueTogether(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	due := map[int64]string{}
	for id, n := range g.all() {
		require.NoError(t, n.WaitApplied(context.Background(), g.leader().Applied()))
		require.Empty(t, due[n.compaction.due()])
		due[n.compaction.due()] = id
		require.GreaterOrEqual(t, n.compaction.due(), n.config.Snapshot.LogBytes)
		require.LessOrEqual(t, n.compaction.due(), 2*n.config.Snapshot.LogBytes)
	}
	require.Len(t, due, 3)
}
