package border

import (
	"container/list"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"railguard/strictjson"
)

// ServerLimits holds the settings of a server that an operator may change.
type ServerLimits struct {
	Connections int         // 0: connectionsMax.
	TLS         *tls.Config // nil: plain HTTP.
	Secure      bool        // Callers use TLS up to a balancer. Answers over TLS, here or there, ask browsers to use nothing else.
	Logger      *slog.Logger

	// Bounds per client address (an IPv6 client is its /64): open connections, and
	// unfinished requests, which are connections that have not sent a whole header, and
	// incomplete bodies. 0: unlimited. A trusted proxy's connections are not counted; the
	// requests that it forwards count for their client.
	PerAddress, UnfinishedPerAddress int
	TrustedProxies                   []netip.Prefix
}

// NewServer returns a server with every timeout set (decision 61, no. 20). It cuts off a
// peer that sends its header or its body slowly, or reads its answer slowly, at no cost to
// others.
func NewServer(handler http.Handler, limits ServerLimits) *http.Server {
	if limits.Connections == 0 {
		limits.Connections = connectionsMax
	}
	known := &connections{
		limits: limits, waiting: make(map[net.Conn]struct{}), open: make(map[net.Conn]*connection), clients: make(map[netip.Addr]*client),
	}
	server := &http.Server{
		Handler:           known.followRequests(handler),
		TLSConfig:         limits.TLS,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// Above 16 KiB the border answers 431 in JSON. This is the harder limit of
		// net/http.
		MaxHeaderBytes: HeaderBytesHard,
		ConnState:      known.noteState,
		// Without it, net/http would answer OPTIONS * past our border.
		DisableGeneralOptionsHandler: true,

		// WriteTimeout ends an HTTP/2 stream with a frame that waits behind the one that
		// nobody reads, so without WriteByteTimeout such a caller would hold a hundred
		// calls for ever. ReadHeaderTimeout is for HTTP/1.1 alone. In HTTP/2, a peer in the
		// middle of a header cannot answer a ping, and no frame counts as activity until
		// the header is complete. Until then the connection counts as idle, and makes room
		// for others.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streamsMax, WriteByteTimeout: chunkWriteTimeout,
			SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
		},
	}
	if limits.Logger != nil {
		server.ErrorLog = slog.NewLogLogger(limits.Logger.Handler(), slog.LevelDebug)
	}
	return server
}

// connections bounds what is open on one server, in total and per client. Above a bound, the
// server closes something that waits. Among connections this is an idle one or a new silent one,
// first of the same client; among unfinished requests it is the client's oldest. So ten thousand
// peers that are idle or send half a request cannot keep out a caller whose call takes a moment.
type connections struct {
	limits  ServerLimits
	mutex   sync.Mutex
	open    map[net.Conn]*connection
	waiting map[net.Conn]struct{}
	clients map[netip.Addr]*client
}

// connection is one open connection.
type connection struct {
	client *client // nil: the connection is a trusted proxy's or has no address.
	head   *list.Element
}

// client is what one address has open.
type client struct {
	address    netip.Addr
	open       int
	unfinished *list.List            // Each item is a func() that cuts off a request. The oldest comes first.
	waiting    map[net.Conn]struct{} // Those of its connections that wait.
}

// clientFor returns the client of an address, nil for none. The caller holds the mutex.
func (k *connections) clientFor(address netip.Addr) *client {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64)
		address = prefix.Addr()
	}
	if !address.IsValid() {
		return nil
	}
	known := k.clients[address]
	if known == nil {
		known = &client{address: address, unfinished: list.New(), waiting: make(map[net.Conn]struct{})}
		k.clients[address] = known
	}
	return known
}

// forgetClient drops a client that has nothing open.
func (k *connections) forgetClient(c *client) {
	if c != nil && c.open == 0 && c.unfinished.Len() == 0 {
		delete(k.clients, c.address)
	}
}

