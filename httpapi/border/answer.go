package border

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"railguard/edge"
	"railguard/strictjson"
)

// Header names are in canonical form, so they are set without canonicalisation.
const (
	HeaderNode     = "X-Railguard-Node"
	HeaderIndex    = "X-Railguard-Index"
	HeaderRole     = "X-Railguard-Role"
	HeaderLineage  = "X-Railguard-Lineage"
	HeaderOutcome  = "X-Railguard-Outcome"
	HeaderRequest  = "X-Request-Id"
	HeaderReplayed = "Idempotent-Replayed"
)

var (
	JSONType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	noSniff     = []string{"nosniff"}
	noStore     = []string{"no-store"}
	anyOrigin   = []string{"*"}
)

// LengthByServer is the longest body for which net/http sets Content-Length itself (RFC
// 9110, section 8.6): it buffers that much, and writes the header when the handler is done.
// The answer to a call then has eight headers, which a Go map holds without a table, and
// which net/http copies. The border sets the length itself when the request's body was not
// read to its end: such an answer goes out before the rest of the body is drained.
const LengthByServer = 2048

// SetHeader sets a header of the answer.
func (c *Request) SetHeader(name, value string) { c.w.Header().Set(name, value) }

// leaveBody keeps the server from waiting for a body that the answer does not need:
// net/http skips what has arrived already, and closes the connection if that is not the
// whole body.
func (c *Request) leaveBody() {
	if !c.bodyRead && c.r.ContentLength != 0 && c.r.Body != nil && c.r.Body != http.NoBody {
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Now()) // A writer without deadlines needs none.
	}
}

