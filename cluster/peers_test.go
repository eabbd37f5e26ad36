package cluster

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/porttest"
	"railguard/fsm/wire"
)

// TestForgedRaftMessages: a peer that has proven itself sends lies.
func TestForgedRaftMessages(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newGroup(t, func(c *Config) { c.Secret, c.Certificates = nil, root.Files(c.ID, nil) })
	n := g.open("n1", expect(1))
	awaitReady(t, n)
	friend := newStranger(t, root.Files("n2", nil), "n2")
	_, err := friend.dial(g.host("n1"), port.ProtocolRaft)
	require.ErrorContains(t, err, "is no member", "raft is spoken with members")
	n.greeter.vouchers.note(port.Peer{ID: "n2", Incarnation: "x"})
	term := n.replica.raft.CurrentTerm()
	liar := port.NewPeerTransport(port.Address{Host: "127.0.0.1:1", Incarnation: "x"}, hclog.NewNullLogger(), func() uint64 { return 0 },
		func(string, port.Address, time.Duration) (net.Conn, error) {
			return friend.dial(g.host("n1"), port.ProtocolRaft)
		},
		func(raft.ServerID) (raft.ServerAddress, error) { return "127.0.0.1:1/x", nil })
	defer liar.Close()
	for name, request := range map[string]*raft.AppendEntriesRequest{
		"claims to be": {RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n1")}, Term: term + 1},
		"absurd":       {RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n2")}, Term: 1<<64 - 1},
	} {
		var response raft.AppendEntriesResponse
		require.ErrorContains(t, liar.AppendEntries("n1", "127.0.0.1:1/x", request, &response), name)
	}
	for _, id := range []string{"n1", "n2"} { // The second node is no member and gets no vote.
		request := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id), Addr: []byte("127.0.0.1:1/x")}, Term: term + 1, LastLogIndex: 1 << 40, LastLogTerm: term}
		var response raft.RequestVoteResponse
		err := liar.RequestVote("n1", "127.0.0.1:1/x", request, &response)
		require.True(t, err != nil || !response.Granted, id)
	}
	require.Equal(t, term, n.replica.raft.CurrentTerm())
	propose(t, n, wire.KindRegister, register("unmoved"))
}

// TestAPromiseIsAskedForInOnesOwnName: a promise binds a data folder for ever, so nobody gets
// one for another node.
func TestAPromiseIsAskedForInOnesOwnName(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newGroup(t, func(c *Config) { c.Secret, c.Certificates = nil, root.Files(c.ID, nil) })
	g.open("n1", expect(3), join(g.host("n2")))
	l := newStranger(t, root.Files("n2", nil), "n2").link(g.host("n1"))
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := port.Ask(ctx, l, &port.PromiseCall{ID: "n9", Incarnation: "x"})
	require.ErrorContains(t, err, `node "n2" asks for a promise to "n9"`)
	_, err = port.Ask(ctx, l, &port.PromiseCall{ID: "n2", Incarnation: "x"})
	require.NoError(t, err)
}

// stranger has a certificate and no node.
type stranger struct {
	id, incarnation string
	mux             *port.Mux
}

func newStranger(t *testing.T, files port.Certificates, id string) *stranger {
	own, err := files.Load(id, time.Now)
	require.NoError(t, err)
	m, err := port.Listen(port.TCP{}, func() *port.Authority { return own }, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return &stranger{id, "x", m}
}

func (s *stranger) dial(host string, protocol byte) (net.Conn, error) {
	conn, _, err := s.mux.Dial(host, protocol, func() port.Hello { return port.Hello{ID: s.id, Incarnation: s.incarnation} }, "", "", 10*time.Second)
	return conn, err
}

func (s *stranger) link(host string) *port.Link {
	return port.NewLink(func(time.Duration) (net.Conn, error) { return s.dial(host, port.ProtocolCalls) })
}

// opened returns a link that has been used once, over a connection that is not dialled again.
func (s *stranger) opened(t *testing.T, host string) *port.Link {
	conn, err := s.dial(host, port.ProtocolCalls)
	require.NoError(t, err)
	dialled := false
	l := port.NewLink(func(time.Duration) (net.Conn, error) {
		if dialled {
			return nil, net.ErrClosed
		}
		dialled = true
		return conn, nil
	})
	require.NoError(t, answered(l))
	return l
}

func answered(l *port.Link) error {
	_, err := port.Ask(context.Background(), l, port.PingCall{})
	return err
}

// TestReadsHaveALane: read indices are asked for and confirmed over connections of their own.
// Whatever happens to the connections of pings, reads go on, at the leader and elsewhere.
func TestReadsHaveALane(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, follower := g.leader(), g.follower()
	for _, n := range []*Node{leader, follower} {
		for _, id := range n.replica.otherIDs() {
			n.peers.linkTo(string(id), linkControl).Close()
		}
	}
	for _, n := range []*Node{leader, follower} {
		for range 20 {
			_, err := n.reads.askReadIndexOnce(t.Context())
			require.NoError(t, err)
		}
	}
}

// TestReadsEndInWordsOfTheLog: whatever ends a read, a flapping link or a stopped node, its
// error is one that callers can act on.
func TestReadsEndInWordsOfTheLog(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	leader, follower := g.leader(), g.follower()
	follower.peers.linkTo(leader.NodeID(), linkConfirm).Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := follower.ReadIndex(ctx)
	require.ErrorIs(t, err, wire.ErrNoLeader)

	follower.peers.linkTo(leader.NodeID(), linkVerb).Close()
	require.ErrorIs(t, follower.Promote(t.Context(), follower.NodeID(), wire.Common{}), wire.ErrNoLeader, "certainly nothing happened")

	follower.life.endProcess("for this test")
	require.ErrorIs(t, follower.WaitApplied(t.Context(), 1<<60), wire.ErrShuttingDown)
	_, err = follower.View(t.Context(), 1<<60)
	require.ErrorIs(t, err, wire.ErrShuttingDown)
}
