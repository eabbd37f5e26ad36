package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// A node that knows the cluster secret and asks to join becomes no member before an admin has
// admitted it, at any node. It cannot admit itself. The nodes that form the cluster need nobody.
func TestNodesAreAdmitted(t *testing.T) {
	g := newGroup(t, patient)
	g.change = append(g.change, func(c *Config) { c.AdmitAll = false })
	g.form(3)
	leader, follower := g.leader(), g.follower()
	require.ErrorIs(t, follower.Admit(t.Context(), "n4", "", "", wire.Common{}), report.ErrNotWaiting, "nobody of that name asks")
	n4 := g.open("n4", join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.Eventually(t, func() bool { return leader.membership.asking.find("n4", time.Now()) != nil }, groupPatience, 20*time.Millisecond)
	require.Len(t, leader.replica.listServers(), 3, "it asks, and is not taken in")
	l := n4.peers.linkToAddress(g.host(leader.NodeID()))
	defer l.Close()
	_, err := port.Ask(t.Context(), l, &port.VerbCall{Verb: verbAdmit, ID: "n4"})
	require.ErrorContains(t, err, "is no member")
	_, err = port.Ask(t.Context(), l, &port.JoinCall{ID: "n4", Address: n4.greeter.address.String(), Format: 1})
	require.ErrorIs(t, err, port.ErrNotAdmitted)
	require.Len(t, leader.replica.listServers(), 3)

	require.NoError(t, follower.Admit(t.Context(), "n4", "", "", wire.Common{}))
	require.Eventually(t, func() bool { return g.leader().Status(t.Context()).Quorum.Voters == 4 }, groupPatience, 20*time.Millisecond)
	require.NoError(t, follower.Admit(t.Context(), "n4", "", "", wire.Common{}), "it is a member already")
	require.NoError(t, g.leader().Admit(t.Context(), "n4", g.host("n4"), "", wire.Common{}), "by its address, likewise")
}

// Only so many nodes that ask are remembered, and only while they ask.
func TestAskingNodesAreBounded(t *testing.T) {
	var a askingNodes
	now := time.Now()
	for i := range 3 * askingMax {
		require.Equal(t, i < askingMax, a.note(&port.JoinCall{ID: fmt.Sprint("n", i)}, now), i)
	}
	require.False(t, a.note(&port.JoinCall{ID: "n1"}, now.Add(time.Second)), "it asked before")
	require.Nil(t, a.find(fmt.Sprint("n", askingMax), now))
	require.Equal(t, "n1", a.find("n1", now.Add(askingKept)).ID)
	require.Nil(t, a.find("n0", now.Add(askingKept+1)))
	require.True(t, a.note(&port.JoinCall{ID: "n99"}, now.Add(askingKept+1)), "there is room again")
}
