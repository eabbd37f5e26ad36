package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"railguard/httpapi/mcp"
	"railguard/ofac"
	"railguard/seal"
)

// agentDesk is a node with the MCP handler in front of its API, over a real connection.
type agentDesk struct {
	*group
	server *httptest.Server
	node   *groupNode
	down   bool // The API answers every call with 503.
}

func newAgentDesk(t *testing.T) *agentDesk {
	d := &agentDesk{group: newGroup(t, "n1")}
	d.form(ofac.Carried())
	d.useSample()
	d.awaitReady()
	d.node = d.nodes["n1"]
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.down && r.URL.Path != "/v1/key" {
			w.Header().Set("X-Railguard-Outcome", "unknown")
			w.WriteHeader(503)
			_, _ = w.Write([]byte(`{"code":"outcome_unknown","message":"the deadline passed"}`))
			return
		}
		d.node.api.Handler().ServeHTTP(w, r)
	})
	guest, err := mcp.New(mcp.Config{API: api, PublicURL: func() string { return "https://guard.example.org/" }, Version: "1.2.3"})
	require.NoError(t, err)
	d.server = httptest.NewServer(heldGuest(t, guest))
	t.Cleanup(d.server.Close)
	return d
}

// bearer sends an API key with each call.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// session connects the MCP library's client.
func (d *agentDesk) session(key string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	return client.Connect(d.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: d.server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{key}}, MaxRetries: -1,
	}, nil)
}

type toolAnswer struct {
	failed  bool
	text    string
	members map[string]any
}

func (d *agentDesk) tool(s *sdk.ClientSession, name string, arguments any) toolAnswer {
	d.t.Helper()
	result, err := s.CallTool(d.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(d.t, err)
	a := toolAnswer{failed: result.IsError}
	a.text = result.Content[0].(*sdk.TextContent).Text
	raw, err := json.Marshal(result.StructuredContent)
	require.NoError(d.t, err)
	require.NoError(d.t, json.Unmarshal(raw, &a.members))
	return a
}

// An agent screens, makes dry runs, reads records and asks for explanations, with the MCP
// library's client.
func TestMCP(t *testing.T) {
	d := newAgentDesk(t)
	key := d.node.newKey(t, `{"name":"agents","roles":["screener"]}`)
	s, err := d.session(key)
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "railguard", s.InitializeResult().ServerInfo.Name)

	tools, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	readOnly := map[string]bool{}
	for _, tool := range tools.Tools {
		readOnly[tool.Name] = tool.Annotations.ReadOnlyHint
		require.NotNil(t, tool.OutputSchema)
		require.False(t, *tool.Annotations.OpenWorldHint)
	}
	require.Equal(t, map[string]bool{"screen": false, "dry_run": true, "get_verdict": true, "get_limits": true, "explain": true, "confirm": false, "settle": false, "release": false}, readOnly)

	registered := d.node.must(t, 201, "POST", "/v1/agents/register",
		`{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays","spendPolicy":{"maxSingleTxUSDC":100,"dailyLimitUSDC":1000}}`)
	token := registered["token"].(string)

	// A payment, exact to the micro-dollar, counts once for one idempotency key.
	raw := json.RawMessage(`{"token":"` + token + `","amount":10.000001,"cpName":"Corner Shop","idempotencyKey":"order-1"}`)
	paid := d.tool(s, "screen", raw)
	require.False(t, paid.failed, paid.text)
	require.Equal(t, "PROCEED", paid.members["verdict"])
	require.Contains(t, paid.text, "may be made")
	again := d.tool(s, "screen", raw)
	require.Equal(t, paid.members["txnId"], again.members["txnId"])
	require.Equal(t, true, again.members["replayed"])
	require.Contains(t, again.text, "confirm first")
	limits := d.tool(s, "get_limits", map[string]any{"token": token})
	require.Equal(t, 10.000001, limits.members["spentUSDC"], limits.text)
	require.NotContains(t, limits.text, "do not pay")

	// An idempotency key has the same scope as with POST /v1/screen.
	require.Equal(t, 422, status(t, d.node.api.Handler(), key, "/v1/screen", `{"token":"x","amount":1}`, "order-1"))

	// Every verdict is a result and says what to do.
	for name, c := range map[string]struct{ more, verdict, says string }{
		"blocked": {`,"amount":1,"cpWallet":"` + badPayee + `"`, "BLOCK", "do not pay"}, "to review": {`,"amount":101`, "REVIEW", "do not pay"},
	} {
		a := d.tool(s, "screen", json.RawMessage(`{"token":"`+token+`"`+c.more+`,"idempotencyKey":"`+name+`"}`))
		require.False(t, a.failed, name)
		require.Equal(t, c.verdict, a.members["verdict"])
		require.Contains(t, a.text, c.says)
		explained := d.tool(s, "explain", map[string]any{"txnId": a.members["txnId"]})
		require.Equal(t, a.members["rule"], explained.members["rule"], explained.text)
		require.NotEmpty(t, explained.members["trigger"])
		require.NotContains(t, explained.members, "matches")
	}
	unknown := d.tool(s, "screen", map[string]any{"token": "nonsense", "amount": 1, "idempotencyKey": "u"})
	require.Equal(t, "UNKNOWN", unknown.members["verdict"])
	require.Contains(t, unknown.text, "do not pay")

	// A dry run counts nothing.
	dry := d.tool(s, "dry_run", map[string]any{"token": token, "amount": 5})
	require.Equal(t, "PROCEED", dry.members["verdict"])
	require.Contains(t, dry.text, "no leave to pay")
	require.Equal(t, 10.000001, d.tool(s, "get_limits", map[string]any{"token": token}).members["spentUSDC"])

	t.Run("dispositions", func(t *testing.T) { mcpDispositions(t, d, s, token) })
	t.Run("payments", func(t *testing.T) { mcpPayments(t, d, s, token) })
	t.Run("errors", func(t *testing.T) { mcpErrors(t, d, s, token) })
	t.Run("border", func(t *testing.T) { mcpBorder(t, d, key) })
	requireAllSeen(t, "mcp")
}

