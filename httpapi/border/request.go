package border

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

// What a handler sees of the house and of HTTP.

// Published is what this node knows now.
func (c *Request) Published() Published { return c.border.deps.Published }

// Records reads history and frozen state.
func (c *Request) Records() Records { return c.border.deps.Records }

// Secrets seal what the state keeps secret.
func (c *Request) Secrets() *seal.Secrets { return c.border.deps.Secrets }

// NodeName is this node's name.
func (c *Request) NodeName() string { return c.border.deps.Node }

// Log is where the node tells what happens to it.
func (c *Request) Log() *slog.Logger { return c.border.log }

// Judges judge what cannot change, for all calls.
func (c *Request) Judges() *edge.Judges { return c.border.judges }

// Context ends with the call.
func (c *Request) Context() context.Context { return c.ctx }

// WithDeadline is a context that ends when an ordinary call would.
func (c *Request) WithDeadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.border.Deadline)
}

// DropDeadline has the call last until its caller goes.
func (c *Request) DropDeadline() { c.ctx = c.r.Context() }

// IsLeaving tells whether the node is about to go.
func (c *Request) IsLeaving() bool { return c.border.leaving.Load() }

// PathValue is a part of the path.
func (c *Request) PathValue(name string) string { return c.r.PathValue(name) }

// RequestHeader is the first header of a name.
func (c *Request) RequestHeader(name string) string { return c.r.Header.Get(name) }

// IsHead tells whether the caller wants the head of the answer alone.
func (c *Request) IsHead() bool { return c.r.Method == http.MethodHead }

// DropHeader takes a header of the answer back.
func (c *Request) DropHeader(name string) { c.w.Header().Del(name) }

// ProposeMany puts records into the log that are there at once.
func (c *Request) ProposeMany(kind wire.Kind, bodies [][]byte) ([]wire.Result, []error) {
	return c.border.deps.Proposer.ProposeMany(c.ctx, kind, bodies)
}

// ClaimKey claims an idempotency key for this call; false when a call with it is running.
func (c *Request) ClaimKey(key [16]byte) bool { return c.border.Idempotent.beginKey(key) }

// ReleaseKey gives a claimed key back.
func (c *Request) ReleaseKey(key [16]byte) { c.border.Idempotent.endKey(key) }

// PublicError is an error as the caller may see it.
func (c *Request) PublicError(err error, happened bool) *Error {
	return c.border.visibleError(err, happened, c.Asked.RequestID)
}

// HoldUntilAnswered has the border release what the handler holds once the answer is written.
func (c *Request) HoldUntilAnswered(held Releaser) { c.kept = held }

// CheckLength refuses a body that says that it is larger than the route takes.
func CheckLength(c *Request) error {
	if c.r.ContentLength > c.route.Max {
		return TooLarge(c.route.Max)
	}
	return nil
}

// ParseBody reads c.asked.body as one JSON object, as readBody does for routes whose
// body is JSON in any case.
func (c *Request) ParseBody() error {
	read := c.Asked.Document.Read
	if c.route.Max == engine.ScreenBodyMax {
		read = c.Asked.Document.Check // Judged from where its members stand.
	}
	if err := read(c.Asked.Body, c.route.valuesMax()); err != nil {
		return NewError(http.StatusBadRequest, "invalid_json", err.Error())
	}
	return nil
}

// ExtendTime gives a long call more than the server's timeouts, and an end of its
// own. The caller defers what it returns.
func ExtendTime(c *Request, long time.Duration) (release func()) {
	control := http.NewResponseController(c.w)
	until := time.Now().Add(long)
	_ = control.SetReadDeadline(until) // A writer that has none needs none.
	_ = control.SetWriteDeadline(until)
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithDeadline(c.ctx, until)
	return cancel
}

// ReadUpload reads the whole body into its own memory, not the call's.
func ReadUpload(c *Request) ([]byte, error) {
	var body bytes.Buffer
	if length := c.r.ContentLength; length > 0 { // Within the bound: checked before.
		body.Grow(int(length) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, c.route.Max)); err != nil {
		if int64(body.Len()) >= c.route.Max {
			return nil, TooLarge(c.route.Max)
		}
		return nil, brokenBody(err)
	}
	c.bodyRead = true
	return body.Bytes(), nil
}

// ExtendAnswer gives the connection the time that a waiting call needs.
func ExtendAnswer(c *Request, until time.Time) {
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // Of a body, which was read; a caller that goes is noticed without.
	_ = control.SetWriteDeadline(until.Add(writeTimeout))
}
