package port

import (
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	handshakesMax     = 64  // Strangers in their handshake at once.
	connectionsMax    = 256 // The most connections from all peers together, and the most connections to them.
	connectionsOfPeer = 32
	refusalsToldEvery = 10 * time.Second

	// A handshake costs processor time before anything is proven. A node that dials again and
	// again after refusals stays far below this rate.
	strangersRate  = 200 // Handshakes per second from one network.
	strangersBurst = 400
	networksPaced  = 1024
)

// openConn is an open connection of the port between nodes.
type openConn struct {
	who    string              // A node's id, or a stranger's network address.
	number uint64              // Increases in the order of arrival.
	chain  []*x509.Certificate // What proved it; empty for a stranger or in insecure mode.

	incarnation string // Empty for a stranger.
	protocol    byte
}

// openConns is a bounded set of open connections. When there is one too many, the oldest
// connection of the peer or address that has the most is closed. So a flood from one address,
// or the dead connections of a node that restarts again and again, only cost their own side.
type openConns struct {
	max    int // The most connections in the set.
	maxWho int // The most connections of one peer or address.

	mu     sync.Mutex
	open   map[net.Conn]*openConn
	number uint64
	shutUp bool
}

func newOpenConns(most, mostOfOne int) *openConns {
	return &openConns{max: most, maxWho: mostOfOne, open: make(map[net.Conn]*openConn)}
}

// addConn adds a connection. It returns false once the door is shut.
func (a *openConns) addConn(conn net.Conn, g *openConn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shutUp {
		return false
	}
	a.number++
	g.number = a.number
	count, most := map[string]int{}, g.who
	for _, other := range a.open {
		count[other.who]++
		if count[other.who] > count[most] {
			most = other.who
		}
	}
	switch {
	case count[g.who] >= a.maxWho:
		a.endOldest(g.who)
	case len(a.open) >= a.max:
		a.endOldest(most)
	}
	a.open[conn] = g
	return true
}

func (a *openConns) endOldest(who string) {
	var oldest net.Conn
	for conn, g := range a.open {
		if g.who == who && (oldest == nil || g.number < a.open[oldest].number) {
			oldest = conn
		}
	}
	if oldest != nil {
		delete(a.open, oldest)
		oldest.Close()
	}
}

func (a *openConns) forgetConn(conn net.Conn) {
	a.mu.Lock()
	delete(a.open, conn)
	a.mu.Unlock()
}

// endConns closes the connections for which judge returns true.
func (a *openConns) endConns(judge func(*openConn) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for conn, g := range a.open {
		if judge(g) {
			delete(a.open, conn)
			conn.Close()
		}
	}
}

// shutDoor closes all connections and lets no more in.
func (a *openConns) shutDoor() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shutUp = true
	for conn := range a.open {
		conn.Close()
	}
}

func (a *openConns) isShut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shutUp
}

// networkOf returns a stranger's network, as coarse as addresses are handed out: an IPv4
// address, or an IPv6 network of 64 bits.
func networkOf(conn net.Conn) string {
	from := conn.RemoteAddr().String()
	address, err := netip.ParseAddrPort(from)
	if err != nil {
		return from
	}
	ip := address.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return from
	}
	return network.String()
}

// pace bounds how many handshakes a second one network gets. The acceptor owns it.
type pace struct {
	of map[string]*rate.Limiter
}

func (p *pace) allowOne(network string, now time.Time) bool {
	limiter := p.of[network]
	if limiter == nil {
		if p.of == nil || len(p.of) >= networksPaced {
			p.of = make(map[string]*rate.Limiter) // So many networks cannot all be nodes, so all limits are forgotten and begin again.
		}
		limiter = rate.NewLimiter(strangersRate, strangersBurst)
		p.of[network] = limiter
	}
	return limiter.AllowN(now, 1)
}

// refusals logs refused connections, at most one line in a while, so that strangers cannot fill
// the log.
type refusals struct {
	mu     sync.Mutex
	told   map[string]time.Time // When each text was last logged; there are only a handful of texts.
	silent int
}

func (r *refusals) tellRefusal(log *slog.Logger, what string, conn net.Conn, err error) {
	if errors.Is(err, net.ErrClosed) { // This node closed it: it stops, or made room.
		log.Debug(what, "addr", conn.RemoteAddr().String(), "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.told[what]) < refusalsToldEvery {
		r.silent++
		return
	}
	if r.told == nil {
		r.told = make(map[string]time.Time)
	}
	log.Warn(what, "addr", conn.RemoteAddr().String(), "error", err, "untold", r.silent)
	r.told[what], r.silent = time.Now(), 0
}
