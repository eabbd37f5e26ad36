package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// heldRestore restores snapshots, but waits before the end of each until it is let go.
type heldRestore struct {
	begun atomic.Int32
	let   chan struct{}
	fail  error
}

func newHeldRestore() *heldRestore { return &heldRestore{let: make(chan struct{})} }

func (h *heldRestore) restore(from io.Reader) (*fsm.Machine, error) {
	machine, err := fsm.Restore(from)
	h.begun.Add(1)
	<-h.let
	return machine, errors.Join(err, h.fail)
}

func (h *heldRestore) config(c *Config) { c.restore = h.restore }

// behindGroup is a group of three whose third node was away while the others cut their logs.
func behindGroup(t *testing.T) *group {
	g := newGroup(t, func(c *Config) { // A busy machine changes no leader.
		c.Timing.Heartbeat, c.Timing.Lease, c.WriteDeadline = 2*time.Second, 2*time.Second, groupPatience
	})
	g.form(3)
	g.awaitEqual()
	leader := g.leader()
	if leader.NodeID() == "n3" {
		require.NoError(t, leader.TransferLeader(t.Context(), "n1"))
		require.Eventually(t, func() bool { return g.leader().NodeID() != "n3" }, groupPatience, 5*time.Millisecond)
	}
	g.close("n3")
	g.cutLogs("n1", "n2")
	return g
}

// cutLogs registers some agents and makes nodes drop their whole log.
func (g *group) cutLogs(ids ...string) {
	for i := range 20 {
		propose(g.t, g.leader(), wire.KindRegister, register(fmt.Sprintf("more-%d", i)))
	}
	for _, id := range ids {
		n := g.all()[id]
		index, err := g.leader().ReadIndex(context.Background())
		require.NoError(g.t, err)
		require.NoError(g.t, n.WaitApplied(context.Background(), index))
		reload := n.replica.raft.ReloadableConfig()
		reload.TrailingLogs = 1
		require.NoError(g.t, n.replica.raft.ReloadConfig(reload))
		require.NoError(g.t, n.replica.raft.Snapshot().Error())
	}
}

func (g *group) reopenBehind(held *heldRestore) *Node {
	n := g.open("n3", expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")), held.config)
	require.Eventually(g.t, func() bool { return held.begun.Load() == 1 && n.adapter.installing.underWay() }, groupPatience, 5*time.Millisecond)
	return n
}

// While a snapshot is being restored, the node confirms entries and grants votes: a group that
// needs it goes on. It answers nothing from the older state, takes no snapshot, and says why.
func TestTheGroupGoesOnDuringARestore(t *testing.T) {
	g := behindGroup(t)
	held := newHeldRestore()
	n := g.reopenBehind(held)
	old := n.Applied()
	leader := g.leader()
	for _, other := range g.all() {
		if other != leader && other != n {
			g.close(other.NodeID())
		}
	}
	for i := range 30 {
		propose(t, leader, wire.KindRegister, register(fmt.Sprintf("meanwhile-%d", i)))
	}
	require.True(t, n.adapter.installing.underWay())
	require.Equal(t, old, n.Applied(), "nothing is applied to the older state")
	require.Nil(t, n.Agent(2), "the older state has no agents")
	ready := n.Ready(t.Context(), report.ReadyQuery{})
	require.False(t, ready.Ready)
	require.Contains(t, ready.Checks[0].Text, "restoring a snapshot")
	require.Contains(t, strings.Join(n.Status(t.Context()).Warnings, "; "), "asks for no votes")
	_, err := n.Snapshot(t.Context())
	require.ErrorIs(t, err, errRestoring)
	require.ErrorContains(t, n.replica.raft.Snapshot().Error(), errRestoring.Error())
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	index := propose(t, leader, wire.KindRegister, register("to be read")).Index
	require.Error(t, n.WaitApplied(short, index), "a read waits for the state")

	close(held.let)
	require.NoError(t, n.WaitApplied(t.Context(), index))
	requireSameState(t, leader, n)
	require.Eventually(t, func() bool { return !n.adapter.installing.underWay() }, groupPatience, time.Millisecond)
	for range 3 {
		propose(t, leader, wire.KindRegister, register("after"))
	}
	requireSameState(t, leader, n)
	_, err = n.Snapshot(t.Context())
	require.NoError(t, err)
	require.Empty(t, g.gave["n3"].all())
}

// A node without its state does not lead, even if nobody else can: the group waits for it.
func TestANodeThatRestoresDoesNotLead(t *testing.T) {
	g := behindGroup(t)
	held := newHeldRestore()
	n := g.reopenBehind(held)
	former, other := g.leader(), ""
	for id, one := range g.all() {
		if one != former && one != n {
			other = id
		}
	}
	g.close(other)
	propose(t, former, wire.KindRegister, register("only these two have it"))
	g.close(former.NodeID())
	g.open(other, expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	for began := time.Now(); time.Since(began) < 4*n.config.Timing.Election; time.Sleep(5 * time.Millisecond) {
		require.NotEqual(t, "leader", n.Role(), "its log is the newest, but it has no state")
	}
	require.True(t, n.adapter.installing.underWay())
	close(held.let)
	require.Equal(t, n, g.leader())
	g.awaitReady()
	g.awaitEqual()
}

// A node that ends in the middle begins again from the stored snapshot.
func TestARestoreThatIsCutShort(t *testing.T) {
	g := behindGroup(t)
	held := newHeldRestore()
	n := g.reopenBehind(held)
	for i := range 5 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("meanwhile-%d", i)))
	}
	go func() { // Close waits for the restore.
		<-n.life.stop
		close(held.let)
	}()
	g.close("n3")
	n = g.open("n3", expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.NotZero(t, n.Applied(), "raft restored it at the start")
	g.awaitReady()
	g.awaitEqual()
	requireSameState(t, g.leader(), n)
}

