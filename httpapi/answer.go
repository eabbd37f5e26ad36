package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/strictjson"
)

// Header names in canonical form, set without canonicalisation.
const (
	headerNode     = "X-Railguard-Node"
	headerIndex    = "X-Railguard-Index"
	headerRole     = "X-Railguard-Role"
	headerOutcome  = "X-Railguard-Outcome"
	headerRequest  = "X-Request-Id"
	headerReplayed = "Idempotent-Replayed"
)

var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	noSniff     = []string{"nosniff"}
	noStore     = []string{"no-store"}
)

// lengthByServer is how long an answer may be for net/http to tell its length by itself
// (RFC 9110, section 8.6): it holds back as much, and writes the header when the handler is
// done. An answer to a call has eight headers then, which is what a map of Go takes without
// a table; net/http copies it besides. Not where the body was left: its rest is waited for
// after the answer, which goes out before.
const lengthByServer = 2048

// header sets a header of the answer.
func (c *call) header(name, value string) { c.w.Header().Set(name, value) }

// leaveBody sees to it that nobody waits for a body that the answer does not: what is
// here already is passed over, and the connection ends if that is not all of it.
func (c *call) leaveBody() {
	if !c.bodyRead && c.r.ContentLength != 0 && c.r.Body != nil && c.r.Body != http.NoBody {
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Now()) // A writer that has none needs none.
	}
}

// commonHeaders sets what every answer carries; length is its body's, below 0: not known.
func (c *call) commonHeaders(length int) {
	c.leaveBody()
	h := c.w.Header()
	if c.api.leaving.Load() {
		h.Set("Connection", "close") // The next call of this caller goes to a node that stays. HTTP/2 says GOAWAY for it.
	}
	index := c.judge.Index
	if index == 0 {
		index = c.api.deps.Published.Applied()
	}
	var room [160]byte // The numbers of an answer are one piece of memory, and its values another.
	text := strconv.AppendUint(room[:0], index, 10)
	indexEnd := len(text)
	if c.commit != 0 || c.judge.Timing != (edge.Timing{}) {
		text = appendTiming(text, c.judge.Timing, c.commit)
	}
	timingEnd := len(text)
	if length >= 0 {
		text = strconv.AppendInt(text, int64(length), 10)
	}
	numbers := string(text)
	values := make([]string, 0, 6)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1:]
	}
	set(headerRequest, c.asked.RequestID)
	set(headerNode, c.api.deps.Node)
	set(headerIndex, numbers[:indexEnd])
	set(headerRole, c.api.role.text(c.api))
	if timingEnd > indexEnd {
		set("Server-Timing", numbers[indexEnd:timingEnd])
	}
	if length > lengthByServer || length >= 0 && !c.bodyRead {
		set("Content-Length", numbers[timingEnd:])
	}
	h["X-Content-Type-Options"] = noSniff
	if _, set := h["Cache-Control"]; !set {
		h["Cache-Control"] = noStore
	}
	if c.replayed {
		h.Set(headerReplayed, "true")
	}
}

// appendTiming writes the Server-Timing of one call, in milliseconds.
func appendTiming(dst []byte, t edge.Timing, commit time.Duration) []byte {
	dst = appendMillis(append(dst, "verify;dur="...), t.Verify)
	dst = appendMillis(append(dst, ", rules;dur="...), t.Rules)
	return appendMillis(append(dst, ", commit;dur="...), commit)
}

