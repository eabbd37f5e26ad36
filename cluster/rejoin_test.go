package cluster

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
)

// TestRejoin deletes the disk of one node of three again and again. History has two sealed
// segments and the log was cut, so the node needs a snapshot and then history from its peers.
// Each time something else goes wrong.
func TestRejoin(t *testing.T) {
	if testing.Short() {
		t.Skip("fills two segments of 65,536 leaves")
	}
	r := newRejoinTest(t)
	t.Run("no room on the disk, a restart half-way, a dead peer", r.withoutRoom)
	t.Run("a peer's segment is damaged", r.damagedPeer)
	t.Run("both peers' segments are damaged at different places", r.damagedPeers)
	t.Run("connections break", r.brokenConnections)
}

type rejoinTest struct {
	*testing.T
	*group
	size uint64 // Count of the leaves before the wipe.
}

const (
	rejoinSegments = 2
	segmentLeaves  = 1 << audit.SegmentLevelMax
)

func newRejoinTest(t *testing.T) *rejoinTest {
	r := &rejoinTest{T: t, group: newGroup(t, func(c *Config) {
		c.Timing = Timing{Heartbeat: 500 * time.Millisecond, Stall: 30 * time.Second}
		c.WriteDeadline = 20 * time.Second
		c.ScrubEvery = -1 // The damage made here must stay until somebody reads it.
	})}
	r.form(3)
	load := &screenLoad{b: t, agents: 100}
	nodes := []*Node{r.nodes["n1"], r.nodes["n2"], r.nodes["n3"]}
	load.registerAll(nodes)
	for _, n := range nodes {
		require.NoError(t, n.WaitApplied(t.Context(), r.leader().Applied()))
	}
	load.fill(func() []*Node { return nodes }, rejoinSegments*segmentLeaves, time.Now().Add(rejoinPatience))
	r.awaitEqual()
	r.size = r.leader().audit.Size()
	for _, n := range nodes {
		for number := range uint64(rejoinSegments) {
			require.Eventually(t, func() bool { return sealedFile(t, n, number) != nil }, time.Minute, 20*time.Millisecond)
		}
		r.cutLog(n)
	}
	return r
}

// sealedFile returns the bytes of a node's sealed segment, or nil if it has none.
func sealedFile(t *testing.T, n *Node, number uint64) []byte {
	file, err := n.audit.ExportSegment(number)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	require.NoError(t, err)
	return data
}

// cutLog makes a node drop its whole log, more than the policy would.
func (r *rejoinTest) cutLog(n *Node) {
	reload := n.replica.raft.ReloadableConfig()
	reload.TrailingLogs = 1
	require.NoError(r, n.replica.raft.ReloadConfig(reload))
	require.NoError(r, n.replica.raft.Snapshot().Error())
}

// wipe deletes a follower's folder and starts the node again.
func (r *rejoinTest) wipe(change ...func(*Config)) *Node {
	id := r.follower().NodeID()
	r.close(id)
	require.NoError(r, os.RemoveAll(filepath.Join(r.dir, id)))
	for _, n := range r.all() {
		if n.NodeID() != id {
			r.cutLog(n)
		}
	}
	return r.reopen(id, change...)
}

func (r *rejoinTest) reopen(id string, change ...func(*Config)) *Node {
	return r.open(id, append(change, expect(3), join(r.host("n1"), r.host("n2"), r.host("n3")))...)
}

// peersOf returns the leader and the other follower.
func (r *rejoinTest) peersOf(wiped *Node) (leader, other *Node) {
	leader = r.leader()
	for _, n := range r.all() {
		if n != wiped && n != leader {
			other = n
		}
	}
	return leader, other
}

// awaitState waits until a node has a state and knows its peers. Before that it must not be
// ready.
func (r *rejoinTest) awaitState(n *Node) {
	require.Eventually(r, func() bool { return n.audit.Size() >= r.size && len(n.replica.listServers()) == 3 }, time.Minute, 10*time.Millisecond, "snapshot not installed")
}

func (r *rejoinTest) awaitWhole(n *Node) {
	require.Eventually(r, func() bool { return n.audit.Size() >= r.size && len(n.audit.Missing(1)) == 0 && !n.history.busy.Load() },
		time.Minute, 10*time.Millisecond, "history not complete")
	requireSameHistory(r.T, r.nodes["n1"], n, r.size)
	requireSameHistory(r.T, n, r.nodes["n1"], r.size)
}

func (r *rejoinTest) awaitVote() {
	require.Eventually(r, func() bool { return r.leader().replica.voterCount() == 3 }, time.Minute, 10*time.Millisecond)
	r.awaitReady()
	r.awaitEqual()
}

// spaceOf simulates a disk with no room for history while low is set.
func spaceOf(low *atomic.Bool) func(*Config) {
	return func(c *Config) {
		c.FreeSpace = func(string) (uint64, uint64, error) {
			if low.Load() {
				return 600 * engine.MiB, 1 << 40, nil
			}
			return 1 << 39, 1 << 40, nil
		}
	}
}

