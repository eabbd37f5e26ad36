package cluster

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/porttest"
	"railguard/fsm/wire"
)

// certified is a group whose nodes have their certificates in one folder.
type certified struct {
	*group
	files string
}

func newCertified(t *testing.T, by *porttest.Issuer) *certified {
	c := &certified{files: t.TempDir()}
	for _, id := range []string{"n1", "n2", "n3"} {
		by.Write(c.files, id, []*porttest.Issuer{by}, nil)
	}
	c.group = newGroup(t, func(config *Config) {
		name := filepath.Join(c.files, config.ID)
		config.Secret = nil
		config.Certificates = port.Certificates{Cert: name + ".pem", Key: name + ".key", CA: name + ".ca", Every: 5 * time.Millisecond}
	})
	return c
}

// issue replaces the files of all nodes, and waits until all have loaded them.
func (c *certified) issue(by *porttest.Issuer, authorities ...*porttest.Issuer) {
	for id := range c.all() {
		by.Write(c.files, id, authorities, nil)
	}
	for id, n := range c.all() {
		require.Eventually(c.t, func() bool {
			files, err := n.config.Certificates.Load(id, time.Now)
			require.NoError(c.t, err)
			return n.gateway.certificates.Current().Equal(files)
		}, 10*time.Second, 5*time.Millisecond, "%s", id)
	}
}

func TestGroupWithCertificates(t *testing.T) {
	g := newCertified(t, porttest.New(t, "root", nil))
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

// TestRenewalUnderWay changes every certificate and then the authority itself while the group
// works. No node restarts and no record is lost. In the end the old authority is not accepted
// any more, not even on open connections.
func TestRenewalUnderWay(t *testing.T) {
	old, young := porttest.New(t, "old", nil), porttest.New(t, "young", nil)
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
	oldFriend := newStranger(t, old.Write(t.TempDir(), "n9", []*porttest.Issuer{old, young}, nil), "n9")
	youngFriend := newStranger(t, young.Write(t.TempDir(), "n8", []*porttest.Issuer{old, young}, nil), "n8")
	opened := oldFriend.opened(t, g.host("n1"))

	g.issue(old, old) // The same authority renews the certificates.
	require.NoError(t, answered(opened), "a renewal ends no connection")
	g.issue(old, old, young)
	stays := youngFriend.opened(t, g.host("n1"))
	g.issue(young, old, young)
	require.NoError(t, answered(opened))
	g.issue(young, young) // The old authority is removed.

	require.Error(t, answered(opened), "proven by an authority that is none any more")
	require.NoError(t, answered(stays))
	_, err := oldFriend.dial(g.host("n1"), port.ProtocolCalls)
	require.Error(t, err)

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

// TestANodeWhoseCertificateEnds: such a node gets no new connections in either direction, and
// comes back without a restart when its certificate is renewed.
func TestANodeWhoseCertificateEnds(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newCertified(t, root)
	g.form(3)
	last := g.follower()
	soon := time.Now().Add(3 * time.Second) // Long enough for a slow machine to load it.
	root.Write(g.files, last.NodeID(), []*porttest.Issuer{root}, porttest.Ends(soon))
	require.Eventually(t, func() bool { return !last.gateway.certificates.Current().Until().After(soon) }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return time.Now().After(soon.Add(time.Second)) }, 10*time.Second, 10*time.Millisecond)

	var other *Node
	for _, n := range g.all() {
		if n != last {
			other = n
		}
	}
	_, err := last.greeter.dialNode(other.greeter.address.Host, port.ProtocolCalls, "", "", time.Second)
	require.Error(t, err)
	_, err = other.greeter.dialNode(last.greeter.address.Host, port.ProtocolCalls, "", "", time.Second)
	require.ErrorContains(t, err, "renew it, or set the clock")
	root.Write(g.files, last.NodeID(), []*porttest.Issuer{root}, nil)
	require.Eventually(t, func() bool {
		conn, err := other.greeter.dialNode(last.greeter.address.Host, port.ProtocolCalls, "", "", time.Second)
		return err == nil && conn.Close() == nil
	}, 10*time.Second, 5*time.Millisecond)
	g.awaitReady()
	g.awaitEqual()
}
