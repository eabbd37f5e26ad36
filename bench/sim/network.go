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

// Network joins nodes by virtual connections. A link leads from one node to another, and each
// direction is cut and healed separately. Bytes on a cut link wait, as with TCP, until the link
// is healed or the connection breaks.
//
// Written bytes arrive whatever happens to the process that wrote them. The bytes of a killed
// process, or of a connection that one end gave up, still arrive, maybe when another process of
// that host already runs. Only a power cut loses bytes that have not left the host.
type Network struct {
	mu        sync.Mutex
	random    *rand.Rand
	listeners map[string]*listener        // Listeners by address.
	owners    map[string]string           // By address: the node that listens there.
	late      map[[2]string]time.Duration // By sender and receiver: how much later than usual bytes arrive.
	cut       map[[2]string]bool          // By sender and receiver: this direction is cut.
	down      map[string]bool             // Hosts without power.
	conns     map[*conn]bool
	delayMax  time.Duration
	loss      int // How many of a hundred packets are lost.
}

const (
	calmDelayMax = 2 * time.Millisecond
	// retransmit is how long TCP waits before it sends a lost packet again; each further loss of
	// the same packet doubles it. The packets behind it wait, too.
	retransmit     = 200 * time.Millisecond
	retransmitsMax = 4
)

// NewNetwork makes a network whose delays come from a seed.
func NewNetwork(seed uint64) *Network {
	return &Network{
		random: rand.New(rand.NewPCG(seed, 1)), listeners: map[string]*listener{}, owners: map[string]string{},
		cut: map[[2]string]bool{}, conns: map[*conn]bool{}, down: map[string]bool{}, delayMax: calmDelayMax,
		late: map[[2]string]time.Duration{},
	}
}

// Of returns the access of one process of a node to the network.
func (n *Network) Of(node string) *Port { return &Port{network: n, node: node} }

// Port is the access of one process to the network. It implements cluster.Network.
type Port struct {
	network *Network
	node    string
	ended   bool // Guarded by the network's mu.
}

type address string

func (address) Network() string  { return "sim" }
func (a address) String() string { return string(a) }

type listener struct {
	network *Network
	port    *Port
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
	if p.ended {
		return nil, net.ErrClosed
	}
	l := &listener{network: n, port: p, at: at, accept: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[at], n.owners[at] = l, p.node
	return l, nil
}

// end removes a process from the network. If it was killed, its host still sends what it had
// written and closes the connections. If the power was cut, nothing more is sent: only a part of
// the bytes on their way arrives, and the other ends learn nothing for a while.
func (p *Port) end(power bool) {
	n := p.network
	n.mu.Lock()
	p.ended = true
	if power {
		n.down[p.node] = true
	}
	var own []*conn
	for c := range n.conns {
		if c.port == p {
			own = append(own, c)
		}
	}
	var listening []*listener
	for _, l := range n.listeners {
		if l.port == p {
			listening = append(listening, l)
		}
	}
	n.mu.Unlock()
	for _, l := range listening {
		l.Close()
	}
	for _, c := range own {
		if power {
			c.out.powerless(n.draw(1 + c.out.underWay()))
			time.AfterFunc(time.Duration(n.draw(silenceMax))*time.Millisecond, c.out.reset)
		}
		c.Close()
	}
}

// silenceMax is the longest time until one end of a connection learns that the other is gone, in
// milliseconds.
const silenceMax = 3000

func (n *Network) draw(max int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.IntN(max)
}

var errRefused = errors.New("sim: connection refused")

// Dial implements cluster.Network.
func (p *Port) Dial(to string, timeout time.Duration) (net.Conn, error) {
	n := p.network
	n.mu.Lock()
	l, owner := n.listeners[to], n.owners[to]
	cut := n.cut[[2]string{p.node, owner}] || n.cut[[2]string{owner, p.node}] || n.down[owner]
	ended := p.ended
	n.mu.Unlock()
	if ended {
		return nil, net.ErrClosed
	}
	if cut { // The packets vanish, and the dialler waits in vain.
		time.Sleep(timeout)
		return nil, os.ErrDeadlineExceeded
	}
	if l == nil {
		time.Sleep(time.Millisecond)
		return nil, errRefused
	}
	near, far := n.pair(p, l.port)
	if near == nil {
		return nil, errRefused
	}
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

// pair makes the two ends of a connection. It returns nil if one of the processes has ended
// meanwhile.
func (n *Network) pair(a, b *Port) (*conn, *conn) {
	there, back := newStream(n, a.node, b.node), newStream(n, b.node, a.node)
	near := &conn{network: n, port: a, in: back, out: there, from: a.node, to: b.node}
	far := &conn{network: n, port: b, in: there, out: back, from: b.node, to: a.node}
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.ended || b.ended {
		return nil, nil
	}
	n.conns[near], n.conns[far] = true, true
	return near, far
}

func (n *Network) delay(from, to string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := time.Duration(n.random.Int64N(int64(n.delayMax)+1)) + n.late[[2]string{from, to}]
	for again := retransmit; n.loss > 0 && again <= retransmit<<retransmitsMax && n.random.IntN(100) < n.loss; again *= 2 {
		delay += again
	}
	return delay
}

// Weather sets the longest usual delay of a packet and how many of a hundred are lost. As with
// TCP, a connection never reorders or doubles bytes. But bytes of one connection may overtake
// those of another.
func (n *Network) Weather(delayMax time.Duration, loss int) {
	n.mu.Lock()
	n.delayMax, n.loss = delayMax, loss
	n.mu.Unlock()
}

// Late delays everything that one node sends to another from now on.
func (n *Network) Late(from, to string, by time.Duration) {
	n.mu.Lock()
	n.late[[2]string{from, to}] = by
	n.mu.Unlock()
}

// Up gives a host its power back.
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
	clear(n.late)
	n.delayMax, n.loss = calmDelayMax, 0
	n.mu.Unlock()
}

// Break ends every connection between two nodes. Each end learns of it at its own time, at once
// or later. Bytes that are on their way may arrive or not.
func (n *Network) Break(a, b string) {
	for _, c := range n.between(a, b) {
		if n.draw(2) == 0 {
			c.out.drop()
		}
		c.breakAfter(time.Duration(n.draw(2)*n.draw(silenceMax)) * time.Millisecond)
	}
}

// Forsake tells one node that its connections to another are broken. The bytes that it wrote
// arrive all the same, and the other node learns of the break after that.
func (n *Network) Forsake(node, other string) {
	for _, c := range n.between(node, other) {
		if c.from == node {
			c.breakAfter(0)
		}
	}
}

func (n *Network) between(a, b string) (found []*conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if c.from == a && c.to == b || c.from == b && c.to == a {
			found = append(found, c)
		}
	}
	return found
}

func (n *Network) isCut(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}]
}
