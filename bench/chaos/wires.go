package chaos

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// wires is the network between the nodes of one cluster. Every node advertises a relay of ours in
// front of its cluster port, so each byte between two nodes goes through here and can be held,
// delayed or refused, in one direction or both.
//
// A cut behaves like a network that loses every packet: connections stay open and silent, and the
// held bytes arrive when the cut is mended. Refuse is another fault: it resets connections and
// accepts no new ones.
type wires struct {
	owner func(dialler, relay netip.AddrPort) string // Returns the id of the node that dialled; "": it is not known.

	mu      sync.Mutex
	rules   map[link]rule
	changed chan struct{} // Closed and replaced at every change of the rules.
	relays  []*relay
	open    map[*wire]struct{}
	closed  bool
	done    sync.WaitGroup
}

// link is one direction between two nodes.
type link struct{ from, to string }

// rule is what happens to bytes of a link; the zero rule lets them pass.
type rule struct {
	cut    bool
	refuse bool
	delay  time.Duration
	loss   int // How many of a hundred packets are lost. A relay sees no packets and loses none.
}

// relay is the listener in front of one node.
type relay struct {
	to       string
	target   string
	listener net.Listener
}

// wire is one relayed connection.
type wire struct {
	from, to string
	near     net.Conn // The dialler's connection.
	far      net.Conn // Connection to the node; nil while it is held back.
	once     sync.Once
	gone     chan struct{}
}

const (
	wirePatience = 5 * time.Second // How long a connection made during a cut is held.
	wireChunk    = 32 << 10
)

func newWires(owner func(dialler, relay netip.AddrPort) string) *wires {
	return &wires{
		owner: owner, rules: make(map[link]rule), changed: make(chan struct{}), open: make(map[*wire]struct{}),
	}
}

// front opens a relay in front of a node's cluster address and returns its own.
func (w *wires) front(node, target string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	r := &relay{to: node, target: target, listener: listener}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.relays = append(w.relays, r)
	w.done.Add(1)
	go w.accept(r)
	return listener.Addr().String(), nil
}

func (w *wires) accept(r *relay) {
	defer w.done.Done()
	for {
		conn, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(retryPause)
			continue
		}
		from := w.owner(addrPort(conn.RemoteAddr()), addrPort(conn.LocalAddr()))
		c := &wire{from: from, to: r.to, near: conn, gone: make(chan struct{})}
		if !w.enter(c) {
			_ = conn.Close()
			continue
		}
		w.done.Add(1)
		go w.carry(c, r.target)
	}
}

func addrPort(address net.Addr) netip.AddrPort {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	port := tcp.AddrPort()
	return netip.AddrPortFrom(port.Addr().Unmap(), port.Port())
}

// enter accepts a connection or refuses it. It refuses a connection of an unknown dialler while
// there is a fault in any link to the node.
func (w *wires) enter(c *wire) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	for way, r := range w.rules {
		if c.from == "" && (way.to == c.to || way.from == c.to) && (r.cut || r.refuse) {
			return false
		}
		if r.refuse && (way == link{c.from, c.to} || way == link{c.to, c.from}) {
			return false
		}
	}
	w.open[c] = struct{}{}
	return true
}

// carry dials the node when the link to it is open, and copies bytes in both directions.
func (w *wires) carry(c *wire, target string) {
	defer w.done.Done()
	defer w.drop(c)
	if !w.pass(link{c.from, c.to}, c, wirePatience) {
		return
	}
	far, err := net.DialTimeout("tcp", target, wirePatience)
	if err != nil {
		return
	}
	w.mu.Lock()
	c.far = far
	w.mu.Unlock()
	select {
	case <-c.gone:
		_ = far.Close()
		return
	default:
	}
	w.done.Add(1)
	go func() {
		defer w.done.Done()
		defer w.drop(c)
		w.pump(c.near, far, link{c.to, c.from}, c)
	}()
	w.pump(far, c.near, link{c.from, c.to}, c)
}

func (w *wires) pump(to, from net.Conn, way link, c *wire) {
	buffer := make([]byte, wireChunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !w.pass(way, c, 0) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the link lets bytes through. With patience 0 it waits without a limit.
func (w *wires) pass(way link, c *wire, patience time.Duration) bool {
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	for {
		w.mu.Lock()
		r, changed := w.rules[way], w.changed
		w.mu.Unlock()
		switch {
		case r.refuse:
			return false
		case !r.cut:
			if r.delay > 0 {
				time.Sleep(r.delay)
			}
			return true
		}
		select {
		case <-changed:
		case <-c.gone:
			return false
		case <-late:
			return false
		}
	}
}

func (w *wires) drop(c *wire) {
	c.once.Do(func() { close(c.gone) })
	w.mu.Lock()
	far := c.far
	delete(w.open, c)
	w.mu.Unlock()
	_ = c.near.Close()
	if far != nil {
		_ = far.Close()
	}
}

// set changes the rule of some links at once.
func (w *wires) set(r rule, ways ...link) {
	w.mu.Lock()
	var torn []*wire
	for _, way := range ways {
		if r == (rule{}) {
			delete(w.rules, way)
		} else {
			w.rules[way] = r
		}
		for c := range w.open {
			between := way == link{c.from, c.to} || way == link{c.to, c.from}
			strange := c.from == "" && (way.to == c.to || way.from == c.to)
			if r.refuse && between || strange && (r.refuse || r.cut) {
				torn = append(torn, c)
			}
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	for _, c := range torn {
		w.drop(c)
	}
}

// isolate applies a rule to everything between one node and the others.
func (w *wires) isolate(r rule, node string) {
	var ways []link
	for _, other := range w.nodes() {
		if other != node {
			ways = append(ways, link{node, other}, link{other, node})
		}
	}
	w.set(r, ways...)
}

// heal lets everything pass.
func (w *wires) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.rules)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *wires) nodes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, len(w.relays))
	for i, r := range w.relays {
		names[i] = r.to
	}
	return names
}

// knows reports whether the dialler of any connection could be found out.
func (w *wires) knows() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		if c.from != "" {
			return true
		}
	}
	return false
}

// close ends every connection and waits for the goroutines.
func (w *wires) close() {
	w.mu.Lock()
	w.closed = true
	relays := w.relays
	open := make([]*wire, 0, len(w.open))
	for c := range w.open {
		open = append(open, c)
	}
	w.mu.Unlock()
	for _, r := range relays {
		_ = r.listener.Close()
	}
	for _, c := range open {
		w.drop(c)
	}
	w.done.Wait()
}
