package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
)

const answerMax = 256 << 10

// callerKey is where a context keeps the request that a tool is called in.
type callerKey struct{}

// kept are the caller's headers that the API must see: who calls, from where, for which trace.
var kept = []string{"Authorization", "X-Forwarded-For", "X-Request-Id", "Traceparent"}

// ask makes one call of the API in the name of who made r.
func (g *Guest) ask(ctx context.Context, r *http.Request, method, path, key string, body []byte) *buffered {
	target, err := url.Parse(path)
	if err != nil {
		panic("BUG: a path of the API: " + err.Error())
	}
	call := &http.Request{
		Method: method, URL: target, RequestURI: path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Host: r.Host, RemoteAddr: r.RemoteAddr, TLS: r.TLS, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	for _, name := range kept {
		if values := r.Header.Values(name); len(values) > 0 {
			call.Header[name] = values
		}
	}
	if body != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		call.Header.Set("Idempotency-Key", key)
	}
	answer := &buffered{head: make(http.Header), status: http.StatusOK}
	g.config.API.ServeHTTP(answer, call.WithContext(ctx))
	return answer
}

// buffered keeps an answer of the API.
type buffered struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header    { return b.head }
func (b *buffered) WriteHeader(status int) { b.status = status }
func (b *buffered) Write(p []byte) (int, error) {
	if b.body.Len()+len(p) > answerMax {
		return 0, io.ErrShortBuffer
	}
	return b.body.Write(p)
}
