package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/border"
)

// These tests produce the answers that the document declares and that no other test
// produces.

func TestAnswersToVersions(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.register("")
	fleet := textOf(answer(t, n.do("operator", "POST", "/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":1}`), 201), "fleetId")
	for _, place := range []string{"/v1/agents/" + agent + "/whitelist", "/v1/fleets/" + fleet + "/whitelist", "/v1/whitelist"} {
		answer(t, n.do("policy", "POST", place+"/entries", `{"name":"Paper","reason":"r"}`), 200)
		answer(t, n.do("policy", "POST", place+"/entries", `{"name":"Ink","reason":"r"}`, "If-Match", `"77"`), 412)
		answer(t, n.do("policy", "PUT", place, `{"entries":[],"mode":"off","reason":"r"}`, "If-Match", `"77"`), 412)
		answer(t, n.do("policy", "DELETE", place+"/entries/1", "", "If-Match", `"77"`), 412)
		answer(t, n.do("policy", "DELETE", place+"/entries/1", ""), 200)
	}
	keys := n.do("", "GET", "/v1/.well-known/jwks.json", "")
	require.Equal(t, http.StatusNotModified, n.do("", "GET", "/v1/.well-known/jwks.json", "", "If-None-Match", keys.Header().Get("ETag")).Code)
	require.Equal(t, 431, n.do("", "GET", "/v1/health", "", "X-Long", strings.Repeat("x", engine.HeaderMax)).Code)
}

func TestAnswersToStates(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	user := textOf(answer(t, n.do("operator", "POST", "/v1/users/register", `{"legalName":"Ada","agentIds":["`+agent+`"]}`), 201), "userId")
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/claim", `{}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/release", `{}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"o"}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/assign", `{"assignee":"o"}`), 409)
	for range engine.CommentsOfKeyMax {
		answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/comment", `{"comment":"o"}`), 200)
	}
	answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/comment", `{"comment":"o"}`), 409)
	for _, verb := range []string{"suspend", "reinstate", "revoke"} {
		answer(t, n.do("operator", "POST", "/v1/users/"+user+"/"+verb, `{"reason":"r"}`), 200)
	}
	answer(t, n.do("operator", "POST", "/v1/users/"+user+"/suspend", `{"reason":"r"}`), 409)
	answer(t, n.do("operator", "POST", "/v1/users/"+user+"/reinstate", `{"reason":"r"}`), 409)
	answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/revoke", `{"reason":"r"}`), 200)
	for _, call := range []string{"/model", "/attest"} {
		n.do("operator", "POST", "/v1/agents/"+agent+call, `{"underlyingModel":"m"}`)
	}
	for _, verb := range []string{"promote", "demote"} {
		answer(t, n.do("ops", "POST", "/v1/cluster/"+verb, `{"id":"n2"}`), 200)
	}
	answer(t, n.do("auditor", "GET", "/v1/ofac/snp_none/diff", ""), 404)
	answer(t, n.do("policy", "POST", "/v1/ofac/snp_none/rollback", `{"reason":"r"}`), 404)
}

