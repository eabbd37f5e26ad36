package port

import (
	"crypto/x509"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/porttest"
)

// TestMuxForgetsWhatItDialled checks that no closed connection is kept.
func TestMuxForgetsWhatItDialled(t *testing.T) {
	root := porttest.New(t, "root", nil)
	k := withCertificates(t, root)
	a := given(t, root.Files("n2", nil), "n2")
	m := &Mux{network: TCP{}, authority: func() *Authority { return a }, log: slog.New(slog.DiscardHandler), dialled: newOpenConns(connectionsMax, connectionsMax)}
	for range 3 {
		conn, w, err := m.Dial(k.host, ProtocolCalls, func() Hello { return Hello{ID: "n2", Incarnation: "x"} }, "n1", "", time.Second)
		require.NoError(t, err)
		require.Equal(t, "n1", w.ID)
		require.NoError(t, answers(conn))
		require.NoError(t, conn.Close())
	}
	open, came := counted(m.dialled)
	require.Zero(t, open)
	require.EqualValues(t, 3, came)
	_, _, err := m.Dial(k.host, ProtocolCalls, func() Hello { return Hello{ID: "n2", Incarnation: "x"} }, "n3", "", time.Second)
	require.ErrorContains(t, err, `is node "n1", not "n3"`)
	open, _ = counted(m.dialled)
	require.Zero(t, open)
}

// TestAProofTakenBackMeanwhile: the authority changes between a handshake and the moment when
// its connection is recorded.
func TestAProofTakenBackMeanwhile(t *testing.T) {
	old, young := porttest.New(t, "old", nil), porttest.New(t, "young", nil)
	before, after := given(t, old.Files("n1", nil), "n1"), given(t, young.Files("n1", nil), "n1")
	friend := given(t, old.Files("n2", nil), "n2")
	chain := []*x509.Certificate{friend.own.Leaf}
	m := &Mux{authority: func() *Authority { return after }, peers: newOpenConns(4, 4), dialled: newOpenConns(4, 4)}
	require.False(t, m.keepConn(m.peers, fakeConn{from: "a"}, &proven{who: "n2", by: before, chain: chain}))
	open, _ := counted(m.peers)
	require.Zero(t, open)
	m.authority = func() *Authority { return before }
	require.True(t, m.keepConn(m.peers, fakeConn{from: "a"}, &proven{who: "n2", by: before, chain: chain}))
}

func TestKeyFileForEverybodyIsToldOf(t *testing.T) {
	root := porttest.New(t, "root", nil)
	c := root.Files("n1", nil)
	require.NoError(t, os.Chmod(c.Key, 0o644))
	_, log := keeperOf(t, c, time.Now)
	require.Contains(t, log.String(), "everybody on this machine")
}
