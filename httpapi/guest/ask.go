package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// AnswerMax bounds an answer of the API, in bytes; what is longer ends there.
const AnswerMax = 256 << 10

// kept are the caller's headers that the API must see: who calls, from where, for which trace.
var kept = []string{"Authorization", "X-Forwarded-For", "X-Request-Id", "Traceparent"}

// Answer keeps an answer of the API. It is an http.ResponseWriter.
type Answer struct {
	Head   http.Header
	Status int
	Body   bytes.Buffer
}

// NewAnswer returns an empty one.
func NewAnswer() *Answer { return &Answer{Head: make(http.Header), Status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.Head }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) { a.Status = status }

// Write implements http.ResponseWriter.
func (a *Answer) Write(p []byte) (int, error) {
	if a.Body.Len()+len(p) > AnswerMax {
		return 0, io.ErrShortBuffer
	}
	return a.Body.Write(p)
}

// Ask makes one call of the API in the name of who made r. headers are set besides the
// caller's own where they are not "".
func Ask(ctx context.Context, api http.Handler, r *http.Request, method, path string, headers map[string]string, body []byte) *Answer {
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
	for name, value := range headers {
		if value != "" {
			call.Header.Set(name, value)
		}
	}
	answer := NewAnswer()
	api.ServeHTTP(answer, call.WithContext(ctx))
	return answer
}

// costKey is where a context keeps what a guest's own work costs.
type costKey struct{}

// Costing has the calls that Ask makes in ctx count so many screening calls more, for what
// the guest itself does: the caller's key is known to the API alone, and so is its rate.
func Costing(ctx context.Context, screenings int) context.Context {
	return context.WithValue(ctx, costKey{}, screenings)
}

// Cost is what Costing said; of a call that no guest makes, 0.
func Cost(ctx context.Context) int {
	screenings, _ := ctx.Value(costKey{}).(int)
	return screenings
}

// RefuseQuery refuses a call with a query, as the API does on its paths: who wrote a
// parameter meant something by it, and no path of a guest takes any.
func RefuseQuery(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(r.URL.RawQuery, "&"), "&")
	name, _, _ = strings.Cut(name, "=")
	name = strings.ToValidUTF8(name[:min(len(name), 64)], "")
	data, err := json.Marshal(map[string]string{
		"error": "bad_request", "code": "bad_request", "param": name, "message": "the query parameter " + name + " is not known here",
	})
	if err != nil {
		panic("BUG: a refusal: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(append(data, '\n'))
	return true
}
