package x402

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeAPI answers as the API does; it can fail from a certain path on.
type fakeAPI struct {
	fails string
	paths []string
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.paths = append(a.paths, r.URL.Path)
	status, body := 200, `{}`
	switch {
	case a.fails != "" && strings.Contains(r.URL.Path, a.fails):
		status, body = 503, `{"code":"no_leader"}`
	case r.URL.Path == "/v1/transactions":
		status, body = 404, `{"code":"not_found"}`
	case r.URL.Path == "/v1/screen":
		body = `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"r","index":7,"hold":{"state":"held","expiresAt":"2026-01-01T00:00:00Z"}}`
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const unreadBody = `{"x402Version":2,"paymentPayload":{"x402Version":2,"accepted":{"scheme":"exact","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1","asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","payTo":"payee"},"payload":{"transaction":"AAAA"},"extensions":{"railguard":{"info":{"token":"t"}}}},"paymentRequirements":{"scheme":"exact","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1","asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","payTo":"payee","maxTimeoutSeconds":60}}`

// goodBody is that payment with a transaction that says who pays.
var goodBody = strings.Replace(unreadBody, "AAAA", readableTransaction(), 1)

func readableTransaction() string {
	x := soundTransfer()
	return x.encode()
}

func newDoor(t *testing.T, api http.Handler, log io.Writer) (*Facilitator, *int) {
	calls := new(int)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls++
		require.Equal(t, "Bearer behind", r.Header.Get("Authorization"))
		require.Empty(t, r.Header.Get("Cookie"))
		_, _ = io.WriteString(w, `{"success":true,"isValid":true,"transaction":"5sig","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","payer":"`+ownerSOL+`"}`)
	}))
	t.Cleanup(behind.Close)
	f, err := New(Config{API: api, Upstream: behind.URL, UpstreamToken: "behind", Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	f.insists = 200 * time.Millisecond
	return f, calls
}

func post(f *Facilitator, path string) map[string]any {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(goodBody)))
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	answer["status"] = w.Code
	return answer
}

// If any call of the API fails before a payment is sent, the payment is not sent, and the answer
// is no HTTP error.
func TestNothingIsSentWithoutAVerdict(t *testing.T) {
	for _, fails := range []string{"/v1/transactions", "/v1/screen"} {
		api := &fakeAPI{fails: fails}
		f, calls := newDoor(t, api, io.Discard)
		settled := post(f, "/x402/settle")
		require.Equal(t, 200, settled["status"])
		require.Equal(t, "railguard_unavailable", settled["errorReason"])
		require.Zero(t, *calls)
	}
}

// A payment that was made is reported as made, although it cannot be booked, and somebody
// is alerted.
func TestWhatCannotBeBookedIsTold(t *testing.T) {
	var log strings.Builder
	before := unbooked.Get()
	f, calls := newDoor(t, &fakeAPI{fails: "/settle"}, &log)
	settled := post(f, "/x402/settle")
	require.Equal(t, true, settled["success"], settled)
	require.Equal(t, 1, *calls)
	require.Equal(t, before+1, unbooked.Get())
	require.Contains(t, log.String(), "txnId=txn_1")
	require.Contains(t, log.String(), "transaction=5sig")
}

func TestSettingsAreChecked(t *testing.T) {
	api := &fakeAPI{}
	for _, address := range []string{"", "facilitator", "http://facilitator.example.org", "ftp://x", "https://", "https://u:p@x.org", "https://x.org?a=b"} {
		_, err := New(Config{API: api, Upstream: address})
		require.Error(t, err, address)
	}
	for _, timeout := range []time.Duration{-1, time.Millisecond, time.Hour} {
		_, err := New(Config{API: api, Upstream: "https://x.org", SettleTimeout: timeout})
		require.Error(t, err)
	}
	_, err := New(Config{API: api, Upstream: "https://x.org/base/"})
	require.NoError(t, err)
	// An attempt is always over before its hold can expire.
	f := &Facilitator{config: Config{SettleTimeout: timeoutMost}}
	require.Less(t, f.patience(), holdBeyond)
}
