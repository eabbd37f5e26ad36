package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// callers are the connections of this process's callers, so that they can be reset at once. A
// process whose disk hangs cannot go before the disk answers, and the system would hold its
// connections and take new ones until then.
type callers struct {
	mu        sync.Mutex
	listeners []net.Listener
	open      map[net.Conn]struct{}
	severed   bool
}

func newCallers(listeners ...net.Listener) *callers {
	return &callers{listeners: listeners, open: make(map[net.Conn]struct{})}
}

// follow makes a server tell of its connections.
func (c *callers) follow(server *http.Server) {
	before := server.ConnState
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c.note(conn, state)
		if before != nil {
			before(conn, state)
		}
	}
}

func (c *callers) note(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.mu.Lock()
		late := c.severed
		c.open[conn] = struct{}{}
		c.mu.Unlock()
		if late {
			resetConn(conn)
		}
	case http.StateClosed, http.StateHijacked:
		c.mu.Lock()
		delete(c.open, conn)
		c.mu.Unlock()
	}
}

// sever closes the listeners and resets every connection. It waits for none: the goroutine that
// writes to a connection may itself wait for the disk.
func (c *callers) sever() {
	c.mu.Lock()
	c.severed = true
	open := make([]net.Conn, 0, len(c.open))
	for conn := range c.open {
		open = append(open, conn)
	}
	c.mu.Unlock()
	for _, listener := range c.listeners {
		_ = listener.Close()
	}
	var all sync.WaitGroup
	for _, conn := range open {
		all.Go(func() { resetConn(conn) })
	}
	all.Wait()
}

// resetConn resets a connection. Under TLS it does so without the farewell, which would wait for
// the other side.
func resetConn(conn net.Conn) {
	if over, secure := conn.(*tls.Conn); secure {
		conn = over.NetConn()
	}
	if plain, is := conn.(*net.TCPConn); is {
		_ = plain.SetLinger(0)
	}
	_ = conn.Close()
}
