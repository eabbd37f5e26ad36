package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds and defaults.
const (
	DefaultAttempts       = 8
	DefaultAttemptTimeout = 5 * time.Second  // The service answers a write within two seconds.
	DefaultDeadline       = 20 * time.Second // Time limit of a call with all its attempts. The election of a leader takes much less.

	answerMax    = 16 << 20
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 2 * time.Second
	keyRandom    = 16 // Random bytes in a key that the client draws.
)

// Options say whom to call and how long to try. A zero value means the default.
type Options struct {
	Addresses      []string // "https://a.example", ...; any node serves every call. Required.
	Key            string   // API key.
	SettlerKey     string   // API key of Settle and Release, of the role settler; "" means Key.
	Attempts       int
	AttemptTimeout time.Duration
	Deadline       time.Duration
	HTTP           *http.Client                               // Set it to use your own certificate authorities or proxies. Redirects are never followed.
	Wait           func(context.Context, time.Duration) error // Waits between attempts; nil sleeps.
	Jitter         func() float64                             // Returns a number from 0 to 1; nil draws one.
}

// Client calls a cluster. It may be used by many goroutines at once.
type Client struct {
	options Options
	at      atomic.Uint32 // The address that answered last.
}

// New checks the options. It makes no call.
func New(options Options) (*Client, error) {
	if len(options.Addresses) == 0 {
		return nil, errors.New("railguard: no address")
	}
	for i, address := range options.Addresses {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.RawQuery != "" || parsed.User != nil {
			return nil, fmt.Errorf("railguard: address %d is not http://host or https://host", i)
		}
	}
	options.Addresses = append([]string(nil), options.Addresses...)
	setDefault(&options.Attempts, DefaultAttempts)
	setDefault(&options.AttemptTimeout, DefaultAttemptTimeout)
	setDefault(&options.Deadline, DefaultDeadline)
	transport := http.Client{}
	if options.HTTP != nil {
		transport = *options.HTTP
	}
	transport.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	options.HTTP = &transport
	if options.Wait == nil {
		options.Wait = sleep
	}
	if options.Jitter == nil {
		options.Jitter = mathrand.Float64
	}
	return &Client{options: options}, nil
}

func setDefault[T int | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}

func sleep(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewKey draws an Idempotency-Key. For a payment that must survive a restart of your program,
// draw and store one before the first attempt.
func NewKey() string {
	var raw [keyRandom]byte
	_, _ = rand.Read(raw[:]) // It never fails: crypto/rand ends the program instead.
	return "rgc_" + hex.EncodeToString(raw[:])
}

// request is one call, attempted as often as needed.
type request struct {
	method, path string
	body         []byte
	key          string
	repeatable   bool        // It may be attempted again after an unknown outcome: it only reads, or it has idempotency keys.
	header       http.Header // What options add.
	head         *Head       // nil: nobody asked for it.
	apiKey       string      // "": the client's.
}

// Call makes any call of the API. path includes the query, body is encoded as JSON (nil: none),
// key is the Idempotency-Key, and the answer is decoded into into (nil: nowhere; a *[]byte
// takes it undecoded). A POST without a key is never attempted again after an unknown outcome.
func (c *Client) Call(ctx context.Context, method, path string, body any, key string, into any, options ...CallOption) error {
	r := request{method: method, path: path, key: key}
	for _, option := range options {
		option(&r)
	}
	r.repeatable = method == http.MethodGet || method == http.MethodPost && r.key != ""
	return c.do(ctx, &r, body, into)
}

// post is Call with POST. It draws an idempotency key if none is given.
func (c *Client) post(ctx context.Context, path string, body any, key string, into any, options []CallOption) error {
	if key == "" {
		key = NewKey()
	}
	return c.Call(ctx, http.MethodPost, path, body, key, into, options...)
}

func (c *Client) do(ctx context.Context, r *request, body, into any) error {
	if raw, ready := body.(json.RawMessage); ready { // To the byte: keys bind a body's bytes.
		r.body = raw
	} else if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("railguard: body: %w", err)
		}
		r.body = raw
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Deadline)
	defer cancel()
	return c.persist(ctx, r, into)
}

