package port

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/nodekey"
	"railguard/cluster/porttest"
)

var testSecret = []byte("a secret of this test, long enough")

// knocking is a port and those who connect to it. A stub takes the node's place behind it: it
// welcomes the peers that the port lets in, answers pings and reads raft's messages.
type knocking struct {
	host string
	mux  *Mux
}

func openedPort(t *testing.T, own *Authority) *knocking {
	m, err := Listen(TCP{}, func() *Authority { return own }, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	transport := NewPeerTransport(Address{Host: m.Addr(), Incarnation: "x"}, hclog.NewNullLogger(), func() uint64 { return 1 }, nil, nil)
	calls := NewService()
	Handle(calls, func(context.Context, string, *PingCall) (*Pong, error) { return &Pong{ID: "n1"}, nil })
	m.Open(Door{
		Arrival: func() func(Hello, byte) Welcome {
			return func(Hello, byte) Welcome { return Welcome{ID: "n1", Incarnation: incarnationOf(own)} }
		},
		Raft: transport.Receive, Calls: calls.Serve,
	})
	t.Cleanup(func() {
		_ = transport.Close()
		_ = m.Close()
	})
	return &knocking{m.Addr(), m}
}

// knock opens a connection with a deadline.
func (k *knocking) knock(t *testing.T) net.Conn {
	conn, err := net.Dial("tcp", k.host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*handshakePatience)))
	return conn
}

// turnedAway sends bytes. It requires that nothing comes back but TLS's own bytes, and that the
// other side hangs up before this side's deadline.
func turnedAway(t *testing.T, conn net.Conn, say []byte) {
	_, _ = conn.Write(say)
	data, err := io.ReadAll(conn)
	require.Empty(t, data)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "still open: %v", err)
}

// drawKey makes a node's key.
func drawKey(t testing.TB) *nodekey.Key {
	key, err := nodekey.Draw()
	require.NoError(t, err)
	return key
}

// incarnationOf returns the incarnation that a node with an authority can prove. Where
// certificates are given, any will do.
func incarnationOf(a *Authority) string {
	if !a.bound {
		return "x"
	}
	return nodekey.DigestOf(a.own.PrivateKey.(ed25519.PrivateKey).Public().(ed25519.PublicKey))
}

// helloBytes returns a peer's first bytes.
func helloBytes(protocol byte, id string) []byte { return helloAs(protocol, id, "x") }

func helloAs(protocol byte, id, incarnation string) []byte {
	var out writerOf
	_ = writeSized(&out, append(append([]byte(nil), muxMagic...), protocol, muxVersion), &Hello{ID: id, Incarnation: incarnation})
	return out
}

type writerOf []byte

func (w *writerOf) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }

// welcomed opens a connection, is accepted and keeps it open.
func (k *knocking) welcomed(t *testing.T, a *Authority, protocol byte, id string) net.Conn {
	conn := tls.Client(k.knock(t), a.makeConfig())
	_, err := conn.Write(helloAs(protocol, id, incarnationOf(a)))
	require.NoError(t, err)
	var w Welcome
	require.NoError(t, readSized(conn, &w))
	require.Empty(t, w.Refused)
	return conn
}

// answers returns an error unless a connection of calls is served.
func answers(conn net.Conn) error {
	if _, err := conn.Write(appendCall(nil, callPing, 1, nil)); err != nil {
		return err
	}
	_, _, payload, err := readCall(conn)
	if err != nil {
		return err
	}
	return decodeMessage(payload, new(Pong))
}

// withCertificates returns the port of n1, which proves itself by an authority's certificate.
func withCertificates(t *testing.T, root *porttest.Issuer) *knocking {
	return openedPort(t, given(t, root.Files("n1", nil), "n1"))
}

// unproven makes an authority from files with which no node would start.
func unproven(t *testing.T, c Certificates) *Authority {
	own, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	require.NoError(t, err)
	return &Authority{own: own, pool: x509.NewCertPool(), now: time.Now, chainMax: givenChainMax}
}