// A proof holds a bounded number of the leaves that were written about its record.
func TestAnswerToAProofThatIsTooLong(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	const most = 256 // Leaves about a record in one proof.
	for range most/2 + 1 {
		answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/claim", `{}`), 200)
		answer(t, n.do("reviewer", "POST", "/v1/queue/"+txn+"/release", `{}`), 200)
	}
	require.Equal(t, "limit_reached", textOf(answer(t, n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", ""), 409), "code"))
}

func TestAnswersWithoutAList(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.register("")
	user := textOf(answer(t, n.do("operator", "POST", "/v1/users/register", `{"legalName":"Ada"}`), 201), "userId")
	settings := *n.settings
	settings.List = nil
	n.settings, n.list = &settings, nil
	n.reopen(nil)
	for _, call := range [][4]string{
		{"operator", "POST", "/v1/agents/" + agent + "/reissue", ""},
		{"operator", "POST", "/v1/users/" + user + "/reissue", ""},
		{"operator", "POST", "/v1/delegates/create", `{"agentName":"Child","parentAgentId":"` + agent + `"}`},
		{"reviewer", "GET", "/v1/match?name=x", ""},
		{"reviewer", "POST", "/v1/match", `{"name":"x"}`},
		{"reviewer", "POST", "/v1/cleared", `{"name":"x","uid":"1","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`},
	} {
		require.Equal(t, 503, n.do(call[0], call[1], call[2], call[3]).Code, "%s %s", call[1], call[2])
	}
}

// TestNothingGivenIsPassedOver: these members and parameters are read or refused. A walk
// over the document had found that they were ignored.
func TestNothingGivenIsPassedOver(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.register("")
	answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/model", `{"underlyingModel":"m","model":7}`), 422)
	answer(t, n.do("policy", "POST", "/v1/ofac/rollback", `{"reason":"r","force":"yes"}`), 422)
	answer(t, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"o","by":7}`), 422)
	child := `{"agentName":"Child","parentAgentId":"` + agent + `","operatorLegalName":`
	answer(t, n.do("operator", "POST", "/v1/delegates/create", child+`7}`), 422)
	require.Equal(t, "operator_mismatch", textOf(answer(t, n.do("operator", "POST", "/v1/delegates/create", child+`"Someone Else"}`), 422), "code"))
	parent := textOf(answer(t, n.do("operator", "GET", "/v1/agents/"+agent, ""), 200), "operatorLegalName")
	answer(t, n.do("operator", "POST", "/v1/delegates/create", child+`"`+parent+`"}`), 201)
	for _, query := range []string{"first=x", "treeSize=-1", "first=0"} {
		answer(t, n.do("auditor", "GET", "/v1/audit/export?"+query, ""), 400)
	}
	bot := textOf(answer(t, n.do("operator", "POST", "/v1/agents/register",
		`{"agentName":"Bot","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p"}`), 201), "agentId")
	for _, by := range []string{"a", "b", "c"} {
		answer(t, n.do("operator", "POST", "/v1/agents/"+bot+"/attest", `{"attestedBy":"`+by+`"}`), 200)
	}
	for order, want := range map[string]string{"desc": "cba", "asc": "abc"} {
		path, got := "/v1/agents/"+bot+"/attestations", ""
		for cursor := ""; ; {
			v := answer(t, n.do("operator", "GET", path+"?limit=1&order="+order+cursor, ""), 200)
			for _, item := range v.GetArray("data") {
				got += textOf(item, "attestedBy")
			}
			if cursor = "&cursor=" + textOf(v, "nextCursor"); cursor == "&cursor=" {
				break
			}
		}
		require.Equal(t, want, got)
		answer(t, n.do("operator", "GET", path+"?limit=0", ""), 400)
		answer(t, n.do("operator", "GET", path+"?cursor=x", ""), 400)
	}
}

// The integrator's guide has every code with its status, and no other.
func TestGuideHasEveryCode(t *testing.T) {
	guide, err := os.ReadFile("../docs/integrators.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(guide), "### Every code\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	shown := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			require.Empty(t, shown[code[1]], "%s stands twice", code[1])
			shown[code[1]] = row[2]
		}
	}
	for _, c := range border.CodeTable {
		require.Contains(t, shown[c.Code], strconv.Itoa(c.Status), c.Code)
		delete(shown, c.Code)
	}
	require.Empty(t, shown, "no such codes")
}

// A handler that returns neither an answer nor an error has a defect: its caller gets an
// internal error, never a success.
func TestNoAnswerIsAFault(t *testing.T) {
	n := newTestNode(t)
	w := httptest.NewRecorder()
	n.api.Serve(w, httptest.NewRequest("GET", "/v1/nothing", nil), &border.Route{Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, nil }})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), `"error":"internal_error"`)
}

// doPacked sends a call whose answer may be compressed.
func (n *testNode) doPacked(role, path, accepts string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+testSecret(role))
	r.Header.Set("Accept-Encoding", accepts)
	w := httptest.NewRecorder()
	n.api.Handler().ServeHTTP(w, r)
	return w
}

// Large answers are compressed for whoever accepts it, and nothing else is.
func TestLargeAnswersAreCompressed(t *testing.T) {
	n := newTestNode(t)
	for i := range 60 {
		n.registered(`,"metadata":{"n":` + strconv.Itoa(i) + `}`)
	}
	plain := n.do("auditor", "GET", "/v1/agents?limit=100", "")
	require.Greater(t, plain.Body.Len(), 8<<10)
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
	for accepts, packed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "br": false, "identity": false} {
		w := n.doPacked("auditor", "/v1/agents?limit=100", accepts)
		require.Equal(t, packed, w.Header().Get("Content-Encoding") == "gzip", accepts)
		body := w.Body.Bytes()
		if packed {
			require.Less(t, len(body), plain.Body.Len()/4)
			reader, err := gzip.NewReader(bytes.NewReader(body))
			require.NoError(t, err)
			body, err = io.ReadAll(reader)
			require.NoError(t, err)
		}
		require.Equal(t, plain.Body.String(), string(body))
	}
	require.Empty(t, n.doPacked("auditor", "/v1/agents?limit=1", "gzip").Header().Get("Content-Encoding"))
	export := n.doPacked("auditor", "/v1/audit/export", "gzip")
	require.Equal(t, "gzip", export.Header().Get("Content-Encoding"))
	reader, err := gzip.NewReader(export.Body)
	require.NoError(t, err)
	lines, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, n.do("auditor", "GET", "/v1/audit/export", "").Body.Len(), len(lines))
}

// A body that is compressed is refused: it is read as it comes.
func TestEncodedBodies(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	body := `{"token":"` + token + `","amount":1}`
	refused := answer(t, n.do("screener", "POST", "/v1/screen", body, "Content-Encoding", "gzip"), 415)
	require.Equal(t, "unsupported_encoding", textOf(refused, "code"))
	answer(t, n.do("screener", "POST", "/v1/screen", body, "Content-Encoding", "identity"), 200)
}

// An idempotency key is the same bare and as a string of structured fields.
func TestIdempotencyKeyAsAString(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	body := `{"token":"` + token + `","amount":1}`
	first := answer(t, n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", `order "7"`), 200)
	again := n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", `"order \"7\""`)
	require.Equal(t, textOf(first, "txnId"), textOf(answer(t, again, 200), "txnId"))
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	for _, broken := range []string{`"`, `"a`, `"a" b`, `"a";b=1`, `""`} {
		require.Equal(t, "Idempotency-Key", textOf(answer(t, n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", broken), 422), "param"), broken)
	}
}

// A call that is part of a trace says which part; what needs no key is for any page.
func TestTraceAndOrigin(t *testing.T) {
	n := newTestNode(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w := n.do("", "GET", "/v1/.well-known/jwks.json", "", "Traceparent", trace)
	require.Regexp(t, `^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$`, w.Header().Get("Traceresponse"))
	require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
	with := n.do("auditor", "GET", "/v1/agents", "")
	require.Empty(t, with.Header().Get("Traceresponse"))
	require.Empty(t, with.Header().Get("Access-Control-Allow-Origin"), "what needs a key")
	for accept, kind := range map[string]string{"application/problem+json": "application/problem+json", "application/problem+json;q=0, application/json": "application/json", "*/*": "application/json"} {
		require.Equal(t, kind, n.do("auditor", "GET", "/v1/agents/agt_x", "", "Accept", accept).Header().Get("Content-Type"), accept)
	}
}
