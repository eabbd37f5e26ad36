package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// removeSoon removes a member as soon as there is a leader to do it. A leader that loses its
// leadership meanwhile does not know the outcome; the next one may have finished the removal.
func (g *group) removeSoon(id string) {
	g.t.Helper()
	unknown := false
	require.Eventually(g.t, func() bool {
		err := g.leader().Remove(g.t.Context(), id, false, wire.Common{})
		unknown = unknown || errors.Is(err, wire.ErrUnknown)
		return err == nil || unknown && errors.Is(err, port.ErrNoPeer)
	}, groupPatience, 50*time.Millisecond)
}

func (g *group) awaitEnd(id, why string) {
	g.t.Helper()
	require.Eventually(g.t, func() bool { return len(g.gave[id].all()) > 0 }, groupPatience, 10*time.Millisecond)
	require.Contains(g.t, g.gave[id].all()[0], why)
}

// One node of three is dead. A verb that takes another vote would leave a group that can never
// commit again, so it is refused.
func TestVotesAreNotTakenFromTheLastMajority(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader := g.leader()
	others := leader.replica.otherIDs()
	dead, alive := string(others[0]), string(others[1])
	g.close(dead)
	err := leader.Remove(t.Context(), alive, false, wire.Common{})
	require.ErrorContains(t, err, "silent is "+dead)
	require.ErrorContains(t, leader.Demote(t.Context(), alive, false, wire.Common{}), "silent is "+dead)
	require.ErrorContains(t, g.nodes[alive].Remove(t.Context(), leader.NodeID(), false, wire.Common{}), "silent is "+dead, "over the wire, and of the leader itself")
	require.Equal(t, 3, leader.replica.voterCount())
	propose(t, leader, wire.KindRegister, register("it goes on"))
	require.NoError(t, leader.Remove(t.Context(), dead, false, wire.Common{}), "the dead one may go")
	propose(t, leader, wire.KindRegister, register("and on"))
}

// A removed node stays out when it is started again, with the mark in its folder or from a copy
// without one.
func TestRemovedNodeStaysOut(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	gone := g.follower().NodeID()
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	g.close(gone)
	folder, copied := filepath.Join(g.dir, gone), filepath.Join(g.dir, "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(folder)))
	g.open(gone, hosts)
	g.awaitReady()
	g.removeSoon(gone)
	g.awaitEnd(gone, "this node was removed from the cluster")
	g.close(gone)

	_, err := Open(g.config(gone, hosts))
	require.ErrorContains(t, err, "was left behind", "its folder is marked")
	require.ErrorContains(t, err, "was removed")

	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, os.Rename(copied, folder))
	g.open(gone, hosts, func(c *Config) { c.BootstrapExpect = 3 })
	g.awaitEnd(gone, "was removed")
	g.close(gone)
	require.Equal(t, 2, g.leader().replica.voterCount())
	require.Len(t, g.leader().replica.listServers(), 2)
	propose(t, g.leader(), wire.KindRegister, register("the others go on"))

	require.NoError(t, os.RemoveAll(folder))
	g.open(gone, hosts)
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 3 }, groupPatience, 10*time.Millisecond, "wiped, it is a new node")
}

// The leader can remove itself like any other node.
func TestLeaderRemovesItself(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	gone := g.leader().NodeID()
	g.removeSoon(gone)
	g.awaitEnd(gone, "was removed")
	g.close(gone)
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 2 }, groupPatience, 10*time.Millisecond)
	_, err := Open(g.config(gone))
	require.ErrorContains(t, err, "was removed")
}

// The folder that a wiped node left behind is not admitted again either.
func TestSupersededFolderStaysOut(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	id := g.follower().NodeID()
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	g.close(id)
	aside := filepath.Join(g.dir, "aside")
	require.NoError(t, os.Rename(filepath.Join(g.dir, id), aside))
	g.open(id, hosts)
	require.Eventually(t, func() bool {
		known, found := g.leader().replica.findServer(raft.ServerID(id))
		return found && string(known.Address) == g.nodes[id].greeter.address.String() && known.Suffrage == raft.Voter
	}, groupPatience, 10*time.Millisecond)
	g.close(id)
	require.NoError(t, os.Rename(filepath.Join(g.dir, id), filepath.Join(g.dir, "newer")))
	require.NoError(t, os.Rename(aside, filepath.Join(g.dir, id)))
	g.open(id, hosts)
	g.awaitEnd(id, "superseded")
}

// A message of removal ends neither a node for which it was not meant nor a node that is still
// a member.
func TestWordOfRemovalIsChecked(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, told := g.leader(), g.follower()
	own, err := leader.replica.addressOf(raft.ServerID(told.NodeID()))
	require.NoError(t, err)
	say := func(id, incarnation string) error {
		l := leader.peers.linkToAddress(own.Host)
		defer l.Close()
		_, err := port.Ask(t.Context(), l, &port.RemovedCall{ID: id, Incarnation: incarnation})
		return err
	}
	require.ErrorContains(t, say("n9", own.Incarnation), "another data folder")
	require.ErrorContains(t, say(told.NodeID(), "0123456789abcdef"), "another data folder")
	require.NoError(t, say(told.NodeID(), own.Incarnation), "it looks, and finds that it is a member")
	require.Eventually(t, func() bool { return !told.finder.asking.Load() }, groupPatience, 10*time.Millisecond)
	require.Empty(t, g.gave[told.NodeID()].all())

	// A dead member's address was given to another node, so the message goes there.
	dead := "n1"
	for id := range g.all() {
		if id != leader.NodeID() && id != told.NodeID() {
			dead = id
		}
	}
	g.close(dead)
	g.hosts["n4"] = g.hosts[dead]
	heir := g.open("n4", join(g.host(leader.NodeID())))
	require.Eventually(t, func() bool { return leader.replica.voterCount() == 4 }, groupPatience, 10*time.Millisecond)
	g.removeSoon(dead)
	require.Eventually(t, func() bool { return !heir.finder.asking.Load() }, groupPatience, 10*time.Millisecond)
	require.Empty(t, g.gave["n4"].all())
	propose(t, heir, wire.KindRegister, register("from the heir"))
}