func status(t *testing.T, handler http.Handler, key, path, body, idempotency string) int {
	w := x402Do(handler, key, "POST", path, body, "Idempotency-Key", idempotency)
	return w.Code
}

// The agent is told a review's disposition but not an escalation, whatever its API key may
// read.
func mcpDispositions(t *testing.T, d *agentDesk, s *sdk.ClientSession, token string) {
	admin, err := d.session(groupKey)
	require.NoError(t, err)
	defer admin.Close()
	for disposition, want := range map[string]any{"APPROVED": "APPROVED", "REJECTED": "REJECTED", "ESCALATE_SAR": nil} {
		review := d.tool(s, "screen", map[string]any{"token": token, "amount": 150, "idempotencyKey": "d-" + disposition})
		id := review.members["txnId"]
		open := d.tool(s, "get_verdict", map[string]any{"txnId": id})
		require.Nil(t, open.members["disposition"])
		require.Contains(t, open.members, "disposition")
		d.node.must(t, 200, "POST", "/v1/reviews/"+id.(string), `{"disposition":"`+disposition+`","reviewedBy":"Ann","notes":"secret"}`)
		for _, session := range []*sdk.ClientSession{s, admin} {
			a := d.tool(session, "get_verdict", map[string]any{"txnId": id, "waitSeconds": 0})
			require.Equal(t, want, a.members["disposition"])
			require.Equal(t, disposition == "APPROVED", strings.Contains(a.text, "confirm first"), a.text)
			require.NotContains(t, a.text, "may be made")
			for _, inner := range []string{"notes", "sarEscalated", "reviewedBy", "triggered", "matches", "evidence", "comments", "_request"} {
				require.NotContains(t, a.members, inner)
			}
		}
	}
}

// An approved payment is confirmed, redeemed and settled; an agent gives nothing back.
func mcpPayments(t *testing.T, d *agentDesk, s *sdk.ClientSession, token string) {
	review := d.tool(s, "screen", map[string]any{"token": token, "amount": 150, "idempotencyKey": "p-1"})
	id := review.members["txnId"].(string)
	waits := d.tool(s, "confirm", map[string]any{"txnId": id})
	require.True(t, waits.failed)
	require.Equal(t, "waiting", waits.members["state"])
	d.node.must(t, 200, "POST", "/v1/reviews/"+id, `{"disposition":"APPROVED","reviewedBy":"Ann"}`)

	first := d.tool(s, "confirm", map[string]any{"txnId": id, "idempotencyKey": "c-1"})
	require.Equal(t, "PROCEED: the payment may be made.", first.text)
	require.Equal(t, "held", first.members["payment"].(map[string]any)["state"])
	again := d.tool(s, "confirm", map[string]any{"txnId": id, "idempotencyKey": "c-1"})
	require.Contains(t, again.text, "REVIEW, APPROVED: confirm first", "a repeated answer is none")
	taken := map[string]any{"txnId": id, "redeem": true, "idempotencyKey": "c-2"}
	require.Equal(t, "PROCEED: the payment may be made now, once: its leave is taken.", d.tool(s, "confirm", taken).text)
	require.Contains(t, d.tool(s, "confirm", taken).text, "(redeemed): let through or paid")
	used := d.tool(s, "confirm", map[string]any{"txnId": id})
	require.Equal(t, []any{true, "permit_used"}, []any{used.failed, used.members["code"]})
	require.NotEmpty(t, used.members["redeemedAt"])

	given := d.tool(s, "release", map[string]any{"txnId": id, "reason": "the rail refused it"})
	require.Equal(t, []any{true, "settler_required"}, []any{given.failed, given.members["code"]})
	require.True(t, d.tool(s, "settle", map[string]any{"txnId": id, "amount": 1}).failed, "less than was allowed")
	paid := d.tool(s, "settle", map[string]any{"txnId": id, "railRef": "0xabc"})
	require.Equal(t, []any{false, "settled"}, []any{paid.failed, paid.members["state"]})
	require.NotContains(t, paid.members, "unpermitted")
	require.Contains(t, d.tool(s, "get_verdict", map[string]any{"txnId": id}).text, "(settled): let through or paid")
}

