package conformance

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/contract"
)

// These tests check every exchange of the examiner and the target against the OpenAPI document:
// accepted requests and all answers, undeclared members included. In the end every operation must
// have been called, and every status that all operations share must have occurred.

// heldBodyMax is the size up to which an answer is judged; a longer one is not.
const heldBodyMax = 4 << 20

// documented is a client's transport that checks exchanges against the document.
type documented struct {
	next  http.RoundTripper
	hosts map[string]bool // Hosts of the public API.
	*contract.Contract

	mutex     sync.Mutex
	checked   int
	different map[string]string // The first difference of each operation and status.
}

// held has an examiner's exchanges checked against the document.
func held(t *testing.T, cfg *Config) *documented {
	loaded, err := contract.Load()
	require.NoError(t, err)
	client := newClient(max(cfg.Parallel, 64))
	d := &documented{next: client.Transport, hosts: map[string]bool{}, Contract: loaded, different: map[string]string{}}
	for _, base := range cfg.BaseURLs {
		d.hosts[strings.TrimPrefix(base, "http://")] = true
	}
	client.Transport = d
	cfg.Client = client
	return d
}

// CloseIdleConnections closes the idle connections of the transport that this one wraps.
func (d *documented) CloseIdleConnections() {
	if closer, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func (d *documented) RoundTrip(r *http.Request) (*http.Response, error) {
	if !d.hosts[r.URL.Host] {
		return d.next.RoundTrip(r)
	}
	x := &contract.Exchange{Method: r.Method, Query: r.URL.RawQuery}
	x.Path, _, _ = strings.Cut(r.URL.RequestURI(), "?")
	if r.Body != nil && r.Body != http.NoBody {
		sent, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		x.Sent = sent
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	answer, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x.Status, x.Header = answer.StatusCode, answer.Header
	answer.Body = &heldBody{ReadCloser: answer.Body, document: d, exchange: x}
	return answer, nil
}

// heldBody keeps the bytes of an answer that are read, and checks the answer when all of it was
// read.
type heldBody struct {
	io.ReadCloser
	document *documented
	exchange *contract.Exchange
	once     sync.Once
	long     bool
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if len(b.exchange.Body)+n > heldBodyMax {
		b.long = true
	} else if !b.long {
		b.exchange.Body = append(b.exchange.Body, p[:n]...)
	}
	if err == io.EOF && !b.long {
		b.once.Do(func() { b.document.judge(b.exchange) })
	}
	return n, err
}

func (d *documented) judge(x *contract.Exchange) {
	err := d.Check(x)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.checked++
	if err == nil {
		return
	}
	text := err.Error()
	if kind := x.Method + " " + x.Path + " " + http.StatusText(x.Status); d.different[kind] == "" {
		d.different[kind] = text
	}
}

// report fails for exchanges that differ from the document, and for operations and shared
// statuses in it that never occurred.
func (d *documented) report(t *testing.T) {
	if *flagOnly != "" || *flagSpec {
		t.Skip("a part of the examination brings out a part of the document")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	t.Logf("%d exchanges", d.checked)
	require.Positive(t, d.checked)
	kinds := make([]string, 0, len(d.different))
	for kind := range d.different {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		t.Errorf("%s", d.different[kind])
	}
	for _, operation := range d.Uncalled() {
		if notWalked[operation] == "" {
			t.Errorf("declared, and the examination has not called it: %s", operation)
		}
	}
	for _, answer := range d.Unseen("") {
		if strings.HasPrefix(answer, "(any)") && notAnswered[answer] == "" {
			t.Errorf("declared, and the examination has not met it: %s", answer)
		}
	}
}

// walkCalls is how many calls follow the examination, so that operations without a
// statement are called too.
const walkCalls = 4000

// walk calls every operation, validly and not. No answer may be a 5xx other than 501 and
// 503.
func (d *documented) walk(t *testing.T, cfg *Config) {
	if *flagOnly != "" || *flagSpec {
		t.Skip("a part of the examination")
	}
	g := contract.NewGenerator(d.Contract, 402)
	skip := func(o *contract.Operation) bool { return notWalked[o.Method+" "+o.Path] != "" }
	for i := range walkCalls {
		call := g.Next(skip)
		r, err := http.NewRequestWithContext(t.Context(), call.Operation.Method, cfg.BaseURLs[i%len(cfg.BaseURLs)]+call.Path, strings.NewReader(call.Body))
		if err != nil {
			continue // Not a valid request.
		}
		r.Header.Set("Authorization", "Bearer "+cfg.APIKey)
		if call.Name != "" {
			r.Header.Set(call.Name, call.Header)
		}
		answer, err := cfg.Client.Do(r)
		if err != nil {
			continue // The client cannot send this.
		}
		data, err := io.ReadAll(io.LimitReader(answer.Body, heldBodyMax))
		answer.Body.Close()
		require.NoError(t, err)
		g.Learn(data)
		if answer.StatusCode >= 500 && answer.StatusCode != http.StatusServiceUnavailable && answer.StatusCode != http.StatusNotImplemented {
			t.Errorf("%s %s answered %d: %.300s", call.Operation.Method, call.Path, answer.StatusCode, data)
		}
	}
}

// notWalked are operations that are not walked, each with its reason. The tests of httpapi
// call them, and produce every status of every operation.
var notWalked = map[string]string{
	"GET /v1/events":         "a stream has no end",
	"POST /v1/cluster/drain": "the node would refuse everything after it", "POST /v1/cluster/remove": "a member would be gone", "POST /v1/cluster/demote": "as remove",
	"POST /v1/cluster/admit": "as remove", "POST /v1/test/clock": "would move everything out of its time",
	"POST /v1/webhooks": "would send to the outside", "POST /v1/ofac/sync": "would fetch from the outside",
}

// notAnswered are statuses that any operation may answer, but that do not occur in these tests.
var notAnswered = map[string]string{
	"(any) 409": "screening calls alone are sent twice at once, and their 409 has a code of its own",
	"(any) 431": "a request of such a size is sent past this client",
	"(any) 500": "none has been found yet",
}
