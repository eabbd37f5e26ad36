package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// streamPatience is how long a server may be silent in the midst of what it streams, and
// before it begins: it may search long between two records of an agent.
const streamPatience = 10 * time.Minute

// readAsStream has answers read for as long as they come: the time of the whole is not bounded,
// every silence is. Ctrl-C ends it.
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

// unsilentBody counts the time of a Read alone: whoever is slow to write a file is not the
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
