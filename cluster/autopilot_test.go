package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// TestDeadVotersDoNotCountForEver (C15): of five voters two are lost. The group then survives
// no other loss until the leader takes the votes of the dead. A dead voter that returns gets
// its vote back.
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
		server, known := g.leader().replica.findServer(raft.ServerID(id))
		require.True(t, known, "it is still a member")
		require.Equal(t, raft.Nonvoter, server.Suffrage)
	}
	g.open(gone[0])
	quorum(report.QuorumInfo{Voters: 4, Healthy: 4, FailureTolerance: 1})
	g.awaitEqual()
}

// TestThreeVotersAreKept: of three voters none loses its vote, however long it is silent.
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
	for range 5 { // The node's own duties would run only once a second.
		leader.membership.watchDead(time.Now().Add(time.Hour))
	}
	require.Equal(t, report.QuorumInfo{Voters: 3, Healthy: 2}, leader.Status(t.Context()).Quorum)
}

// TestDeadVoterKeepsItsVoteWhenToldSo: with DeadAfter below 0 no vote is taken.
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

// A new node gets no vote on which the group would then depend: of five voters two are silent,
// and a sixth would make the majority four. It gets its vote when one of the silent is back or
// removed, or has been silent for so long that it loses its own.
func TestNewcomerGetsNoVoteBesideDeadVoters(t *testing.T) {
	for name, end := range map[string]func(g *group, gone string){ // The test repeats end until the node has its vote, because the leadership may move meanwhile.
		"removed": func(g *group, gone string) { _ = g.leader().Remove(g.t.Context(), gone, false, wire.Common{}) },
		"back": func(g *group, gone string) {
			if g.all()[gone] == nil {
				g.open(gone)
			}
		},
		"silent for long": func(g *group, gone string) {
			m := g.leader().membership
			m.noteSilence(gone, false, time.Now())
			m.silentMu.Lock()
			defer m.silentMu.Unlock()
			if m.silent != nil {
				m.silent[gone] = time.Now().Add(-time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			g.form(5)
			gone := g.follower().NodeID()
			g.close(gone)
			g.close(g.follower().NodeID())
			g.open("n6", join(g.host("n1"), g.host("n2"), g.host("n3")))
			require.Eventually(t, func() bool {
				return slices.ContainsFunc(g.leader().Status(t.Context()).Warnings, func(w string) bool {
					return strings.HasPrefix(w, "n6 gets no vote: ") && strings.Contains(w, gone)
				})
			}, groupPatience, 20*time.Millisecond)
			// An operator's verb and the leader's duty both call promoteMember.
			require.ErrorContains(t, g.leader().membership.promoteMember(t.Context(), &port.VerbCall{ID: "n6"}), "do not answer")
			require.Equal(t, report.QuorumInfo{Voters: 5, Healthy: 3}, g.leader().Status(t.Context()).Quorum)
			require.Eventually(t, func() bool {
				end(g, gone)
				server, known := g.leader().replica.findServer("n6")
				return known && server.Suffrage == raft.Voter
			}, groupPatience, 20*time.Millisecond)
		})
	}
}