func (k *connections) noteState(conn net.Conn, state http.ConnState) {
	var cut func()
	k.mutex.Lock()
	switch state {
	case http.StateNew:
		cut = k.countOpened(conn)
	case http.StateIdle:
		k.headDone(k.open[conn])
		k.noteWaiting(conn)
	case http.StateActive: // A whole header has arrived.
		k.headDone(k.open[conn])
		delete(k.waiting, conn)
		if c := k.open[conn]; c != nil && c.client != nil {
			delete(c.client.waiting, conn)
		}
	case http.StateClosed, http.StateHijacked:
		k.countClosed(conn)
	}
	k.mutex.Unlock()
	if cut != nil {
		connectionsDropped.Inc()
		cut()
	}
}

func (k *connections) noteWaiting(conn net.Conn) {
	k.waiting[conn] = struct{}{}
	if c := k.open[conn]; c != nil && c.client != nil {
		c.client.waiting[conn] = struct{}{}
	}
}

// countOpened counts a new connection. It returns a function that closes the surplus one,
// if any.
func (k *connections) countOpened(conn net.Conn) func() {
	c := new(connection)
	k.open[conn] = c
	if remote, ok := conn.RemoteAddr().(*net.TCPAddr); ok && !isWithin(k.limits.TrustedProxies, remote.AddrPort().Addr()) {
		if c.client = k.clientFor(remote.AddrPort().Addr()); c.client != nil {
			c.client.open++
		}
	}
	many := c.client != nil && k.limits.PerAddress > 0 && c.client.open > k.limits.PerAddress
	if !many && len(k.open) <= k.limits.Connections {
		k.noteWaiting(conn)
		var oldest func()
		if c.client != nil {
			c.head, oldest = k.countBegun(c.client, func() { _ = conn.Close() })
		}
		return oldest
	}
	surplus := conn
	if c.client != nil {
		surplus = anyOf(c.client.waiting, conn)
	}
	if surplus == conn && !many {
		surplus = anyOf(k.waiting, conn)
	}
	if surplus != conn {
		delete(k.waiting, surplus)
		if other := k.open[surplus]; other != nil && other.client != nil {
			delete(other.client.waiting, surplus)
		}
		k.noteWaiting(conn)
		if c.client != nil {
			c.head, _ = k.countBegun(c.client, func() { _ = conn.Close() })
		}
	}
	return func() { _ = surplus.Close() }
}

func anyOf(set map[net.Conn]struct{}, otherwise net.Conn) net.Conn {
	for conn := range set {
		return conn
	}
	return otherwise
}

func (k *connections) countClosed(conn net.Conn) {
	delete(k.waiting, conn)
	c := k.open[conn]
	delete(k.open, conn)
	if c == nil || c.client == nil {
		return
	}
	k.headDone(c)
	delete(c.client.waiting, conn)
	c.client.open--
	k.forgetClient(c.client)
}

// countBegun counts an unfinished request. It returns its place, and a function that cuts
// off the surplus one, if any.
func (k *connections) countBegun(c *client, cut func()) (*list.Element, func()) {
	var oldest func()
	if most := k.limits.UnfinishedPerAddress; most > 0 && c.unfinished.Len() >= most {
		oldest = c.unfinished.Remove(c.unfinished.Front()).(func())
	}
	return c.unfinished.PushBack(cut), oldest
}

// headDone ends the wait for a request's header. A second call does nothing.
func (k *connections) headDone(c *connection) {
	if c != nil && c.head != nil {
		c.client.unfinished.Remove(c.head)
		c.head = nil
	}
}

// strictTransport is HSTS for a year (RFC 6797). Other hosts of the domain are the operator's, so
// they are not named.
var strictTransport = []string{"max-age=31536000"}

