package border

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server forgets a client that has nothing open.
func TestClientsAreForgotten(t *testing.T) {
	k := &connections{waiting: map[net.Conn]struct{}{}, open: map[net.Conn]*connection{}, clients: map[netip.Addr]*client{}}
	for range 3 {
		near, far := net.Pipe()
		conn := addressed{near}
		k.noteState(conn, http.StateNew)
		k.noteState(conn, http.StateActive)
		k.noteState(conn, http.StateIdle)
		require.Len(t, k.clients, 1)
		k.noteState(conn, http.StateClosed)
		_ = far.Close()
	}
	require.Empty(t, k.clients)
	require.Empty(t, k.open)
	require.Empty(t, k.waiting)
}

type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1} }
