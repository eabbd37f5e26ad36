package httpapi

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
	"railguard/strictjson"
)

// call is one request on its way through the border. It is pooled: nothing may
// keep it, its body or its parsed values after the handler returned.
type call struct {
	passing
	room
	judge edge.Judge // Five kilobytes, which Reset makes ready where they are.
}

// room is what a call leaves to the next one: its parts are emptied and kept.
type room struct {
	asked      edge.Call          // What the judge sees of the call.
	parameters []parameter        // Of the query, as the route declares them.
	out        strictjson.Members // Answer under construction.
	buffer     []byte
}

// passing is what a call has to itself: nothing of it is left when it ends.
type passing struct {
	api   *API
	route *route
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context

	key   *apiKey // nil on a public route.
	start time.Time
	txnID string // For the error body and the access log.

	status   int // Of the answer; 0 until it is written.
	replayed bool
	happened bool // A record of this call, now or at its first try, is in the log.
	wrote    bool
	bodyRead bool          // To its end.
	lost     bool          // Its place in the lane of scans.
	work     timing.Work   // What it computes in a turn of the scans; paced.
	commit   time.Duration // What the log took; for Server-Timing and the metrics.
	batch    *batch        // nil for any other call.
	shown    *listing      // The page it answers with; nil for any other call.
}

var calls = sync.Pool{New: func() any { return new(call) }}

// serve runs one call: method and path are decided, the rest of the check order
// of decision 32 is this function.
func (a *API) serve(w http.ResponseWriter, r *http.Request, route *route) {
	c := a.begin(w, r, route)
	entered := false
	defer func() {
		p := recover()
		if entered {
			leaveLane(c)
		}
		c.endIdempotent()
		if p != nil {
			c.panicked(p)
		}
		c.finish()
		if p == http.ErrAbortHandler {
			panic(p)
		}
	}()
	cancel, err := c.admit()
	if cancel != nil {
		defer cancel()
	}
	if err == nil {
		err = c.readBody() // Before the call counts: half a body must hold no place.
	}
	if err == nil {
		err = enterLane(c)
		entered = err == nil
	}
	if err == nil && !route.late {
		err = c.checkMembers()
	}
	if err == nil {
		err = c.beginIdempotent()
	}
	var answer Answer
	if err == nil {
		answer, err = route.handle(c)
	}
	if err == nil {
		err = c.writeAnswer(answer)
	}
	if err != nil {
		c.fail(err)
	}
}

// refuse answers a request that belongs to no route.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	c := a.begin(w, r, nil)
	if many := a.keyless(r, 1); many != nil {
		err = many
	}
	c.fail(err)
	c.finish()
}

func (a *API) begin(w http.ResponseWriter, r *http.Request, route *route) *call {
	c := calls.Get().(*call)
	c.api, c.w, c.r, c.route, c.ctx = a, w, r, route, r.Context()
	c.start = time.Now()
	c.asked.RequestID = requestID(r)
	c.asked.Trace = traceID(r.Header.Get("Traceparent"))
	c.judge.Begin(c.ctx, a.judges, &c.asked)
	return c
}

func (c *call) finish() {
	c.api.logAccess(c)
	c.judge.Reset()
	c.batch.end()
	c.shown.give()
	if cap(c.asked.Body) > bodyBufferKept || cap(c.out) > bodyBufferKept || cap(c.buffer) > bodyBufferKept {
		return // Let the garbage collector have a large one.
	}
	c.asked.Document.Reset()
	c.passing = passing{}
	c.room = room{
		asked: edge.Call{Body: c.asked.Body[:0], Document: c.asked.Document},
		out:   c.out[:0], buffer: c.buffer[:0], parameters: c.parameters[:0],
	}
	calls.Put(c)
}

// requestID echoes a caller's id that is safe to print, else makes one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= requestIDMax && printable(id) {
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