// followRequests counts requests whose body is still to come. It also closes the connection
// after the answer to a body in chunks, whether the API or a handler in front of it
// answers.
func (k *connections) followRequests(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil || k.limits.Secure {
			w.Header()["Strict-Transport-Security"] = strictTransport
		}
		if r.ProtoMajor < 2 && len(r.TransferEncoding) > 0 {
			// The request may also have had a Content-Length. It is not visible here, but a proxy
			// may have used it.
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody {
			body := k.followBody(w, r)
			defer body.endBody()
			// The server's own request keeps its body: from it net/http sees that the body
			// was not read to its end, and gives the caller time to read the answer before
			// it closes the connection.
			r = r.WithContext(r.Context())
			r.Body = body
			handler.ServeHTTP(w, r)
			drainBody(w, r, body)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// drainBody reads, for a limited time, the rest of a body that its answer did not wait for.
// Closing a connection with unread bytes resets it, and a caller that is still writing
// would lose the answer (RFC 9112, section 9.6). So the answer goes out first. HTTP/2 needs
// none of this, since it ends one stream; a caller that expects a 100 sends no body.
func drainBody(w http.ResponseWriter, r *http.Request, body *followedBody) {
	if body.whole || r.ProtoMajor >= 2 || r.Header.Get("Expect") != "" {
		return
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	if r.ContentLength > 0 {
		// When the rest had already arrived, net/http has skipped it with the answer, and
		// already reads the next call from the connection. A deadline would end that read,
		// and with it the context of every later call. This Read takes no bytes, so it does
		// not wait.
		if _, err := body.Read(nil); err != nil {
			return
		}
	}
	if control.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, body, lingerBytes)
	_ = control.SetReadDeadline(time.Now())
}

// followedBody calls ended when the body is finished, and notes whether it was read to its
// end.
type followedBody struct {
	io.ReadCloser
	whole bool
	once  sync.Once
	ended func()
}

func (k *connections) followBody(w http.ResponseWriter, r *http.Request) *followedBody {
	k.mutex.Lock()
	c := k.clientFor(clientOf(r, k.limits.TrustedProxies))
	if c == nil {
		k.mutex.Unlock()
		return &followedBody{ReadCloser: r.Body, ended: func() {}}
	}
	control := http.NewResponseController(w)
	place, cut := k.countBegun(c, func() { _ = control.SetReadDeadline(time.Now()) })
	k.mutex.Unlock()
	if cut != nil {
		connectionsDropped.Inc()
		cut()
	}
	return &followedBody{ReadCloser: r.Body, ended: func() {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		c.unfinished.Remove(place)
		k.forgetClient(c)
	}}
}

func (b *followedBody) endBody() { b.once.Do(b.ended) }

func (b *followedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.whole = true
		b.endBody()
	}
	return n, err
}

// Entrance answers from the moment a node's listener opens. While the state is still being
// read, it only says that the process is alive; then it passes calls to the handler given
// to Open.
type Entrance struct {
	version string
	handler atomic.Pointer[http.Handler]
}

// NewEntrance returns an entrance that is not open yet.
func NewEntrance(version string) *Entrance { return &Entrance{version: version} }

// Open passes calls to handler from now on.
func (e *Entrance) Open(handler http.Handler) { e.handler.Store(&handler) }

// ServeHTTP answers /livez with 200 and everything else with 503 until Open.
func (e *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := e.handler.Load(); handler != nil {
		(*handler).ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch path := r.URL.Path; {
	case path == "/livez":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	case path == "/readyz":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("[-]node starting: its state is being read\n"))
	default:
		var m strictjson.Members
		if path == "/v1/health" {
			m.Text("status", "starting")
			m.Text("version", e.version)
		}
		m.Text("error", "no_leader")
		m.Text("code", "no_leader")
		m.Text("message", "this node is starting: its state is being read")
		m.Text("requestId", requestID(r))
		h.Set("Content-Type", "application/json")
		h.Set("Retry-After", strconv.Itoa(1))
		h.Set("X-Railguard-Outcome", OutcomeNone)
		h.Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(append(m.Body(), '\n'))
	}
}
