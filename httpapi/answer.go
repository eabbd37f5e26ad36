package httpapi

import (
	"errors"
	"log/slog"
	"maps"
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
	if c.route != nil {
		maps.Copy(h, c.route.going)
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

// reply answers with m as one JSON object.
func (c *call) reply(status int, m strictjson.Members) {
	c.buffer = append(c.buffer[:0], '{')
	c.buffer = append(c.buffer, m...)
	c.buffer = append(c.buffer, '}')
	c.send(status, jsonType, c.buffer)
}

// send writes one whole answer.
func (c *call) send(status int, contentType []string, body []byte) {
	c.commonHeaders(len(body))
	c.w.Header()["Content-Type"] = contentType
	c.status, c.wrote = status, true
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body) // A caller that went away is no fault of ours.
	}
}

// noContent answers 204.
func (c *call) noContent() {
	c.commonHeaders(-1)
	c.status, c.wrote = http.StatusNoContent, true
	c.w.WriteHeader(http.StatusNoContent)
}

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
	c.send(e.Status, contentType, m.Body())
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
