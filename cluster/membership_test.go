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

// A node that comes back with an empty folder has forgotten its votes. It is let in without a
// vote, and gets one again when it has caught up.
func TestWipedNodeJoinsAnew(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	for i := range 5 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("a%d", i)))
	}
	wiped := g.follower().NodeID()
	before, err := g.leader().replica.addressOf(raft.ServerID(wiped))
	require.NoError(t, err)
	g.close(wiped)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, wiped)))
	propose(t, g.leader(), wire.KindRegister, register("meanwhile"))
	// It is told to form a group of three, as at its first start, but its peers already have
	// one.
	n := g.open(wiped, expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.Eventually(t, func() bool {
		after, err := g.leader().replica.addressOf(raft.ServerID(wiped))
		return err == nil && after.Incarnation != before.Incarnation
	}, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 3 }, 20*time.Second, 10*time.Millisecond)
	g.awaitReady()
	require.Equal(t, "meanwhile", n.Agent(6).AgentName)
	g.awaitEqual()
}

// Of two nodes with one name, the one that is not the member is kept out.
func TestSecondNodeOfOneName(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	g.leader()
	time.Sleep(2 * pingEvery) // Each node has heard of the others by now.
	config := g.config("n3", join(g.host("n1")))
	config.DataDir = filepath.Join(g.dir, "impostor")
	config.ListenCluster = "127.0.0.1:0"
	impostor, err := Open(config)
	require.NoError(t, err)
	defer impostor.Close()
	time.Sleep(4 * joinEvery)
	require.Empty(t, impostor.replica.listServers())
	known, err := g.leader().replica.addressOf("n3")
	require.NoError(t, err)
	require.Equal(t, g.nodes["n3"].greeter.address, known)
}

func TestNodeMovesToAnotherAddress(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	moved := g.follower().NodeID()
	g.close(moved)
	delete(g.hosts, moved)
	g.open(moved, join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.Eventually(t, func() bool {
		known, err := g.leader().replica.addressOf(raft.ServerID(moved))
		return err == nil && known.Host == g.hosts[moved]
	}, 20*time.Second, 10*time.Millisecond)
	g.awaitReady()
	propose(t, g.nodes[moved], wire.KindRegister, register("from its new place"))
	g.awaitEqual()
}

func TestOtherClusterIsRefused(t *testing.T) {
	g := newGroup(t)
	first := g.open("n1", expect(1))
	awaitReady(t, first)
	other := g.open("n2", expect(1), func(c *Config) {
		c.Genesis = func() wire.Genesis {
			genesis := testGenesis()
			genesis.ClusterID = "another-cluster"
			return genesis
		}
	})
	awaitReady(t, other)
	err := first.Admit(t.Context(), "n2", g.host("n2"), "", wire.Common{})
	require.ErrorContains(t, err, "is of cluster")
	require.ErrorContains(t, first.Admit(t.Context(), "n9", g.host("n1"), "", wire.Common{}), `not "n9"`)
	require.Len(t, first.replica.listServers(), 1)
}

func TestVerbsOfAGroupOfOne(t *testing.T) {
	g := newGroup(t)
	n := g.open("n1", expect(1))
	awaitReady(t, n)
	require.ErrorIs(t, n.TransferLeader(t.Context(), ""), port.ErrAlone)
	require.ErrorIs(t, n.Remove(t.Context(), "n1", false, wire.Common{}), port.ErrAlone)
	require.ErrorIs(t, n.Demote(t.Context(), "n1", false, wire.Common{}), port.ErrAlone)
	require.NoError(t, n.Promote(t.Context(), "n1", wire.Common{}))
	propose(t, n, wire.KindRegister, register("still here"))
}

// With two of three expected nodes there is no group, and with a wrong number there never is.
func TestNoGroupOfAWrongNumber(t *testing.T) {
	g := newGroup(t)
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	first := g.open("n1", expect(3), hosts)
	second := g.open("n2", expect(3), hosts)
	time.Sleep(5 * joinEvery)
	require.Empty(t, first.replica.listServers())
	require.Empty(t, second.replica.listServers())
	third := g.open("n3", expect(2), hosts) // It expects another number.
	time.Sleep(5 * joinEvery)
	require.Empty(t, first.replica.listServers())
	require.Empty(t, third.replica.listServers())
	require.False(t, first.Ready(t.Context(), report.ReadyQuery{}).Ready)
}

func TestPromiseIsGivenOnce(t *testing.T) {
	g := newGroup(t)
	n := g.open("n1", expect(3), join(g.host("n2"), g.host("n3")))
	require.NoError(t, n.finder.givePromise(&port.PromiseCall{ID: "n2", Incarnation: "a"}))
	require.NoError(t, n.finder.givePromise(&port.PromiseCall{ID: "n2", Incarnation: "a"}))
	require.ErrorContains(t, n.finder.givePromise(&port.PromiseCall{ID: "n2", Incarnation: "b"}), "has promised")
	g.close("n1")
	n = g.open("n1", expect(3))
	require.ErrorContains(t, n.finder.givePromise(&port.PromiseCall{ID: "n3", Incarnation: "a"}), "has promised", "kept over a restart")
}

func TestParseAddress(t *testing.T) {
	for _, a := range []port.Address{{Host: "10.0.0.1:7000", Incarnation: "ab"}, {Host: "h:1", Incarnation: "ab", Hold: true}} {
		parsed, err := port.ParseAddress(a.String())
		require.NoError(t, err)
		require.Equal(t, a, parsed)
		require.Equal(t, a.Host, port.HostOf(a.String()))
	}
	for _, text := range []string{"", "h:1", "h:1/", "/ab", "h:1/ab/x", "h:1/ab/hold/x"} {
		_, err := port.ParseAddress(text)
		require.Error(t, err, text)
	}
}

func TestInsecureIsForLoopbackOnly(t *testing.T) {
	for _, test := range []struct {
		listen, join string
		good         bool
	}{
		{"127.0.0.1:0", "localhost:7000", true},
		{"[::1]:0", "127.0.0.2:7000", true},
		{"0.0.0.0:0", "", false},
		{":0", "", false},
		{"127.0.0.1:0", "10.0.0.1:7000", false},
		{"127.0.0.1:0", "example.com:7000", false},
	} {
		config := Config{ListenCluster: test.listen}
		if test.join != "" {
			config.Join = []string{test.join}
		}
		require.Equal(t, test.good, config.checkInsecure() == nil, "%+v", test)
	}
}

// TestDivergedNodeStops changes the digests of one node: it stops, and its peers go on.
func TestDivergedNodeStops(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	odd := g.follower()
	var index uint64
	require.Eventually(t, func() bool { // Until all have a digest of one index.
		tick, ok := odd.digester.newestDigest()
		if !ok {
			return false
		}
		index = tick.Index
		for _, n := range g.all() {
			if _, ok := n.digester.digestAt(index); !ok {
				return false
			}
		}
		return true
	}, 30*time.Second, 20*time.Millisecond)
	odd.digester.mu.Lock()
	for i := range odd.digester.known {
		odd.digester.known[i].Digest = []byte(strings.Repeat("x", 32))
	}
	odd.digester.mu.Unlock()
	before := digestMismatches.Get()
	odd.digester.reportMismatch(index, true)
	require.Eventually(t, func() bool { return len(g.gave[odd.NodeID()].all()) == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, g.gave[odd.NodeID()].all()[0], "BUG: state diverged")
	require.GreaterOrEqual(t, digestMismatches.Get(), before+3, "the two that it asked count it too: its own count is gone before it is read")
	for id, n := range g.all() {
		if n != odd {
			require.Empty(t, g.gave[id].all())
			require.Eventually(t, func() bool {
				_, err := n.Propose(t.Context(), wire.KindRegister, register("goes on at "+id))
				return err == nil
			}, 10*time.Second, 10*time.Millisecond)
		}
	}
}

// A folder that was restored from an older copy is recognised by its log, which ends before
// what the node had applied: nobody speaks raft with it.
func TestFolderFromAnOlderCopy(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	old := g.follower().NodeID()
	g.close(old)
	copied := filepath.Join(g.dir, "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(filepath.Join(g.dir, old))))
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	g.open(old, hosts)
	for i := range 20 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("a%d", i)))
	}
	g.awaitReady()
	g.awaitEqual()
	time.Sleep(3 * pingEvery) // Its peers have heard by now how far it has applied.
	g.close(old)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, old)))
	require.NoError(t, os.Rename(copied, filepath.Join(g.dir, old)))
	n := g.open(old, hosts)
	g.awaitEnd(old, "the data folder is an older copy")
	require.False(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
	require.Nil(t, n.Agent(20), "it gets no entries under its old name")
	propose(t, g.leader(), wire.KindRegister, register("the others go on"))

	g.close(old)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, old)))
	g.open(old, hosts)
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 3 }, 20*time.Second, 10*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
}

