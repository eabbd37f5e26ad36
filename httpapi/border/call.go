package border

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"railguard/cluster/timing"
	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/guest"
	"railguard/httpapi/tracing"
	"railguard/strictjson"
)

// Request is one request on its way through the border. It is pooled: nothing may
// keep it, its body or its parsed values after the handler returned.
type Request struct {
	callState
	callBuffers
	Judge edge.Judge // It has five kilobytes, which Reset reuses in place.
}

// callBuffers is the memory that a call passes to the next one: emptied, not freed.
type callBuffers struct {
	Asked      edge.Call          // What the judge sees of the call.
	parameters []parameter        // The parameters of the query, checked against the route.
	Out        strictjson.Members // The answer under construction.
	buffer     []byte
}

// callState is the state of one call; nothing of it remains when the call ends.
type callState struct {
	border *Border
	route  *Route
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	limit  time.Duration // How long the call may take; of a stream, each of its parts.

	Key   *Key      // nil on a public route.
	keys  *KeyTable // Where Key was found.
	Start time.Time
	TxnID string // For the error body and the access log.

	Status    int    // Status of the answer; 0 until it is written.
	code      string // Code of the refusal; "": the call was not refused by the border.
	Replayed  bool
	Happened  bool // The log holds a record of this call, from this try or an earlier one.
	logged    bool // The log has judged a record of this call.
	wrote     bool
	bodyRead  bool // The body was read to its end.
	lost      bool // The call lost its place in the lane of scans.
	pacing    pacing
	Commit    time.Duration // Time that the log took; for Server-Timing and the metrics.
	large     *largeBody    // nil for any call whose body is not large.
	confirmed time.Time     // When the leader confirmed the key.
	kept      Releaser      // What the handler holds until the answer is written; nil: nothing.
	claimed   [16]byte      // The Idempotency-Key that this call holds, if claims is set.
	claims    bool
	walk      *tracing.Walk // nil: the call is not traced.
	shown     *Listing      // The page with which the call is answered; nil for any other call.
}

var calls = sync.Pool{New: func() any { return new(Request) }}

// Serve runs one call. Its method and path were checked already; Serve does the remaining
// checks in the order of decision 32.
func (b *Border) Serve(w http.ResponseWriter, r *http.Request, route *Route) {
	c := b.Begin(w, r, route)
	entered := false
	defer func() {
		p := recover()
		if entered {
			leaveLane(c)
		}
		c.chargeJudging()
		c.endIdempotent()
		if p != nil {
			c.answerPanic(p)
		}
		c.finishCall()
		if p == http.ErrAbortHandler {
			panic(p)
		}
	}()
	cancel, err := c.admitCall()
	if cancel != nil {
		defer cancel()
	}
	if err == nil {
		err = c.readBody() // Before enterLane: a caller that sends its body slowly must not hold a place.
	}
	if err == nil {
		err = enterLane(c)
		entered = err == nil
	}
	if err == nil && !route.Late {
		err = c.CheckMembers()
	}
	if err == nil {
		err = c.beginIdempotent()
	}
	var answer Answer
	if err == nil {
		c.walk.Enter()
		answer, err = route.Handle(c)
	}
	if err == nil {
		err = c.confirmAnswer()
	}
	if err == nil {
		err = c.writeAnswer(answer)
	}
	if err != nil {
		c.answerError(err)
	}
}

// refuseRequest answers a request that matches no route.
func (b *Border) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	c := b.Begin(w, r, nil)
	if many := b.countKeyless(r, 1); many != nil {
		err = many
	}
	c.answerError(err)
	c.finishCall()
}

func (b *Border) Begin(w http.ResponseWriter, r *http.Request, route *Route) *Request {
	c := calls.Get().(*Request)
	c.border, c.w, c.r, c.route, c.ctx = b, w, r, route, r.Context()
	c.Start = time.Now()
	c.Asked.Path = r.URL.Path
	c.Asked.RequestID, c.Asked.Facilitator = requestID(r), guest.ByFacilitator(r.Context())
	c.Asked.Passkey = r.Header.Get(PasskeyHeader)
	parent := r.Header.Get("Traceparent")
	from, _ := tracing.ReadParent(parent)
	c.Asked.Trace = from.Trace
	if route == nil || route.charge.Name != Charges[KindProbe].Name {
		c.walk = b.deps.Tracer.Begin(parent, c.Start)
	}
	c.Judge.Begin(c.ctx, b.judges, &c.Asked)
	return c
}