// withoutRoom: history that other nodes have must not take a disk's last room. Until there is
// room, the node answers old reads through its peers, also after a restart. Then one peer is
// enough.
func (r *rejoinTest) withoutRoom(t *testing.T) {
	r.T = t
	var low atomic.Bool
	low.Store(true)
	space := spaceOf(&low)
	n := r.wipe(space)
	r.awaitState(n)
	_, err := n.history.fillHoles()
	require.ErrorIs(t, err, errNoRoom)
	for range 2 {
		leader, _ := r.peersOf(n)
		require.True(t, n.history.busy.Load())
		require.Len(t, n.audit.Missing(10), rejoinSegments+1, "nothing was fetched")
		reader := &oldReader{leader: leader, asked: n, random: rand.New(rand.NewPCG(1, 2)), below: r.size}
		for range 50 {
			reader.read()
		}
		require.Zero(t, reader.wrong)
		require.Zero(t, reader.failed)
		require.NotEmpty(t, reader.throughPeer)
		require.Eventually(t, func() bool { // The leader learns it by a ping.
			return strings.Contains(strings.Join(leader.Status(t.Context()).Warnings, "\n"), "history of "+n.NodeID()+" is incomplete")
		}, time.Minute, 10*time.Millisecond)
		r.close(n.NodeID())
		n = r.reopen(n.NodeID(), space)
		r.awaitState(n)
		require.Eventually(t, func() bool {
			return len(r.leader().Status(t.Context()).Nodes) == 3 && len(n.replica.listServers()) == 3
		}, time.Minute, 10*time.Millisecond)
		require.Eventually(t, func() bool { s, fresh := r.leader().peers.freshSample(n.NodeID()); return fresh && s.pong.Missing }, time.Minute, 10*time.Millisecond)
	}
	// The node must have its vote, or the leader would lose the majority together with the
	// other follower.
	require.Eventually(t, func() bool { return r.leader().replica.voterCount() == 3 }, time.Minute, 10*time.Millisecond)
	_, other := r.peersOf(n)
	r.close(other.NodeID())
	low.Store(false)
	require.Eventually(t, func() bool { return len(n.audit.Missing(1)) == 0 }, time.Minute, 10*time.Millisecond)
	r.reopen(other.NodeID())
	r.awaitVote()
	r.awaitWhole(n)
}

// damage changes a byte of a node's segment file. mend changes it back, unless the node has
// repaired it meanwhile.
func (r *rejoinTest) damage(n *Node, number uint64, at int64) (mend func()) {
	name := filepath.Join(n.folder.Sub(datadir.AuditFolder), "000", "000", []string{"000.seg", "001.seg"}[number])
	turn := func(want func(byte) bool) byte {
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(r, err)
		defer file.Close()
		var b [1]byte
		_, err = file.ReadAt(b[:], at)
		require.NoError(r, err)
		if want(b[0]) {
			b[0] ^= 0x40
			_, err = file.WriteAt(b[:], at)
			require.NoError(r, err)
		}
		return b[0]
	}
	bad := turn(func(byte) bool { return true })
	return func() { turn(func(b byte) bool { return b == bad }) }
}

const (
	inFirstBundle  = 500
	inALaterBundle = 3 * engine.MiB
)

// damagedPeer: what one peer sends does not lead to the root, so it is refused and the other
// peer is asked.
func (r *rejoinTest) damagedPeer(t *testing.T) {
	r.T = t
	var low atomic.Bool
	low.Store(true)
	n := r.wipe(spaceOf(&low))
	_, other := r.peersOf(n)
	r.awaitState(n)
	defer r.damage(other, 0, inFirstBundle)() // Now, so that the peer itself has no time to find and repair it.
	require.ErrorIs(t, n.history.fetchSegment(n.peers.linkTo(other.NodeID(), linkFetch), 0), audit.ErrUnproven)
	low.Store(false)
	r.awaitWhole(n)
	r.awaitVote()
}

// damagedPeers: no peer has the segment whole, but each bundle is sound on some peer. The node
// collects the bundles, and the peers repair theirs from it.
func (r *rejoinTest) damagedPeers(t *testing.T) {
	r.T = t
	n := r.wipe()
	leader, other := r.peersOf(n)
	r.damage(leader, 1, inFirstBundle)
	r.damage(other, 1, inALaterBundle)
	r.awaitState(n)
	r.awaitVote()
	require.Eventually(t, func() bool { return len(n.audit.Missing(1)) == 0 && !n.history.busy.Load() }, time.Minute, 10*time.Millisecond)
	for _, peer := range []*Node{leader, other} {
		_, err := peer.audit.Verify(context.Background(), func(d *audit.DamageError) { t.Logf("%s: %v", peer.NodeID(), d) })
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(peer.audit.Damage()) == 0 }, time.Minute, 10*time.Millisecond, "not mended")
	}
	r.awaitWhole(n)
	requireSameHistory(t, leader, other, r.size)
}

// brokenConnections: every connection breaks before a whole segment is sent, and yet the
// segment comes as a file, piece by piece.
func (r *rejoinTest) brokenConnections(t *testing.T) {
	r.T = t
	network := &breakingNetwork{limit: 5 * engine.MiB / 2}
	n := r.wipe(func(c *Config) { c.Network = network })
	_, other := r.peersOf(n)
	file := sealedFile(t, other, 0)
	require.Greater(t, int64(len(file)), 2*network.limit)
	r.awaitState(n)
	r.awaitWhole(n)
	require.Positive(t, network.broken.Load())
	require.Equal(t, file, sealedFile(t, n, 0), "the peer's own bytes")
	network.never.Store(true)
	r.awaitVote()
}

// breakingNetwork breaks every connection that it dialled after a number of bytes.
type breakingNetwork struct {
	port.TCP
	limit  int64
	never  atomic.Bool
	broken atomic.Int64
}

// Dial implements Network.
func (b *breakingNetwork) Dial(address string, timeout time.Duration) (net.Conn, error) {
	conn, err := b.TCP.Dial(address, timeout)
	if err != nil {
		return nil, err
	}
	return &breakingConn{Conn: conn, network: b}, nil
}

type breakingConn struct {
	net.Conn
	network *breakingNetwork
	mu      sync.Mutex
	got     int64
}

// Read implements net.Conn.
func (c *breakingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.got += int64(n); c.got > c.network.limit && !c.network.never.Load() {
		c.network.broken.Add(1)
		return 0, net.ErrClosed
	}
	return n, err
}