// TestADemotionNeverStandsHalf: no configuration in the log has a demoted member without a vote and
// without the note that an operator keeps it so. A leader that died there would leave a member
// that is promoted again by itself. Promoting it ends the note.
func TestADemotionNeverStandsHalf(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, id := g.leader(), g.follower().NodeID()
	held := func() (suffrage raft.ServerSuffrage, hold bool) {
		server, known := leader.replica.findServer(raft.ServerID(id))
		require.True(t, known)
		to, err := port.ParseAddress(string(server.Address))
		require.NoError(t, err)
		return server.Suffrage, to.Hold
	}
	first, err := leader.store.LastIndex()
	require.NoError(t, err)
	require.NoError(t, leader.Demote(t.Context(), id, false, wire.Common{}))
	suffrage, hold := held()
	require.Equal(t, raft.Nonvoter, suffrage)
	require.True(t, hold)
	last, err := leader.store.LastIndex()
	require.NoError(t, err)
	changes := 0
	for index := first + 1; index <= last; index++ {
		var entry raft.Log
		require.NoError(t, leader.store.GetLog(index, &entry))
		if entry.Type != raft.LogConfiguration {
			continue
		}
		changes++
		for _, server := range raft.DecodeConfiguration(entry.Data).Servers {
			to, err := port.ParseAddress(string(server.Address))
			require.NoError(t, err)
			require.True(t, server.Suffrage == raft.Voter || to.Hold, "%v of entry %d", server, index)
		}
	}
	require.Equal(t, 2, changes)
	require.Eventually(t, func() bool { return leader.Promote(t.Context(), id, wire.Common{}) == nil }, groupPatience, 10*time.Millisecond)
	suffrage, hold = held()
	require.Equal(t, raft.Voter, suffrage)
	require.False(t, hold)
}
