package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/cluster/testcluster"
	"railguard/fsm/wire"
)

// group is some nodes in one process, over real connections on the loopback.
type group struct {
	t      testing.TB
	dir    string
	change []func(*Config)

	mu    sync.Mutex
	hosts map[string]string
	nodes map[string]*Node
	gave  map[string]*gaveUp
}

func newGroup(t testing.TB, change ...func(*Config)) *group {
	g := &group{
		t: t, dir: t.TempDir(), change: change,
		hosts: map[string]string{}, nodes: map[string]*Node{}, gave: map[string]*gaveUp{},
	}
	t.Cleanup(func() {
		if t.Failed() {
			g.tell()
		}
		g.closeAll()
		for _, host := range g.hosts {
			testcluster.ReleasePorts(host)
		}
	})
	return g
}

// tell prints the nodes' states for the reader of a failed test.
func (g *group) tell() {
	for id, n := range g.all() {
		s := n.Status(context.Background())
		g.t.Logf("%s: %s in term %d, applied %d of %d, quorum %+v, %d leaves, missing %v, gave up: %q; warnings: %q",
			id, s.Role, s.Term, s.Index.Applied, s.Index.Commit, s.Quorum, n.audit.Size(), n.audit.Missing(4), g.gave[id].all(), s.Warnings)
	}
}

// host returns a node's address, which stays the same over restarts.
func (g *group) host(id string) string {
	if host := g.hosts[id]; host != "" {
		return host
	}
	ports, err := testcluster.FreePorts(1)
	require.NoError(g.t, err)
	g.hosts[id] = ports[0]
	return g.hosts[id]
}

// groupPatience is how long tests wait for what is certain to come. It measures nothing: a busy
// machine may be slow.
const groupPatience = time.Minute

// patient is for groups in which no call may fail. A leader gives up its place only when asked,
// and not because its machine or disk stood still for a moment; and a call waits until its
// answer comes.
func patient(c *Config) { c.Timing.Heartbeat, c.WriteDeadline = 3*time.Second, groupPatience }

var testSecret = []byte("a secret of this test, long enough")

