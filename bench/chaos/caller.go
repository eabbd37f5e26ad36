package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// caller makes calls to nodes. It sends each call exactly once and never retries.
type caller struct {
	client *http.Client
	key    string
}

func newCaller(key string) *caller {
	transport := &http.Transport{
		DialContext:         dialHome,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}
	return &caller{client: &http.Client{Transport: transport}, key: key}
}

// plainCaller makes the calls that need no API key.
var plainCaller = newCaller("")

// request is one call.
type request struct {
	method, url string
	idempotency string
	header      http.Header
	body        []byte
	patience    time.Duration // How long to wait for the answer; 0: answerPatience.
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// decode reads the body into a value.
func (a *answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("answer %d %.200q: %w", a.status, a.body, err)
	}
	return nil
}

// errNotSent says that the call certainly did not reach the node.
var errNotSent = errors.New("not sent")

func (c *caller) do(ctx context.Context, r request) (*answer, error) {
	if r.patience == 0 {
		r.patience = answerPatience
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	call, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, err
	}
	call.GetBody = nil // net/http would send a call with an Idempotency-Key again by itself.
	for name, values := range r.header {
		call.Header[name] = values
	}
	if c.key != "" {
		call.Header.Set("Authorization", "Bearer "+c.key)
	}
	if r.idempotency != "" {
		call.Header.Set("Idempotency-Key", r.idempotency)
	}
	response, err := c.client.Do(call)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("%w: %w", errNotSent, err)
		}
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return nil, fmt.Errorf("answer broke off: %w", err)
	}
	return &answer{status: response.StatusCode, header: response.Header, body: raw}, nil
}

func (c *caller) get(ctx context.Context, url string) (*answer, error) {
	return c.do(ctx, request{method: http.MethodGet, url: url})
}

func (c *caller) post(ctx context.Context, url, idempotency string, body []byte) (*answer, error) {
	return c.do(ctx, request{method: http.MethodPost, url: url, idempotency: idempotency, body: body})
}

// read makes a GET whose answer must have status 200, and decodes its JSON.
func (c *caller) read(ctx context.Context, url string, into any) error {
	return c.readWithin(ctx, answerPatience, url, into)
}

// readWithin is read for an answer that takes long to make.
func (c *caller) readWithin(ctx context.Context, patience time.Duration, url string, into any) error {
	a, err := c.do(ctx, request{method: http.MethodGet, url: url, patience: patience})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %.200q", url, a.status, a.body)
	}
	return a.decode(into)
}

// verb posts a body, as the operator's verbs do, and demands success.
func (c *caller) verb(ctx context.Context, url string, body any) (*answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, request{method: http.MethodPost, url: url, body: raw, patience: readPatience})
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return a, fmt.Errorf("POST %s: %d %.300q", url, a.status, a.body)
	}
	return a, nil
}

// close closes the idle connections.
func (c *caller) close() { c.client.CloseIdleConnections() }
