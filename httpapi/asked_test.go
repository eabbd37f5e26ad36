package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Names are asked for in a body as they are in a query, which balancers log.
func TestNamesAreAskedByBody(t *testing.T) {
	n := newTestNode(t)
	asked := func(query, path, body string) {
		t.Helper()
		want := n.do("reviewer", "GET", query, "")
		require.Equal(t, 200, want.Code, want.Body)
		got := n.do("reviewer", "POST", path, body)
		require.Equal(t, 200, got.Code, got.Body)
		require.JSONEq(t, want.Body.String(), got.Body.String(), body)
	}
	asked("/v1/match?name=Lazarus+Group&cpType=business&explain=true", "/v1/match", `{"name":"Lazarus Group","cpType":"business","explain":true}`)
	asked("/v1/match?wallet=0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "/v1/match", `{"wallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"}`)
	asked("/v1/audit?name=Lazarus+Group&limit=1", "/v1/audit/search", `{"name":"Lazarus Group","limit":1}`)
	n.cases(3)
	asked("/v1/audit?limit=1", "/v1/audit/search", `{"limit":1}`)
	page := n.do("reviewer", "GET", "/v1/audit?limit=1", "")
	cursor := member(t, page.Body.Bytes(), "nextCursor")
	asked("/v1/audit?limit=1&cursor="+cursor, "/v1/audit/search", `{"limit":1,"cursor":"`+cursor+`"}`)
	for _, wrong := range [][2]string{
		{"/v1/match", `{"name":"x","type":"business"}`}, {"/v1/match", `{}`}, {"/v1/match", `{"name":7}`}, {"/v1/match", `{"name":"a\u0000b"}`},
		{"/v1/audit/search", `{"nome":"x"}`}, {"/v1/audit/search", `{"limit":501}`}, {"/v1/audit/search", `{"limit":"1"}`}, {"/v1/audit/search", `{"cursor":7}`},
	} {
		require.Equal(t, 422, n.do("reviewer", "POST", wrong[0], wrong[1]).Code, wrong[1])
	}
	require.Equal(t, 400, n.do("reviewer", "POST", "/v1/match?name=x", `{"name":"x"}`).Code, "it takes no query")
	require.Equal(t, 403, n.do("screener", "POST", "/v1/match", `{"name":"x"}`).Code)
}
