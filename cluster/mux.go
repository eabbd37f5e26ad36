package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	handshakePatience = 2 * time.Second
	handshakesMax     = 64 // Strangers at the door at once.
	connectionsMax    = 256
	connectionsOfPeer = 32
)

// Network is the seam for the network between nodes.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(address string, timeout time.Duration) (net.Conn, error)
}

type tcpNetwork struct{}

// Listen implements Network.
func (tcpNetwork) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial implements Network.
func (tcpNetwork) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

// mux is the one port between nodes. A connection is nobody until TLS has proven,
// within 2 s, that it knows the cluster secret and which node it is; only then
// does a byte of it reach raft or the calls.
type mux struct {
	network   Network
	authority *authority // nil: insecure.
	listener  net.Listener
	// known is what is known of the peers when a connection arrives, so that greet
	// does not hold what a dialler says against what was heard of it later.
	known func() map[string]reached
	greet func(h hello, protocol byte, known map[string]reached) welcome // Judges a dialler.
	raft  func(id string, conn net.Conn)
	calls func(id string, conn net.Conn)

	doors chan struct{} // One token a handshake.

	mu     sync.Mutex
	open   map[net.Conn]string // By peer id; "" before the handshake ends.
	closed bool
	done   sync.WaitGroup

	closing sync.Once
	failed  error // Of closing.
}

func newMux(network Network, authority *authority, address string) (*mux, error) {
	listener, err := network.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("cluster: port between nodes: %w", err)
	}
	return &mux{
		network: network, authority: authority, listener: listener,
		doors: make(chan struct{}, handshakesMax), open: make(map[net.Conn]string),
	}, nil
}

// serve accepts until close.
func (m *mux) serve() {
	defer m.done.Done()
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			if m.isClosed() {
				return
			}
			time.Sleep(retryPause)
			continue
		}
		select {
		case m.doors <- struct{}{}:
		default:
			conn.Close() // Too many strangers at once.
			continue
		}
		if !m.track(conn, "") {
			<-m.doors
			conn.Close()
			continue
		}
		m.done.Add(1)
		go m.receive(conn)
	}
}

func (m *mux) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// track notes an open connection, within the bounds.
func (m *mux) track(conn net.Conn, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.open) >= connectionsMax {
		return false
	}
	if id != "" {
		same := 0
		for _, other := range m.open {
			if other == id {
				same++
			}
		}
		if same >= connectionsOfPeer {
			return false
		}
	}
	m.open[conn] = id
	return true
}

func (m *mux) forget(conn net.Conn) {
	m.mu.Lock()
	delete(m.open, conn)
	m.mu.Unlock()
	conn.Close()
}

// receive brings one connection through the door and to whom it wants.
func (m *mux) receive(raw net.Conn) {
	defer m.done.Done()
	defer m.forget(raw)
	conn, id, protocol, err := m.admit(raw)
	<-m.doors
	if err != nil {
		handshakesRefused.Inc()
		return
	}
	if !m.track(raw, id) {
		return
	}
	switch protocol {
	case protocolRaft:
		m.raft(id, conn)
	case protocolCalls:
		m.calls(id, conn)
	}
}

func (m *mux) admit(raw net.Conn) (conn net.Conn, id string, protocol byte, err error) {
	if err := raw.SetDeadline(time.Now().Add(handshakePatience)); err != nil {
		return nil, "", 0, err
	}
	conn = raw
	known := m.known()
	if m.authority != nil {
		secure := tls.Server(raw, m.authority.config())
		if err := secure.HandshakeContext(context.Background()); err != nil {
			return nil, "", 0, err
		}
		if id, err = m.authority.peerID(secure.ConnectionState()); err != nil {
			return nil, "", 0, err
		}
		conn = secure
	}
	var head [4]byte
	if err := readFull(conn, head[:]); err != nil {
		return nil, "", 0, err
	}
	protocol = head[2]
	if !bytes.Equal(head[:2], muxMagic) || head[3] != muxVersion || protocol != protocolRaft && protocol != protocolCalls {
		return nil, "", 0, errors.New("cluster: unknown protocol on the port between nodes")
	}
	var h hello
	if err := readSized(conn, &h); err != nil {
		return nil, "", 0, err
	}
	w := m.judge(h, id, protocol, known)
	if err := writeSized(conn, nil, &w); err != nil {
		return nil, "", 0, err
	}
	if w.Refused != "" {
		return nil, "", 0, errors.New(w.Refused)
	}
	return conn, h.ID, protocol, raw.SetDeadline(time.Time{})
}