func (c *Request) finishCall() {
	c.border.logAccess(c)
	c.endWalk()
	c.recycle()
}

// recycle empties the request and keeps its memory for the next call.
func (c *Request) recycle() {
	c.Judge.Reset()
	if c.kept != nil {
		c.kept.Release()
	}
	c.large.releaseBytes()
	c.shown.giveBack()
	if cap(c.Asked.Body) > bodyBufferKept || cap(c.Out) > bodyBufferKept || cap(c.buffer) > bodyBufferKept {
		return // Let the garbage collector free a large buffer.
	}
	c.Asked.Document.Reset()
	c.callState = callState{}
	c.callBuffers = callBuffers{
		Asked: edge.Call{Body: c.Asked.Body[:0], Document: c.Asked.Document},
		Out:   c.Out[:0], buffer: c.buffer[:0], parameters: c.parameters[:0],
	}
	calls.Put(c)
}

// endWalk sends the walk of a call that is traced.
func (c *Request) endWalk() {
	if c.walk == nil {
		return
	}
	out := tracing.Outcome{Method: safeMethod(c.r.Method), Status: c.Status, Ended: time.Now()}
	if c.route != nil {
		out.Route = c.route.Path
	}
	c.walk.End(out)
}

// proposalContext is the context of the next proposal. If the call is traced, the log writes its moments there.
func (c *Request) proposalContext() context.Context {
	steps := c.walk.Log()
	if steps == nil {
		return c.ctx
	}
	c.walk.Judged()
	return timing.WithSteps(c.ctx, steps)
}

// requestID returns the caller's id if it is safe to print, else makes one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= RequestIDMax && isPrintable(id) {
		return id
	}
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	id := [30]byte{'r', 'e', 'q', '_'}
	n := uint64(time.Now().UnixMilli())
	for i := 13; i > 3; i-- { // A ULID: 48 bits of time, 80 of randomness.
		id[i] = alphabet[n&31]
		n >>= 5
	}
	high, low := rand.Uint64(), rand.Uint64()
	for i := 14; i < 22; i++ {
		id[i] = alphabet[high&31]
		id[i+8] = alphabet[low&31]
		high >>= 5
		low >>= 5
	}
	return string(id[:])
}

// spanID returns the id of this call in its trace: that of its span, or else a random one (W3C Trace Context).
func (c *Request) spanID() string {
	if c.walk != nil {
		return c.walk.SpanID()
	}
	const digits = "0123456789abcdef"
	id, n := [16]byte{}, rand.Uint64()|1 // All zeros would be no id.
	for i := range id {
		id[i] = digits[n&15]
		n >>= 4
	}
	return string(id[:])
}

func isPrintable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// admitCall checks the caller and whether this node can answer now: its gate, key, rate, role,
// query, deadline, minimum index, consistency.
func (c *Request) admitCall() (context.CancelFunc, error) {
	b := c.border
	if err := c.passGate(); err != nil {
		return nil, err
	}
	if c.route.Roles != 0 {
		if err := c.authenticateKey(); err != nil {
			return nil, err
		}
	} else if !c.route.admin {
		if err := b.countKeyless(c.r, c.route.charge.Cost); err != nil {
			return nil, err
		}
	}
	if err := c.readQuery(); err != nil {
		return nil, err
	}
	cancel, err := c.setDeadline()
	if err == nil && c.Key != nil {
		err = c.confirmKey()
	}
	if err != nil {
		return cancel, err
	}
	if err := c.waitForIndex(); err != nil {
		return cancel, err
	}
	return cancel, c.admitLooker()
}

func (c *Request) setDeadline() (context.CancelFunc, error) {
	limit := c.border.Deadline
	if text := c.r.Header.Get("X-Railguard-Timeout-Ms"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return nil, InvalidField("X-Railguard-Timeout-Ms", "must be a whole number of milliseconds")
		}
		limit = min(limit, time.Duration(n)*time.Millisecond)
	}
	if c.limit = limit; c.route.Stream {
		return nil, nil
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(c.ctx, limit)
	c.Judge.Within(c.ctx)
	return cancel, nil
}

