package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// certified is a group whose nodes have certificates in one folder.
type certified struct {
	*group
	files string
}

func newCertified(t *testing.T, by *issuer) *certified {
	c := &certified{files: t.TempDir()}
	for _, id := range []string{"n1", "n2", "n3"} {
		by.write(c.files, id, []*issuer{by}, nil)
	}
	c.group = newGroup(t, func(config *Config) {
		name := filepath.Join(c.files, config.ID)
		config.Secret = nil
		config.Certificates = Certificates{Cert: name + ".pem", Key: name + ".key", CA: name + ".ca", Every: 5 * time.Millisecond}
	})
	return c
}

// issue replaces the files of all nodes and waits until all have taken them up.
func (c *certified) issue(by *issuer, authorities ...*issuer) {
	for id := range c.all() {
		by.write(c.files, id, authorities, nil)
	}
	for id, n := range c.all() {
		require.Eventually(c.t, func() bool {
			files, err := n.certificates.files.read()
			require.NoError(c.t, err)
			pair, err := tls.X509KeyPair(files.cert, files.key)
			require.NoError(c.t, err)
			pool, err := parseAuthorities(files.ca)
			require.NoError(c.t, err)
			a := n.certificates.current.Load()
			return bytes.Equal(a.own.Certificate[0], pair.Certificate[0]) && a.pool.Equal(pool)
		}, 10*time.Second, 5*time.Millisecond, "%s", id)
	}
}

func TestGroupWithCertificates(t *testing.T) {
	g := newCertified(t, newIssuer(t, "root", nil))
	g.form(3)
	propose(t, g.leader(), wire.KindRegister, register("at-leader"))
	propose(t, g.follower(), wire.KindRegister, register("at-follower"))
	g.awaitEqual()

	dead := g.leader().NodeID()
	g.close(dead)
	var survivor *Node
	for _, n := range g.all() {
		survivor = n
	}
	require.Eventually(t, func() bool {
		r, err := survivor.Propose(t.Context(), wire.KindRegister, register("after"))
		return err == nil && r.Code == wire.Applied
	}, 10*time.Second, 10*time.Millisecond)
	g.open(dead, expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	g.awaitReady()
	g.awaitEqual()
}

// TestRenewalUnderWay changes every certificate and then the authority itself while
// the group works: nobody restarts, no record is lost, and the old authority's word
// counts for nothing in the end, on open connections neither.
func TestRenewalUnderWay(t *testing.T) {
	old, young := newIssuer(t, "old", nil), newIssuer(t, "young", nil)
	g := newCertified(t, old)
	g.form(3)
	stop, wrote := make(chan struct{}), make(chan int)
	writer := g.follower()
	go func() {
		count := 0
		for {
			select {
			case <-stop:
				wrote <- count
				return
			default:
			}
			if r, err := writer.Propose(t.Context(), wire.KindRegister, register("while it changes")); err == nil && r.Code == wire.Applied {
				count++
			}
		}
	}()
	oldFriend := given(t, old.write(t.TempDir(), "n9", []*issuer{old, young}, nil), "n9")
	youngFriend := given(t, young.write(t.TempDir(), "n8", []*issuer{old, young}, nil), "n8")
	k := &knocking{g.host("n1"), g.all()["n1"]}
	opened := k.welcomed(t, oldFriend, protocolCalls, "n9")

	g.issue(old, old) // Renewed by the same authority.
	require.NoError(t, answers(opened), "a renewal ends no connection")
	g.issue(old, old, young)
	stays := k.welcomed(t, youngFriend, protocolCalls, "n8")
	g.issue(young, old, young)
	require.NoError(t, answers(opened))
	g.issue(young, young) // The old authority is taken away.

	require.Error(t, answers(opened), "proven by an authority that is none any more")
	require.NoError(t, answers(stays))
	config := oldFriend.config()
	config.VerifyConnection = nil
	turnedAway(t, tls.Client(k.knock(t), config), helloBytes(protocolCalls, "n9"))

	before := writer.Applied()
	require.Eventually(t, func() bool { return writer.Applied() > before }, 10*time.Second, time.Millisecond, "writes go on")
	close(stop)
	count := <-wrote
	require.Positive(t, count)
	g.awaitReady()
	g.awaitEqual()
	view, err := writer.View(t.Context(), writer.Applied())
	require.NoError(t, err)
	require.GreaterOrEqual(t, view.Agents(), count, "what was answered is there")
}

// TestANodeWhoseCertificateEnds gets no new connections, in neither direction, and
// comes back when it is renewed, without a restart.
func TestANodeWhoseCertificateEnds(t *testing.T) {
	root := newIssuer(t, "root", nil)
	g := newCertified(t, root)
	g.form(3)
	last := g.follower()
	soon := time.Now().Add(3 * time.Second) // Long enough for a slow machine to take it up.
	root.write(g.files, last.NodeID(), []*issuer{root}, ends(soon))
	require.Eventually(t, func() bool { return !last.certificates.current.Load().until.After(soon) }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return time.Now().After(soon.Add(time.Second)) }, 10*time.Second, 10*time.Millisecond)

	var other *Node
	for _, n := range g.all() {
		if n != last {
			other = n
		}
	}
	_, _, err := last.dialPeer(other.address.host, protocolCalls, "", "", time.Second)
	require.Error(t, err)
	_, _, err = other.dialPeer(last.address.host, protocolCalls, "", "", time.Second)
	require.ErrorContains(t, err, "renew it, or set the clock")
	root.write(g.files, last.NodeID(), []*issuer{root}, nil)
	require.Eventually(t, func() bool {
		conn, _, err := other.dialPeer(last.address.host, protocolCalls, "", "", time.Second)
		return err == nil && conn.Close() == nil
	}, 10*time.Second, 5*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
}

// TestMuxForgetsWhatItDialled keeps no closed connection.
func TestMuxForgetsWhatItDialled(t *testing.T) {
	root := newIssuer(t, "root", nil)
	k := withCertificates(t, root)
	a := given(t, root.files("n2", nil), "n2")
	m := &mux{network: tcpNetwork{}, authority: func() *authority { return a }, log: k.node.log, dialled: newGuests(connectionsMax, connectionsMax)}
	for range 3 {
		conn, w, err := m.dial(k.host, protocolCalls, func() hello { return hello{ID: "n2", Incarnation: "x"} }, "n1", "", time.Second)
		require.NoError(t, err)
		require.Equal(t, "n1", w.ID)
		require.NoError(t, answers(conn))
		require.NoError(t, conn.Close())
	}
	open, came := counted(m.dialled)
	require.Zero(t, open)
	require.EqualValues(t, 3, came)
	_, _, err := m.dial(k.host, protocolCalls, func() hello { return hello{ID: "n2", Incarnation: "x"} }, "n3", "", time.Second)
	require.ErrorContains(t, err, `is node "n1", not "n3"`)
	open, _ = counted(m.dialled)
	require.Zero(t, open)
}

// TestAProofTakenBackMeanwhile: the authority changes between a handshake and the
// moment at which its connection is noted.
func TestAProofTakenBackMeanwhile(t *testing.T) {
	old, young := newIssuer(t, "old", nil), newIssuer(t, "young", nil)
	before, after := given(t, old.files("n1", nil), "n1"), given(t, young.files("n1", nil), "n1")
	friend := given(t, old.files("n2", nil), "n2")
	chain := []*x509.Certificate{friend.own.Leaf}
	m := &mux{authority: func() *authority { return after }, peers: newGuests(4, 4), dialled: newGuests(4, 4)}
	require.False(t, m.keep(m.peers, fakeConn{from: "a"}, &proven{who: "n2", by: before, chain: chain}))
	open, _ := counted(m.peers)
	require.Zero(t, open)
	m.authority = func() *authority { return before }
	require.True(t, m.keep(m.peers, fakeConn{from: "a"}, &proven{who: "n2", by: before, chain: chain}))
}

func TestKeyFileForEverybodyIsToldOf(t *testing.T) {
	root := newIssuer(t, "root", nil)
	c := root.files("n1", nil)
	require.NoError(t, os.Chmod(c.Key, 0o644))
	_, log := keeperOf(t, c, SystemClock())
	require.Contains(t, log.String(), "everybody on this machine")
}