// appendMillis writes a duration in milliseconds with three decimals.
func appendMillis(dst []byte, d time.Duration) []byte {
	micros := max(d.Microseconds(), 0)
	dst = strconv.AppendInt(dst, micros/1000, 10)
	rest := micros % 1000
	if rest == 0 {
		return dst
	}
	return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// Answer is what a handler answers a call with, and what the border writes once the
// handler has returned. The zero Answer is none: a handler that returns it without an
// error has a defect, and its caller is told so by a 500.
//
// An Answer is a value that may hold the call's own buffers: it is good until the border
// has written it.
type Answer struct {
	status      int
	contentType []string
	body        []byte // Whole; nil where stream or handler is set.
	bodyless    bool   // 204 and 304.

	stream  func(*Stream) error // Writes the body piece by piece.
	handler http.HandlerFunc    // Writes all of the answer: what a library brings for the admin listener.
}

// reply answers with m as one JSON object.
func (c *call) reply(status int, m strictjson.Members) Answer {
	c.buffer = append(c.buffer[:0], '{')
	c.buffer = append(c.buffer, m...)
	c.buffer = append(c.buffer, '}')
	return Answer{status: status, contentType: jsonType, body: c.buffer}
}

// send answers with a body that is whole.
func (c *call) send(status int, contentType []string, body []byte) Answer {
	return Answer{status: status, contentType: contentType, body: body}
}

// noContent answers 204.
func noContent() Answer { return Answer{status: http.StatusNoContent, bodyless: true} }

// streamAnswer answers 200 with a body that is written piece by piece. The answer begins with
// the first piece: an error before it is answered as that of any other call, one after it
// breaks the connection, so that no short answer looks whole. A HEAD writes nothing of it.
func streamAnswer(contentType []string, write func(*Stream) error) Answer {
	return Answer{status: http.StatusOK, contentType: contentType, stream: write}
}

// errNoAnswer says that a handler returned neither an answer nor an error.
var errNoAnswer = errors.New("BUG: a handler returned no answer")

// writeAnswer writes what a handler answered with.
func (c *call) writeAnswer(a Answer) error {
	switch {
	case a.handler != nil:
		c.status, c.wrote = http.StatusOK, true
		a.handler(c.w, c.r)
	case a.stream != nil:
		return writeStream(c, a)
	case a.status == 0:
		return errNoAnswer
	case a.bodyless:
		c.writeHead(a.status, nil, -1)
	default:
		c.writeHead(a.status, a.contentType, len(a.body))
		if c.r.Method != http.MethodHead {
			_, _ = c.w.Write(a.body) // A caller that went away is no fault of ours.
		}
	}
	return nil
}

// writeHead writes status and headers; length is the body's, below 0: not known.
func (c *call) writeHead(status int, contentType []string, length int) {
	c.commonHeaders(length)
	if contentType != nil {
		c.w.Header()["Content-Type"] = contentType
	}
	c.status, c.wrote = status, true
	c.w.WriteHeader(status)
}

func writeStream(c *call, a Answer) error {
	s := Stream{c: c, contentType: a.contentType, control: http.NewResponseController(c.w)}
	if c.r.Method == http.MethodHead {
		s.Begin()
		return nil
	}
	err := a.stream(&s)
	if err != nil && c.wrote {
		c.api.log.Warn("an answer broke off", "requestId", c.asked.RequestID, "route", c.route.path, "error", err)
		panic(http.ErrAbortHandler) // The caller sees a broken stream, not a short one.
	}
	if err == nil {
		s.Begin()
	}
	return err
}

// Stream is where an answer goes that is written piece by piece.
type Stream struct {
	c           *call
	contentType []string
	control     *http.ResponseController
}

// Begin writes the head of the answer, once.
func (s *Stream) Begin() {
	if !s.c.wrote {
		s.c.writeHead(http.StatusOK, s.contentType, -1)
	}
}

// Begun tells whether the answer has begun.
func (s *Stream) Begun() bool { return s.c.wrote }

// Write writes a piece, which has its own time to be taken.
func (s *Stream) Write(p []byte) (int, error) {
	s.Begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(chunkWriteTimeout)) // A writer that has none needs none.
	return s.c.w.Write(p)
}

// Flush sends what was written.
func (s *Stream) Flush() error { return s.control.Flush() }

