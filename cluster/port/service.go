package port

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	callsAtOnce  = 32 // Calls of one connection.
	callDeadline = 10 * time.Second
)

// callConn is the answering side of a call connection.
type callConn struct {
	net.Conn
	peer    string
	writing sync.Mutex
	scratch []byte
}

func (c *callConn) answerCalls(kind Kind, number uint64, payload []byte) {
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

// sendReply sends a reply, or an error in place of it.
func (c *callConn) sendReply(number uint64, payload []byte, err error) {
	if err == nil {
		c.answerCalls(callReply, number, payload)
		return
	}
	text := err.Error()
	for _, known := range remoteErrors {
		if errors.Is(err, known) {
			text = known.Error()
		}
	}
	c.answerCalls(callFailed, number, []byte(text))
}

// Service answers what peers ask. It is filled by Handle and HandleInOrder before
// the port opens.
type Service struct {
	// Guard returns why a node may ask nothing but what every node may ask; nil: no reason. It is
	// asked for each question, as members come and go. Without it every node may ask everything.
	Guard func(peer Peer) error

	beside  map[Kind]func(ctx context.Context, peer string, payload []byte) ([]byte, error)
	inOrder map[Kind]func(c *callConn, number uint64, payload []byte)
}

// NewService returns a service that answers nothing yet.
func NewService() *Service {
	return &Service{
		beside:  map[Kind]func(context.Context, string, []byte) ([]byte, error){},
		inOrder: map[Kind]func(*callConn, uint64, []byte){},
	}
}

// Handle sets do as the function that answers the questions of type Q, each on a goroutine of
// its own.
func Handle[Q Request[A], A any](s *Service, do func(ctx context.Context, peer string, question *Q) (*A, error)) {
	var q Q
	var a A
	s.beside[q.kind(a)] = func(ctx context.Context, peer string, payload []byte) ([]byte, error) {
		question := new(Q)
		if err := decodePayload(payload, question); err != nil {
			return nil, err
		}
		answer, err := do(ctx, peer, question)
		if err != nil {
			return nil, err
		}
		return encodePayload(answer), nil
	}
}

// HandleInOrder sets take as the function that gets the questions of type Q in the order of the
// connection, before the next one is read. It must call reply exactly once, now or later.
func HandleInOrder[Q Request[A], A any](s *Service, take func(peer string, question *Q, reply func(*A, error))) {
	var q Q
	var a A
	s.inOrder[q.kind(a)] = func(c *callConn, number uint64, payload []byte) {
		question := new(Q)
		if err := decodePayload(payload, question); err != nil {
			c.sendReply(number, nil, err)
			return
		}
		take(c.peer, question, func(answer *A, err error) {
			if err != nil {
				c.sendReply(number, nil, err)
				return
			}
			c.sendReply(number, encodePayload(answer), nil)
		})
	}
}

var ErrUnknownCall = errors.New("cluster: this release does not know that call")

// Serve answers one peer's connection until it breaks. It runs the handlers in order at once,
// and a bounded number of the others on their own goroutines.
func (s *Service) Serve(peer Peer, conn net.Conn) {
	c := &callConn{Conn: conn, peer: peer.ID}
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
		if s.Guard != nil && !kind.isKnock() {
			if err := s.Guard(peer); err != nil {
				c.sendReply(number, nil, err)
				continue
			}
		}
		if take := s.inOrder[kind]; take != nil {
			take(c, number, payload)
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			limit, done := context.WithTimeout(ctx, callDeadline)
			defer done()
			answer := s.beside[kind]
			if answer == nil {
				c.sendReply(number, nil, ErrUnknownCall)
				return
			}
			data, err := answer(limit, peer.ID, payload)
			c.sendReply(number, data, err)
		})
	}
}
