package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/recovery"
	"railguard/fsm/wire"
)

// warns reports whether a node's status warns of a node of another recovery.
func warns(t *testing.T, n *Node) bool {
	return strings.Contains(strings.Join(n.Status(t.Context()).Warnings, "\n"), "of another recovery of this cluster is there")
}

// TestALivingMajorityStays: one of three nodes was recovered although the other two live. These
// two do not end when they hear of it, not even while one of them is started again, and say in
// their status that it is there.
func TestALivingMajorityStays(t *testing.T) {
	g := newGroup(t)
	survivor, lost := loseMajority(t, g)
	_, err := recovery.Recover(recovery.Source{Dir: g.folder(survivor)}, order)
	require.NoError(t, err)
	awaitReady(t, g.open(survivor)) // Now its recovery is on record, and its next start asks nobody.
	g.close(survivor)

	for _, id := range lost {
		g.open(id)
	}
	propose(t, g.leader(), wire.KindRegister, register("in the old group"))
	mistake := g.open(survivor)
	awaitReady(t, mistake)
	for _, id := range lost {
		require.Eventually(t, func() bool { return warns(t, g.all()[id]) }, groupPatience, 10*time.Millisecond)
	}
	for _, id := range lost { // One after the other is started again, as for a new release.
		g.close(id)
		g.open(id)
		require.Eventually(t, func() bool {
			n := g.all()[id]
			_, err := n.Propose(t.Context(), wire.KindRegister, register("the old group goes on"))
			return err == nil
		}, groupPatience, 10*time.Millisecond)
		time.Sleep(yieldAfter + yieldAfter/2) // Until whoever would end has ended.
	}
	for _, id := range lost {
		require.Empty(t, g.gave[id].all(), "%s ended", id)
		require.Empty(t, g.all()[id].folder.Identity().Superseded)
	}
	require.True(t, warns(t, mistake))
}
