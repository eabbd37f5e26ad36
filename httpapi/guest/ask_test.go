package guest

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The API sees the caller's key, address and trace, and nothing else of the caller's
// request.
func TestAskIsInTheCallersName(t *testing.T) {
	caller := httptest.NewRequest("PUT", "/elsewhere?x=1", strings.NewReader("the caller's body"))
	caller.Host, caller.RemoteAddr, caller.TLS = "guard.example.org", "192.0.2.7:1234", &tls.ConnectionState{}
	for name, value := range map[string]string{
		"Authorization": "Bearer k", "X-Forwarded-For": "203.0.113.9", "X-Request-Id": "r1", "Traceparent": "t1",
		"Cookie": "session", "Idempotency-Key": "the caller's", "Content-Encoding": "gzip", "Origin": "https://x",
	} {
		caller.Header.Set(name, value)
	}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "kept")
	for name, c := range map[string]struct {
		method, path string
		headers      map[string]string
		body         []byte
		want         http.Header
	}{
		"a read": {"GET", "/v1/audit/txn_1?wait=3", map[string]string{"Idempotency-Key": ""}, nil, http.Header{}},
		"a write": {
			"POST", "/v1/screen", map[string]string{"Idempotency-Key": "k1", "X-Railguard-Min-Index": "7"}, []byte(`{"a":1}`),
			http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k1"}, "X-Railguard-Min-Index": {"7"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			answer := Ask(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				called = true
				require.Equal(t, c.method, r.Method)
				require.Equal(t, c.path, r.URL.RequestURI())
				require.Equal(t, c.path, r.RequestURI)
				require.Equal(t, []any{"guard.example.org", "192.0.2.7:1234", caller.TLS}, []any{r.Host, r.RemoteAddr, r.TLS})
				require.Equal(t, "kept", r.Context().Value(key{}))
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.Equal(t, string(c.body), string(body))
				require.Equal(t, int64(len(c.body)), r.ContentLength)
				for name, value := range map[string]string{"Authorization": "Bearer k", "X-Forwarded-For": "203.0.113.9", "X-Request-Id": "r1", "Traceparent": "t1"} {
					require.Equal(t, []string{value}, r.Header.Values(name))
					r.Header.Del(name)
				}
				require.Equal(t, c.want, r.Header)
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(503)
				_, _ = io.WriteString(w, "busy")
			}), caller, c.method, c.path, c.headers, c.body)
			require.True(t, called)
			require.Equal(t, 503, answer.Status)
			require.Equal(t, "3", answer.Head.Get("Retry-After"))
			require.Equal(t, "busy", answer.Body.String())
		})
	}
	require.Equal(t, "Bearer k", caller.Header.Get("Authorization"))
	require.Panics(t, func() { Ask(ctx, http.NotFoundHandler(), caller, "GET", "%zz", nil, nil) })
}

func TestAnswersAreBounded(t *testing.T) {
	answer := NewAnswer()
	require.Equal(t, http.StatusOK, answer.Status, "where nobody says otherwise")
	n, err := answer.Write(make([]byte, AnswerMax))
	require.NoError(t, err)
	require.Equal(t, AnswerMax, n)
	_, err = answer.Write([]byte{0})
	require.ErrorIs(t, err, io.ErrShortBuffer)
	require.Equal(t, AnswerMax, answer.Body.Len())
}

func TestCost(t *testing.T) {
	require.Zero(t, Cost(t.Context()))
	require.Equal(t, 8, Cost(Costing(t.Context(), 8)))
}

func TestRefuseQuery(t *testing.T) {
	for query, name := range map[string]string{
		"x=1": "x", "x": "x", "&&x=1&y=2": "x", "=1": "", "a%20b=1": "a%20b", strings.Repeat("n", 65) + "=1": strings.Repeat("n", 64), strings.Repeat("n", 64): strings.Repeat("n", 64),
	} {
		r := httptest.NewRequest("GET", "/mcp", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		require.True(t, RefuseQuery(w, r), query)
		require.Equal(t, 400, w.Code)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.JSONEq(t, `{"error":"bad_request","code":"bad_request","param":"`+name+`","message":"the query parameter `+name+` is not known here"}`, w.Body.String())
	}
	w := httptest.NewRecorder()
	require.False(t, RefuseQuery(w, httptest.NewRequest("GET", "/mcp?", nil)), "an empty query is none")
	require.Empty(t, w.Body.String())
}

// The mark of the facilitator travels with the calls of Ask, and no request from outside has it.
func TestFacilitatorsMark(t *testing.T) {
	require.False(t, ByFacilitator(httptest.NewRequest("POST", "/v1/screen", nil).Context()))
	marked := false
	Ask(AsFacilitator(t.Context()), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		marked = ByFacilitator(r.Context())
	}), httptest.NewRequest("POST", "/x402/settle", nil), "POST", "/v1/screen", nil, nil)
	require.True(t, marked)
}
