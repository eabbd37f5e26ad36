package port

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	handshakePatience = 2 * time.Second
	acceptPause       = 5 * time.Millisecond // Pause after a failed accept.
)

// Network is the seam for the network between nodes.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(address string, timeout time.Duration) (net.Conn, error)
}

type TCP struct{}

// Listen implements Network.
func (TCP) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial implements Network.
func (TCP) Dial(address string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", address, timeout)
}

// Door has the functions that judge and serve the connections of the port.
type Door struct {
	// Arrival is called when a connection arrives. The function that it returns judges the
	// dialler later, by what was known at the arrival: what is heard of the dialler in between
	// does not count against it.
	Arrival func() func(h Hello, protocol byte) Welcome
	Raft    func(id string, conn net.Conn) // Serves a raft connection until it ends.
	Calls   func(peer Peer, conn net.Conn) // Serves a call connection until it ends.
}

// Peer is the node at the other end of a connection, as it has proven itself.
type Peer struct{ ID, Incarnation string }

// Mux is the one port between nodes. TLS must prove within 2 s that a connection belongs to the
// cluster, and to which node. Only then does a byte of it reach raft or the calls.
type Mux struct {
	network   Network
	authority func() *Authority // nil: insecure. It returns another authority after certificates were renewed.
	listener  net.Listener
	log       *slog.Logger
	door      Door

	strangers *openConns // Connections in their handshake, by network address.
	peers     *openConns // Accepted connections, by node id.
	dialled   *openConns // Dialled connections, by node id.
	refusals  refusals
	done      sync.WaitGroup

	closing sync.Once
	failed  error // The error of closing the listener.
}

// Listen binds the port. Nothing is accepted before Open.
func Listen(network Network, authority func() *Authority, address string, log *slog.Logger) (*Mux, error) {
	listener, err := network.Listen(address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: another process listens there; end it, or give another address", err)
		}
		return nil, fmt.Errorf("cluster: port between nodes (--cluster): %w", err)
	}
	if at := listener.Addr().String(); authority == nil && !Loopback(at) { // Only now is it known which address a name means.
		return nil, errors.Join(fmt.Errorf("%w, not %s", ErrInsecure, at), listener.Close())
	}
	return &Mux{
		network: network, authority: authority, listener: listener, log: log,
		strangers: newOpenConns(handshakesMax, handshakesMax),
		peers:     newOpenConns(connectionsMax, connectionsOfPeer),
		dialled:   newOpenConns(connectionsMax, connectionsMax),
	}, nil
}

// Addr is the address at which the port listens.
func (m *Mux) Addr() string { return m.listener.Addr().String() }

// Open accepts connections from now on, and gives them to d, until Close.
func (m *Mux) Open(d Door) {
	m.door = d
	m.done.Add(1)
	go m.acceptConns()
}

// acceptConns accepts connections until the port is closed.
func (m *Mux) acceptConns() {
	defer m.done.Done()
	var limits pace
	for {
		conn, err := m.listener.Accept()
		switch {
		case err != nil && m.strangers.isShut():
			return
		case err != nil:
			time.Sleep(acceptPause)
			continue
		}
		network := networkOf(conn)
		if !limits.allowOne(network, time.Now()) {
			handshakesRefused.Inc()
			conn.Close()
			continue
		}
		if !m.strangers.addConn(conn, &openConn{who: network}) {
			conn.Close()
			continue
		}
		m.done.Add(1)
		go m.receiveConn(conn)
	}
}

// receiveConn makes one connection prove itself, and gives it to the service that it asks for.
func (m *Mux) receiveConn(raw net.Conn) {
	defer m.done.Done()
	defer raw.Close()
	in, err := m.admitConn(raw)
	m.strangers.forgetConn(raw)
	if err != nil {
		handshakesRefused.Inc()
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) { // Probes that only connect, and peers that end, are not worth a log line.
			m.refusals.tellRefusal(m.log, "a connection to the port between nodes is refused", raw, err)
		}
		return
	}
	if !m.keepConn(m.peers, raw, in) {
		return
	}
	defer m.peers.forgetConn(raw)
	switch in.protocol {
	case ProtocolRaft:
		m.door.Raft(in.who, in.conn)
	case ProtocolCalls:
		m.door.Calls(in.Peer(), in.conn)
	}
}

