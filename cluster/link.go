package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	callPatience    = time.Second // Of a call whose caller names no other.
	linkWriteBuffer = 64 * engine.KiB
	linkReadBuffer  = 64 * engine.KiB
	redialPause     = 50 * time.Millisecond // Between two attempts to reach a peer that cannot be.
)

// Errors of a call. errNotSent means that the peer certainly never saw it.
var (
	errNotSent  = errors.New("cluster: call not sent")
	errLinkDown = errors.New("cluster: connection to the peer broke")
)

// link is one connection to one peer, kept open, over which calls are answered in
// any order. Forwarded frames have a link of their own, so that they never wait
// behind fetched history.
type link struct {
	dial func(timeout time.Duration) (net.Conn, welcome, error)

	dialing gate // One dial at a time.
	mu      sync.Mutex
	conn    *linkConn
	failed  time.Time // Of the last dial.
	closed  bool
}

// linkConn is a link's connection of the moment.
type linkConn struct {
	net.Conn
	writing sync.Mutex
	buffer  *bufio.Writer
	scratch []byte

	mu      sync.Mutex
	pending map[uint64]chan reply
	next    uint64
	err     error
	down    chan struct{}
}

type reply struct {
	payload []byte
	err     error
}

// current returns the open connection, dialling when there is none.
func (l *link) current(ctx context.Context) (*linkConn, error) {
	if err := l.dialing.enter(ctx); err != nil {
		return nil, err
	}
	defer l.dialing.leave()
	l.mu.Lock()
	conn, closed, failed := l.conn, l.closed, l.failed
	l.mu.Unlock()
	switch {
	case closed:
		return nil, net.ErrClosed
	case conn != nil && !conn.isDown():
		return conn, nil
	case time.Since(failed) < redialPause:
		return nil, errLinkDown
	}
	timeout := callPatience
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	raw, _, err := l.dial(timeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = time.Now()
		return nil, err
	}
	if l.closed {
		return nil, errors.Join(net.ErrClosed, raw.Close())
	}
	l.conn = &linkConn{
		Conn: raw, buffer: bufio.NewWriterSize(raw, linkWriteBuffer),
		pending: make(map[uint64]chan reply), down: make(chan struct{}),
	}
	go l.conn.read()
	return l.conn, nil
}

// connection returns the connection of the moment, nil when there is none.
func (l *link) connection() *linkConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		conn.fail(net.ErrClosed)
	}
}

// call asks the peer and waits for its answer until ctx ends, at most callPatience
// when ctx has no end. An error that is errNotSent says that the peer never saw it.
func (l *link) call(ctx context.Context, kind call, message, answer any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callPatience)
		defer cancel()
	}
	payload, err := l.callRaw(ctx, kind, encodeMessage(message))
	if err != nil {
		callErrors.Inc()
		return err
	}
	if answer == nil {
		return nil
	}
	return decodeMessage(payload, answer)
}

func encodeMessage(message any) []byte {
	if message == nil {
		return nil
	}
	return wire.Encode(message)
}

func (l *link) callRaw(ctx context.Context, kind call, payload []byte) ([]byte, error) {
	conn, err := l.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	number, result, err := conn.begin()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	if err := conn.send(kind, number, payload); err != nil {
		conn.fail(err)
		return nil, fmt.Errorf("%w: %w", errLinkDown, err)
	}
	select {
	case r := <-result:
		return r.payload, r.err
	case <-ctx.Done():
		conn.give(number)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			conn.fail(errors.New("no answer in time")) // A hole in the network looks like this.
		}
		return nil, fmt.Errorf("%w: %w", errLinkDown, ctx.Err())
	}
}

func (c *linkConn) isDown() bool {
	select {
	case <-c.down:
		return true
	default:
		return false
	}
}

func (c *linkConn) begin() (uint64, chan reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.next++
	result := make(chan reply, 1)
	c.pending[c.next] = result
	return c.next, result, nil
}

func (c *linkConn) send(kind call, number uint64, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.SetWriteDeadline(time.Now().Add(handshakePatience)); err != nil {
		return err
	}
	c.scratch = appendCall(c.scratch[:0], kind, number, payload)
	if _, err := c.buffer.Write(c.scratch); err != nil {
		return err
	}
	return c.buffer.Flush()
}

func (c *linkConn) give(number uint64) {
	c.mu.Lock()
	delete(c.pending, number)
	c.mu.Unlock()
}

// fail closes the connection; every call that waits learns it.
func (c *linkConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.down)
	_ = c.Close()
	for number, result := range c.pending {
		delete(c.pending, number)
		result <- reply{err: fmt.Errorf("%w: %w", errLinkDown, err)}
	}
}

// read is the connection's goroutine: it hands answers to who waits for them.
func (c *linkConn) read() {
	in := bufio.NewReaderSize(c.Conn, linkReadBuffer)
	for {
		kind, number, payload, err := readCall(in)
		if err != nil {
			c.fail(err)
			return
		}
		r := reply{payload: payload}
		if kind == callFailed {
			r = reply{err: remoteError(payload)}
		}
		c.mu.Lock()
		if result := c.pending[number]; result != nil {
			delete(c.pending, number)
			result <- r
		}
		c.mu.Unlock()
	}
}

// remoteErrors are the errors that keep their meaning over the wire.
var remoteErrors = []error{
	wire.ErrNoLeader, wire.ErrNoQuorum, wire.ErrOverloaded, wire.ErrShuttingDown, wire.ErrUnknown,
	ErrNotLeader, ErrNoPeer, ErrAlone,
}

// remoteError is what a peer answered instead of a reply.
func remoteError(text []byte) error {
	for _, known := range remoteErrors {
		if string(text) == known.Error() {
			return known
		}
	}
	return fmt.Errorf("cluster: peer says: %.512s", text)
}
