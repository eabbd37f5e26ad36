package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// copyOf stops a node, copies its folder, starts the node again and writes entries that the
// copy does not have.
func (g *group) copyOf(id string) (copied string) {
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	g.close(id)
	copied = filepath.Join(g.dir, "copy-of-"+id)
	require.NoError(g.t, os.CopyFS(copied, os.DirFS(filepath.Join(g.dir, id))))
	g.open(id, hosts)
	g.awaitReady()
	for i := range 10 {
		propose(g.t, g.leader(), wire.KindRegister, register(fmt.Sprintf("after %d", i)))
	}
	g.awaitEqual()
	time.Sleep(3 * pingEvery) // In this time the leader hears how far the node has applied.
	return copied
}

// openCopy starts a node on a copied folder at an address of its own.
func (g *group) openCopy(id, folder string) *gaveUp {
	g.mu.Lock()
	real := g.gave[id]
	g.mu.Unlock()
	config := g.config(id, join(g.host("n1"), g.host("n2"), g.host("n3")))
	g.mu.Lock()
	gave := g.gave[id]
	g.gave[id] = real
	g.mu.Unlock()
	config.DataDir, config.ListenCluster = folder, "127.0.0.1:0"
	n, err := Open(config)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { require.NoError(g.t, n.Close()) })
	return gave
}

// A copy of a member's folder that starts at another address ends, and changes nothing for the
// real member.
func TestCopyOfAMembersFolder(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	id := g.follower().NodeID()
	copied := g.copyOf(id)
	before, err := g.leader().replica.addressOf(raft.ServerID(id))
	require.NoError(t, err)
	gave := g.openCopy(id, copied)
	require.Eventually(t, func() bool { return len(gave.all()) > 0 }, 10*time.Second, 10*time.Millisecond, "it ends")
	require.Contains(t, gave.all()[0], "this node is not taken in at ")
	require.Regexp(t, "this one runs on a copy of its folder|its folder is an older copy", gave.all()[0], "the copy may have been made behind the member's last entry")
	after, err := g.leader().replica.addressOf(raft.ServerID(id))
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Empty(t, g.gave[id].all())
	g.awaitReady()
	propose(t, g.nodes[id], wire.KindRegister, register("the real one goes on"))
	require.Eventually(t, func() bool {
		return g.leader().Status(t.Context()).Quorum == report.QuorumInfo{Voters: 3, Healthy: 3, FailureTolerance: 1}
	}, 10*time.Second, 10*time.Millisecond)
}

// A copy changes nothing even while the real member is down, because the copy's log ends before
// what the member had applied.
func TestOldCopyOfADeadMembersFolder(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	id := g.follower().NodeID()
	copied := g.copyOf(id)
	g.close(id)
	before, err := g.leader().replica.addressOf(raft.ServerID(id))
	require.NoError(t, err)
	gave := g.openCopy(id, copied)
	require.Eventually(t, func() bool { return len(gave.all()) > 0 }, 10*time.Second, 10*time.Millisecond, "it ends")
	require.Contains(t, gave.all()[0], "its folder is an older copy")
	after, err := g.leader().replica.addressOf(raft.ServerID(id))
	require.NoError(t, err)
	require.Equal(t, before, after)
	g.open(id, join(g.host("n1"), g.host("n2"), g.host("n3")))
	g.awaitReady()
	g.awaitEqual()
}

// A member that does not answer at the address the group has is unhealthy, even if a connection
// to its old address is still open.
func TestMemberElsewhereIsUnhealthy(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader := g.leader()
	id := string(leader.replica.otherIDs()[0])
	require.Eventually(t, func() bool { return leader.Status(t.Context()).Quorum.Healthy == 3 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, leader.membership.changing.enterGate(t.Context())) // While the test holds this gate, the group does not take the member back.
	to, err := leader.replica.addressOf(raft.ServerID(id))
	require.NoError(t, err)
	to.Host = g.host("nowhere")
	require.NoError(t, leader.membership.addServer(raft.ServerID(id), to, true))
	require.Eventually(t, func() bool {
		for _, node := range leader.Status(t.Context()).Nodes {
			if node.ID == id {
				return !node.Healthy && node.Role == roleUnreachable
			}
		}
		return false
	}, 5*time.Second, 10*time.Millisecond)
	leader.membership.changing.leaveGate()
	require.Eventually(t, func() bool {
		known, err := g.leader().replica.addressOf(raft.ServerID(id))
		return err == nil && known.Host == g.hosts[id] && g.leader().Status(t.Context()).Quorum.Healthy == 3
	}, 20*time.Second, 10*time.Millisecond, "it says where it is")
}

// A node with another secret says so where people look.
func TestWrongSecretIsNamed(t *testing.T) {
	g := newGroup(t)
	first := g.open("n1", expect(1))
	awaitReady(t, first)
	stranger := g.open("n2", join(g.host("n1")), func(c *Config) { c.Secret = []byte("another secret, long enough to be one") })
	require.Eventually(t, func() bool {
		ready := stranger.Ready(t.Context(), report.ReadyQuery{})
		return !ready.Ready && strings.Contains(ready.Checks[0].Text, port.Plain(port.ErrUnproven.Error()))
	}, 5*time.Second, 10*time.Millisecond)
}