func TestStrangersToCertificatesGetNothing(t *testing.T) {
	root, other := porttest.New(t, "root", nil), porttest.New(t, "root", nil) // Both have the same name.
	k := withCertificates(t, root)
	drawn, err := NewAuthority(testSecret, "n2", drawKey(t))
	require.NoError(t, err)
	self, selfKey := porttest.Sign(t, porttest.Template("n2"), nil)
	for name, a := range map[string]*Authority{
		"another authority":   unproven(t, other.Files("n2", nil)),
		"self-signed":         {own: tls.Certificate{Certificate: [][]byte{self.Raw}, PrivateKey: selfKey}, now: time.Now},
		"another's by proxy":  unproven(t, other.Write(t.TempDir(), "n2", nil, nil, root)),
		"ended":               unproven(t, root.Files("n2", porttest.Ends(time.Now().Add(-time.Second)))),
		"not begun":           unproven(t, root.Files("n2", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })),
		"for clients only":    unproven(t, root.Files("n2", porttest.Uses(x509.ExtKeyUsageClientAuth))),
		"for servers only":    unproven(t, root.Files("n2", porttest.Uses(x509.ExtKeyUsageServerAuth))),
		"a host name only":    unproven(t, root.Files("n2", func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{"n2"} })),
		"the cluster secret":  drawn,
		"the authority's own": {own: tls.Certificate{Certificate: [][]byte{root.Certificate.Raw}, PrivateKey: root.Key}, now: time.Now},
		"nothing":             nil,
	} {
		t.Run(name, func(t *testing.T) {
			config := &tls.Config{MinVersion: tls.VersionTLS13}
			if a != nil {
				config = a.makeConfig()
			}
			config.InsecureSkipVerify, config.VerifyConnection = true, nil // It accepts any peer.
			turnedAway(t, tls.Client(k.knock(t), config), helloBytes(ProtocolCalls, "n2"))
		})
	}
	friend := given(t, root.Files("n2", nil), "n2")
	t.Run("a certificate without its key", func(t *testing.T) {
		config := friend.makeConfig()
		_, wrong := porttest.Sign(t, porttest.Template("n2"), nil)
		stolen := tls.Certificate{Certificate: friend.own.Certificate, PrivateKey: wrong}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stolen, nil }
		turnedAway(t, tls.Client(k.knock(t), config), helloBytes(ProtocolCalls, "n2"))
	})
	t.Run("TLS 1.2", func(t *testing.T) {
		config := friend.makeConfig()
		config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
		require.Error(t, tls.Client(k.knock(t), config).Handshake())
	})
	t.Run("a node's name that is not its own", func(t *testing.T) {
		for _, protocol := range []byte{ProtocolCalls, ProtocolRaft} {
			conn := tls.Client(k.knock(t), friend.makeConfig())
			_, err := conn.Write(helloBytes(protocol, "n1"))
			require.NoError(t, err)
			var w Welcome
			require.NoError(t, readSized(conn, &w))
			require.Contains(t, w.Refused, "not the one its certificate names")
			turnedAway(t, conn, appendCall(nil, callPing, 1, nil))
		}
	})
	noTLS(t, k)
	require.NoError(t, answers(k.welcomed(t, friend, ProtocolCalls, "n2")), "the control: a true peer gets in")
}

