package cluster

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
)

// TestDeadVotersDoNotCountForEver (C15): of five voters two are lost; the group
// then survives no other loss, until the leader takes the votes of the dead. A
// dead one that returns gets its vote back.
func TestDeadVotersDoNotCountForEver(t *testing.T) {
	g := newGroup(t, func(c *Config) { c.DeadAfter = time.Second })
	g.form(5)
	gone := []string{}
	for id, n := range g.all() {
		if n != g.leader() && len(gone) < 2 {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		g.close(id)
	}
	quorum := func(want report.QuorumInfo) {
		t.Helper()
		require.Eventually(t, func() bool { return g.leader().Status(t.Context()).Quorum == want }, 20*time.Second, 20*time.Millisecond)
	}
	quorum(report.QuorumInfo{Voters: 3, Healthy: 3, FailureTolerance: 1})
	for _, id := range gone {
		server, known := g.leader().replica.find(raft.ServerID(id))
		require.True(t, known, "it is still a member")
		require.Equal(t, raft.Nonvoter, server.Suffrage)
	}
	g.open(gone[0])
	quorum(report.QuorumInfo{Voters: 4, Healthy: 4, FailureTolerance: 1})
	g.awaitEqual()
}

// TestThreeVotersAreKept: of three none loses its vote, however long it is silent.
func TestThreeVotersAreKept(t *testing.T) {
	g := newGroup(t, func(c *Config) { c.DeadAfter = 100 * time.Millisecond })
	g.form(3)
	gone := g.follower().NodeID()
	g.close(gone)
	leader := g.leader()
	require.Eventually(t, func() bool {
		a := leader.Status(t.Context()).Autopilot
		return len(a.Silent) == 1 && a.Silent[0] == gone
	}, 10*time.Second, 20*time.Millisecond)
	for range 5 { // Duties of their own would come once a second.
		leader.membership.watchDead(time.Now().Add(time.Hour))
	}
	require.Equal(t, report.QuorumInfo{Voters: 3, Healthy: 2}, leader.Status(t.Context()).Quorum)
}

// TestDeadVoterKeepsItsVoteWhenToldSo: below 0 nothing is done.
func TestDeadVoterKeepsItsVoteWhenToldSo(t *testing.T) {
	g := newGroup(t, func(c *Config) { c.DeadAfter = -1 })
	g.form(5)
	g.close(g.follower().NodeID())
	leader := g.leader()
	require.Eventually(t, func() bool { return len(leader.Status(t.Context()).Autopilot.Silent) == 1 }, 10*time.Second, 20*time.Millisecond)
	before := votesRetired.Get()
	leader.membership.watchDead(time.Now().Add(24 * time.Hour))
	require.Equal(t, before, votesRetired.Get())
	require.Equal(t, 5, leader.Status(t.Context()).Quorum.Voters)
}