// traceID takes the trace id out of a traceparent header (W3C Trace Context,
// version 00: version, trace id, parent id, flags); "" for anything else.
func traceID(header string) string {
	const whole, from, to = 55, 3, 35
	if len(header) != whole || header[:from] != "00-" || header[to] != '-' || header[52] != '-' {
		return ""
	}
	id := header[from:to]
	if id == "00000000000000000000000000000000" || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// admit checks who calls and whether this node can answer now: bootstrap,
// drain, key, rate, role, deadline, minimum index, consistency.
func (c *call) admit() (context.CancelFunc, error) {
	a := c.api
	if !c.route.always {
		if a.draining.Load() {
			return nil, unavailable("shutting_down", "this node is draining")
		}
		if c.judge.Terms.Settings.Genesis == nil && c.route.roles != 0 {
			return nil, unavailable("no_leader", "the cluster is not bootstrapped")
		}
	}
	if c.route.roles != 0 {
		if err := c.authenticate(); err != nil {
			return nil, err
		}
	} else if !c.route.admin {
		if err := a.keyless(c.r, c.route.charge.cost); err != nil {
			return nil, err
		}
	}
	if err := c.readQuery(); err != nil {
		return nil, err
	}
	cancel, err := c.setDeadline()
	if err != nil {
		return cancel, err
	}
	return cancel, c.waitForIndex()
}

func (c *call) setDeadline() (context.CancelFunc, error) {
	limit := c.api.deadline
	if text := c.r.Header.Get("X-Railguard-Timeout-Ms"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return nil, invalidField("X-Railguard-Timeout-Ms", "must be a whole number of milliseconds")
		}
		limit = min(limit, time.Duration(n)*time.Millisecond)
	}
	if c.route.stream {
		return nil, nil
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(c.ctx, limit)
	c.judge.Within(c.ctx)
	return cancel, nil
}

// waitForIndex serves X-Railguard-Min-Index and ?consistency=leader.
func (c *call) waitForIndex() error {
	if text := c.r.Header.Get("X-Railguard-Min-Index"); text != "" {
		index, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return invalidField("X-Railguard-Min-Index", "must be a log index")
		}
		if index > c.api.deps.Published.Applied() {
			if err := c.api.deps.Records.WaitApplied(c.ctx, index); err != nil {
				return unavailable("overloaded", "this node has not applied that index yet")
			}
			c.judge.Renew()
		}
	}
	switch c.query("consistency") {
	case "", "local":
		return nil
	case "leader":
		if c.r.Method == http.MethodPost {
			return nil // A call that is judged asks the leader where it must.
		}
		return c.judge.Confirm()
	}
	return badQuery("consistency", "must be local or leader")
}

// ifMatch reads If-Match as a version: 0 when absent or *.
func (c *call) ifMatch() (uint64, error) {
	text := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if text == "" || text == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.Trim(strings.TrimPrefix(text, "W/"), `"`), 10, 64)
	if err != nil || n == 0 {
		return 0, failure(http.StatusPreconditionFailed, "version_mismatch", "If-Match does not name the current version")
	}
	return n, nil
}

// readBody reads, checks and parses the body as the route wants it.
func (c *call) readBody() error {
	if c.route.body == bodyNone || c.route.body == bodyRaw {
		return nil
	}
	if c.r.ContentLength > c.route.max {
		return tooLarge(c.route.max)
	}
	if c.route.body == bodyBatch {
		if err := beginBatch(c); err != nil {
			return err
		}
		return c.slurp()
	}
	if err := c.slurp(); err != nil {
		return err
	}
	if len(c.asked.Body) == 0 && c.route.body == bodyOptional {
		return nil
	}
	return c.parseBody()
}

// slurp reads the body into c.asked.body. A read that fails is never taken for the end.
func (c *call) slurp() error {
	body := c.r.Body
	if size := int(c.r.ContentLength); size >= cap(c.asked.Body) {
		if err := growBody(c, min(size+1, engine.BodyMax)); err != nil {
			return err
		}
	}
	for {
		if len(c.asked.Body) == cap(c.asked.Body) {
			if err := growBody(c, max(2*cap(c.asked.Body), 4*engine.KiB)); err != nil {
				return err
			}
		}
		// Not a byte more than shows that it is too large: a reader of chunks waits until its room is full.
		n, err := body.Read(c.asked.Body[len(c.asked.Body):min(cap(c.asked.Body), int(c.route.max)+1)])
		c.asked.Body = c.asked.Body[:len(c.asked.Body)+n]
		switch {
		case int64(len(c.asked.Body)) > c.route.max:
			return tooLarge(c.route.max)
		case err == io.EOF:
			c.bodyRead = true
			return nil
		case err != nil:
			return brokenBody(err)
		}
	}
}

// growBody makes room for size bytes. A large body gets it as it comes, not for saying
// that it will.
func growBody(c *call, size int) error {
	if c.batch != nil {
		if err := c.batch.claim(size - cap(c.asked.Body)); err != nil {
			return err
		}
	}
	c.asked.Body = append(make([]byte, 0, size), c.asked.Body...)
	return nil
}

// brokenBody says why a body could not be read to its end.
func brokenBody(err error) *Error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return failure(http.StatusBadRequest, "bad_request", "the body did not come in time")
	}
	return failure(http.StatusBadRequest, "bad_request", "the body ended before it was whole, or is not chunked as it says")
}

func tooLarge(max int64) *Error {
	return failure(http.StatusRequestEntityTooLarge, "payload_too_large",
		"the body is larger than "+strconv.FormatInt(max/engine.KiB, 10)+" KiB")
}

// fields reads the top object of the body.
func (c *call) fields() strictjson.Fields { return c.asked.Document.Fields() }

// panicked turns a panic into a 500 without a word of it in the answer.
func (c *call) panicked(p any) {
	if p == http.ErrAbortHandler {
		return
	}
	panicsTotal.Inc()
	c.api.log.Error("call panicked", "requestId", c.asked.RequestID, "panic", p, "stack", string(debug.Stack()))
	if c.wrote {
		return // Half an answer is out and cannot be taken back.
	}
	c.fail(failure(http.StatusInternalServerError, "internal_error", "internal error"))
}
