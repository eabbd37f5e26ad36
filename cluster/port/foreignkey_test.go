package port

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// strangersWithAnothersFolder know the secret and claim an incarnation whose key they do not have.
func strangersWithAnothersFolder(t *testing.T, friend *Authority, plain func(*testing.T) net.Conn, silent func(*testing.T, net.Conn)) {
	t.Run("a member's folder that is not its own", func(t *testing.T) {
		for _, protocol := range []byte{ProtocolRaft, ProtocolCalls} {
			before := foreignKeys.Get()
			conn := tls.Client(plain(t), friend.makeConfig())
			_, err := conn.Write(helloAs(protocol, "n2", drawKey(t).Digest()))
			require.NoError(t, err)
			var w Welcome
			require.NoError(t, readSized(conn, &w))
			require.Contains(t, w.Refused, "has not the key of the node that it says it is")
			silent(t, conn)
			require.Equal(t, before+1, foreignKeys.Get())
		}
	})
}

// TestAPeerThatAnswersWithAnothersKey has the secret and a key of its own, and says that it is the
// member that the dialler looks for: it says so with the member's incarnation, which it cannot
// prove, or with its own, which is not the member's.
func TestAPeerThatAnswersWithAnothersKey(t *testing.T) {
	key, member := drawKey(t), drawKey(t)
	impostor, err := NewAuthority(testSecret, "n1", key)
	require.NoError(t, err)
	own, err := NewAuthority(testSecret, "n3", drawKey(t))
	require.NoError(t, err)
	dial := func(says, wants string) (Welcome, error) {
		listener, err := tls.Listen("tcp", "127.0.0.1:0", impostor.makeConfig())
		require.NoError(t, err)
		defer listener.Close()
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			var h Hello
			_ = readFull(conn, make([]byte, 4))
			_ = readSized(conn, &h)
			_ = writeSized(conn, nil, &Welcome{ID: "n1", Incarnation: says, Removed: "all"})
			_ = readFull(conn, make([]byte, 1)) // The read ends when the dialler hangs up.
		}()
		m := &Mux{network: TCP{}, authority: func() *Authority { return own }, log: slog.New(slog.DiscardHandler), dialled: newOpenConns(1, 1)}
		_, w, err := m.Dial(listener.Addr().String(), ProtocolRaft, func() Hello { return Hello{ID: "n3", Incarnation: incarnationOf(own)} }, "n1", wants, 5*time.Second)
		return w, err
	}
	before := foreignKeys.Get()
	w, err := dial(member.Digest(), member.Digest())
	require.ErrorContains(t, err, "has not the key of the node that it says it is")
	require.Empty(t, w, "nothing that it says is heard")
	_, err = dial(key.Digest(), member.Digest())
	require.ErrorIs(t, err, ErrForeignKey)
	require.Equal(t, before+2, foreignKeys.Get())
	_, err = dial(key.Digest(), "")
	require.NoError(t, err, "the control: who it is, it can prove")
}

// TestOnlyKnockersAreGuarded: a node that is no member may knock, and ask nothing else.
func TestOnlyKnockersAreGuarded(t *testing.T) {
	service := NewService()
	Handle(service, func(context.Context, string, *PingCall) (*Pong, error) { return &Pong{ID: "n1"}, nil })
	Handle(service, func(context.Context, string, *LeafCall) (*LeafReply, error) {
		return &LeafReply{Data: []byte("secret")}, nil
	})
	HandleInOrder(service, func(_ string, _ *ForwardCall, reply func(*ForwardReply, error)) { reply(&ForwardReply{}, nil) })
	var known Peer
	service.Guard = func(peer Peer) error {
		if peer != known {
			return ErrForeignKey
		}
		return nil
	}
	near, far := net.Pipe()
	go service.Serve(Peer{"n2", "aa"}, far)
	l := NewLink(func(time.Duration) (net.Conn, error) { return near, nil })
	defer l.Close()
	_, err := Ask(t.Context(), l, PingCall{})
	require.NoError(t, err)
	_, err = Ask(t.Context(), l, LeafCall{})
	require.ErrorIs(t, err, ErrForeignKey)
	_, err = Ask(t.Context(), l, ForwardCall{Records: []byte{1}})
	require.ErrorIs(t, err, ErrForeignKey)
	known = Peer{"n2", "aa"}
	_, err = Ask(t.Context(), l, LeafCall{})
	require.NoError(t, err, "it has become a member")
	for kind := Kind(0); kind < callFailed; kind++ {
		open := kind == callPing || kind == callJoin || kind == callPromise || kind == callRemoved || kind == callSecret
		require.Equal(t, open, kind.isKnock(), kind)
	}
}
