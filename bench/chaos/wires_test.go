package chaos

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// wired is a relay in front of node b; every dialler counts as node a.
func wired(t *testing.T) (*wires, func() net.Conn) {
	w := newWires(func(netip.AddrPort, netip.AddrPort) string { return "a" })
	t.Cleanup(w.close)
	address, err := w.front("b", echo(t))
	require.NoError(t, err)
	return w, func() net.Conn {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
}

const silence = 60 * time.Millisecond // Long enough to see that nothing comes.

func says(t *testing.T, conn net.Conn, word string) {
	t.Helper()
	_, err := conn.Write([]byte(word))
	require.NoError(t, err)
}

func hears(t *testing.T, conn net.Conn, word string) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	buffer := make([]byte, len(word))
	_, err := io.ReadFull(conn, buffer)
	require.NoError(t, err)
	require.Equal(t, word, string(buffer))
}

func hearsNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(silence)))
	_, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "something came, or the connection ended: %v", err)
}

func TestWiresCutAndHeal(t *testing.T) {
	for name, way := range map[string]link{"there": {"a", "b"}, "back": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			w, dial := wired(t)
			conn := dial()
			says(t, conn, "one")
			hears(t, conn, "one")
			w.set(rule{cut: true}, way)
			says(t, conn, "two")
			hearsNothing(t, conn)
			w.heal()
			hears(t, conn, "two") // The bytes were held and not lost, as TCP would send them again.
		})
	}
}

func TestWiresNewConnectionDuringCut(t *testing.T) {
	w, dial := wired(t)
	w.isolate(rule{cut: true}, "b")
	w.set(rule{cut: true}, link{"a", "b"})
	conn := dial()
	says(t, conn, "hello")
	hearsNothing(t, conn)
	w.heal()
	hears(t, conn, "hello")
}

func TestWiresRefuse(t *testing.T) {
	w, dial := wired(t)
	conn := dial()
	says(t, conn, "one")
	hears(t, conn, "one")
	w.set(rule{refuse: true}, link{"a", "b"})
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	again := dial() // The operating system accepts the connection, and the relay closes it.
	require.NoError(t, again.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = again.Read(make([]byte, 1))
	require.Error(t, err)
	w.set(rule{}, link{"a", "b"})
	last := dial()
	says(t, last, "back")
	hears(t, last, "back")
}

func TestWiresDelay(t *testing.T) {
	w, dial := wired(t)
	conn := dial()
	const each = 30 * time.Millisecond
	w.set(rule{delay: each}, link{"a", "b"}, link{"b", "a"})
	began := time.Now()
	says(t, conn, "slow")
	hears(t, conn, "slow")
	require.GreaterOrEqual(t, time.Since(began), 2*each)
}

// An unknown dialler may be any node, so its connection does not get past a cut.
func TestWiresUnknownDialler(t *testing.T) {
	w := newWires(func(netip.AddrPort, netip.AddrPort) string { return "" })
	t.Cleanup(w.close)
	address, err := w.front("b", echo(t))
	require.NoError(t, err)
	before, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer before.Close()
	says(t, before, "one")
	hears(t, before, "one")
	w.set(rule{cut: true}, link{"c", "b"})
	for _, conn := range []net.Conn{before, mustDial(t, address)} {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		var timeout net.Error
		require.False(t, asTimeout(err, &timeout), "the connection should have been ended, not held")
	}
}

func asTimeout(err error, into *net.Error) bool {
	e, ok := err.(net.Error)
	*into = e
	return ok && e.Timeout()
}

func mustDial(t *testing.T, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
