package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// Network joins nodes by virtual connections. Links are cut and healed by node;
// bytes on a cut link wait, as TCP's would, and go on when it heals, or the
// connection breaks.
type Network struct {
	mu        sync.Mutex
	random    *rand.Rand
	listeners map[string]*listener // By address.
	owners    map[string]string    // Address to node.
	cut       map[[2]string]bool   // From, to: one way.
	down      map[string]bool      // Hosts without power.
	conns     map[*conn]bool
	delayMax  time.Duration
	loss      int // Of a hundred packets.
}

const (
	calmDelayMax = 2 * time.Millisecond
	// retransmit is how long TCP waits before it sends a lost packet again; each
	// further loss of the same one doubles it. What was sent behind it waits too.
	retransmit     = 200 * time.Millisecond
	retransmitsMax = 4
)

// NewNetwork makes a network whose delays come from a seed.
func NewNetwork(seed uint64) *Network {
	return &Network{
		random: rand.New(rand.NewPCG(seed, 1)), listeners: map[string]*listener{}, owners: map[string]string{},
		cut: map[[2]string]bool{}, conns: map[*conn]bool{}, down: map[string]bool{}, delayMax: calmDelayMax,
	}
}

// Of returns the network as one node sees it.
func (n *Network) Of(node string) *Port { return &Port{network: n, node: node} }

// Port is one node's access to the network. It implements cluster.Network.
type Port struct {
	network *Network
	node    string
}

type address string

func (address) Network() string  { return "sim" }
func (a address) String() string { return string(a) }

type listener struct {
	network *Network
	at      string
	accept  chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return address(l.at) }

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		if l.network.listeners[l.at] == l {
			delete(l.network.listeners, l.at)
		}
		l.network.mu.Unlock()
	})
	return nil
}

// Listen implements cluster.Network.
func (p *Port) Listen(at string) (net.Listener, error) {
	n := p.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[at] != nil {
		return nil, fmt.Errorf("sim: address %s in use", at)
	}
	l := &listener{network: n, at: at, accept: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[at], n.owners[at] = l, p.node
	return l, nil
}

var errRefused = errors.New("sim: connection refused")

// Dial implements cluster.Network.
func (p *Port) Dial(to string, timeout time.Duration) (net.Conn, error) {
	n := p.network
	n.mu.Lock()
	l, owner := n.listeners[to], n.owners[to]
	cut := n.cut[[2]string{p.node, owner}] || n.cut[[2]string{owner, p.node}] || n.down[owner] || n.down[p.node]
	n.mu.Unlock()
	if cut { // Packets vanish: the dialler waits in vain.
		time.Sleep(timeout)
		return nil, os.ErrDeadlineExceeded
	}
	if l == nil {
		time.Sleep(time.Millisecond)
		return nil, errRefused
	}
	near, far := n.pair(p.node, owner)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case l.accept <- far:
		return near, nil
	case <-l.closed:
	case <-timer.C:
	}
	near.Close()
	return nil, errRefused
}

func (n *Network) pair(a, b string) (*conn, *conn) {
	there, back := newStream(n, a, b), newStream(n, b, a)
	near := &conn{in: back, out: there, from: a, to: b}
	far := &conn{in: there, out: back, from: b, to: a}
	n.mu.Lock()
	n.conns[near], n.conns[far] = true, true
	n.mu.Unlock()
	near.network, far.network = n, n
	return near, far
}

func (n *Network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := time.Duration(n.random.Int64N(int64(n.delayMax) + 1))
	for again := retransmit; n.loss > 0 && again <= retransmit<<retransmitsMax && n.random.IntN(100) < n.loss; again *= 2 {
		delay += again
	}
	return delay
}

// Weather sets the longest usual delay of a packet and how many of a hundred are
// lost. Connections never reorder or double bytes, as TCP does not; different
// connections overtake each other.
func (n *Network) Weather(delayMax time.Duration, loss int) {
	n.mu.Lock()
	n.delayMax, n.loss = delayMax, loss
	n.mu.Unlock()
}