// fail answers with an error in the flat shape of decision 32. An error that
// is not ours to show becomes internal_error and a log line.
func (c *call) fail(err error) {
	if c.wrote {
		c.api.log.Error("call failed after its answer began", "requestId", c.asked.RequestID, "error", err)
		return
	}
	e := c.api.known(err, c.happened, c.asked.RequestID)
	c.failHeaders(e)
	contentType := jsonType
	var m strictjson.Members
	if strings.Contains(c.r.Header.Get("Accept"), "application/problem+json") {
		contentType = problemType
		m.Text("type", docsLink(e.Code))
		m.Text("title", strings.ReplaceAll(e.Code, "_", " "))
		m.Int("status", int64(e.Status))
		m.Text("detail", e.Message)
		m.Text("instance", "urn:railguard:request:"+c.asked.RequestID)
	}
	m.Join(c.errorMembers(e))
	_ = c.writeAnswer(c.send(e.Status, contentType, m.Body())) // It is one.
}

// known is an error as the caller may see it. happened says that a record of the call
// is in the log: then nobody is told that nothing happened.
func (a *API) known(err error, happened bool, requestID string) *Error {
	var e *Error
	if !errors.As(err, &e) {
		if !errors.As(endError(err), &e) {
			internalErrorsTotal.Inc()
			a.log.Error("call failed", "requestId", requestID, "error", err)
			e = failure(http.StatusInternalServerError, "internal_error", "internal error; give support the requestId")
		}
	}
	if happened && (e.Status >= http.StatusInternalServerError || e.Status == http.StatusNotFound) {
		e = afterTheFact()
	}
	if e.Status == http.StatusServiceUnavailable && e.Outcome == "" {
		e.Outcome = outcomeNone
	}
	return e
}

func (c *call) failHeaders(e *Error) {
	h := c.w.Header()
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(e.Retry))
	}
	if e.Status == http.StatusServiceUnavailable {
		h.Set(headerOutcome, e.Outcome)
	}
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.Status == http.StatusRequestEntityTooLarge {
		h.Set("Connection", "close") // Else net/http waits for the rest of the body first.
	}
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	h.Del("Location")
	h.Del("Content-Disposition")
}

func (c *call) errorMembers(e *Error) strictjson.Members {
	var m strictjson.Members
	m.Text("error", e.Code)
	m.Text("code", e.Code)
	m.Text("message", e.Message)
	if e.Param != "" {
		m.Text("param", e.Param)
	}
	if len(e.Details) > 0 {
		details := make([]strictjson.Members, len(e.Details))
		for i := range e.Details {
			d := &e.Details[i]
			details[i].Optional("param", d.Param)
			details[i].Optional("message", d.Message)
			details[i].Join(d.Extra)
		}
		m.List("details", details)
	}
	m.Text("requestId", c.asked.RequestID)
	txn := e.TxnID
	if txn == "" {
		txn = c.txnID
	}
	m.TextOrNull("txnId", txn)
	m.Text("docs", docsLink(e.Code))
	m.Join(e.Extra)
	return m
}

func docsLink(code string) string { return "/docs/errors#" + code }

// logAccess writes one line a call: never a token, a key, a name or a path's
// query. Successful calls are at debug level, since a node answers thousands a second;
// of refused ones some a second are named, since overload must not fill the disk.
func (a *API) logAccess(c *call) {
	level := slog.LevelDebug
	if c.status >= http.StatusBadRequest {
		level = slog.LevelInfo
	}
	if c.status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	if isProbe(c) {
		level = slog.LevelDebug // A balancer asks twice a second: what changes is told once, by tellReadiness.
	} else {
		countRequest(c)
	}
	if !a.log.Enabled(c.r.Context(), level) {
		return
	}
	if level > slog.LevelDebug && c.status != http.StatusInternalServerError && !a.refusals.Allow() {
		linesDropped.Inc() // The counters by status tell how many there were.
		return
	}
	path, keyID := "", ""
	if c.route != nil {
		path = c.route.path
	}
	if c.key != nil {
		keyID = c.key.ID
	}
	a.log.LogAttrs(c.r.Context(), level, "request",
		slog.String("method", safeMethod(c.r.Method)), slog.String("route", path), slog.Int("status", c.status),
		slog.Duration("took", time.Since(c.start)), slog.String("requestId", c.asked.RequestID),
		slog.String("keyId", keyID), slog.String("txnId", c.txnID), slog.String("traceId", c.asked.Trace))
}