func (g *group) config(id string, change ...func(*Config)) Config {
	gave := &gaveUp{}
	g.mu.Lock()
	g.gave[id] = gave
	g.mu.Unlock()
	config := Config{
		ID: id, DataDir: filepath.Join(g.dir, id), ListenCluster: g.host(id), APIAddr: id + ".example:8080",
		Secret: testSecret, AdmitAll: true, Version: "test", Fatal: gave.fatal, Genesis: testGenesis,
		Timing: Timing{Heartbeat: 300 * time.Millisecond, Commit: 5 * time.Millisecond, Stall: 10 * time.Second},
	}
	if os.Getenv("RAILGUARD_TEST_LOG") != "" {
		config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	for _, c := range append(append([]func(*Config){}, g.change...), change...) {
		c(&config)
	}
	return config
}

func (g *group) open(id string, change ...func(*Config)) *Node {
	n, err := Open(g.config(id, change...))
	require.NoError(g.t, err)
	g.mu.Lock()
	g.nodes[id] = n
	g.mu.Unlock()
	return n
}

func (g *group) close(id string) {
	g.mu.Lock()
	n := g.nodes[id]
	delete(g.nodes, id)
	g.mu.Unlock()
	if n != nil {
		require.NoError(g.t, n.Close())
	}
}

func (g *group) closeAll() {
	var all sync.WaitGroup
	for id := range g.all() {
		all.Go(func() { g.close(id) })
	}
	all.Wait()
}

func (g *group) all() map[string]*Node {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := make(map[string]*Node, len(g.nodes))
	for id, n := range g.nodes {
		nodes[id] = n
	}
	return nodes
}

func join(hosts ...string) func(*Config) { return func(c *Config) { c.Join = hosts } }

func expect(count int) func(*Config) { return func(c *Config) { c.BootstrapExpect = count } }

// form opens count nodes that expect each other.
func (g *group) form(count int) {
	var hosts []string
	for i := range count {
		hosts = append(hosts, g.host("n"+strconv.Itoa(i+1)))
	}
	for i := range count {
		g.open("n"+strconv.Itoa(i+1), expect(count), join(hosts...))
	}
	g.awaitReady()
}

func (g *group) awaitReady() {
	for id, n := range g.all() {
		require.Eventually(g.t, func() bool { return n.Ready(context.Background(), report.ReadyQuery{}).Ready },
			groupPatience, 5*time.Millisecond, "%s", id)
	}
}

// leader waits until exactly one node leads with an open term.
func (g *group) leader() *Node {
	var leader *Node
	require.Eventually(g.t, func() bool {
		leader = nil
		for _, n := range g.all() {
			if n.replica.opened.Load() != 0 {
				leader = n
			}
		}
		return leader != nil
	}, groupPatience, 5*time.Millisecond)
	return leader
}

func (g *group) follower() *Node {
	leader := g.leader()
	for _, n := range g.all() {
		if n != leader {
			return n
		}
	}
	g.t.Fatal("no follower")
	return nil
}

// awaitEqual waits until all nodes have applied the same index, and compares their states.
func (g *group) awaitEqual() {
	leader := g.leader()
	var index uint64
	require.Eventually(g.t, func() bool {
		var err error
		index, err = leader.ReadIndex(context.Background())
		return err == nil
	}, groupPatience, 10*time.Millisecond)
	for id, n := range g.all() {
		ctx, cancel := context.WithTimeout(context.Background(), groupPatience)
		require.NoError(g.t, n.WaitApplied(ctx, index), "%s", id)
		cancel()
		view, err := n.View(context.Background(), 0)
		require.NoError(g.t, err)
		require.Equal(g.t, view.Root, mustRoot(g.t, n, view.Size), "%s", id)
	}
	size := leader.Audit().Size()
	want := mustRoot(g.t, leader, size)
	for id, n := range g.all() {
		require.Eventually(g.t, func() bool { return n.Audit().Size() >= size }, groupPatience, 5*time.Millisecond)
		require.Equal(g.t, want, mustRoot(g.t, n, size), "%s", id)
	}
}

func TestGroupOfThree(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, follower := g.leader(), g.follower()
	first := propose(t, leader, wire.KindRegister, register("at-leader"))
	second := propose(t, follower, wire.KindRegister, register("at-follower"))
	require.Greater(t, second.Index, first.Index)
	require.Contains(t, string(second.Data), "at-follower")
	for _, n := range g.all() {
		index, err := n.ReadIndex(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, index, second.Index)
		require.Equal(t, "at-follower", n.Agent(2).AgentName)
	}
	g.awaitEqual()

	status := follower.Status(t.Context())
	require.Equal(t, leader.NodeID(), status.Leader.ID)
	require.Equal(t, leader.NodeID()+".example:8080", status.Leader.APIAddr)
	require.Eventually(t, func() bool {
		return follower.Status(t.Context()).Quorum == report.QuorumInfo{Voters: 3, Healthy: 3, FailureTolerance: 1}
	}, 5*time.Second, 10*time.Millisecond)
	require.Equal(t, "ok", status.Writes.State)
	require.Len(t, status.Nodes, 3)
	for _, node := range status.Nodes {
		require.Equal(t, g.hosts[node.ID], node.Addr)
		require.Equal(t, "voter", node.Suffrage)
	}
	require.True(t, leader.Ready(t.Context(), report.ReadyQuery{Leader: true, Sync: true}).Ready)
	require.False(t, follower.Ready(t.Context(), report.ReadyQuery{Leader: true}).Ready)
}

func TestGroupManyCallersEverywhere(t *testing.T) {
	g := newGroup(t, patient)
	g.form(3)
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[uint64]string{}
	for id, n := range g.all() {
		for c := range 16 {
			all.Go(func() {
				for i := range 20 {
					name := fmt.Sprintf("%s-%d-%d", id, c, i)
					r, err := n.Propose(t.Context(), wire.KindRegister, register(name))
					if err != nil || r.Code != wire.Applied {
						t.Errorf("%v %+v", err, r)
						return
					}
					mu.Lock()
					if before, twice := seen[r.Leaf]; twice {
						t.Errorf("leaf %d is of %s and %s", r.Leaf, before, name)
					}
					seen[r.Leaf] = name
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	require.Len(t, seen, 3*16*20)
	g.awaitEqual()
}

func TestGroupLosesItsLeader(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	propose(t, g.leader(), wire.KindRegister, register("before"))
	dead := g.leader().NodeID()
	g.close(dead)
	start := time.Now()
	var survivor *Node
	for _, n := range g.all() {
		survivor = n
	}
	require.Eventually(t, func() bool {
		r, err := survivor.Propose(t.Context(), wire.KindRegister, register("after"))
		return err == nil && r.Code == wire.Applied
	}, 10*time.Second, 10*time.Millisecond)
	t.Logf("writes again after %v", time.Since(start))
	require.Eventually(t, func() bool {
		s := survivor.Status(t.Context())
		return s.Quorum.Healthy == 2 && s.Quorum.FailureTolerance == 0
	}, 10*time.Second, 10*time.Millisecond)

	g.open(dead, expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	g.awaitReady()
	g.awaitEqual()
}

func TestGroupMinorityAnswersNoQuorum(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	last := g.follower()
	for id := range g.all() {
		if id != last.NodeID() {
			g.close(id)
		}
	}
	require.Eventually(t, func() bool {
		_, err := last.Propose(t.Context(), wire.KindRegister, register("alone"))
		return err == wire.ErrNoQuorum
	}, 10*time.Second, 10*time.Millisecond)
	start := time.Now()
	_, err := last.Propose(t.Context(), wire.KindRegister, register("alone"))
	require.ErrorIs(t, err, wire.ErrNoQuorum)
	require.Less(t, time.Since(start), time.Second)
	require.Equal(t, "no_quorum", last.Status(t.Context()).Writes.State)
	require.False(t, last.Ready(t.Context(), report.ReadyQuery{}).Ready)
	_, err = last.ReadIndex(t.Context())
	require.ErrorIs(t, err, wire.ErrNoQuorum)
	require.True(t, last.Ready(t.Context(), report.ReadyQuery{NoLeader: true}).Ready)
}

func TestJoinPromoteDemoteRemove(t *testing.T) {
	g := newGroup(t)
	first := g.open("n1", expect(1))
	awaitReady(t, first)
	propose(t, first, wire.KindRegister, register("old"))
	g.open("n2", join(g.host("n1")))
	third := g.open("n3", join(g.host("n2"))) // It joins through a node that is no leader, and perhaps no member yet.
	require.Eventually(t, func() bool { return first.Status(t.Context()).Quorum.Voters == 3 }, 20*time.Second, 20*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
	require.Equal(t, "old", third.Agent(1).AgentName)

	by := wire.Common{Fragment: []byte(`"reason":"its disk is bad"`)}
	verb := func(do func(context.Context, string, wire.Common) error, id string) {
		require.Eventually(t, func() bool { return do(t.Context(), id, by) == nil }, 10*time.Second, 50*time.Millisecond)
	}
	taking := func(do func(context.Context, string, bool, wire.Common) error, id string) {
		verb(func(ctx context.Context, id string, by wire.Common) error { return do(ctx, id, false, by) }, id)
	}
	taking(third.Demote, "n2")
	require.Eventually(t, func() bool { return third.Status(t.Context()).Quorum.Voters == 2 }, 5*time.Second, 10*time.Millisecond)
	time.Sleep(2 * promoteStable) // The duty would have promoted the node by now.
	require.Equal(t, 2, third.Status(t.Context()).Quorum.Voters, "an operator's word holds")
	verb(third.Promote, "n2")
	require.Eventually(t, func() bool { return third.Status(t.Context()).Quorum.Voters == 3 }, 5*time.Second, 10*time.Millisecond)

	taking(third.Remove, "n2")
	require.Eventually(t, func() bool { return len(g.gave["n2"].all()) == 1 }, 5*time.Second, 10*time.Millisecond)
	require.Contains(t, g.gave["n2"].all()[0], "removed")
	var leaves []string
	for i := range third.audit.Size() {
		leaf, err := third.audit.Leaf(i)
		require.NoError(t, err)
		leaves = append(leaves, string(leaf))
	}
	all := strings.Join(leaves, "\n")
	for _, change := range []string{
		`"cluster.member_changed".*"nodeId":"n2","change":"demoted".*"reason":"its disk is bad"`,
		`"cluster.member_changed".*"nodeId":"n2","change":"promoted".*"reason":"its disk is bad"`,
		`"cluster.member_removed".*"nodeId":"n2".*"reason":"its disk is bad"`,
	} {
		require.Regexp(t, change, all)
	}
	require.NotContains(t, all, `"nodeId":"n3"`, "it joined by itself")
	require.ErrorIs(t, third.Remove(t.Context(), "n2", false, wire.Common{}), port.ErrNoPeer)
	require.ErrorIs(t, third.Promote(t.Context(), "nobody", wire.Common{}), port.ErrNoPeer)
	propose(t, third, wire.KindRegister, register("after"))
}

func TestTransferLeader(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	for range 3 {
		follower := g.follower()
		// Between two terms there is no leader to ask, and on a busy machine that takes long.
		require.Eventually(t, func() bool {
			err := follower.TransferLeader(t.Context(), follower.NodeID())
			require.True(t, err == nil || errors.Is(err, wire.ErrNoLeader) || strings.Contains(err.Error(), "leadership transfer timeout"), "%v", err)
			return err == nil
		}, 30*time.Second, 20*time.Millisecond)
		require.Eventually(t, func() bool { return follower.replica.opened.Load() != 0 }, 5*time.Second, 5*time.Millisecond)
		propose(t, follower, wire.KindRegister, register("x"))
	}
	require.Eventually(t, func() bool { // The others learn of the last leader a moment later.
		return errors.Is(g.follower().TransferLeader(t.Context(), "nobody"), port.ErrNoPeer)
	}, 10*time.Second, 20*time.Millisecond)
	g.awaitEqual()
}