var muxMagic = []byte("RG")

// judge holds what a dialler says to what its certificate proves.
func (m *mux) judge(h hello, proven string, protocol byte, known map[string]reached) welcome {
	if m.authority != nil && h.ID != proven || validID(h.ID) != nil {
		return welcome{Refused: fmt.Sprintf("node %q is not the one its certificate names", h.ID)}
	}
	return m.greet(h, protocol, known)
}

// dial opens a connection to a peer and goes through its door. expectID and
// expectIncarnation, where given, must be whom it meets there.
func (m *mux) dial(host string, protocol byte, h func() hello, expectID, expectIncarnation string, timeout time.Duration) (net.Conn, welcome, error) {
	raw, err := m.network.Dial(host, min(timeout, handshakePatience))
	if err != nil {
		return nil, welcome{}, err
	}
	conn, w, err := m.enter(raw, protocol, h)
	switch {
	case err != nil:
	case expectID != "" && w.ID != expectID:
		err = fmt.Errorf("cluster: %s is node %q, not %q", host, w.ID, expectID)
	case expectIncarnation != "" && shown(w.Incarnation) != expectIncarnation:
		err = fmt.Errorf("cluster: node %q at %s has another data folder than the member of that name: it must join anew", w.ID, host)
	default:
		return conn, w, nil
	}
	return nil, w, errors.Join(err, raw.Close())
}

func shown(incarnation string) string { return incarnation[:min(len(incarnation), incarnationShown)] }

func (m *mux) enter(raw net.Conn, protocol byte, h func() hello) (net.Conn, welcome, error) {
	var w welcome
	if err := raw.SetDeadline(time.Now().Add(handshakePatience)); err != nil {
		return nil, w, err
	}
	conn, proven := raw, ""
	if m.authority != nil {
		secure := tls.Client(raw, m.authority.config())
		if err := secure.HandshakeContext(context.Background()); err != nil {
			return nil, w, err
		}
		var err error
		if proven, err = m.authority.peerID(secure.ConnectionState()); err != nil {
			return nil, w, err
		}
		conn = secure
	}
	head := append(append([]byte(nil), muxMagic...), protocol, muxVersion)
	own := h()
	if err := writeSized(conn, head, &own); err != nil {
		return nil, w, err
	}
	if err := readSized(conn, &w); err != nil {
		return nil, w, err
	}
	switch {
	case w.Refused != "":
		return nil, w, fmt.Errorf("%w: %s", errRefused, w.Refused)
	case m.authority != nil && w.ID != proven:
		return nil, w, fmt.Errorf("cluster: node %q is not the one its certificate names", w.ID)
	}
	return conn, w, raw.SetDeadline(time.Time{})
}

// errRefused is a peer's refusal at the door.
var errRefused = errors.New("cluster: refused by the peer")

// shut ends the port and every connection that came in through it.
func (m *mux) shut() {
	m.closing.Do(func() {
		m.mu.Lock()
		m.closed = true
		for conn := range m.open {
			conn.Close()
		}
		m.mu.Unlock()
		m.failed = m.listener.Close()
	})
}

// close is shut, and waits until nobody serves a connection any more.
func (m *mux) close() error {
	m.shut()
	m.done.Wait()
	return m.failed
}
