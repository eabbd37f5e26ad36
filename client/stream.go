package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// Bounds of Stream.
const (
	StreamWindow = 256 // Payments that are read from the source and have no result yet.

	streamPath   = "/v1/screen/stream"
	streamLook   = time.Second
	streamAlive  = 10 * time.Second // After so long without a payment an empty line keeps the connection open.
	streamSilent = 30 * time.Second // The service says something every ten seconds.
	streamLine   = 1 << 20
)

// Stream decides on payments as they come, over one open connection, for what batches cost and as
// soon as each is decided. It yields each payment once, with its result, in the order in which they
// are decided. A payment without a key gets one, written into it before it is sent. No more than
// StreamWindow payments are read ahead. A payment that the service could not take is sent again within
// attempts and deadline; when the connection breaks or its node stops, what has no answer is sent again
// with its keys, over a new one. If no connection can be had, every payment that has no result is
// yielded with the error, and the source is read no further.
//
//	for payment, result := range rail.Stream(ctx, slices.Values(payments)) {
func (c *Client) Stream(ctx context.Context, payments iter.Seq[*Payment], options ...CallOption) iter.Seq2[*Payment, BatchResult] {
	return func(yield func(*Payment, BatchResult) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := &stream{client: c, ctx: ctx, yield: yield, source: make(chan *streamed), at: int(c.at.Load())}
		for _, option := range options {
			option(&s.call)
		}
		go s.read(payments)
		s.run()
	}
}

// stream is one use of Stream. One goroutine owns it; others read the source, write and read a connection.
type stream struct {
	client *Client
	ctx    context.Context
	call   request // What options add.
	yield  func(*Payment, BatchResult) bool
	source chan *streamed
	at     int // Number of the address in use.

	ended   bool // The source has ended.
	stopped bool // The caller wants no more.
	waiting []*streamed
	fails   int // Connections in a row that gave no answer.
}

// streamed is one payment on its way.
type streamed struct {
	payment  *Payment
	line     []byte // As it is sent: a key binds its bytes.
	attempts int
	unknown  bool      // An attempt's outcome is unknown.
	until    time.Time // It is not sent again after this.
	due      time.Time // It is not sent again before this.
	wrong    error     // It cannot be written.
}

// read hands the payments of the source over, one by one.
func (s *stream) read(payments iter.Seq[*Payment]) {
	defer close(s.source)
	for payment := range payments {
		if payment.IdempotencyKey = payment.key(); payment.IdempotencyKey == "" {
			payment.IdempotencyKey = NewKey()
		}
		one := &streamed{payment: payment, until: time.Now().Add(s.client.options.Deadline)}
		key := payment.IdempotencyKey
		if payment.Proof != "" {
			key = ""
		}
		one.line, one.wrong = json.Marshal(keyed{payment, key})
		select {
		case s.source <- one:
		case <-s.ctx.Done():
			return
		}
	}
}

// run opens connections until all is answered.
func (s *stream) run() {
	for !s.stopped && (!s.ended || len(s.waiting) > 0) {
		if len(s.waiting) == 0 && !s.next() {
			continue
		}
		conn := s.open()
		failure := conn.run()
		conn.close()
		if failure == nil || s.stopped {
			continue
		}
		if s.ctx.Err() != nil || !failure.again() || s.fails >= s.client.options.Attempts {
			s.giveUp(failure)
			return
		}
		s.at++
		if !s.client.wait(s.ctx, s.client.backoff(s.fails)) {
			s.giveUp(failure)
			return
		}
	}
}

// next waits for a payment of the source before a connection is opened for it.
func (s *stream) next() bool {
	select {
	case one, more := <-s.source:
		s.ended = !more
		if more {
			s.take(one)
		}
		return more
	case <-s.ctx.Done():
		s.ended = true
		return false
	}
}

// take takes a payment to be sent.
func (s *stream) take(one *streamed) {
	if one.wrong != nil {
		s.settle(one, BatchResult{Error: &Error{Status: http.StatusBadRequest, Code: "bad_request", Message: "the payment cannot be written", Outcome: OutcomeNone, Cause: one.wrong}})
		return
	}
	s.waiting = append(s.waiting, one)
}

