package port

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"railguard/engine"
)

const (
	CallPatience    = time.Second // How long a call waits if its context has no deadline.
	linkWriteBuffer = 64 * engine.KiB
	linkReadBuffer  = 64 * engine.KiB
	// silenceMax is how long a peer that owes an answer may send nothing at all. A peer that
	// answers late is busy: to dial it again would cost both a handshake.
	silenceMax  = time.Second
	RedialPause = 50 * time.Millisecond // Pause between two attempts to reach a peer that cannot be reached.
)

// Errors of a call. ErrNotSent means that the peer certainly never saw it.
var (
	ErrNotSent  = errors.New("cluster: call not sent")
	ErrLinkDown = errors.New("cluster: connection to the peer broke")
)

// Link is one connection to one peer that is kept open. Calls over it may be answered in any
// order. Forwarded frames have a link of their own, so that they never wait behind fetched
// history.
type Link struct {
	dial func(timeout time.Duration) (net.Conn, error)

	dialing chan struct{} // Only one dial at a time.
	mu      sync.Mutex
	conn    *linkConn
	failed  time.Time // When the last dial failed.
	closed  bool
}

// NewLink returns a link whose connections dial opens when they are needed.
func NewLink(dial func(timeout time.Duration) (net.Conn, error)) *Link {
	return &Link{dial: dial, dialing: make(chan struct{}, 1)}
}

// linkConn is a link's present connection.
type linkConn struct {
	net.Conn
	writing sync.Mutex
	buffer  *bufio.Writer
	scratch []byte

	mu      sync.Mutex
	pending map[uint64]chan reply
	owing   time.Time // Since when the peer has owed an answer and sent nothing; zero: it owes none.
	next    uint64
	err     error
	down    chan struct{}
}

type reply struct {
	payload []byte
	err     error
}

// currentConn returns the open connection. It dials if there is none.
func (l *Link) currentConn(ctx context.Context) (*linkConn, error) {
	select {
	case l.dialing <- struct{}{}:
		defer func() { <-l.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	conn, closed, failed := l.conn, l.closed, l.failed
	l.mu.Unlock()
	switch {
	case closed:
		return nil, net.ErrClosed
	case conn != nil && !conn.isDown():
		return conn, nil
	case time.Since(failed) < RedialPause:
		return nil, ErrLinkDown
	}
	timeout := CallPatience
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	raw, err := l.dial(timeout)
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
	go l.conn.readAnswers()
	return l.conn, nil
}

// Close ends the connection and fails every call that waits for an answer.
func (l *Link) Close() {
	l.mu.Lock()
	l.closed = true
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		conn.failConn(net.ErrClosed)
	}
}

// Request is a question to a peer; its answer is an A.
type Request[A any] interface{ kind(A) Kind }

// Ask asks the peer at the other end and waits for its answer until ctx ends, or for
// CallPatience if ctx has no deadline. ErrNotSent means that the peer never saw the question.
func Ask[A any](ctx context.Context, l *Link, question Request[A]) (*A, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, CallPatience)
		defer cancel()
	}
	answer := new(A)
	payload, err := l.callRaw(ctx, question.kind(*answer), encodePayload(question))
	if err != nil {
		callErrors.Inc()
		return answer, err
	}
	return answer, decodePayload(payload, answer)
}

func (l *Link) callRaw(ctx context.Context, kind Kind, payload []byte) ([]byte, error) {
	conn, err := l.currentConn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	number, result, err := conn.beginCall()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	if err := conn.sendFrame(kind, number, payload); err != nil {
		conn.failConn(err)
		return nil, fmt.Errorf("%w: %w", ErrLinkDown, err)
	}
	select {
	case r := <-result:
		return r.payload, r.err
	case <-ctx.Done():
		silent := conn.giveUp(number)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && silent >= silenceMax {
			conn.failConn(errors.New("no answer in time")) // A connection whose packets are lost looks like this.
		}
		return nil, fmt.Errorf("%w: %w", ErrLinkDown, ctx.Err())
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

func (c *linkConn) beginCall() (uint64, chan reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	c.next++
	result := make(chan reply, 1)
	c.pending[c.next] = result
	if c.owing.IsZero() {
		c.owing = time.Now()
	}
	return c.next, result, nil
}

func (c *linkConn) sendFrame(kind Kind, number uint64, payload []byte) error {
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

// giveUp gives a call up. It returns for how long the peer has owed an answer and sent nothing.
func (c *linkConn) giveUp(number uint64) (silent time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, number)
	if c.owing.IsZero() {
		return 0
	}
	return time.Since(c.owing)
}

// noteHeard records that the peer sent something. Called with mu held.
func (c *linkConn) noteHeard() {
	c.owing = time.Time{}
	if len(c.pending) > 0 {
		c.owing = time.Now()
	}
}

// failConn closes the connection and fails every waiting call.
func (c *linkConn) failConn(err error) {
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
		result <- reply{err: fmt.Errorf("%w: %w", ErrLinkDown, err)}
	}
}

// readAnswers is the connection's goroutine: it delivers answers to the calls that wait for
// them.
func (c *linkConn) readAnswers() {
	in := bufio.NewReaderSize(c.Conn, linkReadBuffer)
	for {
		kind, number, payload, err := readCall(in)
		if err != nil {
			c.failConn(err)
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
		c.noteHeard()
		c.mu.Unlock()
	}
}
