package httpapi

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"railguard/strictjson"
)

// ServerLimits are the settings of a server that its operator may want to change.
type ServerLimits struct {
	Connections int         // 0: connectionsMax.
	TLS         *tls.Config // nil: plain HTTP.
	Logger      *slog.Logger
}

// NewServer returns a server with every timeout set (decision 61, no. 20):
// a peer that sends its header, its body, or reads its answer slowly is cut off
// and costs nobody else anything.
func NewServer(handler http.Handler, limits ServerLimits) *http.Server {
	if limits.Connections == 0 {
		limits.Connections = connectionsMax
	}
	known := &connections{max: limits.Connections, waiting: make(map[net.Conn]struct{})}
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         limits.TLS,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// The border answers 431 in JSON above 16 KiB; this is net/http's own, harder stop.
		MaxHeaderBytes: headerBytesHard,
		ConnState:      known.changed,
		// OPTIONS * would be answered past our border otherwise.
		DisableGeneralOptionsHandler: true,

		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsMax},
	}
	if limits.Logger != nil {
		server.ErrorLog = slog.NewLogLogger(limits.Logger.Handler(), slog.LevelDebug)
	}
	return server
}

// connections bounds the open connections of one server. When there are too
// many, one that waits (idle, or new and silent) makes room: ten thousand idle
// peers must not keep a caller out.
type connections struct {
	mutex   sync.Mutex
	max     int
	open    int
	waiting map[net.Conn]struct{}
}

func (k *connections) changed(conn net.Conn, state http.ConnState) {
	k.mutex.Lock()
	var surplus net.Conn
	switch state {
	case http.StateNew:
		k.open++
		if k.open > k.max {
			surplus = conn
			for other := range k.waiting {
				surplus = other // Any will do.
				break
			}
			delete(k.waiting, surplus)
		}
		if surplus != conn {
			k.waiting[conn] = struct{}{}
		}
	case http.StateIdle:
		k.waiting[conn] = struct{}{}
	case http.StateActive:
		delete(k.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(k.waiting, conn)
		k.open--
	}
	k.mutex.Unlock()
	if surplus != nil {
		connectionsDropped.Inc()
		_ = surplus.Close()
	}
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
		h.Set("X-Railguard-Outcome", outcomeNone)
		h.Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(append(m.Body(), '\n'))
	}
}
