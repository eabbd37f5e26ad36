package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// request is one call before it is sent.
type request struct {
	method, path string
	base         string // Address; the first node's unless an option says otherwise.
	key          string // API key; empty sends no Authorization header.
	header       http.Header
	body         []byte
	keep429      bool // A 429 is the wanted answer and is not retried.
	fresh        bool // The answer must reflect all that this run has seen.
}

// option changes a request before it is sent.
type option func(*suite, *request)

func anonymous(_ *suite, r *request) { r.key = "" }
func keep429(_ *suite, r *request)   { r.keep429 = true }

// local asks for a node's own view, without naming the index this run has seen.
func local(_ *suite, r *request) { r.fresh = false }

// fresh names the index this run has seen, on a call that is not a GET.
func fresh(_ *suite, r *request) { r.fresh = true }

func withKey(key string) option { return func(_ *suite, r *request) { r.key = key } }

// node sends the call to the i-th base URL, modulo their count.
func node(i int) option {
	return func(s *suite, r *request) { r.base = s.cfg.BaseURLs[i%len(s.cfg.BaseURLs)] }
}

func atBase(base string) option { return func(_ *suite, r *request) { r.base = base } }

func header(name string, values ...string) option {
	return func(_ *suite, r *request) { r.header[http.CanonicalHeaderKey(name)] = values }
}

// authorization sends exactly these Authorization headers.
func authorization(values ...string) option {
	return func(_ *suite, r *request) {
		r.key = ""
		r.header["Authorization"] = values
	}
}

func idempotencyKey(key string) option { return header("Idempotency-Key", key) }

// literal is a body that is sent byte by byte as written, valid JSON or not.
type literal string

// answer is one exchange as it was seen.
type answer struct {
	method, path string
	sent         []byte
	status       int
	header       http.Header
	raw          []byte
	tree         any   // The decoded body; nil unless it is JSON.
	jsonErr      error // Why the body is not JSON.
	took         time.Duration
}

func (a *answer) at(path string) (any, bool) { return at(a.tree, path) }

// text returns the string at the path, or the empty string.
func (a *answer) text(path string) string {
	value, _ := a.at(path)
	text, _ := value.(string)
	return text
}

// number returns the literal at the path, or the empty string.
func (a *answer) number(path string) string {
	value, _ := a.at(path)
	number, _ := value.(json.Number)
	return string(number)
}

// code returns the error code wherever an implementation may put it: the
// specification names the codes and leaves the shape of the body open.
func (a *answer) code() string {
	for _, path := range []string{"code", "error.code", "error", "error.type", "type"} {
		if code := a.text(path); code != "" {
			return code[strings.LastIndexAny(code, "#/")+1:]
		}
	}
	return ""
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

func (a *answer) String() string {
	return fmt.Sprintf("%s %s %s -> %d %s", a.method, a.path,
		cut(string(a.sent), sentCharsMax), a.status, cut(string(a.raw), exchangeCharsMax))
}

// minIndexHeader makes a read wait until the node has applied the index. The rulings
// let a node answer reads from its own state, so a check that reads what it wrote
// through another call names the index it saw. Targets without it ignore it.
const minIndexHeader = "X-Railguard-Min-Index"

// send makes one call and sits out rate limits. It returns an error only when there
// was no answer.
func (s *suite) send(ctx context.Context, method, path string, body any, options ...option) (*answer, error) {
	r := &request{method: method, path: path, base: s.cfg.BaseURLs[0], key: s.cfg.APIKey, header: http.Header{}}
	encoded, err := encodeBody(body)
	if err != nil {
		return nil, err
	}
	r.body, r.fresh = encoded, method == http.MethodGet
	for _, change := range options {
		change(s, r)
	}
	if seen := s.ledger.seenIndex(); r.fresh && seen != "" && r.header.Get(minIndexHeader) == "" && r.key != "" {
		r.header.Set(minIndexHeader, seen)
	}
	for try := 0; ; try++ {
		a, err := s.once(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s %s: no answer: %w", method, path, err)
		}
		s.ledger.see(a)
		if a.status != http.StatusTooManyRequests || r.keep429 || try >= rateLimitRetries {
			return a, nil
		}
		if err := pause(ctx, retryAfter(a)); err != nil {
			return nil, err
		}
	}
}

func encodeBody(body any) ([]byte, error) {
	switch given := body.(type) {
	case nil:
		return nil, nil
	case literal:
		return []byte(given), nil
	case []byte:
		return given, nil
	}
	return json.Marshal(body)
}

func retryAfter(a *answer) time.Duration {
	seconds, err := strconv.ParseFloat(a.header.Get("Retry-After"), 64)
	if err != nil || seconds <= 0 {
		return 50 * time.Millisecond
	}
	return min(time.Duration(seconds*float64(time.Second)), rateLimitWaitMax)
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (s *suite) once(ctx context.Context, r *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	call, err := http.NewRequestWithContext(ctx, r.method, r.base+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		call.Header.Set("Authorization", "Bearer "+r.key)
	}
	for name, values := range r.header {
		call.Header[name] = values
	}
	start := time.Now()
	response, err := s.client.Do(call)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return nil, fmt.Errorf("answer body: %w", err)
	}
	return newAnswer(r, response, raw, time.Since(start)), nil
}

func newAnswer(r *request, response *http.Response, raw []byte, took time.Duration) *answer {
	a := &answer{
		method: r.method, path: r.path, sent: r.body, status: response.StatusCode,
		header: response.Header, raw: raw, took: took,
	}
	a.tree, a.jsonErr = decodeTree(raw)
	return a
}

var (
	tokenShape = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{6,}(\.[A-Za-z0-9_-]*){0,4}`)
	keyShape   = regexp.MustCompile(`rg_live_[A-Za-z0-9]+`)
)

// redact takes credentials and API keys out of a text that people will read.
func (s *suite) redact(text string) string {
	text = tokenShape.ReplaceAllString(text, "eyJ(redacted)")
	text = keyShape.ReplaceAllString(text, "rg_live_(redacted)")
	if s.cfg.APIKey != "" {
		text = strings.ReplaceAll(text, s.cfg.APIKey, "(API key)")
	}
	return text
}