// noTLS sends other things than TLS to a port.
func noTLS(t *testing.T, k *knocking) {
	tooLong := []byte{22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff} // A handshake message of 16 MiB.
	for name, say := range map[string][]byte{
		"plain calls":          append(helloBytes(ProtocolCalls, "n2"), appendCall(nil, callPing, 1, nil)...),
		"plain raft":           {0, 0x80, 1, 2, 3},
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: n1\r\n\r\n"),
		"SSH":                  []byte("SSH-2.0-OpenSSH_9.6\r\n"),
		"a huge TLS record":    {22, 3, 3, 0xff, 0xff, 1},
		"a huge TLS handshake": tooLong,
		"data before the door": {23, 3, 3, 0, 4, 1, 2, 3, 4},
		"zeros":                make([]byte, 64*1024),
	} {
		t.Run(name, func(t *testing.T) {
			conn := k.knock(t)
			_, _ = conn.Write(say)
			data, _ := io.ReadAll(conn)
			require.LessOrEqual(t, len(data), 7, "a TLS alert at most")
		})
	}
}

// TestSecretAndCertificatesDoNotMix: a node with the secret and a node with certificates are
// strangers to each other.
func TestSecretAndCertificatesDoNotMix(t *testing.T) {
	own, err := NewAuthority(testSecret, "n1", drawKey(t))
	require.NoError(t, err)
	a := given(t, porttest.New(t, "root", nil).Files("n2", nil), "n2")
	config := a.makeConfig()
	config.VerifyConnection = nil
	k := openedPort(t, own)
	turnedAway(t, tls.Client(k.knock(t), config), helloBytes(ProtocolCalls, "n2"))
	m := &Mux{network: TCP{}, authority: func() *Authority { return a }, log: slog.New(slog.DiscardHandler), dialled: newOpenConns(1, 1)}
	_, _, err = m.Dial(k.host, ProtocolCalls, func() Hello { return Hello{ID: "n2"} }, "", "", time.Second)
	require.ErrorContains(t, err, "not by this cluster's authority")
}

// TestAFalseServerLearnsNothing: a server that takes a node's address without its proof sees a
// ClientHello only, and neither the dialler's certificate nor its hello.
func TestAFalseServerLearnsNothing(t *testing.T) {
	root, other := porttest.New(t, "root", nil), porttest.New(t, "other", nil)
	a, impostor := given(t, root.Files("n1", nil), "n1"), unproven(t, other.Files("n2", nil))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	seen := make(chan tls.ConnectionState, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		config := impostor.makeConfig()
		config.VerifyConnection, config.ClientAuth = nil, tls.RequestClientCert
		secure := tls.Server(conn, config)
		_ = secure.Handshake()
		seen <- secure.ConnectionState()
	}()
	m := &Mux{network: TCP{}, authority: func() *Authority { return a }, log: slog.New(slog.DiscardHandler), dialled: newOpenConns(1, 1)}
	_, _, err = m.Dial(listener.Addr().String(), ProtocolCalls, func() Hello {
		t.Error("said hello to a stranger")
		return Hello{}
	}, "", "", time.Second)
	require.ErrorContains(t, err, "not by this cluster's authority")
	state := <-seen
	require.Empty(t, state.PeerCertificates)
	require.Empty(t, state.ServerName)
}

// TestHalfOpenHandshakesAreCutOff stops at each step of the handshake.
func TestHalfOpenHandshakesAreCutOff(t *testing.T) {
	root := porttest.New(t, "root", nil)
	k := withCertificates(t, root)
	friend := given(t, root.Files("n2", nil), "n2")
	said := helloBytes(ProtocolRaft, "n2")
	for name, begin := range map[string]func(t *testing.T) net.Conn{
		"silence":            k.knock,
		"half a ClientHello": func(t *testing.T) net.Conn { c := k.knock(t); _, _ = c.Write([]byte{22, 3, 1, 2, 0, 1, 0}); return c },
		"a byte now and then": func(t *testing.T) net.Conn {
			c := k.knock(t)
			go func() {
				for _, b := range append([]byte{22, 3, 1, 2, 0, 1}, make([]byte, 200)...) {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					time.Sleep(handshakePatience / 20) // In all, longer than the other side waits.
				}
			}()
			return c
		},
		"no hello after the proof": func(t *testing.T) net.Conn {
			c := tls.Client(k.knock(t), friend.makeConfig())
			require.NoError(t, c.Handshake())
			return c
		},
		"half a hello": func(t *testing.T) net.Conn {
			c := tls.Client(k.knock(t), friend.makeConfig())
			_, err := c.Write(said[:len(said)/2])
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turnedAway(t, begin(t), nil)
		})
	}
}

