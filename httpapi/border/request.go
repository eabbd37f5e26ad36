package border

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

// Through these methods a handler sees HTTP and the rest of the program.

// Published returns this node's current state.
func (c *Request) Published() Published { return c.border.deps.Published }

// Records reads history and frozen state.
func (c *Request) Records() Records { return c.border.deps.Records }

// Secrets returns the secrets that seal fields of the state.
func (c *Request) Secrets() *seal.Secrets { return c.border.deps.Secrets }

// NodeName is this node's name.
func (c *Request) NodeName() string { return c.border.deps.Node }

// Log returns the node's logger.
func (c *Request) Log() *slog.Logger { return c.border.log }

// Judges returns the judges of unchangeable facts, which all calls share.
func (c *Request) Judges() *edge.Judges { return c.border.judges }

// Context ends with the call.
func (c *Request) Context() context.Context { return c.ctx }

// WithDeadline returns a context that ends when an ordinary call would.
func (c *Request) WithDeadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.border.Deadline)
}

// DropDeadline lets the call last until its caller disconnects.
func (c *Request) DropDeadline() { c.ctx = c.r.Context() }

// IsLeaving tells whether the node is about to stop.
func (c *Request) IsLeaving() bool { return c.border.leaving.Load() }

// PathValue returns a part of the path.
func (c *Request) PathValue(name string) string { return c.r.PathValue(name) }

// RequestHeader returns the first header of that name.
func (c *Request) RequestHeader(name string) string { return c.r.Header.Get(name) }

// IsHead tells whether the caller wants only the headers of the answer.
func (c *Request) IsHead() bool { return c.r.Method == http.MethodHead }

// DropHeader removes a header from the answer.
func (c *Request) DropHeader(name string) { c.w.Header().Del(name) }

// ProposeMany puts several records into the log at once.
func (c *Request) ProposeMany(kind wire.Kind, bodies [][]byte) ([]wire.Result, []error) {
	results, errs := c.border.deps.Proposer.ProposeMany(c.ctx, kind, bodies)
	for i := range errs {
		// Nobody knows whether the log has judged a record of unknown outcome: its caller is told so, and never that nothing happened.
		c.logged = c.logged || errs[i] == nil || errors.Is(errs[i], wire.ErrUnknown)
	}
	return results, errs
}

// ClaimKey claims an idempotency key for this call. It returns false when a call with it is
// running.
func (c *Request) ClaimKey(key [16]byte) bool { return c.border.Idempotent.beginKey(key) }

// ReleaseKey gives a claimed key back.
func (c *Request) ReleaseKey(key [16]byte) { c.border.Idempotent.endKey(key) }

// PublicError returns an error as the caller may see it.
func (c *Request) PublicError(err error, happened bool) *Error {
	return c.border.visibleError(err, happened, c.Asked.RequestID)
}

// HoldUntilAnswered makes the border release held once the answer is written.
func (c *Request) HoldUntilAnswered(held Releaser) { c.kept = held }

// CheckLength refuses a body whose announced length is larger than the route takes.
func CheckLength(c *Request) error {
	if c.r.ContentLength > c.route.Max {
		return TooLarge(c.route.Max)
	}
	return nil
}

// ParseBody parses c.Asked.Body as one JSON object. readBody calls it for routes that
// always take JSON.
func (c *Request) ParseBody() error {
	read := c.Asked.Document.Read
	if c.route.Max == engine.ScreenBodyMax {
		read = c.Asked.Document.Check // Check only notes where members stand; the judge reads them there.
	}
	if err := read(c.Asked.Body, c.route.valuesMax()); err != nil {
		return NewError(http.StatusBadRequest, "invalid_json", err.Error())
	}
	return nil
}

// ExtendTime replaces the server's timeouts of a long call by a deadline of its own. The
// caller defers the returned function.
func ExtendTime(c *Request, long time.Duration) (release func()) {
	control := http.NewResponseController(c.w)
	until := time.Now().Add(long)
	_ = control.SetReadDeadline(until) // A writer without deadlines needs none.
	_ = control.SetWriteDeadline(until)
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithDeadline(c.ctx, until)
	return cancel
}

// ReadUpload reads the whole body into memory of its own, not into the call's buffer.
func ReadUpload(c *Request) ([]byte, error) {
	var body bytes.Buffer
	if length := c.r.ContentLength; length > 0 { // CheckLength has bounded it.
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

// SpoolUpload writes the whole body to a file, piece by piece. What does not fit into the route's
// bound is refused.
func SpoolUpload(c *Request, file io.Writer) error {
	_, err := io.Copy(file, http.MaxBytesReader(c.w, c.r.Body, c.route.Max))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return TooLarge(c.route.Max)
	}
	if err != nil {
		return brokenBody(err)
	}
	c.bodyRead = true
	return nil
}

// ExtendAnswer extends the connection's deadlines for a call that waits.
func ExtendAnswer(c *Request, until time.Time) {
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // The body was read; net/http notices without a deadline that the caller has gone.
	_ = control.SetWriteDeadline(until.Add(writeTimeout))
}
