package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/porttest"
	"railguard/engine"
	"railguard/fsm/wire"
)

// TestWrongSecretIsNoMember: a certificate of the right authority opens the port. But a node
// that does not know the cluster secret becomes no member, neither by its own request nor by an
// operator's verb, at any node. With the right secret the same node becomes one.
func TestWrongSecretIsNoMember(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newGroup(t, func(c *Config) { c.Certificates = root.Files(c.ID, nil) })
	leader := g.open("n1", expect(1))
	awaitReady(t, leader)
	wrong := g.open("n2", join(g.host("n1")), func(c *Config) { c.Secret = []byte("another secret, as long as it must be") })
	err := leader.membership.hearJoin(t.Context(), &port.JoinCall{
		ID: "n2", Address: wrong.greeter.address.String(), Format: uint16(engine.FormatNewest),
	})
	require.ErrorIs(t, err, errSecret)
	require.ErrorIs(t, leader.Admit(t.Context(), "n2", g.host("n2"), "", wire.Common{}), errSecret)
	require.Len(t, leader.replica.listServers(), 1)
	require.Empty(t, wrong.replica.listServers())
	g.close("n2")
	require.Len(t, leader.replica.listServers(), 1, "no ghost")

	g.open("n2", join(g.host("n1")))
	require.Eventually(t, func() bool { return len(leader.replica.listServers()) == 2 }, 20*time.Second, 10*time.Millisecond)
}

// TestWrongSecretFormsNoGroup: nodes that expect each other form no group with a node that does
// not know their secret, and none of them gives a promise.
func TestWrongSecretFormsNoGroup(t *testing.T) {
	root := porttest.New(t, "root", nil)
	g := newGroup(t, func(c *Config) { c.Certificates = root.Files(c.ID, nil) })
	hosts := join(g.host("n1"), g.host("n2"))
	first := g.open("n1", expect(2), hosts)
	second := g.open("n2", expect(2), hosts, func(c *Config) { c.Secret = []byte("another secret, as long as it must be") })
	for _, n := range []*Node{first, second} {
		require.Eventually(t, func() bool { return len(seenBy(n)) == 1 }, 20*time.Second, 10*time.Millisecond)
		require.ErrorIs(t, n.finder.formGroup(seenBy(n)), errSecret)
		require.Empty(t, n.replica.listServers())
	}
	g.close("n2")
	g.open("n2", expect(2), hosts)
	g.awaitReady()
}

// TestSecretProof: a proof is valid only for this challenge, this node with this folder, and
// this secret.
func TestSecretProof(t *testing.T) {
	s := &secretProver{[]byte("secret"), nil, "n1", "aa"}
	challenge := make([]byte, challengeSize)
	r, err := s.answerChallenge(context.Background(), "", &port.SecretCall{Challenge: challenge})
	require.NoError(t, err)
	require.Equal(t, s.proveSecret(challenge, "n1", "aa"), r.Proof)
	for _, other := range [][]byte{
		s.proveSecret(append([]byte{1}, challenge[1:]...), "n1", "aa"),
		s.proveSecret(challenge, "n2", "aa"),
		s.proveSecret(challenge, "n1", "ab"),
		s.proveSecret(challenge, "n1a", "a"),
		(&secretProver{secret: []byte("Secret")}).proveSecret(challenge, "n1", "aa"),
	} {
		require.NotEqual(t, r.Proof, other)
	}
	for _, size := range []int{0, challengeSize - 1, challengeSize + 1} {
		_, err := s.answerChallenge(context.Background(), "", &port.SecretCall{Challenge: make([]byte, size)})
		require.Error(t, err)
	}
}

// seenBy returns the nodes that a node finds where it looks for its group.
func seenBy(n *Node) map[string]*port.Pong {
	seen, _ := n.finder.lookAround()
	return seen
}