// TestAFloodKeepsNoPeerOut holds many connections open that never send anything.
func TestAFloodKeepsNoPeerOut(t *testing.T) {
	root := porttest.New(t, "root", nil)
	k := withCertificates(t, root)
	friend := given(t, root.Files("n2", nil), "n2")
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	const flood = 10 * handshakesMax // This is also more than one network may have at a time.
	for range flood {
		conn, err := elsewhere.Dial("tcp", k.host)
		if err != nil {
			t.Skip("this machine has one loopback address only")
		}
		defer conn.Close()
	}
	require.Eventually(t, func() bool {
		_, came := counted(k.mux.strangers)
		return came >= strangersBurst
	}, 10*time.Second, time.Millisecond)
	open, _ := counted(k.mux.strangers)
	require.LessOrEqual(t, open, handshakesMax)
	require.NoError(t, answers(k.welcomed(t, friend, ProtocolCalls, "n2")), "the doors are full of strangers")
}

// counted returns how many connections are open, and how many there ever were.
func counted(all *openConns) (open int, came uint64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.open), all.number
}

// TestConnectionsOfOnePeer: of too many connections the newest stay.
func TestConnectionsOfOnePeer(t *testing.T) {
	root := porttest.New(t, "root", nil)
	k := withCertificates(t, root)
	friend, third := given(t, root.Files("n2", nil), "n2"), given(t, root.Files("n3", nil), "n3")
	bystander := k.welcomed(t, third, ProtocolCalls, "n3")
	require.NoError(t, answers(bystander))
	var conns []net.Conn
	for range connectionsOfPeer + 3 {
		conns = append(conns, k.welcomed(t, friend, ProtocolCalls, "n2"))
		require.NoError(t, answers(conns[len(conns)-1]))
	}
	for i, conn := range conns {
		if i < 3 {
			require.Error(t, answers(conn), "connection %d", i)
		} else {
			require.NoError(t, answers(conn), "connection %d", i)
		}
	}
	require.NoError(t, answers(bystander))
	open, _ := counted(k.mux.peers)
	require.Equal(t, connectionsOfPeer+1, open)
}

func TestGuestsMakeWay(t *testing.T) {
	all := newOpenConns(4, 3)
	open := map[string]net.Conn{}
	add := func(name, who string) {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		open[name] = near
		require.True(t, all.addConn(near, &openConn{who: who}))
	}
	there := func(names ...string) {
		t.Helper()
		require.Len(t, all.open, len(names))
		for _, name := range names {
			require.Contains(t, all.open, open[name], name)
		}
	}
	add("a1", "a")
	add("b1", "b")
	add("a2", "a")
	add("a3", "a")
	there("a1", "b1", "a2", "a3")
	add("c1", "c") // Full: a has the most.
	there("b1", "a2", "a3", "c1")
	add("a4", "a") // Full, and a has the most.
	there("b1", "a3", "c1", "a4")
	all.forgetConn(open["c1"])
	add("a5", "a")
	there("b1", "a3", "a4", "a5")
	all.forgetConn(open["b1"])
	add("a6", "a") // One more than a may have.
	there("a4", "a5", "a6")
	all.endConns(func(g *openConn) bool { return g.number%2 == 0 })
	all.shutDoor()
	require.False(t, all.addConn(open["c1"], &openConn{who: "c"}))
	require.True(t, all.isShut())
}