// settle yields a payment's result, or lets it wait to be sent again.
func (s *stream) settle(one *streamed, result BatchResult) {
	if failure := result.Error; failure != nil {
		one.attempts++
		one.unknown = one.unknown || failure.Outcome == OutcomeUnknown
		if one.unknown {
			failure.Outcome = OutcomeUnknown
		}
		failure.Attempts, failure.IdempotencyKey = one.attempts, one.payment.IdempotencyKey
		one.due = time.Now().Add(max(failure.RetryAfter, s.client.backoff(one.attempts-1)))
		if failure.again() && one.attempts < s.client.options.Attempts && one.due.Before(one.until) {
			s.waiting = append(s.waiting, one)
			return
		}
	}
	s.stopped = s.stopped || !s.yield(one.payment, result)
}

// giveUp yields everything that has no result with the error.
func (s *stream) giveUp(failure *Error) {
	select {
	case one, more := <-s.source: // It was read already.
		if more {
			s.waiting = append(s.waiting, one)
		}
	default:
	}
	for _, one := range s.waiting {
		if s.stopped {
			return
		}
		last := *failure
		last.Outcome = OutcomeNone
		if one.unknown {
			last.Outcome = OutcomeUnknown
		}
		last.Attempts, last.IdempotencyKey = one.attempts, one.payment.IdempotencyKey
		s.stopped = !s.yield(one.payment, BatchResult{Error: &last})
	}
	s.waiting, s.stopped = nil, true
}

// streamConn is one connection of a stream.
type streamConn struct {
	stream *stream
	cancel context.CancelFunc
	out    chan []byte        // To be written; closed at the end of the body.
	in     chan streamMessage // What was read.

	buffer []byte // Lines that nobody writes yet.
	lines  int    // Lines so far, the empty ones too.
	sent   int    // Of these, lines that were given to be written.
	under  map[int]*streamed
	closed bool // The body has ended.
	heard  time.Time
	wrote  time.Time
}

// streamMessage is a line of the answer, or why there are no more.
type streamMessage struct {
	line    []byte
	failure *Error // The connection could not be opened, or broke.
}

// open begins a connection to the address whose turn it is.
func (s *stream) open() *streamConn {
	ctx, cancel := context.WithCancel(s.ctx)
	now := time.Now()
	conn := &streamConn{stream: s, cancel: cancel, out: make(chan []byte), in: make(chan streamMessage), under: make(map[int]*streamed), heard: now, wrote: now}
	body, writer := io.Pipe()
	go func() {
		defer writer.Close()
		for {
			select {
			case lines, more := <-conn.out:
				if !more {
					return
				}
				if _, err := writer.Write(lines); err != nil {
					return
				}
			case <-ctx.Done():
				_ = writer.CloseWithError(ctx.Err()) // It never fails.
				return
			}
		}
	}()
	go conn.read(ctx, body)
	return conn
}

func (c *streamConn) close() { c.cancel() }

// read makes the call and hands over the lines of its answer.
func (c *streamConn) read(ctx context.Context, body *io.PipeReader) {
	defer body.Close()
	tell := func(message streamMessage) bool {
		select {
		case c.in <- message:
			return true
		case <-ctx.Done():
			return false
		}
	}
	answer, failure := c.ask(ctx, body)
	if failure != nil {
		tell(streamMessage{failure: failure})
		return
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, streamLine)
	for lines.Scan() {
		if !tell(streamMessage{line: bytes.Clone(lines.Bytes())}) {
			return
		}
	}
	tell(streamMessage{failure: &Error{Code: CodeNoAnswer, Message: "the stream broke", Outcome: OutcomeUnknown, Cause: cmp.Or(lines.Err(), io.ErrUnexpectedEOF)}})
}

