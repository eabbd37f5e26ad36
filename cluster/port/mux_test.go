package port

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

func TestAuthorityIsAFunctionOfTheSecret(t *testing.T) {
	one, err := NewAuthority(testSecret, "n1", drawKey(t))
	require.NoError(t, err)
	two, err := NewAuthority(testSecret, "n2", drawKey(t))
	require.NoError(t, err)
	require.True(t, one.pool.Equal(two.pool))
	other, err := NewAuthority([]byte("another secret, long enough"), "n1", drawKey(t))
	require.NoError(t, err)
	require.False(t, one.pool.Equal(other.pool))
	_, err = NewAuthority(make([]byte, secretMin-1), "n1", drawKey(t))
	require.ErrorContains(t, err, "at least 16 bytes")
}

// While the secret is being changed, nodes with either secret are accepted. Afterwards a node
// with only the old one is a stranger.
func TestAuthorityBelievesTheOtherSecret(t *testing.T) {
	fresh := []byte("another secret, long enough")
	believes := func(of *Authority, peer *Authority) error {
		leaf, err := x509.ParseCertificate(peer.own.Certificate[0])
		require.NoError(t, err)
		_, err = of.peerID(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
		return err
	}
	authority := func(secret []byte, id string, also ...[]byte) *Authority {
		a, err := NewAuthority(secret, id, drawKey(t), also...)
		require.NoError(t, err)
		return a
	}
	before, both, after, done := authority(testSecret, "n1"), authority(testSecret, "n1", fresh), authority(fresh, "n2", testSecret), authority(fresh, "n3")
	require.NoError(t, believes(both, after))
	require.NoError(t, believes(after, both))
	require.NoError(t, believes(before, both))
	require.Error(t, believes(before, after), "it was not told yet")
	require.NoError(t, believes(after, done))
	require.NoError(t, believes(done, after))
	require.ErrorContains(t, believes(done, before), "does not know this cluster's secret")
	_, err := NewAuthority(testSecret, "n1", drawKey(t), []byte("short"))
	require.ErrorContains(t, err, "at least 16 bytes")
}

// TestStrangersGetNothing tries to get into a node's port in every wrong way.
func TestStrangersGetNothing(t *testing.T) {
	own, err := NewAuthority(testSecret, "n1", drawKey(t))
	require.NoError(t, err)
	k := openedPort(t, own)
	stranger, err := NewAuthority([]byte("another secret, long enough"), "n2", drawKey(t))
	require.NoError(t, err)
	friend, err := NewAuthority(testSecret, "n2", drawKey(t))
	require.NoError(t, err)
	plain := func(t *testing.T) net.Conn {
		conn, err := net.Dial("tcp", k.host)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(2*handshakePatience)))
		return conn
	}
	silent := func(t *testing.T, conn net.Conn) { // The node must send not a single byte back.
		data, _ := io.ReadAll(conn)
		require.Empty(t, data)
	}
	t.Run("silence is cut off", func(t *testing.T) {
		start := time.Now()
		silent(t, plain(t))
		require.Less(t, time.Since(start), handshakePatience+time.Second)
	})
	t.Run("plain raft", func(t *testing.T) {
		conn := plain(t)
		_, err := conn.Write([]byte{0, 0x80, 1, 2, 3})
		require.NoError(t, err)
		data, _ := io.ReadAll(conn)
		require.LessOrEqual(t, len(data), 7, "a TLS alert at most")
	})
	t.Run("no certificate", func(t *testing.T) {
		conn := tls.Client(plain(t), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
		_, _ = conn.Write([]byte("RGC\x03"))
		silent(t, conn)
	})
	t.Run("another secret", func(t *testing.T) {
		config := stranger.makeConfig()
		config.VerifyConnection = nil // It accepts any peer.
		conn := tls.Client(plain(t), config)
		_, _ = conn.Write([]byte("RGC\x03"))
		silent(t, conn)
	})
	t.Run("TLS 1.2", func(t *testing.T) {
		config := friend.makeConfig()
		config.MaxVersion, config.MinVersion = tls.VersionTLS12, tls.VersionTLS12
		require.Error(t, tls.Client(plain(t), config).Handshake())
	})
	t.Run("a name that is not its own", func(t *testing.T) {
		conn := tls.Client(plain(t), friend.makeConfig())
		require.NoError(t, writeSized(conn, []byte("RGC\x03"), &Hello{ID: "n3", Incarnation: "x"}))
		var w Welcome
		require.NoError(t, readSized(conn, &w))
		require.Contains(t, w.Refused, "not the one its certificate names")
		silent(t, conn)
	})
	strangersWithAnothersFolder(t, friend, plain, silent)
	strangersWithTheSecret(t, friend, plain, silent)
	require.NoError(t, answers(k.welcomed(t, friend, ProtocolCalls, "n2")), "the control: a true peer gets in")
}

