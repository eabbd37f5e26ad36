package sim

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of a connection. Each side can end it. If the writer finishes it, the
// bytes on their way still arrive, and then the end of the stream. If the reader aborts it,
// everything that arrives is lost.
type stream struct {
	network  *Network
	from, to string

	mu       sync.Mutex
	changed  *sync.Cond
	flying   []parcel // Parcels that have not arrived yet, in their order.
	arrived  []byte
	finished bool // The writer writes nothing any more.
	ended    bool // The end of the stream has arrived.
	aborted  bool // The reader reads nothing any more.
	broken   bool // The reader was told that the connection is broken.
	unwired  bool // The writer's host has no power, so bytes that wait at a cut link are lost.
	deadline time.Time
	timer    *time.Timer
	moving   bool
}

type parcel struct {
	data []byte
	last bool // This parcel is the end of the stream.
	at   time.Time
}

func newStream(n *Network, from, to string) *stream {
	s := &stream{network: n, from: from, to: to}
	s.changed = sync.NewCond(&s.mu)
	return s
}

const windowMax = 1 << 20

func (s *stream) write(data []byte) (int, error) {
	delay := s.network.delay(s.from, s.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size() > windowMax && !s.finished && !s.aborted {
		s.changed.Wait() // If the peer does not read, the writer has to wait.
	}
	if s.finished {
		return 0, net.ErrClosed
	}
	if !s.aborted { // Otherwise the bytes are lost, and the writer does not know it yet.
		s.send(parcel{data: append([]byte(nil), data...), at: time.Now().Add(delay)})
	}
	return len(data), nil
}

// send puts a parcel on its way. The caller holds mu.
func (s *stream) send(p parcel) {
	s.flying = append(s.flying, p)
	if !s.moving {
		s.moving = true
		time.AfterFunc(time.Until(p.at), s.move)
	}
}

func (s *stream) size() int {
	size := len(s.arrived)
	for _, p := range s.flying {
		size += len(p.data)
	}
	return size
}

// underWay returns how many parcels have not arrived.
func (s *stream) underWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.flying)
}

// move delivers the parcels that are due. Over a cut link nothing moves until it is healed.
func (s *stream) move() {
	cut := s.network.isCut(s.from, s.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted || cut && s.unwired {
		s.flying, s.moving = nil, false
		return
	}
	if cut {
		time.AfterFunc(10*time.Millisecond, s.move)
		return
	}
	now := time.Now()
	for len(s.flying) > 0 && !s.flying[0].at.After(now) {
		s.arrived = append(s.arrived, s.flying[0].data...)
		s.ended = s.ended || s.flying[0].last
		s.flying = s.flying[1:]
	}
	s.changed.Broadcast()
	if len(s.flying) == 0 {
		s.moving = false
		return
	}
	time.AfterFunc(s.flying[0].at.Sub(now), s.move)
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.aborted:
			return 0, net.ErrClosed
		case s.broken:
			return 0, syscall.ECONNRESET
		case len(s.arrived) > 0:
			n := copy(p, s.arrived)
			s.arrived = s.arrived[n:]
			s.changed.Broadcast()
			return n, nil
		case s.ended:
			return 0, io.EOF
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		s.changed.Wait()
	}
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() && !s.aborted {
		s.timer = time.AfterFunc(time.Until(t), s.wakeAll)
	}
	s.changed.Broadcast()
}

func (s *stream) wakeAll() {
	s.mu.Lock()
	s.changed.Broadcast()
	s.mu.Unlock()
}

// finish ends the writer's side. The parcels on their way arrive, and then the end of the stream.
func (s *stream) finish() {
	delay := s.network.delay(s.from, s.to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.finished = true
	if !s.aborted {
		s.send(parcel{last: true, at: time.Now().Add(delay)})
	}
	s.changed.Broadcast()
}

// stop ends the writer's side, and the reader does not learn of it.
func (s *stream) stop() {
	s.mu.Lock()
	s.finished = true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// powerless stops the writer's side. Of the parcels on their way only the first so many arrive.
func (s *stream) powerless(arriving int) {
	s.mu.Lock()
	s.flying = s.flying[:min(arriving, len(s.flying))]
	s.finished, s.unwired = true, true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// drop loses the parcels that are on their way.
func (s *stream) drop() {
	s.mu.Lock()
	s.flying = nil
	s.mu.Unlock()
}

// reset tells the reader that the connection is broken.
func (s *stream) reset() {
	s.mu.Lock()
	s.broken = true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// abort ends the reader's side.
func (s *stream) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted, s.arrived, s.flying = true, nil, nil
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

// conn is one end of a connection.
type conn struct {
	network  *Network
	port     *Port // The access of the process that has this end.
	in, out  *stream
	from, to string
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

func (c *conn) Close() error {
	c.in.abort()
	c.out.finish()
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return nil
}

// breakAfter tells this end, after a while, that the connection is broken.
func (c *conn) breakAfter(d time.Duration) {
	do := func() {
		c.in.reset()
		c.out.stop()
	}
	if d == 0 {
		do()
		return
	}
	time.AfterFunc(d, do)
}

func (c *conn) LocalAddr() net.Addr  { return address(c.from) }
func (c *conn) RemoteAddr() net.Addr { return address(c.to) }

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }
