package border

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Duplex is a call whose body and answer are lines, and open at the same time: HTTP/2, or HTTP/1.1 with
// both directions of its connection in use. Its lines are worked on in parts, each of which is admitted
// as a call of its own, so that no line outlives the key, the drain or the deadline that a call has.
type Duplex struct {
	c       *Request
	border  *Border
	key     *Key      // With which the call came.
	first   callState // Every part begins with it.
	control *http.ResponseController
	beside  sync.WaitGroup
	broken  atomic.Bool // Work beside the call panicked.

	reading sync.Mutex
	ended   bool // Nothing more is read.

	paying sync.Mutex // Held by the part that waits for the key's rate.

	writing sync.Mutex
	wrote   time.Time // When the caller was sent something last.
}

// LinesType is the media type of lines.
var LinesType = []string{"application/x-ndjson"}

var errDuplexBroken = errors.New("work on a part of a stream panicked")

// AnswerDuplex answers a call with lines, by run. Everything that run began with Go has ended before
// the answer ends.
func (c *Request) AnswerDuplex(run func(*Duplex) error) (Answer, error) {
	if err := c.refuseEncoded(); err != nil {
		return Answer{}, err
	}
	return StreamAnswer(LinesType, func(s *Stream) error {
		if !s.border.Large.claimBytes(duplexBytes) {
			return Unavailable("overloaded", "too many batches and streams at once on this node")
		}
		defer s.border.Large.Held.Add(-duplexBytes)
		d := &Duplex{c: c, border: s.border, key: c.Key, first: c.callState, control: s.control}
		d.first.walk = nil
		d.open()
		err := run(d)
		d.beside.Wait()
		if d.broken.Load() {
			return errDuplexBroken
		}
		return err
	}), nil
}

// open sends the head of the answer, so that the caller knows that its lines are read.
func (d *Duplex) open() {
	c := d.c
	_ = d.control.EnableFullDuplex() // Other than HTTP/1.1 needs none of it.
	c.bodyRead = true                // The answer does not end the body.
	if body, followed := c.r.Body.(*followedBody); followed {
		body.endBody() // It lasts; the lane bounds how many do.
	}
	if c.r.Header.Get("Expect") != "" && c.r.ProtoMajor < 2 {
		_, _ = c.r.Body.Read(nil) // It sends the 100 for which the caller waits.
	}
	c.writeHead(http.StatusOK, LinesType, -1)
	_ = d.Send(nil)
}

// Go does work beside the call. A panic in it breaks the connection, and no more than that.
func (d *Duplex) Go(work func()) {
	d.beside.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				panicsTotal.Inc()
				d.border.log.Error("a part of a stream panicked", "requestId", d.c.Asked.RequestID, "panic", p, "stack", string(debug.Stack()))
				d.broken.Store(true)
				d.EndReading()
			}
		}()
		work()
	})
}

// Read reads from the body; it waits no longer than that. io.EOF is the body's end and nothing else.
func (d *Duplex) Read(p []byte, within time.Duration) (int, error) {
	d.reading.Lock()
	if d.ended {
		d.reading.Unlock()
		return 0, context.Canceled
	}
	_ = d.control.SetReadDeadline(time.Now().Add(within)) // A body without deadlines needs none.
	d.reading.Unlock()
	n, err := d.c.r.Body.Read(p)
	if err == io.EOF {
		d.reading.Lock()
		defer d.reading.Unlock()
		d.ended = true
		_ = d.control.SetReadDeadline(time.Time{}) // By reading on, net/http notices that the caller has gone.
	}
	return n, err
}

// EndReading ends the current Read, and every later one.
func (d *Duplex) EndReading() {
	d.reading.Lock()
	defer d.reading.Unlock()
	if !d.ended {
		d.ended = true
		_ = d.control.SetReadDeadline(time.Now())
	}
}

// Send sends lines at once. An error says that the caller has gone or does not read.
func (d *Duplex) Send(lines []byte) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.wrote = time.Now()
	_ = d.control.SetWriteDeadline(d.wrote.Add(chunkWriteTimeout)) // A writer without deadlines needs none.
	if _, err := d.c.w.Write(lines); err != nil {
		return err
	}
	if err := d.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_ = d.control.SetWriteDeadline(time.Time{}) // In HTTP/2 a deadline would end the stream while nothing is written.
	return nil
}