// If there is no verdict, the error says so and whether the payment was recorded.
func mcpErrors(t *testing.T, d *agentDesk, s *sdk.ClientSession, token string) {
	for name, c := range map[string]struct{ tool, arguments, code string }{
		"no idempotency key":       {"screen", `{"token":"t","amount":1}`, "missing_field"},
		"an empty idempotency key": {"screen", `{"token":"t","amount":1,"idempotencyKey":""}`, "invalid_field"},
		"a key that is none":       {"screen", `{"token":"t","amount":1,"idempotencyKey":"\u0007"}`, "invalid_field"},
		"a stranger":               {"screen", `{"token":"t","amount":1,"idempotencyKey":"k","cpnameX":"x"}`, "unknown_field"},
		"a text for an amount":     {"screen", `{"token":"t","amount":"1","idempotencyKey":"k2"}`, "invalid_amount"},
		"an unknown transaction":   {"get_verdict", `{"txnId":"txn_zzzzzzzz"}`, "not_found"},
		"a path for one":           {"get_verdict", `{"txnId":"../key"}`, "not_found"},
		"a wait too long":          {"get_verdict", `{"txnId":"txn_zzzzzzzz","waitSeconds":31}`, "invalid_field"},
		"a credential of nobody":   {"get_limits", `{"token":"nonsense"}`, "invalid_field"},
		"another body for a key":   {"screen", `{"token":"` + token + `","amount":2,"idempotencyKey":"order-1"}`, "idempotency_conflict"},
	} {
		a := d.tool(s, c.tool, json.RawMessage(c.arguments))
		require.True(t, a.failed, name)
		require.Equal(t, c.code, a.members["code"], name)
		require.Equal(t, "none", a.members["outcome"], name)
		require.Contains(t, a.text, "do not pay", name)
		require.NotContains(t, a.members, "verdict", name)
	}
	d.down = true
	defer func() { d.down = false }()
	for _, call := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"screen", map[string]any{"token": token, "amount": 1, "idempotencyKey": "k3"}}, {"dry_run", map[string]any{"token": token, "amount": 1}},
		{"get_verdict", map[string]any{"txnId": "txn_zzzzzzzz"}}, {"get_limits", map[string]any{"token": token}}, {"explain", map[string]any{"txnId": "txn_zzzzzzzz"}},
		{"confirm", map[string]any{"txnId": "txn_zzzzzzzz"}}, {"settle", map[string]any{"txnId": "txn_zzzzzzzz"}}, {"release", map[string]any{"txnId": "txn_zzzzzzzz", "reason": "r"}},
	} {
		a := d.tool(s, call.tool, call.arguments)
		require.True(t, a.failed, call.tool)
		require.Contains(t, a.text, "do not pay")
		require.Equal(t, "unknown", a.members["outcome"])
	}
}

// Only callers with a screener's key are let in, and no web page of another origin.
func mcpBorder(t *testing.T, d *agentDesk, key string) {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	call := func(method, path, key string, headers ...string) *http.Response {
		r, err := http.NewRequest(method, d.server.URL+path, bytes.NewReader([]byte(list)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	require.Equal(t, 200, call("POST", "/mcp", key).StatusCode)
	for _, nobody := range []string{"", "rg_live_nobody"} {
		refused := call("POST", "/mcp", nobody)
		require.Equal(t, 401, refused.StatusCode)
		require.Equal(t, `Bearer resource_metadata="https://guard.example.org/.well-known/oauth-protected-resource/mcp", scope="screen"`, refused.Header.Get("WWW-Authenticate"))
	}
	operator := d.node.newKey(t, `{"name":"o","roles":["operator","auditor"]}`)
	require.Equal(t, 403, call("POST", "/mcp", operator).StatusCode)
	elsewhere := d.node.newKey(t, `{"name":"e","roles":["screener"],"networks":["203.0.113.0/24"]}`)
	require.Equal(t, 401, call("POST", "/mcp", elsewhere).StatusCode)
	require.Equal(t, 403, call("POST", "/mcp", key, "Origin", "https://evil.example.org").StatusCode)
	require.Equal(t, 403, call("POST", "/mcp", key, "Sec-Fetch-Site", "cross-site").StatusCode)
	require.Equal(t, 200, call("POST", "/mcp", key, "Origin", d.server.URL).StatusCode)
	for _, method := range []string{"GET", "DELETE"} {
		require.Equal(t, 405, call(method, "/mcp", key).StatusCode, "there are no sessions")
	}
	require.Equal(t, 400, call("POST", "/mcp?sessionId=1", key).StatusCode, "no parameter is passed over")
	mcpMessages(t, d, key, list)
	require.Equal(t, 404, call("POST", "/mcp/", key).StatusCode)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		answer := call("GET", path, "")
		require.Equal(t, 200, answer.StatusCode)
		var metadata map[string]any
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&metadata))
		require.Equal(t, "https://guard.example.org/mcp", metadata["resource"])
		require.Equal(t, []any{"header"}, metadata["bearer_methods_supported"])
	}
	off := httptest.NewRecorder()
	d.node.api.Handler().ServeHTTP(off, httptest.NewRequest("POST", "/mcp", strings.NewReader(list)))
	require.Equal(t, 404, off.Code, "off by default")
}

// A body is exactly one message, which every parser reads alike.
func mcpMessages(t *testing.T, d *agentDesk, key, list string) {
	for message, want := range map[string]struct {
		body   string
		status int
		accept string
	}{
		"a notification":      {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "application/json, text/event-stream"},
		"no message":          {`{"jsonrpc":`, 400, "application/json, text/event-stream"},
		"several in one":      {"[" + list + "]", 400, "application/json, text/event-stream"},
		"one behind another":  {list + list, 400, "application/json, text/event-stream"},
		"an amount twice":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dry_run","arguments":{"token":"t","amount":5,"amount":99999}}}`, 400, "application/json, text/event-stream"},
		"half a character":    {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dry_run","arguments":{"token":"t","amount":5,"cpName":"\ud800"}}}`, 400, "application/json, text/event-stream"},
		"an id that is large": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 400, "application/json, text/event-stream"},
		"a broken id":         {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, "application/json, text/event-stream"},
		"an id that is text":  {`{"jsonrpc":"2.0","id":"a","method":"ping"}`, 200, "application/json, text/event-stream"},
		"larger than allowed": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 129<<10) + `"}`, 413, "application/json, text/event-stream"},
		"an answer of none":   {list, 400, "text/html"},
	} {
		r, err := http.NewRequest("POST", d.server.URL+"/mcp", strings.NewReader(want.body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", want.accept)
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, want.status, answer.StatusCode, message)
	}
}

// All guests are in front of one API, each at its own paths, and only if it is configured.
func TestGuestsTogether(t *testing.T) {
	d := newAgentDesk(t)
	for _, on := range []bool{true, false} {
		f := &serveFlags{guestFlags: guestFlags{mcp: on, consoleImport: on}}
		if on {
			f.x402Upstream = "https://facilitator.example.org"
		}
		front, err := f.addGuests(d.node.api.Handler(), d.node.api.AdminHandler(), seal.NewSecrets([]byte(groupSecret)), nil, func() string { return "" }, nil, nil)
		require.NoError(t, err)
		for path, want := range map[string]int{"/mcp": 401, "/x402/verify": 401, "/console/session": 403, "/v1/screen": 401, "/nowhere": 404} {
			if !on && (path == "/mcp" || path == "/x402/verify") {
				want = 404
			}
			require.Equal(t, want, x402Do(front, "", "POST", path, "{}", "Sec-Fetch-Site", map[bool]string{true: "cross-site", false: "none"}[path == "/console/session"]).Code, path)
		}
		require.Equal(t, map[bool]int{true: 415, false: 404}[on], x402Do(front, "", "POST", "/console/upload", "{}", "Sec-Fetch-Site", "none").Code, "list files through the console")
	}
}
