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

// AnswerMax bounds an answer of the API, in bytes; the rest of a longer one is cut off.
const AnswerMax = 256 << 10

// kept are the caller's headers that the API must see: its key, its address, its trace.
var kept = []string{"Authorization", "X-Forwarded-For", "X-Request-Id", "Traceparent"}

// Answer records an answer of the API. It is an http.ResponseWriter.
type Answer struct {
	Head   http.Header
	Status int
	Body   bytes.Buffer
}

// NewAnswer returns an empty answer.
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

// Ask calls the API in the name of the caller who made r. It also sets those of headers
// that are not "".
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

// sessionKey is the context key of a session's number.
type sessionKey struct{}

// InSession says that the calls in ctx belong to a session that began when the key's sessions had
// been ended number times. The API refuses them once that number has moved on.
func InSession(ctx context.Context, number uint32) context.Context {
	return context.WithValue(ctx, sessionKey{}, number)
}

// Session returns the number of the session that a call belongs to.
func Session(ctx context.Context) (number uint32, given bool) {
	number, given = ctx.Value(sessionKey{}).(uint32)
	return number, given
}

// signInKey is the context key of a sign-in's mark.
type signInKey struct{}

// SigningIn marks the call in ctx as the one by which a person signs in.
func SigningIn(ctx context.Context) context.Context {
	return context.WithValue(ctx, signInKey{}, true)
}

// SignsIn tells whether SigningIn marked ctx.
func SignsIn(ctx context.Context) bool {
	marked, _ := ctx.Value(signInKey{}).(bool)
	return marked
}

// costKey is the context key of a guest's own cost.
type costKey struct{}

// Costing makes the calls of Ask in ctx cost that many screening calls more, for the
// guest's own work. Only the API knows the caller's key and its rate.
func Costing(ctx context.Context, screenings int) context.Context {
	return context.WithValue(ctx, costKey{}, screenings)
}

// Cost returns the cost that Costing set, else 0.
func Cost(ctx context.Context) int {
	screenings, _ := ctx.Value(costKey{}).(int)
	return screenings
}

// facilitatorKey is the context key of the facilitator's mark.
type facilitatorKey struct{}

// AsFacilitator marks the calls of Ask in ctx as made by this product's own x402 facilitator.
// A request from outside cannot carry the mark, because a context does not travel over a
// connection.
func AsFacilitator(ctx context.Context) context.Context {
	return context.WithValue(ctx, facilitatorKey{}, true)
}

// ByFacilitator tells whether AsFacilitator marked ctx.
func ByFacilitator(ctx context.Context) bool {
	marked, _ := ctx.Value(facilitatorKey{}).(bool)
	return marked
}

// gatewayKey is the context key of the gateway's mark.
type gatewayKey struct{}

// AsGateway marks the calls of Ask in ctx as made by this product's own room for gateways, which asks
// with keys of the role gateway too. No request from outside can carry the mark.
func AsGateway(ctx context.Context) context.Context {
	return context.WithValue(ctx, gatewayKey{}, true)
}

// ByGateway tells whether AsGateway marked ctx.
func ByGateway(ctx context.Context) bool {
	marked, _ := ctx.Value(gatewayKey{}).(bool)
	return marked
}

// Proof is the proof of an agent's key that a guest's caller gave, for another act than the call that
// the guest makes.
type Proof struct {
	Text    string // The compact JWS.
	Act     string
	Request [32]byte // The hash of what it is for.
}

// proofKey is the context key of a proof.
type proofKey struct{}

// Proving shows the API a proof that a guest's own caller gave for what the call of Ask in ctx does.
func Proving(ctx context.Context, proof *Proof) context.Context {
	return context.WithValue(ctx, proofKey{}, proof)
}

// ProofOf returns the proof of Proving; nil: there is none.
func ProofOf(ctx context.Context) *Proof {
	proof, _ := ctx.Value(proofKey{}).(*Proof)
	return proof
}

// RefuseQuery refuses a call with a query, as the API does for undeclared parameters: the
// caller meant something by them, and no guest path takes any.
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
