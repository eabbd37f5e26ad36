package cluster

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/nodekey"
	"railguard/cluster/port"
	"railguard/cluster/porttest"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// newThief returns a stranger that has the cluster secret, a key of its own and somebody's name.
// It listens at an address.
func newThief(t *testing.T, id, host string) *stranger {
	key, err := nodekey.Draw()
	require.NoError(t, err)
	own, err := port.NewAuthority(testSecret, id, key)
	require.NoError(t, err)
	m, err := port.Listen(port.TCP{}, func() *port.Authority { return own }, host, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return &stranger{id, key.Digest(), m}
}

// requireNothingFor requires that a node gives a stranger nothing but a place among those who
// wait.
func requireNothingFor(t *testing.T, s *stranger, host string) {
	t.Helper()
	_, err := s.dial(host, port.ProtocolRaft)
	require.ErrorContains(t, err, "another key than the member of that name, or is no member", "raft")
	l := s.link(host)
	defer l.Close()
	require.NoError(t, answered(l), "it may knock")
	for name, ask := range map[string]func(context.Context) error{
		"forward": func(ctx context.Context) error {
			_, err := port.Ask(ctx, l, &port.ForwardCall{Term: 1, Number: 1, Count: 1, Records: []byte{1}})
			return err
		},
		"read":    func(ctx context.Context) error { _, err := port.Ask(ctx, l, port.ReadIndexCall{}); return err },
		"leaf":    func(ctx context.Context) error { _, err := port.Ask(ctx, l, &port.LeafCall{}); return err },
		"segment": func(ctx context.Context) error { _, err := port.Ask(ctx, l, &port.SegmentCall{}); return err },
		"list":    func(ctx context.Context) error { _, err := port.Ask(ctx, l, &port.ListCall{}); return err },
		"relay":   func(ctx context.Context) error { _, err := port.Ask(ctx, l, &port.RelayCall{}); return err },
		"vouch": func(ctx context.Context) error {
			_, err := port.Ask(ctx, l, &port.VouchCall{ID: s.id, Incarnation: s.incarnation})
			return err
		},
		"verb": func(ctx context.Context) error {
			_, err := port.Ask(ctx, l, &port.VerbCall{Verb: verbAdmit, ID: s.id})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), groupPatience)
		require.ErrorIs(t, ask(ctx), port.ErrForeignKey, name)
		cancel()
	}
}

// Who has the cluster secret and a member's name, and not the member's key, is refused by every
// member, dialling and dialled, after a restart too. The member itself comes back unasked.
func TestAMembersNameWithAnotherKey(t *testing.T) {
	g := newGroup(t)
	g.change = append(g.change, func(c *Config) { c.AdmitAll = false })
	g.form(3)
	victim := g.follower().NodeID()
	folder := g.nodes[victim].folder.Identity()
	g.close(victim)
	thief := newThief(t, victim, g.host(victim))
	for id := range g.all() {
		requireNothingFor(t, thief, g.host(id))
	}
	truthful := thief.incarnation
	thief.incarnation = folder.Incarnation // It says that it has the member's folder.
	for _, protocol := range []byte{port.ProtocolRaft, port.ProtocolCalls} {
		_, err := thief.dial(g.host(g.leader().NodeID()), protocol)
		require.ErrorContains(t, err, "has not the key of the node that it says it is")
	}
	thief.incarnation = truthful
	thief.mux.Open(port.Door{Arrival: func() func(port.Hello, byte) port.Welcome {
		return func(port.Hello, byte) port.Welcome {
			return port.Welcome{ID: victim, Incarnation: thief.incarnation, ClusterID: folder.ClusterID}
		}
	}, Raft: func(string, net.Conn) {}, Calls: func(port.Peer, net.Conn) {}})
	for _, protocol := range []byte{port.ProtocolRaft, port.ProtocolCalls} { // As raft, and as links to a member do.
		_, err := g.leader().greeter.dialNode(g.host(victim), protocol, victim, folder.Incarnation, time.Second)
		require.ErrorIs(t, err, port.ErrForeignKey)
	}
	again := g.leader().NodeID()
	g.close(again)
	g.open(again, join(g.host("n1"), g.host("n2"), g.host("n3")))
	requireNothingFor(t, thief, g.host(again))
	require.NoError(t, thief.mux.Close())
	g.open(victim, join(g.host("n1"), g.host("n2"), g.host("n3")))
	g.awaitReady()
	g.awaitEqual()
	require.Len(t, g.leader().replica.listServers(), 3)
}

