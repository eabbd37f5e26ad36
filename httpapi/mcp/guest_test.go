package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/guest"
)

// Each message is charged once for the protocol, whatever its tool calls; a refused call
// with a query is not charged.
func TestMessagesAreCharged(t *testing.T) {
	var asked []string
	g, err := New(Config{PublicURL: func() string { return "" }, API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.URL.Path, " ", guest.Cost(r.Context())))
		_, _ = w.Write([]byte(`{"roles":["screener"],"verdict":"PROCEED","txnId":"txn_1"}`))
	})})
	require.NoError(t, err)
	post := func(path, message string) *httptest.ResponseRecorder {
		asked = nil
		r := httptest.NewRequest("POST", path, strings.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for message, calls := range map[string][]string{
		ping: {"/v1/key 8"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`: {"/v1/key 8"},
		`[`: {"/v1/key 8"},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"screen","arguments":{"token":"x","amount":1,"idempotencyKey":"a"}}}`: {"/v1/key 8", "/v1/screen 0"},
	} {
		post(Path, message)
		require.Equal(t, calls, asked, message)
	}
	for query, name := range map[string]string{"x=1": "x", "sessionId": "sessionId", "consistency=leader": "consistency", "&a%20b=1&c=2": "a%20b", "&": ""} {
		w := post(Path+"?"+query, ping)
		require.Equal(t, 400, w.Code, query)
		require.JSONEq(t, `{"error":"bad_request","code":"bad_request","param":"`+name+`","message":"the query parameter `+name+` is not known here"}`, w.Body.String())
		require.Empty(t, asked)
	}
	require.Equal(t, 200, post(Path+"?", ping).Code, "an empty query is none")
}

// TestAgentsKeysAreNoSettlers (line T1): whoever may give payments back is not let in, whatever
// else it may do.
func TestAgentsKeysAreNoSettlers(t *testing.T) {
	for roles, status := range map[string]int{
		`["screener"]`: 200, `["screener","viewer"]`: 200, `["admin"]`: 200,
		`["settler"]`: 403, `["screener","settler"]`: 403, `["admin","settler"]`: 403, `["viewer"]`: 403, `[]`: 403,
	} {
		asked := 0
		g, err := New(Config{PublicURL: func() string { return "" }, API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			_, _ = w.Write([]byte(`{"roles":` + roles + `,"verdict":"PROCEED","txnId":"txn_1"}`))
		})})
		require.NoError(t, err)
		r := httptest.NewRequest("POST", Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"screen","arguments":{"token":"x","amount":1,"idempotencyKey":"a"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, roles)
		require.Equal(t, map[int]int{200: 2, 403: 1}[status], asked, "nothing is screened: %s", roles)
	}
}

// TestPermitIsOutOfTheModelsSight: it comes in the result's metadata, and in nothing that a model reads.
func TestPermitIsOutOfTheModelsSight(t *testing.T) {
	g, api := newDesk(t)
	api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"ok","permit":"a.bearers.secret","permitExpiresAt":"2026-03-22T03:35:28.000Z"}`}
	got := callTool(t, g, "screen", `{"token":"x","amount":1,"idempotencyKey":"k","permit":{"ttlSeconds":60}}`)
	require.Equal(t, "a.bearers.secret", got.Meta["railguard/permit"])
	require.JSONEq(t, `{"token":"x","amount":1,"permit":{"ttlSeconds":60}}`, api.asked[len(api.asked)-1].body)
	require.Equal(t, "2026-03-22T03:35:28.000Z", got.Members["permitExpiresAt"])
	require.NotContains(t, got.Members, "permit")
	for _, part := range got.Content {
		require.NotContains(t, part.Text, "bearers")
	}
}