// persist attempts the call until it is answered or no attempt is left. Once an attempt's
// outcome is unknown, the call's outcome stays unknown until an answer settles it: a later
// attempt that did nothing does not tell what the first one did.
func (c *Client) persist(ctx context.Context, r *request, into any) error {
	unknown, waits, first := false, 0, int(c.at.Load())
	for attempt := 1; ; attempt++ {
		at := (first + attempt - 1) % len(c.options.Addresses)
		failure := c.attempt(ctx, r, c.options.Addresses[at], into)
		if failure == nil {
			if r.head != nil {
				r.head.Attempts = attempt
			}
			c.at.Store(uint32(at))
			return nil
		}
		if r.method == http.MethodGet {
			failure.Outcome = OutcomeNone
		}
		blind := failure.Outcome == OutcomeUnknown && !r.repeatable
		unknown = unknown || failure.Outcome == OutcomeUnknown
		if unknown {
			failure.Outcome = OutcomeUnknown
		}
		failure.Attempts, failure.IdempotencyKey = attempt, r.key
		if blind || !failure.again() || attempt >= c.options.Attempts || ctx.Err() != nil {
			return failure
		}
		// This address did nothing, so the next one may be asked at once, each of them once.
		if !unknown && failure.Status != http.StatusTooManyRequests && attempt < len(c.options.Addresses) {
			continue
		}
		pause := max(failure.RetryAfter, c.backoff(waits))
		waits++
		if !c.wait(ctx, pause) {
			return failure
		}
	}
}

// backoff doubles from a tenth of a second to two seconds. Jitter takes off up to half.
func (c *Client) backoff(waits int) time.Duration {
	span := min(backoffFirst<<min(waits, 10), backoffMost)
	return time.Duration(float64(span) * (0.5 + c.options.Jitter()/2))
}

// wait waits for pause. It returns false at once if the deadline would pass meanwhile.
func (c *Client) wait(ctx context.Context, pause time.Duration) bool {
	if end, bounded := ctx.Deadline(); bounded && time.Until(end) <= pause {
		return false
	}
	return c.options.Wait(ctx, pause) == nil
}

// attempt sends the call once, to one address.
func (c *Client) attempt(ctx context.Context, r *request, address string, into any) *Error {
	ctx, cancel := context.WithTimeout(ctx, c.options.AttemptTimeout)
	defer cancel()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	call, err := http.NewRequestWithContext(ctx, r.method, strings.TrimRight(address, "/")+r.path, body)
	if err != nil {
		return &Error{Code: "bad_request", Status: http.StatusBadRequest, Message: "the path cannot be called", Outcome: OutcomeNone, Cause: err}
	}
	call.GetBody = nil // The transport must not repeat calls by itself.
	for name, values := range r.header {
		call.Header[name] = values
	}
	call.Header.Set("Authorization", "Bearer "+cmp.Or(r.apiKey, c.options.Key))
	if r.body != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		call.Header.Set(headerKey, r.key)
	}
	answer, err := c.options.HTTP.Do(call)
	if err != nil {
		return unanswered(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, answerMax+1))
	if err != nil {
		return unanswered(err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 || len(raw) > answerMax {
		return refusal(answer.StatusCode, answer.Header, raw)
	}
	if r.head != nil {
		*r.head = readHead(answer)
	}
	if into == nil || answer.StatusCode == http.StatusNoContent {
		return nil
	}
	if text, ok := into.(*[]byte); ok { // The caller wants the answer undecoded.
		*text = raw
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &Error{Status: answer.StatusCode, Code: CodeBadAnswer, Outcome: OutcomeUnknown, RequestID: answer.Header.Get(headerRequestID), Cause: err}
	}
	return nil
}

func unanswered(err error) *Error {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return &Error{Code: CodeUnreachable, Message: "no connection", Outcome: OutcomeNone, Cause: err}
	}
	return &Error{Code: CodeNoAnswer, Message: "no answer", Outcome: OutcomeUnknown, Cause: err}
}
