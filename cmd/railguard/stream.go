package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// streamPatience is how long a server may be silent before a stream begins and during it.
// Between two records of an agent the server may search for long.
const streamPatience = 10 * time.Minute

// readAsStream removes the time limit for a whole answer and limits each silence instead.
// Ctrl-C still ends it.
func (c *client) readAsStream() {
	next := c.http.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.http.Timeout, c.http.Transport = 0, &unsilent{next: next, patience: c.patience}
}

// unsilent gives up a call when its server has been silent for too long.
type unsilent struct {
	next     http.RoundTripper
	patience time.Duration
}

func (u *unsilent) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(request.Context())
	silent := fmt.Errorf("the server has been silent for %s", u.patience)
	timer := time.AfterFunc(u.patience, func() { end(silent) })
	response, err := u.next.RoundTrip(request.WithContext(ctx))
	if !timer.Stop() && err == nil {
		err = errors.Join(context.Cause(ctx), response.Body.Close())
	}
	if err != nil {
		cause := context.Cause(ctx)
		end(nil)
		if errors.Is(cause, silent) {
			return nil, cause
		}
		return nil, err
	}
	response.Body = &unsilentBody{ReadCloser: response.Body, ctx: ctx, end: end, timer: timer, patience: u.patience, silent: silent}
	return response, nil
}

// unsilentBody measures only the time inside Read: a slow writer of the file is not the
// server's fault.
type unsilentBody struct {
	io.ReadCloser
	ctx      context.Context
	end      context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
	silent   error
}

func (b *unsilentBody) Read(into []byte) (int, error) {
	b.timer.Reset(b.patience)
	n, err := b.ReadCloser.Read(into)
	b.timer.Stop()
	if err != nil && errors.Is(context.Cause(b.ctx), b.silent) {
		err = b.silent
	}
	return n, err
}

func (b *unsilentBody) Close() error {
	b.timer.Stop()
	b.end(nil)
	return b.ReadCloser.Close()
}
