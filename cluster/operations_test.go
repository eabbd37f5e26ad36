package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// TestDrainIsTakenBack: a node that was drained by mistake can serve again, and one that stops
// for good cannot.
func TestDrainIsTakenBack(t *testing.T) {
	n := openAlone(t, t.TempDir())
	require.NoError(t, n.Drain(t.Context()))
	_, err := n.Propose(t.Context(), wire.KindRegister, register("a"))
	require.ErrorIs(t, err, wire.ErrShuttingDown)
	n.Undrain()
	require.True(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
	propose(t, n, wire.KindRegister, register("a"))
	require.NoError(t, n.Drain(t.Context()))
	require.NoError(t, n.Close())
	n.Undrain()
	_, err = n.Propose(t.Context(), wire.KindRegister, register("b"))
	require.ErrorIs(t, err, wire.ErrShuttingDown)
}

// TestLeaveServes: a node that leaves is not ready and takes proposals until it drains.
func TestLeaveServes(t *testing.T) {
	n := openAlone(t, t.TempDir())
	n.Leave(t.Context())
	require.False(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
	propose(t, n, wire.KindRegister, register("a"))
	n.Undrain()
	require.True(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
}

// TestEveryKindIsForwarded: a frame may carry each kind that callers make, up to the newest.
func TestEveryKindIsForwarded(t *testing.T) {
	for kind := wire.KindScreen; kind <= wire.KindNewest; kind++ {
		record := wire.AppendRecord(nil, wire.Record{Kind: kind, Version: wire.RecordVersion, Seq: 1, Body: []byte{1}})
		require.NoError(t, checkFrame(&port.ForwardCall{Count: 1, Records: record}), "kind %d", kind)
	}
	for _, kind := range []wire.Kind{wire.KindTick, wire.KindGenesis, wire.KindNewest + 1} {
		record := wire.AppendRecord(nil, wire.Record{Kind: kind, Version: wire.RecordVersion, Seq: 1, Body: []byte{1}})
		require.ErrorIs(t, checkFrame(&port.ForwardCall{Count: 1, Records: record}), errBadFrame, "kind %d", kind)
	}
}

// TestNoteThroughAFollower: a record of the last kind gets from a follower through the leader
// into the log.
func TestNoteThroughAFollower(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	r := propose(t, g.follower(), wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused"}))
	require.Equal(t, wire.Applied, r.Code)
}

// TestStatusNamesTheDead: the status of a lost member is neither healthy nor its old role, and
// a warning says what that means.
func TestStatusNamesTheDead(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	gone := g.leader().NodeID()
	g.close(gone)
	left := g.leader()
	require.NotEqual(t, gone, left.NodeID())
	require.Eventually(t, func() bool {
		s := left.Status(t.Context())
		for _, node := range s.Nodes {
			if node.ID == gone {
				return node.Role == roleUnreachable && !node.Healthy && s.Quorum == report.QuorumInfo{Voters: 3, Healthy: 2}
			}
		}
		return false
	}, 10*time.Second, 10*time.Millisecond)
	warnings := left.Status(t.Context()).Warnings
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[0], gone+" does not answer")
	require.Contains(t, warnings[1], "do not take another node down")
}

// TestStatusTellsOfLag: the status names a member that lags.
func TestStatusTellsOfLag(t *testing.T) {
	n := openAlone(t, t.TempDir())
	s := report.ClusterStatus{Nodes: []report.NodeStatus{{ID: "n2", Role: "follower", Lag: maxLagDefault + 1}, {ID: "n3", Role: "follower", Lag: maxLagDefault}}}
	require.Equal(t, []string{"n2 is 1001 entries behind"}, n.groupWarnings(&s))
	n.history.busy.Store(true)
	s.Nodes = []report.NodeStatus{{ID: n.NodeID(), Role: "leader", ClockSkewMs: int64(engine.Second)}, {ID: "n2", Role: "follower"}}
	require.Empty(t, n.groupWarnings(&s), "a node that is alone fetches nothing from others")
	n.peers.mu.Lock()
	n.peers.samples["n2"] = sample{pong: port.Pong{Missing: true}}
	n.peers.mu.Unlock()
	require.Equal(t, []string{"history of n2 is incomplete: it is fetched from the others"}, n.groupWarnings(&s))
}

// TestElectionsAreCounted: an operator's alarm on leader changes needs these counts.
func TestElectionsAreCounted(t *testing.T) {
	before, failed := elections.Get(), heartbeatsFailed.Get()
	g := newGroup(t)
	g.form(3)
	require.Greater(t, elections.Get(), before)
	g.close(g.follower().NodeID())
	require.Eventually(t, func() bool { return heartbeatsFailed.Get() > failed }, 10*time.Second, 10*time.Millisecond)
	_, err := g.leader().Snapshot(t.Context())
	require.NoError(t, err)
	require.Positive(t, g.leader().gauges.snapshotTime.Get())
}

// TestJoinerMustBeReachable: a node that gives a wrong address, or another node's, is not taken
// in and learns why.
func TestJoinerMustBeReachable(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader := g.leader()
	nowhere := g.host("nobody")
	for name, c := range map[string]struct{ addr, want string }{
		"nobody is there":   {nowhere + "/0123456789abcdef", `node "n4" cannot be reached from the leader at ` + nowhere},
		"another is there":  {g.host("n1") + "/0123456789abcdef", `another node: "n1"`},
		"not an address":    {"n4", "member address"},
		"not even a host":   {"/0123456789abcdef", "member address"},
		"a name of nothing": {"no.such.host.invalid:1/0123456789abcdef", "cannot be reached"},
	} {
		if leader.NodeID() == "n1" && name == "another is there" {
			continue // A leader does not dial itself.
		}
		err := leader.membership.hearJoin(t.Context(), &port.JoinCall{ID: "n4", Address: c.addr, Format: uint16(engine.FormatNewest)})
		require.ErrorContains(t, err, c.want, name)
	}
	require.Len(t, leader.replica.listServers(), 3)
	g.open("n4", join(g.host("n1")))
	require.Eventually(t, func() bool { return g.leader().Status(t.Context()).Quorum.Voters == 4 }, 20*time.Second, 20*time.Millisecond)
}