// KeepAlive sends an empty line if the caller was sent nothing for that long: what stands between
// them keeps the connection then, and a caller that has gone is noticed.
func (d *Duplex) KeepAlive(after time.Duration) error {
	d.writing.Lock()
	quiet := time.Since(d.wrote)
	d.writing.Unlock()
	if quiet < after {
		return nil
	}
	return d.Send([]byte("\n"))
}

// KeyStands tells whether the caller's key is still good.
func (d *Duplex) KeyStands() bool { return d.border.keyStands(d.c) }

// MostOfPart is how many lines a part may have: what the key may call in an eighth of a second.
func (d *Duplex) MostOfPart() int {
	if d.key.Calls == nil {
		return math.MaxInt
	}
	return max(1, d.key.Limit/8)
}

// Part does work with a request of its own, admitted as a call that costs that much. refused says why
// it was not admitted. A key that calls faster than its rate waits.
func (d *Duplex) Part(cost int, work func(part *Request, refused error)) {
	slow := d.awaitTokens(cost)
	c := d.c
	part := calls.Get().(*Request)
	part.callState = d.first
	part.w, part.Start = partWriter{header: make(http.Header)}, time.Now()
	part.Asked.Caller, part.Asked.Path, part.Asked.RequestID, part.Asked.Trace = c.Asked.Caller, c.Asked.Path, c.Asked.RequestID, c.Asked.Trace
	ctx, cancel := context.WithTimeout(c.r.Context(), c.limit)
	part.ctx = ctx
	part.Judge.Begin(ctx, d.border.judges, &part.Asked)
	body, document := part.Asked.Body, part.Asked.Document // A line's replace them, whose memory is not the request's.
	entered := false
	defer func() {
		part.Asked.Body, part.Asked.Document = body, document
		if entered {
			d.border.leaveQueue(part)
			d.border.InFlight.Add(-1)
		}
		part.chargeJudging()
		part.recycle()
		cancel()
	}()
	err := part.admitPart(d.key)
	if slow {
		err = part.refuseRate(d.key.Calls, d.key.Limit, "the calls of this key's rate did not come in time: other calls use them")
	}
	if err == nil {
		entered = true
		if d.border.InFlight.Add(1) > InFlightMax {
			err = Unavailable("overloaded", "too many calls at once on this node")
		} else {
			err = d.border.joinAsPart(part)
		}
	}
	work(part, err)
}

// admitPart makes the checks of a call that can end otherwise than when the stream began.
func (c *Request) admitPart(key *Key) error {
	if err := c.passGate(); err != nil {
		return err
	}
	if err := c.renewKey(); err != nil {
		return err
	}
	if err := c.admitNames(key); err != nil {
		return err
	}
	return c.admitLooker()
}

// ConfirmPart makes sure that the key is good by what the leader has committed, if no record of the
// part says so.
func (c *Request) ConfirmPart() error { return c.confirmAnswer() }

// awaitTokens counts calls against the key's rate, and waits for them: one part of the stream at a
// time, so that the others do not ask for what comes late. slow says that they did not come.
func (d *Duplex) awaitTokens(cost int) (slow bool) {
	key := d.key
	if key.Use == nil || key.Calls == nil {
		return false
	}
	d.paying.Lock()
	defer d.paying.Unlock()
	key.noteUse(d.border.keyTime())
	key.Use.asked.Add(int64(cost))
	d.border.divideRates(d.c.keys)
	ctx, cancel := context.WithTimeout(d.c.r.Context(), paceMax)
	defer cancel()
	return key.Calls.WaitN(ctx, min(cost, key.Calls.Burst())) != nil
}

// partWriter takes the headers of a part: its answer is lines, which have none.
type partWriter struct{ header http.Header }

func (w partWriter) Header() http.Header         { return w.header }
func (w partWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w partWriter) WriteHeader(int)             {}