// keepConn records a proven connection, unless its proof has become invalid since.
func (m *Mux) keepConn(to *openConns, raw net.Conn, p *proven) bool {
	if !to.addConn(raw, &openConn{who: p.who, incarnation: p.incarnation, protocol: p.protocol, chain: p.chain}) {
		return false
	}
	if m.authority == nil {
		return true
	}
	if a := m.authority(); a != p.by { // ProveAnew may have run before the connection was recorded.
		if _, err := a.verifyChain(p.chain); err != nil {
			to.forgetConn(raw)
			return false
		}
	}
	return true
}

// ProveAnew ends the connections that the present authority would not accept: a node that the
// operator has excluded must not stay in over open connections. All others go on.
func (m *Mux) ProveAnew() {
	a := m.authority()
	for _, all := range []*openConns{m.peers, m.dialled} {
		all.endConns(func(g *openConn) bool {
			_, err := a.verifyChain(g.chain)
			return err != nil
		})
	}
}

// EndRaft ends the raft connections of the nodes for which judge returns true.
func (m *Mux) EndRaft(judge func(Peer) bool) {
	for _, all := range []*openConns{m.peers, m.dialled} {
		all.endConns(func(g *openConn) bool {
			return g.protocol == ProtocolRaft && judge(Peer{g.who, g.incarnation})
		})
	}
}

// proven is a connection whose peer has proven itself.
type proven struct {
	conn        net.Conn
	who         string // Node id.
	key         string // Digest of its key; "": the id alone is proven, or nothing (insecure).
	incarnation string
	protocol    byte
	by          *Authority          // The authority that proved it; nil: insecure.
	chain       []*x509.Certificate // The peer's certificates, the leaf first.
}

// Peer returns the node that has proven itself.
func (p *proven) Peer() Peer { return Peer{p.who, p.incarnation} }

// refuseOther returns why a peer is not the node that it says it is; nil: it is. An incarnation is
// the digest of a key, so that a node proves it by the key of its certificate.
func (p *proven) refuseOther(id, incarnation string) error {
	switch {
	case p.by != nil && id != p.who:
		return fmt.Errorf("cluster: node %q is not the one its certificate names", id)
	case p.key != "" && incarnation != p.key:
		foreignKeys.Inc()
		return fmt.Errorf("cluster: node %q has not the key of the node that it says it is", id)
	}
	return nil
}

// proveConn does the TLS handshake.
func (m *Mux) proveConn(raw net.Conn, side func(net.Conn, *tls.Config) *tls.Conn) (*proven, error) {
	if m.authority == nil {
		return &proven{conn: raw}, nil
	}
	a := m.authority()
	secure := side(raw, a.makeConfig())
	if err := secure.HandshakeContext(context.Background()); err != nil { // raw has a deadline.
		return nil, err
	}
	state := secure.ConnectionState()
	id, key, err := a.provePeer(state)
	if err != nil {
		return nil, err
	}
	return &proven{conn: secure, who: id, key: key, by: a, chain: state.PeerCertificates}, nil
}

func (m *Mux) admitConn(raw net.Conn) (*proven, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakePatience)); err != nil {
		return nil, err
	}
	greet := m.door.Arrival()
	in, err := m.proveConn(raw, tls.Server)
	if err != nil {
		return nil, err
	}
	var head [4]byte
	if err := readFull(in.conn, head[:]); err != nil {
		return nil, err
	}
	in.protocol = head[2]
	if bytes.Equal(head[:2], muxMagic) && head[3] != muxVersion {
		return nil, fmt.Errorf("cluster: a node speaks version %d of the protocol between nodes and this release %d: run releases that belong together", head[3], muxVersion)
	}
	if !bytes.Equal(head[:2], muxMagic) || in.protocol != ProtocolRaft && in.protocol != ProtocolCalls {
		return nil, errors.New("cluster: unknown protocol on the port between nodes")
	}
	var h Hello
	if err := readSized(in.conn, &h); err != nil {
		return nil, err
	}
	w := in.judgeHello(h, greet)
	if err := writeSized(in.conn, nil, &w); err != nil {
		return nil, err
	}
	if w.Refused != "" {
		return nil, errors.New(w.Refused)
	}
	in.who, in.incarnation = h.ID, h.Incarnation
	return in, raw.SetDeadline(time.Time{})
}

var muxMagic = []byte("RG")

// judgeHello checks that a dialler's hello names the node that its certificate proves, and then
// asks greet.
func (p *proven) judgeHello(h Hello, greet func(Hello, byte) Welcome) Welcome {
	err := ValidID(h.ID)
	if err == nil {
		err = p.refuseOther(h.ID, h.Incarnation)
	}
	if err != nil {
		return Welcome{Refused: Plain(err.Error())}
	}
	return greet(h, p.protocol)
}

// Dial opens a connection to a peer and exchanges hello and welcome. The peer must have
// expectID and expectIncarnation, if they are given.
func (m *Mux) Dial(host string, protocol byte, h func() Hello, expectID, expectIncarnation string, timeout time.Duration) (net.Conn, Welcome, error) {
	if m.authority == nil && !Loopback(host) { // The address may come from a peer, so it is checked here too.
		return nil, Welcome{}, fmt.Errorf("%w, not %s", ErrInsecure, host)
	}
	raw, err := m.network.Dial(host, min(timeout, handshakePatience))
	if err != nil {
		return nil, Welcome{}, err
	}
	out, w, err := m.enterConn(raw, protocol, h)
	switch {
	case err != nil:
	case expectID != "" && w.ID != expectID:
		err = fmt.Errorf("cluster: %s is node %q, not %q", host, w.ID, expectID)
	case expectIncarnation != "" && w.Incarnation != expectIncarnation:
		foreignKeys.Inc()
		err = fmt.Errorf("%w: node %q at %s", ErrForeignKey, w.ID, host)
	case !m.keepConn(m.dialled, raw, out):
		err = net.ErrClosed
	default:
		return &dialledConn{Conn: out.conn, raw: raw, of: m.dialled}, w, nil
	}
	return nil, w, errors.Join(err, raw.Close())
}

// dialledConn leaves the set of dialled connections when its user closes it.
type dialledConn struct {
	net.Conn
	raw net.Conn
	of  *openConns
}

// Close implements net.Conn.
func (c *dialledConn) Close() error {
	c.of.forgetConn(c.raw)
	return c.Conn.Close()
}

func (m *Mux) enterConn(raw net.Conn, protocol byte, h func() Hello) (*proven, Welcome, error) {
	var w Welcome
	if err := raw.SetDeadline(time.Now().Add(handshakePatience)); err != nil {
		return nil, w, err
	}
	out, err := m.proveConn(raw, tls.Client)
	if err != nil {
		if err = notProven(err); errors.Is(err, ErrUnproven) { // If the peer is only away, the waiting caller reports it.
			m.refusals.tellRefusal(m.log, "a node on the port between nodes is not known for one", raw, err)
		}
		return nil, w, err
	}
	head := append(append([]byte(nil), muxMagic...), protocol, muxVersion)
	own := h()
	if err := writeSized(out.conn, head, &own); err != nil {
		return nil, w, err
	}
	if err := readSized(out.conn, &w); err != nil {
		if m.authority != nil && isAlert(err) { // With TLS 1.3 a client learns of the refusal only now.
			m.refusals.tellRefusal(m.log, "a node does not take this node's certificate", raw, err)
			err = notProven(err)
		}
		return nil, w, err
	}
	other := out.refuseOther(w.ID, w.Incarnation)
	switch {
	case other != nil && (w.ID != "" || w.Refused == ""): // A refusal before the greeting is nobody's.
		return nil, Welcome{}, other
	case w.Refused != "":
		return nil, w, fmt.Errorf("%w: %s", ErrRefused, w.Refused)
	}
	out.who, out.incarnation, out.protocol = w.ID, w.Incarnation, protocol
	return out, w, raw.SetDeadline(time.Time{})
}

// ErrUnproven says that the two nodes have no secret or authority in common.
var ErrUnproven = errors.New("cluster: the peer and this node have no secret (or authority) in common: look at the cluster secret of both")

// notProven wraps a failed handshake in ErrUnproven. An error of a connection that only broke
// is returned as it is.
func notProven(err error) error {
	var network net.Error
	if errors.Is(err, io.EOF) || errors.As(err, &network) && !isAlert(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnproven, err)
}

// isAlert reports whether an error is an alert that the other side's TLS sent.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// ErrRefused is a peer's refusal in its welcome.
var ErrRefused = errors.New("cluster: refused by the peer")

// Shut closes the port and every connection that came in through it.
func (m *Mux) Shut() {
	m.closing.Do(func() {
		m.strangers.shutDoor()
		m.peers.shutDoor()
		m.failed = m.listener.Close()
	})
}

// Close does what Shut does, and waits until no connection is served any more.
func (m *Mux) Close() error {
	m.Shut()
	m.done.Wait()
	return m.failed
}
