package main

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// insideCall carries requests to a handler in this process, so that what runs inside a node asks the
// API as any caller does, with a key, whatever the address and certificate of its listener.
type insideCall struct{ to http.Handler }

// RoundTrip implements http.RoundTripper. The answer's body is written while it is read.
func (t insideCall) RoundTrip(r *http.Request) (*http.Response, error) {
	call := r.Clone(r.Context())
	call.RequestURI, call.RemoteAddr, call.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if call.Body == nil {
		call.Body = http.NoBody
	}
	body, write := io.Pipe()
	answer := &insideAnswer{head: http.Header{}, write: write, begun: make(chan struct{})}
	go func() {
		defer func() {
			if recover() != nil { // A stream that cannot be finished breaks its connection by a panic.
				_ = write.CloseWithError(io.ErrUnexpectedEOF)
				answer.WriteHeader(http.StatusInternalServerError)
			}
		}()
		t.to.ServeHTTP(answer, call)
		answer.WriteHeader(http.StatusOK)
		_ = write.Close()
	}()
	select {
	case <-answer.begun:
	case <-r.Context().Done():
		return nil, errors.Join(r.Context().Err(), body.Close())
	}
	length := int64(-1)
	if text := answer.head.Get("Content-Length"); text != "" {
		length, _ = strconv.ParseInt(text, 10, 64)
	}
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.head.Clone(), Body: body, ContentLength: length, Request: r,
	}, nil
}

// insideAnswer is the http.ResponseWriter of such a call.
type insideAnswer struct {
	head   http.Header
	write  *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	status int
}

func (a *insideAnswer) Header() http.Header { return a.head }

func (a *insideAnswer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status = status
		close(a.begun)
	})
}

func (a *insideAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.write.Write(p)
}

// Flush implements http.Flusher.
func (a *insideAnswer) Flush() { a.WriteHeader(http.StatusOK) }