// commonHeaders sets the headers of every answer. length is the body's length; below 0, it
// is not known.
func (c *Request) commonHeaders(length int) {
	c.leaveBody()
	h := c.w.Header()
	if c.border.leaving.Load() {
		h.Set("Connection", "close") // So the caller's next call goes to a node that stays. Over HTTP/2 this sends GOAWAY.
	}
	index := c.Judge.Index
	if index == 0 {
		index = c.border.deps.Published.Applied()
	}
	var room [160]byte // All numbers of an answer share one allocation, all header values another.
	text := strconv.AppendUint(room[:0], index, 10)
	indexEnd := len(text)
	if c.Commit != 0 || c.Judge.Timing != (edge.Timing{}) {
		text = appendTiming(text, c.Judge.Timing, c.Commit)
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
	set(HeaderRequest, c.Asked.RequestID)
	set(HeaderNode, c.border.deps.Node)
	set(HeaderIndex, numbers[:indexEnd])
	set(HeaderRole, c.border.role.roleText(c.border))
	if settings := c.border.deps.Published.Settings(); settings.Lineage != "" { // After a recovery or a restore only, for a ninth header costs every answer.
		h[HeaderLineage] = []string{settings.Lineage}
	}
	if timingEnd > indexEnd {
		set("Server-Timing", numbers[indexEnd:timingEnd])
	}
	if length > LengthByServer || length >= 0 && !c.bodyRead {
		set("Content-Length", numbers[timingEnd:])
	}
	h["X-Content-Type-Options"] = noSniff
	if _, set := h["Cache-Control"]; !set {
		h["Cache-Control"] = noStore
	}
	if c.Replayed {
		h.Set(HeaderReplayed, "true")
	}
	if c.Asked.Trace != "" { // W3C Trace Context, level 2: which part of the trace this call is.
		flags := "-00"
		if c.walk != nil {
			flags = "-01" // It is sampled.
		}
		h.Set("Traceresponse", "00-"+c.Asked.Trace+"-"+c.spanID()+flags)
	}
	if c.route != nil && c.route.Roles == 0 && !c.route.admin && c.r.Method != http.MethodPost {
		h["Access-Control-Allow-Origin"] = anyOrigin // What needs no key is for programs in a browser, too.
	}
}

// appendTiming writes the Server-Timing of one call, in milliseconds.
func appendTiming(dst []byte, t edge.Timing, commit time.Duration) []byte {
	dst = AppendMillis(append(dst, "verify;dur="...), t.Verify)
	dst = AppendMillis(append(dst, ", rules;dur="...), t.Rules)
	return AppendMillis(append(dst, ", commit;dur="...), commit)
}

// AppendMillis writes a duration in milliseconds with three decimals.
func AppendMillis(dst []byte, d time.Duration) []byte {
	micros := max(d.Microseconds(), 0)
	dst = strconv.AppendInt(dst, micros/1000, 10)
	rest := micros % 1000
	if rest == 0 {
		return dst
	}
	return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// Answer is what a handler returns, and what the border writes afterwards. The zero Answer
// is no answer: a handler that returns it without an error has a defect, and its caller
// gets a 500.
//
// An Answer may refer to the call's own buffers: it is valid until the border has written
// it.
type Answer struct {
	status      int
	contentType []string
	body        []byte // The whole body; nil where stream or handler is set.
	bodyless    bool   // 204 and 304.

	stream  func(*Stream) error // Writes the body piece by piece.
	handler http.HandlerFunc    // Writes the whole answer: a library's handler, on the admin listener.
}

// Reply answers with m as one JSON object.
func (c *Request) Reply(status int, m strictjson.Members) Answer {
	c.buffer = append(c.buffer[:0], '{')
	c.buffer = append(c.buffer, m...)
	c.buffer = append(c.buffer, '}')
	return Answer{status: status, contentType: JSONType, body: c.buffer}
}

// Send answers with a complete body.
func (c *Request) Send(status int, contentType []string, body []byte) Answer {
	return Answer{status: status, contentType: contentType, body: body}
}

// NoContent answers 204.
func NoContent() Answer { return Answer{status: http.StatusNoContent, bodyless: true} }

// StreamAnswer answers 200 with a body that write sends piece by piece. The answer begins
// with the first piece. An error before it is answered as usual; an error after it breaks
// the connection, so that a truncated answer never looks complete. A HEAD does not call
// write.
func StreamAnswer(contentType []string, write func(*Stream) error) Answer {
	return Answer{status: http.StatusOK, contentType: contentType, stream: write}
}

// AnswerWith lets a library's handler write all of the answer.
func AnswerWith(handler http.HandlerFunc) Answer { return Answer{handler: handler} }

// AllowCaching lets clients cache the answer, under its version (the ETag).
func (c *Request) AllowCaching(control, etag string) {
	c.SetHeader("Cache-Control", control)
	c.SetHeader("ETag", etag)
}

// NotModified answers 304.
func NotModified() Answer { return Answer{status: http.StatusNotModified, bodyless: true} }

// CallerHas tells whether the caller has this version already.
func CallerHas(c *Request, etag string) bool {
	for _, have := range strings.Split(c.r.Header.Get("If-None-Match"), ",") {
		have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
		if have == etag || have == "*" {
			return true
		}
	}
	return false
}

// errNoAnswer says that a handler returned neither an answer nor an error.
var errNoAnswer = errors.New("BUG: a handler returned no answer")

// writeAnswer writes the answer that a handler returned.
func (c *Request) writeAnswer(a Answer) error {
	switch {
	case a.handler != nil:
		c.Status, c.wrote = http.StatusOK, true
		a.handler(c.w, c.r)
	case a.stream != nil:
		return writeStream(c, a)
	case a.status == 0:
		return errNoAnswer
	case a.bodyless:
		c.writeHead(a.status, nil, -1)
	case len(a.body) >= compressFrom && c.takesGzip(a.contentType):
		c.writePacked(&a)
	default:
		c.writeHead(a.status, a.contentType, len(a.body))
		if c.r.Method != http.MethodHead {
			_, _ = c.w.Write(a.body) // A caller that went away is not our fault.
		}
	}
	return nil
}

// writeHead writes status and headers. length is the body's length; below 0, it is not
// known.
func (c *Request) writeHead(status int, contentType []string, length int) {
	c.commonHeaders(length)
	if contentType != nil {
		c.w.Header()["Content-Type"] = contentType
	}
	c.Status, c.wrote = status, true
	c.w.WriteHeader(status)
}

func writeStream(c *Request, a Answer) error {
	s := Stream{c: c, border: c.border, contentType: a.contentType, control: http.NewResponseController(c.w)}
	if c.r.Method == http.MethodHead {
		s.Begin()
		return nil
	}
	err := a.stream(&s)
	if err != nil && c.wrote {
		c.border.log.Warn("an answer broke off", "requestId", c.Asked.RequestID, "route", c.route.Path, "error", err)
		panic(http.ErrAbortHandler) // The caller sees a broken stream, not a complete short one.
	}
	if err == nil {
		s.Begin()
		s.finish()
	}
	return err
}

// Stream takes an answer that is written piece by piece.
type Stream struct {
	c           *Request
	border      *Border
	contentType []string
	control     *http.ResponseController
	looked      time.Time    // When the key was looked at last.
	packer      *gzip.Writer // nil: the answer is not compressed.
}

// Begin writes the head of the answer, once.
func (s *Stream) Begin() {
	if s.c.wrote {
		return
	}
	if s.c.takesGzip(s.contentType) {
		s.c.packHeaders()
		if s.c.r.Method != http.MethodHead {
			s.packer = packers.Get().(*gzip.Writer)
			s.packer.Reset(s.c.w)
		}
	}
	s.c.writeHead(http.StatusOK, s.contentType, -1)
}

// finish ends a compressed answer that is whole.
func (s *Stream) finish() {
	if s.packer != nil {
		_ = s.packer.Close() // A caller that went away is not our fault.
		keepPacker(s.packer)
		s.packer = nil
	}
}

// Begun tells whether the answer has begun.
func (s *Stream) Begun() bool { return s.c.wrote }

// Write writes a piece; each piece has its own write deadline. It fails once the caller's key has
// ended: a long answer must not outlive it.
func (s *Stream) Write(p []byte) (int, error) {
	if now := time.Now(); now.Sub(s.looked) >= streamKeyEvery {
		if s.looked = now; !s.border.keyStands(s.c) {
			return 0, newUnauthorized()
		}
	}
	s.Begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(chunkWriteTimeout)) // A writer without deadlines needs none.
	if s.packer != nil {
		return s.packer.Write(p)
	}
	return s.c.w.Write(p)
}

// Flush sends what was written.
func (s *Stream) Flush() error {
	if s.packer != nil {
		if err := s.packer.Flush(); err != nil {
			return err
		}
	}
	return s.control.Flush()
}

// answerError answers with an error in the flat shape of decision 32. The caller sees an
// internal error only as internal_error; the log line has its text.
func (c *Request) answerError(err error) {
	if c.wrote {
		c.border.log.Error("call failed after its answer began", "requestId", c.Asked.RequestID, "error", err)
		return
	}
	e := c.border.visibleError(err, c.Happened, c.Asked.RequestID)
	c.code = e.Code
	c.failHeaders(e)
	c.walk.Fail(e.Code)
	contentType := JSONType
	var m strictjson.Members
	if c.wantsProblem() {
		contentType = problemType
		m.Text("type", docsLink(e.Code))
		m.Text("title", strings.ReplaceAll(e.Code, "_", " "))
		m.Int("status", int64(e.Status))
		m.Text("detail", e.Message)
		m.Text("instance", "urn:railguard:request:"+c.Asked.RequestID)
	}
	m.Join(c.WriteError(e))
	_ = c.writeAnswer(c.Send(e.Status, contentType, m.Body())) // Send always makes an answer.
}

// wantsProblem reports whether the caller accepts errors in the form of RFC 9457.
func (c *Request) wantsProblem() bool {
	for kind := range strings.SplitSeq(c.r.Header.Get("Accept"), ",") {
		name, parameters, _ := strings.Cut(kind, ";")
		if strings.EqualFold(strings.TrimSpace(name), problemType[0]) {
			return !isRefused(parameters)
		}
	}
	return false
}

// visibleError turns an error into what the caller may see. happened says that a record of
// the call is in the log: then the answer never claims that nothing happened.
func (b *Border) visibleError(err error, happened bool, requestID string) *Error {
	var e *Error
	if !errors.As(err, &e) {
		if !errors.As(endError(err), &e) {
			internalErrorsTotal.Inc()
			b.log.Error("call failed", "requestId", requestID, "error", err)
			e = NewError(http.StatusInternalServerError, "internal_error", "internal error; give support the requestId")
		}
	}
	if happened && (e.Status >= http.StatusInternalServerError || e.Status == http.StatusNotFound) {
		e = afterTheFact()
	}
	if e.Status == http.StatusServiceUnavailable && e.Outcome == "" {
		e.Outcome = OutcomeNone
	}
	return e
}

func (c *Request) failHeaders(e *Error) {
	h := c.w.Header()
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(e.Retry))
	}
	if e.Status == http.StatusServiceUnavailable {
		h.Set(HeaderOutcome, e.Outcome)
	}
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.Status == http.StatusRequestEntityTooLarge {
		h.Set("Connection", "close") // Otherwise net/http first waits for the rest of the body.
	}
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	h.Del("Location")
	h.Del("Content-Disposition")
}

func (c *Request) WriteError(e *Error) strictjson.Members {
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
	m.Text("requestId", c.Asked.RequestID)
	txn := e.TxnID
	if txn == "" {
		txn = c.TxnID
	}
	m.TextOrNull("txnId", txn)
	m.Text("docs", docsLink(e.Code))
	m.Join(e.Extra)
	return m
}

func docsLink(code string) string { return "/docs/errors#" + code }

var TextType = []string{"text/plain; charset=utf-8"}

var BytesType = []string{"application/octet-stream"}