// waitForIndex serves X-Railguard-Min-Index and ?consistency=leader.
func (c *Request) waitForIndex() error {
	if text := c.r.Header.Get("X-Railguard-Min-Index"); text != "" {
		index, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return InvalidField("X-Railguard-Min-Index", "must be a log index")
		}
		if index > c.border.deps.Published.Applied() {
			if err := c.border.deps.Records.WaitApplied(c.ctx, index); err != nil {
				return Unavailable("overloaded", "this node has not applied that index yet")
			}
			c.Judge.Renew()
		}
	}
	switch c.Query("consistency") {
	case "", "local":
		return nil
	case "leader":
		if c.r.Method == http.MethodPost {
			return nil // A POST asks the leader itself where its judgement needs it.
		}
		return c.Judge.CatchUp()
	}
	return BadQuery("consistency", "must be local or leader")
}

// ReadIfMatch reads If-Match as a version: 0 when absent or *.
func (c *Request) ReadIfMatch() (uint64, error) {
	text := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if text == "" || text == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.Trim(strings.TrimPrefix(text, "W/"), `"`), 10, 64)
	if err != nil || n == 0 {
		return 0, NewError(http.StatusPreconditionFailed, "version_mismatch", "If-Match does not name the current version")
	}
	return n, nil
}

// readBody reads, checks and parses the body as its route declares.
func (c *Request) readBody() error {
	if c.route.Body == BodyNone || c.route.Body == BodyRaw {
		return nil
	}
	if err := c.refuseEncoded(); err != nil {
		return err
	}
	if c.r.ContentLength > c.route.Max {
		return TooLarge(c.route.Max)
	}
	if c.route.Body == BodyBatch {
		return readLarge(c)
	}
	if err := c.ReadWhole(); err != nil {
		return err
	}
	if len(c.Asked.Body) == 0 && c.route.Body == BodyOptional {
		return nil
	}
	return c.ParseBody()
}

// ReadWhole reads the body into c.Asked.Body. It never takes a failed read for the body's
// end.
func (c *Request) ReadWhole() error {
	body := c.r.Body
	if size := int(c.r.ContentLength); size >= cap(c.Asked.Body) {
		if err := growBody(c, min(size+1, engine.BodyMax)); err != nil {
			return err
		}
	}
	for {
		if len(c.Asked.Body) == cap(c.Asked.Body) {
			if err := growBody(c, max(2*cap(c.Asked.Body), 4*engine.KiB)); err != nil {
				return err
			}
		}
		// At most one byte more than the route takes: a chunked reader waits until its
		// buffer is full.
		n, err := body.Read(c.Asked.Body[len(c.Asked.Body):min(cap(c.Asked.Body), int(c.route.Max)+1)])
		c.Asked.Body = c.Asked.Body[:len(c.Asked.Body)+n]
		switch {
		case int64(len(c.Asked.Body)) > c.route.Max:
			return TooLarge(c.route.Max)
		case err == io.EOF:
			c.bodyRead = true
			return nil
		case err != nil:
			return brokenBody(err)
		}
	}
}

// growBody makes room for size bytes. A large body gets memory as its bytes arrive, not for
// its announced length.
func growBody(c *Request, size int) error {
	if c.large != nil {
		if err := c.large.claimBytes(size - cap(c.Asked.Body)); err != nil {
			return err
		}
	}
	c.Asked.Body = append(make([]byte, 0, size), c.Asked.Body...)
	return nil
}

// brokenBody returns the error for a body that could not be read to its end.
func brokenBody(err error) *Error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return NewError(http.StatusBadRequest, "bad_request", "the body did not come in time")
	}
	return NewError(http.StatusBadRequest, "bad_request", "the body ended before it was whole, or is not chunked as it says")
}

func TooLarge(max int64) *Error {
	return NewError(http.StatusRequestEntityTooLarge, "payload_too_large",
		"the body is larger than "+strconv.FormatInt(max/engine.KiB, 10)+" KiB")
}

// ReadFields returns the fields of the body's top object.
func (c *Request) ReadFields() strictjson.Fields { return c.Asked.Document.Fields() }

// answerPanic turns a panic into a 500 whose answer says nothing about it.
func (c *Request) answerPanic(p any) {
	if p == http.ErrAbortHandler {
		return
	}
	panicsTotal.Inc()
	c.border.log.Error("call panicked", "requestId", c.Asked.RequestID, "panic", p, "stack", string(debug.Stack()))
	if c.wrote {
		return // Part of the answer was sent and cannot be taken back.
	}
	c.answerError(NewError(http.StatusInternalServerError, "internal_error", "internal error"))
}