func TestPace(t *testing.T) {
	var p pace
	now := time.Now()
	for range strangersBurst {
		require.True(t, p.allowOne("a", now))
	}
	require.False(t, p.allowOne("a", now))
	require.True(t, p.allowOne("b", now))
	now = now.Add(time.Second / strangersRate)
	require.True(t, p.allowOne("a", now))
	require.False(t, p.allowOne("a", now))
	for i := range networksPaced {
		require.True(t, p.allowOne(strconv.Itoa(i), now))
		require.LessOrEqual(t, len(p.of), networksPaced)
	}
}

// TestPeersSayItOnce: an error that one peer passes on from another has the prefix only once.
func TestPeersSayItOnce(t *testing.T) {
	inner := remoteError([]byte(fmt.Errorf("cluster: node %q: %w", "n2", ErrRefused).Error()))
	outer := fmt.Errorf("cluster: relay to %q: %w", "n3", remoteError([]byte(remoteError([]byte(inner.Error())).Error())))
	require.Equal(t, `relay to "n3": the peer says: node "n2": refused by the peer`, Plain(outer.Error()))
	require.EqualError(t, remoteError([]byte("disk full")), "cluster: the peer says: disk full")
	require.ErrorIs(t, remoteError([]byte(ErrTooOld.Error())), ErrTooOld)
}

// TestTakenPort: the error for a port in use says so, and what to do.
func TestTakenPort(t *testing.T) {
	taken := openedPort(t, nil)
	_, err := Listen(TCP{}, nil, taken.host, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "--cluster")
	require.ErrorContains(t, err, "another process listens there; end it, or give another address")
}

func TestNetworkOf(t *testing.T) {
	for from, want := range map[string]string{
		"10.0.0.1:5":           "10.0.0.1",
		"[::ffff:10.0.0.1]:5":  "10.0.0.1",
		"[2001:db8:1:2:3::]:5": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:5":     "fe80::/64",
		"pipe":                 "pipe",
	} {
		require.Equal(t, want, networkOf(fakeConn{from: StreamAddr(from)}), from)
	}
}

type fakeConn struct {
	net.Conn
	from StreamAddr
}

func (c fakeConn) RemoteAddr() net.Addr { return c.from }

// TestHugeFramesCostNothing: a length alone takes no memory, even from a proven peer.
func TestHugeFramesCostNothing(t *testing.T) {
	root := porttest.New(t, "root", nil)
	k := withCertificates(t, root)
	friend := given(t, root.Files("n2", nil), "n2")
	entries := append([]byte{0, 0x81, 0xa7}, "Entries"...) // AppendEntries: a map of one member.
	for name, say := range map[string]struct {
		protocol byte
		bytes    []byte
	}{
		"a call":              {ProtocolCalls, binary.BigEndian.AppendUint32(nil, callFrameMax)},
		"a call too long":     {ProtocolCalls, binary.BigEndian.AppendUint32(nil, 1<<32-1)},
		"raft, many entries":  {ProtocolRaft, append(entries, 0xdd, 0xff, 0xff, 0xff, 0xff)},
		"raft, a long string": {ProtocolRaft, append([]byte{0, 0x81, 0xa6}, "Leader\xc6\xff\xff\xff\xff"...)},
	} {
		t.Run(name, func(t *testing.T) {
			conn := k.welcomed(t, friend, say.protocol, "n2")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := conn.Write(append(say.bytes, make([]byte, 1024)...))
			require.NoError(t, err)
			_ = conn.(*tls.Conn).CloseWrite()
			_, _ = io.ReadAll(conn) // Until the other side has given up.
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
		})
	}
	require.NoError(t, answers(k.welcomed(t, friend, ProtocolCalls, "n2")), "the port goes on")
}

func requireNoHandler(t *testing.T, transport *raft.NetworkTransport) {
	field := reflect.ValueOf(transport).Elem().FieldByName("heartbeatFn")
	require.True(t, field.IsValid(), "the library names it otherwise now: look again")
	require.True(t, field.IsNil(), "a heartbeat handler is set")
}