// strangersWithTheSecret know the secret and send malformed data.
func strangersWithTheSecret(t *testing.T, friend *Authority, plain func(*testing.T) net.Conn, silent func(*testing.T, net.Conn)) {
	t.Run("an unknown protocol", func(t *testing.T) {
		conn := tls.Client(plain(t), friend.makeConfig())
		_, err := conn.Write([]byte("GET "))
		require.NoError(t, err)
		silent(t, conn)
	})
	t.Run("a draft's protocol", func(t *testing.T) {
		conn := tls.Client(plain(t), friend.makeConfig())
		_, err := conn.Write([]byte("RGC\x02"))
		require.NoError(t, err)
		silent(t, conn)
	})
	t.Run("a frame too long", func(t *testing.T) {
		conn := tls.Client(plain(t), friend.makeConfig())
		require.NoError(t, writeSized(conn, []byte("RGC\x03"), &Hello{ID: "n2", Incarnation: incarnationOf(friend)}))
		var w Welcome
		require.NoError(t, readSized(conn, &w))
		require.Empty(t, w.Refused)
		_, err := conn.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 1})
		require.NoError(t, err)
		silent(t, conn)
	})
}

// TestPlainTextStaysOnLoopback: a node without TLS leaves the loopback neither for an address
// that a peer gives nor for a name that means another host.
func TestPlainTextStaysOnLoopback(t *testing.T) {
	_, err := Listen(misnamedNetwork{}, nil, "localhost:0", slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrInsecure)
	m, err := Listen(TCP{}, nil, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer m.Close()
	m.network = nil // A dial would panic.
	for _, host := range []string{"10.0.0.1:7000", "example.org:7000", "0.0.0.0:7000", "[::]:7000"} {
		_, _, err = m.Dial(host, ProtocolCalls, nil, "", "", time.Second)
		require.ErrorIs(t, err, ErrInsecure, host)
	}
}

// TestAPeerThatAnswersInAnothersName has a certificate of n2 and says that it is n1.
func TestAPeerThatAnswersInAnothersName(t *testing.T) {
	peer, err := NewAuthority(testSecret, "n2", drawKey(t))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", peer.makeConfig())
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
		_ = writeSized(conn, nil, &Welcome{ID: "n1", Incarnation: "x"})
		_ = readFull(conn, make([]byte, 1)) // The read ends when the dialler hangs up.
	}()
	own, err := NewAuthority(testSecret, "n3", drawKey(t))
	require.NoError(t, err)
	m := &Mux{network: TCP{}, authority: func() *Authority { return own }, log: slog.New(slog.DiscardHandler), dialled: newOpenConns(1, 1)}
	_, _, err = m.Dial(listener.Addr().String(), ProtocolRaft, func() Hello { return Hello{ID: "n3", Incarnation: "x"} }, "n1", "", time.Second)
	require.ErrorContains(t, err, `node "n1" is not the one its certificate names`)
}

// A peer that ends in the middle of a handshake counts as away and not as a stranger. A peer
// with another secret is logged.
func TestAPeerThatEndsIsNoStranger(t *testing.T) {
	own, err := NewAuthority(testSecret, "n3", drawKey(t))
	require.NoError(t, err)
	stranger, err := NewAuthority([]byte("another secret, long enough"), "n2", drawKey(t))
	require.NoError(t, err)
	met := func(answer func(net.Conn)) (said string, err error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		go func() {
			if conn, err := listener.Accept(); err == nil {
				answer(conn)
				conn.Close()
			}
		}()
		var log bytes.Buffer
		m := &Mux{network: TCP{}, authority: func() *Authority { return own }, log: slog.New(slog.NewTextHandler(&log, nil)), dialled: newOpenConns(1, 1)}
		_, _, err = m.Dial(listener.Addr().String(), ProtocolRaft, func() Hello { return Hello{ID: "n3", Incarnation: "x"} }, "n2", "", 5*time.Second)
		require.Error(t, err)
		return log.String(), err
	}
	said, err := met(func(conn net.Conn) {
		_ = readFull(conn, make([]byte, 1))
		_ = conn.(*net.TCPConn).SetLinger(0) // Unread bytes make the close a reset.
	})
	require.NotErrorIs(t, err, ErrUnproven)
	require.Empty(t, said)
	said, err = met(func(conn net.Conn) { _ = tls.Server(conn, stranger.makeConfig()).Handshake() })
	require.ErrorIs(t, err, ErrUnproven)
	require.Contains(t, said, "is not known for one")
}

