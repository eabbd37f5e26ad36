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

// Lines is a call whose body and answer are lines, and open at the same time: HTTP/2, or HTTP/1.1 with
// both directions of its connection in use. Its lines are worked on in parts, each of which is admitted
// as a call of its own, so that no line outlives the key, the drain or the deadline that a call has.
type Lines struct {
	c       *Request
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

var errLinesBroken = errors.New("work on a part of the lines panicked")

// AnswerLines answers a call with lines, by run. Everything that run began with Go has ended before
// the answer ends.
func (c *Request) AnswerLines(run func(*Lines) error) (Answer, error) {
	if err := c.refuseEncoded(); err != nil {
		return Answer{}, err
	}
	return StreamAnswer(LinesType, func(s *Stream) error {
		if !c.border.Large.claimBytes(linesBytes) {
			return Unavailable("overloaded", "too many batches and streams at once on this node")
		}
		defer c.border.Large.Held.Add(-linesBytes)
		l := &Lines{c: c, control: s.control}
		l.open()
		err := run(l)
		l.beside.Wait()
		if l.broken.Load() {
			return errLinesBroken
		}
		return err
	}), nil
}

// open sends the head of the answer, so that the caller knows that its lines are read.
func (l *Lines) open() {
	c := l.c
	_ = l.control.EnableFullDuplex() // Other than HTTP/1.1 needs none of it.
	c.bodyRead = true                // The answer does not end the body.
	if body, followed := c.r.Body.(*followedBody); followed {
		body.endBody() // It lasts; the lane bounds how many do.
	}
	if c.r.Header.Get("Expect") != "" && c.r.ProtoMajor < 2 {
		_, _ = c.r.Body.Read(nil) // It sends the 100 for which the caller waits.
	}
	c.writeHead(http.StatusOK, LinesType, -1)
	_ = l.Send(nil)
}

// Go does work beside the call. A panic in it breaks the connection, and no more than that.
func (l *Lines) Go(work func()) {
	l.beside.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				panicsTotal.Inc()
				l.c.border.log.Error("a part of a stream panicked", "requestId", l.c.Asked.RequestID, "panic", p, "stack", string(debug.Stack()))
				l.broken.Store(true)
				l.EndReading()
			}
		}()
		work()
	})
}

// Read reads from the body; it waits no longer than that. io.EOF is the body's end and nothing else.
func (l *Lines) Read(p []byte, within time.Duration) (int, error) {
	l.reading.Lock()
	if l.ended {
		l.reading.Unlock()
		return 0, context.Canceled
	}
	_ = l.control.SetReadDeadline(time.Now().Add(within)) // A body without deadlines needs none.
	l.reading.Unlock()
	n, err := l.c.r.Body.Read(p)
	if err == io.EOF {
		l.reading.Lock()
		defer l.reading.Unlock()
		l.ended = true
		_ = l.control.SetReadDeadline(time.Time{}) // By reading on, net/http notices that the caller has gone.
	}
	return n, err
}

// EndReading ends the current Read, and every later one.
func (l *Lines) EndReading() {
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.ended {
		l.ended = true
		_ = l.control.SetReadDeadline(time.Now())
	}
}

// Send sends lines at once. An error says that the caller has gone or does not read.
func (l *Lines) Send(lines []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.wrote = time.Now()
	_ = l.control.SetWriteDeadline(l.wrote.Add(chunkWriteTimeout)) // A writer without deadlines needs none.
	if _, err := l.c.w.Write(lines); err != nil {
		return err
	}
	if err := l.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_ = l.control.SetWriteDeadline(time.Time{}) // In HTTP/2 a deadline would end the stream while nothing is written.
	return nil
}

// KeepAlive sends an empty line if the caller was sent nothing for that long: what stands between
// them keeps the connection then, and a caller that has gone is noticed.
func (l *Lines) KeepAlive(after time.Duration) error {
	l.writing.Lock()
	quiet := time.Since(l.wrote)
	l.writing.Unlock()
	if quiet < after {
		return nil
	}
	return l.Send([]byte("\n"))
}

// KeyStands tells whether the caller's key is still good.
func (l *Lines) KeyStands() bool { return l.c.border.keyStands(l.c) }

// MostOfPart is how many lines a part may have: what the key may call in an eighth of a second.
func (l *Lines) MostOfPart() int {
	if l.c.Key.Calls == nil {
		return math.MaxInt
	}
	return max(1, l.c.Key.Limit/8)
}

// Part does work with a request of its own, admitted as a call that costs that much. refused says why
// it was not admitted. A key that calls faster than its rate waits.
func (l *Lines) Part(cost int, work func(part *Request, refused error)) {
	slow := l.awaitTokens(cost)
	c := l.c
	part := calls.Get().(*Request)
	part.border, part.w, part.r, part.route = c.border, partWriter{header: make(http.Header)}, c.r, c.route
	part.Start = time.Now()
	part.Key, part.keys, part.Asked.Caller = c.Key, c.keys, c.Asked.Caller
	part.Asked.Path, part.Asked.RequestID, part.Asked.Trace = c.Asked.Path, c.Asked.RequestID, c.Asked.Trace
	ctx, cancel := context.WithTimeout(c.r.Context(), c.limit)
	part.ctx = ctx
	part.Judge.Begin(ctx, c.border.judges, &part.Asked)
	body, document := part.Asked.Body, part.Asked.Document // A line's replace them, whose memory is not the request's.
	entered := false
	defer func() {
		part.Asked.Body, part.Asked.Document = body, document
		if entered {
			c.border.InFlight.Add(-1)
		}
		part.chargeJudging()
		part.recycle()
		cancel()
	}()
	err := part.admitPart()
	if slow {
		err = part.refuseRate(c.Key.Calls, c.Key.Limit, "the calls of this key's rate did not come in time: other calls use them")
	}
	if err == nil {
		entered = true
		if c.border.InFlight.Add(1) > InFlightMax {
			err = Unavailable("overloaded", "too many calls at once on this node")
		}
	}
	work(part, err)
}

// admitPart makes the checks of a call that can end otherwise than when the stream began.
func (c *Request) admitPart() error {
	if err := c.passGate(); err != nil {
		return err
	}
	if err := c.renewKey(); err != nil {
		return err
	}
	if err := c.admitNames(c.Key); err != nil {
		return err
	}
	return c.admitLooker()
}

// ConfirmPart makes sure that the key is good by what the leader has committed, if no record of the
// part says so.
func (c *Request) ConfirmPart() error { return c.confirmAnswer() }

// awaitTokens counts calls against the key's rate, and waits for them: one part of the stream at a
// time, so that the others do not ask for what comes late. slow says that they did not come.
func (l *Lines) awaitTokens(cost int) (slow bool) {
	key := l.c.Key
	if key.Use == nil || key.Calls == nil {
		return false
	}
	l.paying.Lock()
	defer l.paying.Unlock()
	key.noteUse(l.c.border.keyTime())
	key.Use.asked.Add(int64(cost))
	l.c.border.divideRates(l.c.keys)
	ctx, cancel := context.WithTimeout(l.c.r.Context(), paceMax)
	defer cancel()
	return key.Calls.WaitN(ctx, min(cost, key.Calls.Burst())) != nil
}

// partWriter takes the headers of a part: its answer is lines, which have none.
type partWriter struct{ header http.Header }

func (w partWriter) Header() http.Header         { return w.header }
func (w partWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w partWriter) WriteHeader(int)             {}
