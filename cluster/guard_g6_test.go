package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// Guard G6 (next of kin to hashicorp/raft issue 697). A follower installs a snapshot and stores
// the entries behind it, but its answer is lost. The leader sends these entries again, behind the
// last entry in the snapshot, which the follower's log does not have. So it refuses them, gets the
// snapshot again, and so on for ever; also over one restart. With the guard an append behind the
// newest snapshot is accepted.

// lostAnswer plays the defect, with trailing entries in the leader's log before the snapshot. It
// returns how many snapshots the follower was given in at most five minutes after the first, and
// whether it caught up.
func lostAnswer(t testing.TB, trailing uint64, restart, guarded bool) (installs int, equal bool) {
	g := newRawGroup(t, 3, func(_ string, n *rawNode) {
		n.config.TrailingLogs = trailing
		n.log = monotonic(t)(n.stable)
		if guarded {
			n.behind = func(index, term uint64) bool { return beginsBehind(n.log, n.snapshots, index, term) }
		}
	})
	defer g.stopAll()
	leader := g.lead("r1")
	put := func(name string, count int) {
		for i := range count {
			require.NoError(t, leader.raft.Apply(fmt.Appendf(nil, "%s-%d", name, i), time.Second).Error())
		}
	}
	put("before", 20)
	require.True(t, g.awaitEqual(10*time.Second))
	follower := g.nodes["r3"]
	g.cutOff("r3")
	put("without", 20)
	require.NoError(t, leader.raft.Snapshot().Error())
	end := leader.raft.LastIndex()
	g.follow(func(m rawMessage) rawFate { return rawFate{replyLost: m.to == "r3" && m.kind == "append"} })
	patience := 5 * time.Minute // Raft waits up to 41 s between attempts.
	require.Eventually(t, func() bool { return follower.machine.installed() == 1 }, patience, time.Millisecond)
	put("behind", 3)
	require.Eventually(t, func() bool { return follower.raft.LastIndex() > end }, patience, time.Millisecond)
	before := follower.machine.installed()
	if restart {
		g.stop("r3")
		g.start("r3", raft.Configuration{})
		before = follower.machine.installed()
	}
	g.follow(nil)
	for until := time.Now().Add(patience); time.Now().Before(until) && !g.equal() && follower.machine.installed() < installsForEver; {
		time.Sleep(20 * time.Millisecond)
	}
	equal = g.equal()
	if equal {
		require.Empty(t, g.diverged())
	}
	return follower.machine.installed() - before, equal
}

func eachLostAnswer(t *testing.T, guarded bool, check func(t *testing.T, installs int, equal bool)) {
	for _, trailing := range []uint64{1, 10} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("trailing %d, restart %t", trailing, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					installs, equal := lostAnswer(t, trailing, restart, guarded)
					check(t, installs, equal)
				})
			})
		}
	}
}

// TestGuardG6LostAnswer: the follower goes on from its snapshot and its log.
func TestGuardG6LostAnswer(t *testing.T) {
	eachLostAnswer(t, true, func(t *testing.T, installs int, equal bool) {
		require.True(t, equal)
		require.Zero(t, installs, "it has the snapshot")
	})
}

// TestGuardG6NegativeControl: without the guard the follower gets snapshots for ever.
func TestGuardG6NegativeControl(t *testing.T) {
	eachLostAnswer(t, false, func(t *testing.T, installs int, equal bool) {
		require.False(t, equal)
		require.Greater(t, installs, installsMax)
	})
}

// TestBeginsBehind: only the last entry of the newest snapshot counts, and only if the log does not
// have it or one before it: such a log may have entries that were never committed.
func TestBeginsBehind(t *testing.T) {
	log, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	behind := func(index, term uint64) bool { return beginsBehind(log, snapshots, index, term) }
	require.False(t, behind(5, 2), "neither log nor snapshot")
	store := func(indices ...uint64) {
		for _, index := range indices {
			require.NoError(t, log.StoreLog(&raft.Log{Index: index, Term: 2}))
		}
	}
	store(6, 7)
	require.False(t, behind(5, 2), "no snapshot")
	_, nowhere := raft.NewInmemTransport("")
	sink, err := snapshots.Create(raft.SnapshotVersionMax, 5, 2, raft.Configuration{}, 1, nowhere)
	require.NoError(t, err)
	require.NoError(t, sink.Close())
	require.True(t, behind(5, 2))
	require.False(t, behind(5, 1), "of another term")
	require.False(t, behind(6, 2))
	require.False(t, behind(4, 2))
	require.NoError(t, log.DeleteRange(6, 7))
	require.False(t, behind(5, 2), "raft itself knows where a log ends")
	store(5, 6, 7)
	require.False(t, behind(5, 2), "the log has the entry")
}