// TestThePortPacesItsAcceptor: of many simultaneous connections from one network only a limited
// number is handled.
func TestThePortPacesItsAcceptor(t *testing.T) {
	const came = 100 * strangersBurst
	stream := &crowd{left: came}
	m, err := Listen(crowdedNetwork{stream}, nil, "127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	stream.mux = m
	m.door.Arrival = func() func(Hello, byte) Welcome { return nil }
	m.done.Add(1)
	m.acceptConns() // Returns when the crowd has passed.
	m.done.Wait()
	_, taken := counted(m.strangers)
	require.GreaterOrEqual(t, taken, uint64(strangersBurst))
	require.Less(t, taken, uint64(came/2))
}

type crowdedNetwork struct{ net.Listener }

func (n crowdedNetwork) Listen(string) (net.Listener, error)        { return n.Listener, nil }
func (crowdedNetwork) Dial(string, time.Duration) (net.Conn, error) { return nil, io.EOF }

// crowd is a listener with many connections whose dialler hangs up at once.
type crowd struct {
	left int
	mux  *Mux
}

func (c *crowd) Accept() (net.Conn, error) {
	if c.left--; c.left < 0 {
		c.mux.Shut()
		return nil, net.ErrClosed
	}
	return silentConn{}, nil
}

func (*crowd) Close() error   { return nil }
func (*crowd) Addr() net.Addr { return StreamAddr("127.0.0.1:1") }

type silentConn struct{ net.Conn }

func (silentConn) Read([]byte) (int, error)    { return 0, io.EOF }
func (silentConn) SetDeadline(time.Time) error { return nil }
func (silentConn) Close() error                { return nil }
func (silentConn) RemoteAddr() net.Addr        { return StreamAddr("10.0.0.1:1") }

// misnamedNetwork listens on another address than it was given.
type misnamedNetwork struct{ Network }

func (misnamedNetwork) Listen(string) (net.Listener, error) { return misnamedListener{}, nil }

type misnamedListener struct{ net.Listener }

func (misnamedListener) Addr() net.Addr { return StreamAddr("10.0.0.1:7000") }
func (misnamedListener) Close() error   { return nil }

// transportPair joins two transports by pipes; one side is node n1.
func transportPair(t *testing.T) (from, to *PeerTransport) {
	return transportPairOver(t, func(c net.Conn) net.Conn { return c })
}

// transportPairOver joins two transports by pipes, whose near end the function over wraps.
func transportPairOver(t *testing.T, over func(net.Conn) net.Conn) (from, to *PeerTransport) {
	self := Address{Host: "127.0.0.1:1", Incarnation: "aa"}
	logger := hclog.NewNullLogger()
	term := func() uint64 { return 5 }
	lookup := func(raft.ServerID) (raft.ServerAddress, error) { return raft.ServerAddress(self.String()), nil }
	to = NewPeerTransport(self, logger, term, nil, lookup)
	dial := func(string, Address, time.Duration) (net.Conn, error) {
		near, far := net.Pipe()
		go to.Receive("n1", far)
		return over(near), nil
	}
	from = NewPeerTransport(Address{Host: "127.0.0.1:2", Incarnation: "bb"}, logger, term, dial, lookup)
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// TestHeartbeatsTakeTheMainLoop (guard G1): a heartbeat comes out of the consumer channel,
// which raft's main loop reads, even if raft has set a handler.
func TestHeartbeatsTakeTheMainLoop(t *testing.T) {
	from, to := transportPair(t)
	guarded := MainLoopHeartbeats{to}
	guarded.SetHeartbeatHandler(func(rpc raft.RPC) {
		t.Error("the fast path was taken")
		rpc.Respond(&raft.AppendEntriesResponse{}, nil)
	})
	_, preVote := raft.Transport(guarded).(raft.WithPreVote)
	require.True(t, preVote)
	_, closes := raft.Transport(guarded).(raft.WithClose)
	require.True(t, closes)
	go func() {
		rpc := <-guarded.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
	}()
	heartbeat := &raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n1"), Addr: []byte("127.0.0.1:2/bb")}, Term: 5,
	}
	var response raft.AppendEntriesResponse
	require.NoError(t, from.AppendEntries("n2", "127.0.0.1:1/aa", heartbeat, &response))
	require.True(t, response.Success)
	requireNoHandler(t, to.NetworkTransport)
	to.mu.Lock()
	defer to.mu.Unlock()
	require.NotEmpty(t, to.inbound)
	for _, in := range to.inbound {
		requireNoHandler(t, in.NetworkTransport)
	}
}

// TestNoPipeline tests guard G2.
func TestNoPipeline(t *testing.T) {
	from, _ := transportPair(t)
	_, err := from.AppendEntriesPipeline("n2", "127.0.0.1:1/aa")
	require.ErrorIs(t, err, raft.ErrPipelineReplicationNotSupported)
}

func TestRaftMessagesAreHeldToTheirConnection(t *testing.T) {
	from, to := transportPair(t)
	go func() {
		for rpc := range to.Consumer() {
			rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
		}
	}()
	for _, test := range []struct {
		name string
		id   string
		term uint64
		want string
	}{
		{"honest", "n1", 6, ""},
		{"the highest term that can be", "n1", 5 + termLead, ""},
		{"an absurd term", "n1", 5 + termLead + 1, "absurd"},
		{"the highest number", "n1", 1<<64 - 1, "absurd"},
		{"another's name", "n2", 6, "claims to be"},
		{"no name", "", 6, "claims to be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte(test.id)}, Term: test.term}
			var response raft.RequestVoteResponse
			err := from.RequestVote("n2", "127.0.0.1:1/aa", request, &response)
			if test.want == "" {
				require.NoError(t, err)
				require.True(t, response.Granted)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.False(t, response.Granted)
		})
	}
}

// TestRaftPeersComeAndGo: over the years there are more peers than at any one time.
func TestRaftPeersComeAndGo(t *testing.T) {
	_, to := transportPair(t)
	knock := func(id string) (near net.Conn, done chan struct{}) {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		done = make(chan struct{})
		go func() { to.Receive(id, far); close(done) }()
		return near, done
	}
	for i := range 2 * raftPeersMax {
		near, done := knock(strconv.Itoa(i))
		require.NoError(t, near.Close())
		<-done
	}
	require.LessOrEqual(t, len(to.inbound), raftPeersMax)
	for i := range raftPeersMax {
		knock("stays" + strconv.Itoa(i))
		require.Eventually(t, func() bool {
			to.mu.Lock()
			defer to.mu.Unlock()
			in := to.inbound["stays"+strconv.Itoa(i)]
			return in != nil && in.users == 1
		}, 10*time.Second, time.Millisecond)
	}
	_, refused := knock("one too many")
	<-refused
}

func FuzzReadCall(f *testing.F) {
	f.Add(appendCall(nil, callPing, 7, []byte("payload")))
	f.Add([]byte{0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, number, payload, err := readCall(bytes.NewReader(data))
		if err != nil {
			return
		}
		require.Equal(t, data[:4+frameHead+len(payload)], appendCall(nil, kind, number, payload))
	})
}

func FuzzPeerMessages(f *testing.F) {
	f.Add(wire.Encode(&ForwardCall{Term: 1, Number: 2, Count: 1, Records: []byte{1}}))
	f.Add(wire.Encode(&Hello{ID: "n1"}))
	f.Add(wire.Encode(&JoinCall{ID: "n1", Address: "h:1/aa"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m JoinCall
		if decodeMessage(data, &m) == nil {
			if a, err := ParseAddress(m.Address); err == nil {
				require.Equal(t, m.Address, a.String())
			}
		}
		for _, v := range []any{
			new(Hello), new(Welcome), new(Pong), new(ForwardCall), new(ForwardReply), new(GiveUpCall), new(GiveUpReply),
			new(ReadIndexReply), new(TermReply), new(LeafCall), new(LeafReply), new(RootsCall), new(RootsReply), new(BundleCall),
			new(BundleReply), new(SegmentCall), new(SegmentReply), new(DigestCall), new(DigestReply), new(ListCall), new(ListReply),
			new(VerbCall), new(PromiseCall), new(SecretCall), new(SecretReply),
		} {
			_ = decodeMessage(data, v)
		}
	})
}

// TestMessagesOfTheReleaseBefore: an earlier release had one struct for all questions with
// numbers, and now each has a type. The bytes are the same.
func TestMessagesOfTheReleaseBefore(t *testing.T) {
	hashes := [][]byte{{1, 2}, {3}}
	for want, message := range map[string]any{
		"":                            PingCall{},
		"a10107":                      &TermReply{Term: 7},
		"a1010c":                      &LeafCall{Leaf: 12},
		"a202420102" + "0402":         &LeafReply{Data: []byte{1, 2}, Code: CodePruned},
		"a1031864":                    &RootsCall{Size: 100},
		"a103824201024103":            &RootsReply{Roots: hashes},
		"a3010302190100" + "0319012c": &BundleCall{Number: 3, Width: 256, Size: 300},
		"a2024109" + "03824201024103": &BundleReply{Data: []byte{9}, Path: hashes},
		"a20105" + "0408":             &SegmentCall{Segment: 5, Offset: 8},
		"a2024109" + "051864":         &SegmentReply{Data: []byte{9}, Total: 100},
		"a20109" + "054103":           &DigestCall{Index: 9, Digest: []byte{3}},
		"a1024103":                    &DigestReply{Digest: []byte{3}},
		"a20401" + "054103":           &ListCall{Offset: 1, Digest: []byte{3}},
		"a2024109" + "050a":           &ListReply{Data: []byte{9}, Total: 10},
	} {
		require.Equal(t, want, hex.EncodeToString(encodePayload(message)), "%T", message)
	}
}