// Down takes a host's power: its connections end at once, and nobody reaches it.
func (n *Network) Down(host string) {
	n.mu.Lock()
	n.down[host] = true
	var broken []*conn
	for c := range n.conns {
		if c.from == host || c.to == host {
			broken = append(broken, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.Close()
	}
}

// Up ends that.
func (n *Network) Up(host string) {
	n.mu.Lock()
	delete(n.down, host)
	n.mu.Unlock()
}

// Cut stops everything one node sends to another.
func (n *Network) Cut(from, to string) {
	n.mu.Lock()
	n.cut[[2]string{from, to}] = true
	n.mu.Unlock()
}

// Isolate cuts a node from all others, both ways.
func (n *Network) Isolate(node string, others ...string) {
	for _, other := range others {
		if other != node {
			n.Cut(node, other)
			n.Cut(other, node)
		}
	}
}

// Heal ends all cuts and bad weather.
func (n *Network) Heal() {
	n.mu.Lock()
	clear(n.cut)
	n.delayMax, n.loss = calmDelayMax, 0
	n.mu.Unlock()
}

// Break ends every connection between two nodes, at once.
func (n *Network) Break(a, b string) {
	n.mu.Lock()
	var broken []*conn
	for c := range n.conns {
		if c.from == a && c.to == b || c.from == b && c.to == a {
			broken = append(broken, c)
		}
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.Close()
	}
}

func (n *Network) isCut(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}] || n.down[from]
}

// stream is one direction of a connection.
type stream struct {
	network  *Network
	from, to string

	mu       sync.Mutex
	changed  *sync.Cond
	flying   []parcel // Not arrived yet, in order.
	arrived  []byte
	closed   bool
	deadline time.Time
	timer    *time.Timer
	moving   bool
}

type parcel struct {
	data []byte
	at   time.Time
}

func newStream(n *Network, from, to string) *stream {
	s := &stream{network: n, from: from, to: to}
	s.changed = sync.NewCond(&s.mu)
	return s
}

const windowMax = 1 << 20

func (s *stream) write(data []byte) (int, error) {
	delay := s.network.delay()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size() > windowMax && !s.closed {
		s.changed.Wait() // A peer that does not read holds the writer up.
	}
	if s.closed {
		return 0, net.ErrClosed
	}
	s.flying = append(s.flying, parcel{append([]byte(nil), data...), time.Now().Add(delay)})
	if !s.moving {
		s.moving = true
		time.AfterFunc(delay, s.move)
	}
	return len(data), nil
}

func (s *stream) size() int {
	size := len(s.arrived)
	for _, p := range s.flying {
		size += len(p.data)
	}
	return size
}

// move delivers what is due; over a cut link nothing moves until it heals.
func (s *stream) move() {
	cut := s.network.isCut(s.from, s.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if cut {
		time.AfterFunc(10*time.Millisecond, s.move)
		return
	}
	now := time.Now()
	for len(s.flying) > 0 && !s.flying[0].at.After(now) {
		s.arrived = append(s.arrived, s.flying[0].data...)
		s.flying = s.flying[1:]
	}
	s.changed.Broadcast()
	if len(s.flying) == 0 {
		s.moving = false
		return
	}
	time.AfterFunc(s.flying[0].at.Sub(now), s.move)
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if len(s.arrived) > 0 {
			n := copy(p, s.arrived)
			s.arrived = s.arrived[n:]
			s.changed.Broadcast()
			return n, nil
		}
		if s.closed {
			return 0, net.ErrClosed
		}
		if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		s.changed.Wait()
	}
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), s.wakeAll)
	}
	s.changed.Broadcast()
}

func (s *stream) wakeAll() {
	s.mu.Lock()
	s.changed.Broadcast()
	s.mu.Unlock()
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

// conn is one end of a connection.
type conn struct {
	network  *Network
	in, out  *stream
	from, to string
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

func (c *conn) Close() error {
	c.in.close()
	c.out.close()
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return address(c.from) }
func (c *conn) RemoteAddr() net.Addr { return address(c.to) }

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }
