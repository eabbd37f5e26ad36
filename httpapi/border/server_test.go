package border

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
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

// Answers over TLS, here or at a balancer, ask browsers to use nothing else.
func TestStrictTransport(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, c := range map[string]struct {
		balancer bool
		tls      *tls.ConnectionState
		asked    string
	}{
		"plain HTTP":        {false, nil, ""},
		"TLS here":          {false, new(tls.ConnectionState), "max-age=31536000"},
		"TLS at a balancer": {true, nil, "max-age=31536000"},
	} {
		request, answer := httptest.NewRequest("GET", "/readyz", nil), httptest.NewRecorder()
		request.TLS = c.tls
		NewServer(nothing, ServerLimits{Secure: c.balancer}).Handler.ServeHTTP(answer, request)
		require.Equal(t, c.asked, answer.Header().Get("Strict-Transport-Security"), name)
	}
}