// A snapshot that cannot be restored ends the node, and the reason names the file.
func TestARestoreThatFails(t *testing.T) {
	g := behindGroup(t)
	held := newHeldRestore()
	held.fail = errors.New("a row does not fit")
	n := g.reopenBehind(held)
	close(held.let)
	require.Eventually(t, func() bool { return len(g.gave["n3"].all()) == 1 }, groupPatience, time.Millisecond)
	reason := g.gave["n3"].all()[0]
	require.Contains(t, reason, "the snapshot that the leader sent cannot be restored")
	require.Contains(t, reason, "a row does not fit")
	metas, err := n.snaps.List()
	require.NoError(t, err)
	file := n.snaps.StateOf(metas[0].ID)
	require.Contains(t, reason, file)
	_, err = os.Stat(file)
	require.NoError(t, err)
}

// A second snapshot takes the place of one that is being restored.
func TestASecondSnapshotDuringARestore(t *testing.T) {
	g := behindGroup(t)
	held := newHeldRestore()
	network := &partedNetwork{}
	n := g.open("n3", expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")), held.config, func(c *Config) { c.Network = network })
	require.Eventually(t, func() bool { return held.begun.Load() == 1 }, groupPatience, 5*time.Millisecond)
	first := n.adapter.installing.present()
	network.part(true)
	g.cutLogs("n1", "n2")
	network.part(false)
	require.Eventually(t, func() bool { return n.adapter.installing.present() != first }, groupPatience, time.Millisecond, "the second one came")
	require.EqualValues(t, 1, held.begun.Load(), "and waits for the first")
	propose(t, g.leader(), wire.KindRegister, register("meanwhile"))
	close(held.let)
	require.Eventually(t, func() bool { return !n.adapter.installing.underWay() }, groupPatience, time.Millisecond)
	g.awaitEqual()
	requireSameState(t, g.leader(), n)
	require.EqualValues(t, 2, held.begun.Load())
	require.Empty(t, g.gave["n3"].all())
}

// The leader does not hear that its first entries behind a snapshot arrived, and sends them again.
// They follow the snapshot, not an entry of the node's log: the node accepts them and needs no other
// snapshot (guard G6).
func TestALostAnswerBehindASnapshot(t *testing.T) {
	g := behindGroup(t)
	held, network := newHeldRestore(), &partedNetwork{}
	close(held.let)
	lost := &lostAnswers{network: network}
	n := g.open("n3", expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")), held.config, func(c *Config) { c.Network, c.OpenLog = network, lost.open })
	require.Eventually(t, func() bool { return held.begun.Load() == 1 && n.Applied() > 1 }, groupPatience, 5*time.Millisecond)
	for i := range 3 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("not confirmed %d", i)))
	}
	require.Eventually(t, lost.once.Load, groupPatience, time.Millisecond)
	network.part(false)
	g.awaitEqual()
	requireSameState(t, g.leader(), n)
	require.EqualValues(t, 1, held.begun.Load())
	require.Empty(t, g.gave["n3"].all())
}

// lostAnswers opens a log that cuts the node's network off once the first entries are stored, so
// that nobody hears of it.
type lostAnswers struct {
	datadir.LogStore
	network *partedNetwork
	once    atomic.Bool
}

func (l *lostAnswers) open(dir string) (store datadir.LogStore, err error) {
	l.LogStore, err = datadir.OpenLog(dir)
	return l, err
}

// StoreLogs implements raft.LogStore.
func (l *lostAnswers) StoreLogs(logs []*raft.Log) error {
	err := l.LogStore.StoreLogs(logs)
	if !l.once.Load() {
		l.network.part(true)
		l.once.Store(true)
	}
	return err
}

// partedNetwork is a node's network, whose connections all break when it is parted.
type partedNetwork struct {
	port.TCP
	mu     sync.Mutex
	parted bool
	conns  []net.Conn
}

func (p *partedNetwork) part(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parted = on
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *partedNetwork) keep(conn net.Conn, err error) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case p.parted:
		_ = conn.Close()
	default:
		p.conns = append(p.conns, conn)
	}
	return conn, nil
}

// Dial implements Network.
func (p *partedNetwork) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return p.keep(p.TCP.Dial(address, timeout))
}

// Listen implements Network.
func (p *partedNetwork) Listen(address string) (net.Listener, error) {
	listener, err := p.TCP.Listen(address)
	return &partedListener{listener, p}, err
}

type partedListener struct {
	net.Listener
	network *partedNetwork
}

// Accept implements net.Listener.
func (l *partedListener) Accept() (net.Conn, error) { return l.network.keep(l.Listener.Accept()) }