// A member whose folder was wiped has a new key, so it waits until an admin admits it, by the key
// that it shows. Its former folder does not come back.
func TestAWipedMemberIsAdmittedAgain(t *testing.T) {
	g := newGroup(t)
	g.change = append(g.change, func(c *Config) { c.AdmitAll = false })
	g.form(3)
	wiped := g.follower().NodeID()
	before := g.nodes[wiped].folder.Identity().Incarnation
	g.close(wiped)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, wiped)))
	require.ErrorIs(t, g.leader().Admit(t.Context(), wiped, "", "", wire.Common{}), report.ErrNotWaiting, "a member that does not answer: it may ask in a moment")
	n := g.open(wiped, join(g.host("n1"), g.host("n2"), g.host("n3")))
	key := n.folder.Identity().Incarnation
	require.Eventually(t, func() bool { return g.leader().membership.asking.find(wiped, time.Now()) != nil }, groupPatience, 20*time.Millisecond)
	known, err := g.leader().replica.addressOf(raft.ServerID(wiped))
	require.NoError(t, err)
	require.Equal(t, before, known.Incarnation, "it asks, and is not taken in")
	require.ErrorIs(t, g.leader().Admit(t.Context(), wiped, "", before, wire.Common{}), report.ErrOtherKey)
	require.Eventually(t, func() bool { return g.leader().Admit(t.Context(), wiped, "", key, wire.Common{}) == nil }, groupPatience, 100*time.Millisecond)
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 3 }, groupPatience, 20*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
	for _, node := range g.leader().Status(t.Context()).Nodes {
		require.Equal(t, g.nodes[node.ID].folder.Identity().Incarnation, node.Key, "the status shows by which key a member is known")
	}
	require.True(t, isGone(g.leader().state, wiped, before))
}

// Where an authority names the nodes, its certificate proves that a wiped member is the one that
// was admitted.
func TestAWipedMemberWithACertificateNeedsNobody(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newGroup(t, patient, func(c *Config) { c.AdmitAll, c.Certificates = false, root.Files(c.ID, nil) })
	g.form(3)
	wiped := g.follower().NodeID()
	g.close(wiped)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, wiped)))
	g.open(wiped, join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 3 }, groupPatience, 20*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
}

// A member was away while a node joined that leads now. A member that it knows vouches for that
// node; nobody vouches for a stranger.
func TestAMemberVouches(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	away := g.follower().NodeID()
	g.close(away)
	n4 := g.open("n4", join(g.host("n1"), g.host("n2"), g.host("n3")))
	require.Eventually(t, func() bool { return g.leader().replica.voterCount() == 4 }, groupPatience, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return g.leader() == n4 || g.leader().TransferLeader(t.Context(), "n4") == nil && g.leader() == n4
	}, groupPatience, 50*time.Millisecond)
	back := g.open(away)
	thief := newThief(t, "n9", "127.0.0.1:0")
	require.Eventually(t, func() bool { // As long as it does not know the newcomer, and then still.
		_, err := thief.dial(g.host(away), port.ProtocolRaft)
		require.Error(t, err)
		_, found := back.replica.findServer("n4")
		return found
	}, groupPatience, 20*time.Millisecond)
	requireNothingFor(t, thief, g.host(away))
	propose(t, n4, wire.KindRegister, register("by the newcomer"))
	g.awaitReady()
	g.awaitEqual()
}

// A node that is not in the group yet lets in who has the secret. When it is in, strangers end.
func TestStrangersEndWhenANodeIsIn(t *testing.T) {
	g := newGroup(t)
	g.change = append(g.change, func(c *Config) { c.AdmitAll = false })
	first := g.open("n1", expect(1))
	awaitReady(t, first)
	g.open("n2", join(g.host("n1")))
	thief := newThief(t, "n9", "127.0.0.1:0")
	conn, err := thief.dial(g.host("n2"), port.ProtocolRaft)
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool { return first.Admit(t.Context(), "n2", "", "", wire.Common{}) == nil }, groupPatience, 50*time.Millisecond)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(groupPatience)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the node hangs up")
	requireNothingFor(t, thief, g.host("n2"))
}

// Few nodes are remembered for which somebody vouched, and members are asked about one now and
// then only.
func TestVouchersAreBounded(t *testing.T) {
	var v vouchers
	now := time.Now()
	for i := range 3 * vouchedMax {
		peer := port.Peer{ID: "n1", Incarnation: string(rune('a' + i))}
		require.Equal(t, i < vouchedMax, v.mayAsk(peer, now))
		v.note(peer)
		require.True(t, v.has(peer))
		require.LessOrEqual(t, len(v.vouched), vouchedMax)
	}
	a := port.Peer{ID: "n1", Incarnation: "a"}
	require.False(t, v.mayAsk(a, now.Add(vouchEvery-1)))
	require.True(t, v.mayAsk(a, now.Add(vouchEvery)))
	require.False(t, v.has(port.Peer{ID: "n2", Incarnation: "a"}))
}
