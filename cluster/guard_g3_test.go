package cluster

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

// Guard G3 (hashicorp/raft issue 697). A former leader with entries that were never committed
// comes back after the group cut its log. An installed snapshot does not remove the entry at
// its own index, so the follower refuses the next entries, gets the snapshot again, and so on
// for ever. The guard has two parts. The log calls itself monotonic, so an installed snapshot
// empties it. And a node that gets one snapshot after another starts anew from its disk.

const (
	lostEntries     = 200
	installsForEver = 200 // More installs in a row than this count as for ever.
)

// formerLeader plays the defect. It commits goOn entries without the former leader, and then
// takes a snapshot. It returns how many snapshots the former leader was given in at most a
// minute, and whether it caught up.
func formerLeader(t testing.TB, wrap func(*raft.InmemStore) raft.LogStore, goOn int, restart bool) (installs int, equal bool) {
	g := newRawGroup(t, 3, func(_ string, n *rawNode) {
		n.config.TrailingLogs = 4
		n.log = wrap(n.stable)
	})
	defer g.stopAll()
	former := g.lead("r1")
	for i := range 20 {
		require.NoError(t, former.raft.Apply(fmt.Appendf(nil, "before-%d", i), time.Second).Error())
	}
	require.True(t, g.awaitEqual(10*time.Second))
	g.cutOff("r1")
	last := former.raft.LastIndex()
	for i := range lostEntries {
		former.raft.Apply(fmt.Appendf(nil, "lost-%d", i), time.Second)
	}
	synctest.Wait()
	require.EqualValues(t, last+lostEntries, former.raft.LastIndex(), "in its log, and nowhere else")
	now := g.leader("r1")
	for i := range goOn {
		require.NoError(t, now.raft.Apply(fmt.Appendf(nil, "on-%d", i), time.Second).Error())
	}
	for _, id := range []string{"r2", "r3"} {
		require.NoError(t, g.nodes[id].raft.Snapshot().Error())
	}
	for i := range 3 {
		require.NoError(t, now.raft.Apply(fmt.Appendf(nil, "after-%d", i), time.Second).Error())
	}
	g.follow(nil)
	for range 12_000 {
		time.Sleep(5 * time.Millisecond)
		if restart && former.machine.installed() > installsMax { // A node has the same rule.
			installs += former.machine.installed()
			g.stop("r1")
			g.start("r1", raft.Configuration{})
			restart = false
		}
		if g.equal() || !restart && former.machine.installed() > installsForEver {
			break
		}
	}
	equal = g.equal()
	if equal {
		require.Empty(t, g.diverged())
	}
	return installs + former.machine.installed(), equal
}

func monotonic(t testing.TB) func(*raft.InmemStore) raft.LogStore {
	return func(store *raft.InmemStore) raft.LogStore {
		return datadir.Guard(rawStore{store}, datadir.NewStalls(func() datadir.Patience {
			return datadir.Patience{Lead: time.Minute, End: time.Minute, Never: time.Minute}
		}, func(reason string) { t.Error(reason) }), func(reason string) { t.Error(reason) })
	}
}

type rawStore struct{ *raft.InmemStore }

func (rawStore) Close() error { return nil }

// TestGuardG3FormerLeader: the former leader catches up, whether the group committed fewer or
// more entries than it has to lose.
func TestGuardG3FormerLeader(t *testing.T) {
	for _, c := range []struct {
		name string
		goOn int
	}{
		{"snapshot before the end of its log", 40},
		{"snapshot around the end of its log", lostEntries - 1},
		{"snapshot after the end of its log", 2 * lostEntries},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				installs, equal := formerLeader(t, monotonic(t), c.goOn, true)
				t.Logf("%d snapshots installed", installs)
				require.True(t, equal)
				require.NotZero(t, installs, "it came by a snapshot")
			})
		})
	}
}

// TestGuardG3RestartRuleIsNeeded: it is not enough that the snapshot empties the log. Raft
// still remembers the end of the old log and refuses the next entries, until it starts anew
// from its disk.
func TestGuardG3RestartRuleIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		installs, equal := formerLeader(t, monotonic(t), 40, false)
		require.False(t, equal)
		require.Greater(t, installs, installsForEver)
	})
}

// TestGuardG3NegativeControl: without the guard the former leader gets snapshots for ever.
func TestGuardG3NegativeControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := func(store *raft.InmemStore) raft.LogStore { return store }
		installs, equal := formerLeader(t, plain, 40, false)
		require.False(t, equal)
		require.Greater(t, installs, installsForEver)
	})
}

// The node's rule counts snapshots without progress. A newer snapshot, or entries between two,
// are progress. The same snapshot again is none, however it came.
func TestGuardG3CountsInstallsWithoutProgress(t *testing.T) {
	died := ""
	c := &compaction{replica: &replica{}, life: newLife(slog.New(slog.DiscardHandler), func(reason string) { died = reason })}
	install := func(applied, index uint64) {
		c.countInstall(applied, index)
		c.installedAt = index
	}
	c.replica.started.Store(true)
	for index := range uint64(2 * installsMax) {
		install(10+index, 11+index) // Each snapshot is newer.
	}
	for range installsMax + 2 {
		install(c.installedAt+1, c.installedAt) // An entry came in between.
	}
	require.Empty(t, died)
	for range installsMax - 1 {
		install(c.installedAt, c.installedAt)
	}
	require.Empty(t, died)
	install(c.installedAt, c.installedAt)
	require.Contains(t, died, "snapshots are installed again and again without progress")
}
