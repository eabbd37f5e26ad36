package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	callsAtOnce  = 32 // Of one connection.
	callDeadline = 10 * time.Second
)

// callConn is the answering side of a call connection.
type callConn struct {
	net.Conn
	peer    string
	writing sync.Mutex
	scratch []byte
}

func (c *callConn) answer(kind call, number uint64, payload []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.SetWriteDeadline(time.Now().Add(callDeadline)); err != nil {
		return
	}
	c.scratch = appendCall(c.scratch[:0], kind, number, payload)
	if _, err := c.Write(c.scratch); err != nil {
		c.Close()
	}
	if cap(c.scratch) > linkWriteBuffer {
		c.scratch = nil
	}
}

func (c *callConn) answerWith(number uint64, message any, err error) {
	if err == nil {
		c.answer(callReply, number, encodeMessage(message))
		return
	}
	text := err.Error()
	for _, known := range remoteErrors {
		if errors.Is(err, known) {
			text = known.Error()
		}
	}
	c.answer(callFailed, number, []byte(text))
}

// serveCalls answers one peer's connection until it breaks. Frames of records are
// taken in the order in which they come; everything else has a goroutine, a
// bounded number of them.
func (n *Node) serveCalls(id string, conn net.Conn) {
	c := &callConn{Conn: conn, peer: id}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	slots := make(chan struct{}, callsAtOnce)
	var running sync.WaitGroup
	defer running.Wait()
	in := bufio.NewReaderSize(conn, linkReadBuffer)
	for {
		kind, number, payload, err := readCall(in)
		if err != nil {
			cancel()
			return
		}
		switch kind {
		case callForward:
			n.takeForwarded(c, number, payload)
		case callGiveUp:
			n.takeGiveUp(c, number, payload)
		default:
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				limit, done := context.WithTimeout(ctx, callDeadline)
				defer done()
				message, err := n.answerCall(limit, id, kind, payload)
				c.answerWith(number, message, err)
			})
		}
	}
}

var errUnknownCall = errors.New("cluster: this release does not know that call")

// answerCall does what a peer asks.
func (n *Node) answerCall(ctx context.Context, peer string, kind call, payload []byte) (any, error) {
	switch kind {
	case callPing:
		return n.pong(), nil
	case callReadIndex:
		index, err := n.askReadIndexHere(ctx)
		return &numberReply{Number: index}, err
	case callTerm:
		return &numberReply{Number: n.raft.CurrentTerm()}, nil
	case callJoin:
		return decoded(payload, func(m *joinCall) (any, error) { return nil, n.admitMember(ctx, m) })
	case callVerb:
		return decoded(payload, func(m *verbCall) (any, error) { return nil, n.doVerb(ctx, m) })
	case callPromise:
		return decoded(payload, func(m *promiseCall) (any, error) {
			if m.ID != peer { // Given once for ever: not in another's name.
				return nil, fmt.Errorf("cluster: node %q asks for a promise to %q", peer, m.ID)
			}
			return nil, n.promise(m)
		})
	}
	return n.answerHistory(ctx, kind, payload)
}

// decoded reads a call's message and does it.
func decoded[M any](payload []byte, do func(*M) (any, error)) (any, error) {
	var message M
	if err := decodeMessage(payload, &message); err != nil {
		return nil, err
	}
	return do(&message)
}
