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

// ServerLimits are the settings of a server that its operator may want to change.
type ServerLimits struct {
	Connections int         // 0: connectionsMax.
	TLS         *tls.Config // nil: plain HTTP.
	Logger      *slog.Logger

	// Of one client address (an IPv6 client is its /64): open connections, and unfinished
	// requests: connections that never sent a whole header, bodies that are not whole. 0 is no bound. A trusted proxy's connections are
	// not counted; the requests it forwards are their client's.
	PerAddress, UnfinishedPerAddress int
	TrustedProxies                   []netip.Prefix
}

// NewServer returns a server with every timeout set (decision 61, no. 20):
// a peer that sends its header, its body, or reads its answer slowly is cut off
// and costs nobody else anything.
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
		// The border answers 431 in JSON above 16 KiB; this is net/http's own, harder stop.
		MaxHeaderBytes: HeaderBytesHard,
		ConnState:      known.noteState,
		// OPTIONS * would be answered past our border otherwise.
		DisableGeneralOptionsHandler: true,

		// WriteTimeout ends a stream by a frame behind the one that nobody reads: a caller of
		// HTTP/2 that takes nothing would keep a hundred calls for ever.
		// ReadHeaderTimeout is of HTTP/1.1 alone. Who is in the midst of a header cannot answer a
		// ping, and no frame counts until the header is whole, however many pieces come. Until
		// then its connection counts as idle, and makes room for others.
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

// connections bounds what is open on one server, in all and for each client. When there
// is too much, the one that waits makes room: of connections one that is idle, or new and
// silent, of the same client before any other's; of unfinished requests the client's
// oldest. Ten thousand idle or half-sent peers must not keep a caller out, who is done
// within a moment.
type connections struct {
	limits  ServerLimits
	mutex   sync.Mutex
	open    map[net.Conn]*connection
	waiting map[net.Conn]struct{}
	clients map[netip.Addr]*client
}

// connection is one open connection.
type connection struct {
	client *client // nil: a trusted proxy's, or of no address.
	head   *list.Element
}

// client is what one address has open.
type client struct {
	address    netip.Addr
	open       int
	unfinished *list.List            // Of func(): what cuts the request off; the oldest first.
	waiting    map[net.Conn]struct{} // Of its connections.
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

// forgetClient forgets a client that has nothing open.
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
	case http.StateActive: // A header is here, whole.
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

// countOpened counts a new connection and says which is one too many.
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

// countBegun counts an unfinished request and says which is one too many.
func (k *connections) countBegun(c *client, cut func()) (*list.Element, func()) {
	var oldest func()
	if most := k.limits.UnfinishedPerAddress; most > 0 && c.unfinished.Len() >= most {
		oldest = c.unfinished.Remove(c.unfinished.Front()).(func())
	}
	return c.unfinished.PushBack(cut), oldest
}

// headDone ends the wait for a request's header. Removing twice does nothing.
func (k *connections) headDone(c *connection) {
	if c != nil && c.head != nil {
		c.client.unfinished.Remove(c.head)
		c.head = nil
	}
}

// followRequests counts requests whose body is still to come, and has a connection end with the
// answer to a body in chunks, whoever gives it: the API, or a guest in front of it.
func (k *connections) followRequests(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 && len(r.TransferEncoding) > 0 {
			// A Content-Length besides, which a proxy may have gone by, is not seen here any more.
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody {
			body := k.followBody(w, r)
			defer body.endBody()
			// The server's own request keeps its own body: by it net/http sees that it was
			// left early, and gives the caller time to read the answer before it closes.
			r = r.WithContext(r.Context())
			r.Body = body
			handler.ServeHTTP(w, r)
			drainBody(w, r, body)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// drainBody takes the rest of a body that its answer did not wait for, for a while: a
// connection that is closed with bytes unread is reset, and then its caller, who is still
// writing, loses the answer too (RFC 9112, section 9.6). The answer goes out first.
// HTTP/2 ends one stream and needs none of it; who expects a 100 sends no body.
func drainBody(w http.ResponseWriter, r *http.Request, body *followedBody) {
	if body.whole || r.ProtoMajor >= 2 || r.Header.Get("Expect") != "" {
		return
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	if r.ContentLength > 0 {
		// The rest was here: net/http has passed over it with the answer, the connection goes on
		// and is read for the next call already. A deadline would end that read, and with it the
		// context of every call to come. Nothing is read here, so nothing waits.
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

// followedBody tells when a body is done with, and knows whether it was read to its end.
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

// Entrance answers from the moment a node's listener is open: while its state is
// still being read the process is alive and nothing more, then it is the handler
// given to Open.
type Entrance struct {
	version string
	handler atomic.Pointer[http.Handler]
}

// NewEntrance returns an entrance that is not open yet.
func NewEntrance(version string) *Entrance { return &Entrance{version: version} }

// Open lets calls through to handler.
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