// ask sends the head of the call and returns that of the answer. The head comes at once, before any
// payment is answered.
func (c *streamConn) ask(ctx context.Context, body io.Reader) (*http.Response, *Error) {
	s := c.stream
	options := &s.client.options
	slow := time.AfterFunc(options.AttemptTimeout, c.cancel)
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(options.Addresses[s.at%len(options.Addresses)], "/")+streamPath, body)
	if err != nil {
		return nil, &Error{Code: "bad_request", Status: http.StatusBadRequest, Outcome: OutcomeNone, Cause: err}
	}
	for name, values := range s.call.header {
		call.Header[name] = values
	}
	call.Header.Set("Authorization", "Bearer "+cmp.Or(s.call.apiKey, options.Key))
	call.Header.Set("Content-Type", "application/x-ndjson")
	transport := *options.HTTP
	transport.Timeout = 0 // A stream lasts.
	answer, err := transport.Do(call)
	slow.Stop()
	if err != nil {
		return nil, unanswered(err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if err != nil {
		return nil, unanswered(err)
	}
	return nil, refusal(answer.StatusCode, answer.Header, raw)
}

// run sends and reads until everything is answered, or the connection ends. nil says that nothing
// was wrong.
func (c *streamConn) run() *Error {
	s := c.stream
	ticker := time.NewTicker(streamLook)
	defer ticker.Stop()
	for !s.stopped {
		retry := c.resend()
		if s.ended && len(s.waiting) == 0 && len(c.under) == 0 && len(c.buffer) == 0 && !c.closed {
			close(c.out)
			c.closed = true
		}
		var source <-chan *streamed
		if !s.ended && len(c.under)+len(s.waiting) < StreamWindow {
			source = s.source
		}
		var out chan<- []byte
		if len(c.buffer) > 0 {
			out = c.out
		}
		select {
		case one, more := <-source:
			if s.ended = !more; more {
				s.take(one)
			}
		case out <- c.buffer:
			c.buffer, c.sent, c.wrote = nil, c.lines, time.Now()
		case message := <-c.in:
			if done, failure := c.hear(message); done {
				return failure
			}
		case <-retry:
		case now := <-ticker.C:
			if now.Sub(c.heard) > streamSilent {
				return c.lost(&Error{Code: CodeNoAnswer, Message: "the stream is silent", Outcome: OutcomeUnknown}, -1)
			}
			if now.Sub(c.wrote) > streamAlive && len(c.buffer) == 0 && !c.closed {
				c.lines++
				c.buffer = append(c.buffer, '\n')
			}
		case <-s.ctx.Done():
			return c.lost(&Error{Code: CodeNoAnswer, Message: "no answer", Outcome: OutcomeUnknown, Cause: s.ctx.Err()}, -1)
		}
	}
	return nil
}

// resend writes what is due into the buffer. It returns a channel that says when more is due; nil: nothing waits.
func (c *streamConn) resend() <-chan time.Time {
	s := c.stream
	now, later := time.Now(), s.waiting[:0]
	var first time.Time
	for _, one := range s.waiting {
		if one.due.After(now) {
			if later = append(later, one); first.IsZero() || one.due.Before(first) {
				first = one.due
			}
			continue
		}
		c.lines++
		c.under[c.lines] = one
		c.buffer = append(append(c.buffer, one.line...), '\n')
	}
	clear(s.waiting[len(later):])
	if s.waiting = later; len(later) == 0 {
		return nil
	}
	return time.After(time.Until(first))
}

// hear takes one message. done says that the connection has ended.
func (c *streamConn) hear(message streamMessage) (done bool, failure *Error) {
	s := c.stream
	if c.heard = time.Now(); message.failure != nil {
		return true, c.lost(message.failure, -1)
	}
	if len(message.line) == 0 {
		return false, nil
	}
	var told struct {
		Line int `json:"line"`
		End  *struct {
			Lines         int
			Code, Message string
		} `json:"end"`
	}
	err := json.Unmarshal(message.line, &told)
	if told.End != nil {
		if c.closed && len(c.under) == 0 {
			return true, nil
		}
		return true, c.lost(&Error{Code: cmp.Or(told.End.Code, CodeBadAnswer), Message: told.End.Message, Outcome: OutcomeNone}, told.End.Lines)
	}
	one := c.under[told.Line]
	if err != nil || one == nil {
		return true, c.lost(&Error{Status: http.StatusOK, Code: CodeBadAnswer, Outcome: OutcomeUnknown, Cause: cmp.Or(err, errors.New("no answer of a line"))}, -1)
	}
	delete(c.under, told.Line)
	s.fails = 0
	s.client.at.Store(uint32(s.at % len(s.client.options.Addresses)))
	s.settle(one, readResult(message.line))
	c.heard = time.Now() // The caller may have taken long; meanwhile nothing was read.
	return false, nil
}

// lost lets what has no answer wait for the next connection. Of lines that were not written, or came
// after the last that the service has read, nothing happened; lines is below 0 if it did not say which
// that was.
func (c *streamConn) lost(failure *Error, lines int) *Error {
	s := c.stream
	s.fails++
	for number := 1; number <= c.lines; number++ {
		one := c.under[number]
		switch {
		case one == nil:
		case number > c.sent || lines >= 0 && number > lines || lines < 0 && failure.Outcome == OutcomeNone:
			s.waiting = append(s.waiting, one)
		default:
			s.settle(one, BatchResult{Error: &Error{Code: CodeNoAnswer, Message: "the stream broke before an answer", Outcome: OutcomeUnknown, Cause: failure.Cause}})
		}
	}
	c.under = nil
	return failure
}
