package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/guest"
)

// fakeAPI gives a set answer for each "METHOD path", and records the calls.
type fakeAPI struct {
	answers map[string]fakeAnswer
	asked   []asked
}

type fakeAnswer struct {
	status  int
	body    string
	headers map[string]string
}

type asked struct {
	call, query, key, body, authorization string
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	call := r.Method + " " + r.URL.Path
	a.asked = append(a.asked, asked{call, r.URL.RawQuery, r.Header.Get("Idempotency-Key"), string(body), r.Header.Get("Authorization")})
	answer, known := a.answers[call]
	if !known {
		answer = fakeAnswer{status: 404, body: `{"code":"not_found","message":"no such path"}`}
	}
	for name, value := range answer.headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

func newDesk(t *testing.T) (*Guest, *fakeAPI) {
	api := &fakeAPI{answers: map[string]fakeAnswer{"GET /v1/key": {status: 200, body: `{"roles":["screener"]}`}}}
	g, err := New(Config{API: api, PublicURL: func() string { return "https://guard.example.org/" }, Version: "1.2.3"})
	require.NoError(t, err)
	return g, api
}

func send(g *Guest, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer rg_live_1")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// outcome is a tool's result as an agent reads it.
type outcome struct {
	IsError bool
	Content []struct{ Text string }
	Members map[string]any `json:"structuredContent"`
	Meta    map[string]any `json:"_meta"`
}

func callTool(t *testing.T, g *Guest, name, arguments string) *outcome {
	w := send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	require.Equal(t, 200, w.Code, w.Body.String())
	var message struct{ Result *outcome }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &message), w.Body.String())
	require.NotNil(t, message.Result, w.Body.String())
	require.NotEmpty(t, message.Result.Content)
	declared := declaredMembers(t, name)
	for member := range message.Result.Members {
		require.Contains(t, declared, member, "%s does not declare it", name)
	}
	return message.Result
}

// requireFailed checks a failure: the agent must be told not to pay, and whether anything
// was recorded.
func (o *outcome) requireFailed(t *testing.T, code, outcome string) {
	require.True(t, o.IsError, "%v", o)
	require.Equal(t, code, o.Members["code"])
	require.Equal(t, outcome, o.Members["outcome"])
	require.True(t, strings.HasPrefix(o.Content[0].Text, "No verdict: do not pay. "+code+": "), o.Content[0].Text)
	require.Equal(t, outcome == "unknown", strings.Contains(o.Content[0].Text, "repeat it with the same idempotencyKey"))
	require.NotContains(t, o.Members, "verdict")
}

const (
	screening = `{"token":"t","amount":12.5,"cpName":"Ann","idempotencyKey":"order-1"}`
	secrets   = `"notes":"n","matches":[1],"triggered":["R4"],"evidence":{},"_request":{},"reviewedBy":"Ann","sarEscalated":true`
)

func verdictBody(verdict string) string {
	return `{"verdict":"` + verdict + `","txnId":"txn_1","rule":"R12","reason":"the reason.","agentId":"agt_1","hold":{"state":"held"},` + secrets + `}`
}

func requireNoSecret(t *testing.T, members map[string]any) {
	for _, name := range []string{"notes", "matches", "triggered", "evidence", "_request", "reviewedBy", "sarEscalated"} {
		require.NotContains(t, members, name)
	}
}

func TestScreenTellsTheVerdict(t *testing.T) {
	for verdict, sentence := range map[string]string{
		"PROCEED": "PROCEED: the payment may be made.",
		"REVIEW":  "REVIEW (R12): do not pay. An officer decides; ask get_verdict until its disposition is APPROVED, then call confirm. the reason.",
		"BLOCK":   "BLOCK (R12): do not pay, and do not ask again in other words. the reason.",
		"UNKNOWN": "UNKNOWN (R12): do not pay. The credential is missing or no good: get one from the agent's operator. the reason.",
	} {
		t.Run(verdict, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: verdictBody(verdict)}
			o := callTool(t, g, "screen", screening)
			require.False(t, o.IsError)
			require.Equal(t, sentence, o.Content[0].Text)
			require.Equal(t, verdict, o.Members["verdict"])
			require.Equal(t, "agt_1", o.Members["agentId"])
			requireNoSecret(t, o.Members)
			require.Len(t, o.Content, 2)
			requireSameJSON(t, o.Members, o.Content[1].Text)
			require.Len(t, api.asked, 2)
			require.Equal(t, "order-1", api.asked[1].key)
			require.Equal(t, "Bearer rg_live_1", api.asked[1].authorization)
			require.JSONEq(t, `{"token":"t","amount":12.5,"cpName":"Ann"}`, api.asked[1].body)
		})
	}
}

func requireSameJSON(t *testing.T, members map[string]any, text string) {
	data, err := json.Marshal(members)
	require.NoError(t, err)
	require.JSONEq(t, string(data), text)
}

func TestDryRunIsNoLeaveToPay(t *testing.T) {
	g, api := newDesk(t)
	api.answers["POST /v1/screen/dry-run"] = fakeAnswer{status: 200, body: strings.Replace(verdictBody("PROCEED"), `{`, `{"dryRun":true,`, 1)}
	o := callTool(t, g, "dry_run", `{"token":"t","amount":1}`)
	require.Equal(t, "Tried only, no leave to pay: PROCEED: screen would let the payment through now.", o.Content[0].Text)
	require.Equal(t, true, o.Members["dryRun"])
	require.Empty(t, api.asked[1].key)
	callTool(t, g, "dry_run", screening).requireFailed(t, "unknown_field", "none")
}

// What each disposition and state says stands in TestASentenceAState.
func TestVerdictTellsTheDisposition(t *testing.T) {
	for name, c := range map[string]struct {
		verdict, disposition string
		told                 any
	}{
		"nobody decided": {"REVIEW", `null`, nil},
		"approved":       {"REVIEW", `"APPROVED","payBy":"2026-03-23T00:00:00.000Z","confirmable":true`, "APPROVED"},
		"lapsed":         {"REVIEW", `"APPROVED","confirmable":false,"confirmableReason":"lapsed"`, "APPROVED"},
		"let through":    {"PROCEED", `null,"payment":{"state":"unresolved"}`, nil},
		"rejected":       {"REVIEW", `"REJECTED"`, "REJECTED"},
		"escalated":      {"REVIEW", `"ESCALATE_SAR"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: strings.Replace(verdictBody(c.verdict), `{`, `{"disposition":`+c.disposition+`,`, 1)}
			o := callTool(t, g, "get_verdict", `{"txnId":"txn_1"}`)
			if c.verdict == "REVIEW" {
				require.Contains(t, o.Members, "disposition")
			}
			require.Equal(t, c.told, o.Members["disposition"])
			requireNoSecret(t, o.Members)
		})
	}
	g, api := newDesk(t)
	api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: verdictBody("BLOCK")}
	o := callTool(t, g, "get_verdict", `{"txnId":"txn_1"}`)
	require.NotContains(t, o.Members, "disposition", "of a REVIEW alone")
}

func TestVerdictWaits(t *testing.T) {
	for wait, query := range map[string]string{"0": "wait=0", "30": "wait=30"} {
		g, api := newDesk(t)
		api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: verdictBody("PROCEED")}
		require.False(t, callTool(t, g, "get_verdict", `{"txnId":"txn_1","waitSeconds":`+wait+`}`).IsError)
		require.Equal(t, query, api.asked[1].query)
	}
	for _, wait := range []string{"-1", "31", "1.5", `"1"`, "true"} {
		g, api := newDesk(t)
		callTool(t, g, "get_verdict", `{"txnId":"txn_1","waitSeconds":`+wait+`}`).requireFailed(t, "invalid_field", "none")
		require.Len(t, api.asked, 1, "the API is not asked")
	}
}

func TestLimitsAreOfWhoHasTheCredential(t *testing.T) {
	const dry, read = "POST /v1/screen/dry-run", "GET /v1/agents/agt_1/limits"
	for name, c := range map[string]struct {
		dry, limits fakeAnswer
		code        string // "": the limits are shown.
		outcome     string
	}{
		"known":              {dry: fakeAnswer{status: 200, body: verdictBody("BLOCK")}, limits: fakeAnswer{status: 200, body: `{"spentUSDC":7}`}},
		"no good":            {dry: fakeAnswer{status: 200, body: verdictBody("UNKNOWN")}, code: "invalid_field", outcome: "none"},
		"of nobody":          {dry: fakeAnswer{status: 200, body: `{"verdict":"PROCEED","reason":"r"}`}, code: "invalid_field", outcome: "none"},
		"no answer":          {dry: fakeAnswer{status: 503, body: `{"code":"no_leader"}`}, code: "no_leader", outcome: "unknown"},
		"no JSON":            {dry: fakeAnswer{status: 200, body: `x`}, code: "invalid_field", outcome: "none"},
		"limits are refused": {dry: fakeAnswer{status: 200, body: verdictBody("PROCEED")}, limits: fakeAnswer{status: 403, body: `{"code":"forbidden","message":"m"}`}, code: "forbidden", outcome: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers[dry], api.answers[read] = c.dry, c.limits
			o := callTool(t, g, "get_limits", `{"token":"t"}`)
			require.JSONEq(t, `{"token":"t","amount":0}`, api.asked[1].body)
			if c.code != "" {
				o.requireFailed(t, c.code, c.outcome)
				return
			}
			require.False(t, o.IsError)
			require.Equal(t, map[string]any{"spentUSDC": 7.0}, o.Members)
			require.Contains(t, o.Content[0].Text, "no leave to pay")
		})
	}
}

func TestExplainSaysWhatTheRuleIsAbout(t *testing.T) {
	g, api := newDesk(t)
	api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: verdictBody("BLOCK")}
	o := callTool(t, g, "explain", `{"txnId":"txn_1"}`)
	require.Equal(t, []any{"BLOCK", "txn_1", "R12", "the reason."}, []any{o.Members["verdict"], o.Members["txnId"], o.Members["rule"], o.Members["reason"]})
	require.Equal(t, o.Content[0].Text, o.Members["advice"])
	require.NotContains(t, o.Members, "trigger", "no rule of this binary")
	requireNoSecret(t, o.Members)

	for i := range engine.Rules {
		rule := &engine.Rules[i]
		api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: strings.Replace(verdictBody("BLOCK"), "R12", rule.Code, 1)}
		o = callTool(t, g, "explain", `{"txnId":"txn_1"}`)
		require.Equal(t, []any{rule.Trigger, rule.Params}, []any{o.Members["trigger"], o.Members["settings"]})
	}

	api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"all passed"}`}
	o = callTool(t, g, "explain", `{"txnId":"txn_1"}`)
	require.Nil(t, o.Members["rule"])
	require.NotContains(t, o.Members, "trigger")
}

func TestArgumentsAreChecked(t *testing.T) {
	for name, c := range map[string]struct{ tool, arguments, code, param string }{
		"no token":                   {"screen", `{"amount":1,"idempotencyKey":"k"}`, "missing_field", "token"},
		"a token that is null":       {"screen", `{"token":null,"amount":1,"idempotencyKey":"k"}`, "missing_field", "token"},
		"no amount":                  {"dry_run", `{"token":"t"}`, "missing_field", "amount"},
		"no idempotency key":         {"screen", `{"token":"t","amount":1}`, "missing_field", "idempotencyKey"},
		"an empty idempotency key":   {"screen", `{"token":"t","amount":1,"idempotencyKey":""}`, "invalid_field", "idempotencyKey"},
		"a number for one":           {"screen", `{"token":"t","amount":1,"idempotencyKey":7}`, "invalid_field", "idempotencyKey"},
		"a stranger":                 {"screen", `{"token":"t","amount":1,"idempotencyKey":"k","cpname":"x"}`, "unknown_field", "cpname"},
		"a hold of a dry run":        {"dry_run", `{"token":"t","amount":1,"hold":{"ttlSeconds":30}}`, "unknown_field", "hold"},
		"no transaction":             {"get_verdict", `{}`, "missing_field", "txnId"},
		"a number for a transaction": {"get_verdict", `{"txnId":7}`, "invalid_field", "txnId"},
		"a path for a transaction":   {"explain", `{"txnId":"../key"}`, "not_found", "txnId"},
		"an id that is too long":     {"explain", `{"txnId":"txn_` + strings.Repeat("a", 65) + `"}`, "not_found", "txnId"},
		"no object":                  {"explain", `[1]`, "invalid_json", ""},
		"null":                       {"screen", `null`, "invalid_json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			o := callTool(t, g, c.tool, c.arguments)
			o.requireFailed(t, c.code, "none")
			if c.param != "" {
				require.Equal(t, c.param, o.Members["param"])
			}
			require.Len(t, api.asked, 1, "the API is asked who calls, and no more")
		})
	}
	g, api := newDesk(t)
	longest := "txn_" + strings.Repeat("a", 64)
	api.answers["GET /v1/audit/"+longest] = fakeAnswer{status: 200, body: verdictBody("PROCEED")}
	require.False(t, callTool(t, g, "explain", `{"txnId":"`+longest+`"}`).IsError)
}

// How each tool reports what the API says instead of a verdict.
func TestWithoutAVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		answer        fakeAnswer
		code, outcome string
	}{
		"refused":                       {fakeAnswer{status: 400, body: `{"code":"invalid_field","message":"m"}`}, "invalid_field", "none"},
		"too many":                      {fakeAnswer{status: 429, body: `{"code":"rate_limited","message":"m"}`, headers: map[string]string{"Retry-After": "7"}}, "rate_limited", "none"},
		"the first is on its way":       {fakeAnswer{status: 409, body: `{"code":"idempotency_in_flight","message":"m"}`}, "idempotency_in_flight", "unknown"},
		"no leader, and it says so":     {fakeAnswer{status: 503, body: `{"code":"no_leader","message":"m"}`, headers: map[string]string{"X-Railguard-Outcome": "none"}}, "no_leader", "none"},
		"an outcome that is not known":  {fakeAnswer{status: 503, body: `{"code":"timeout","message":"m"}`, headers: map[string]string{"X-Railguard-Outcome": "unknown"}}, "timeout", "unknown"},
		"an error that says nothing":    {fakeAnswer{status: 500, body: ``}, "internal_error", "unknown"},
		"an answer that is no JSON":     {fakeAnswer{status: 200, body: `PROCEED`}, "internal_error", "unknown"},
		"an answer without its verdict": {fakeAnswer{status: 200, body: `{"txnId":"txn_1"}`}, "internal_error", "unknown"},
		"an answer that is no object":   {fakeAnswer{status: 200, body: `["PROCEED"]`}, "internal_error", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			for tool, call := range map[string][2]string{
				"screen": {"POST /v1/screen", screening}, "dry_run": {"POST /v1/screen/dry-run", `{"token":"t","amount":1}`},
				"get_verdict": {"GET /v1/audit/txn_1", `{"txnId":"txn_1"}`}, "explain": {"GET /v1/audit/txn_1", `{"txnId":"txn_1"}`},
				"confirm": {"POST /v1/transactions/txn_1/confirm", `{"txnId":"txn_1"}`},
			} {
				g, api := newDesk(t)
				api.answers[call[0]] = c.answer
				o := callTool(t, g, tool, call[1])
				o.requireFailed(t, c.code, c.outcome)
				if c.answer.headers["Retry-After"] != "" {
					require.Equal(t, "7", o.Members["retryAfterSeconds"])
				}
			}
		})
	}
}

func TestCallsAreCounted(t *testing.T) {
	g, api := newDesk(t)
	api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: verdictBody("BLOCK")}
	results, errs := callsTotal["screenresult"].Get(), callsTotal["screenerror"].Get()
	callTool(t, g, "screen", screening)
	callTool(t, g, "screen", `{}`)
	require.Equal(t, []uint64{results + 1, errs + 1}, []uint64{callsTotal["screenresult"].Get(), callsTotal["screenerror"].Get()})
}

// The listed tools are those that are counted, each with its required arguments.
func TestToolsAreListed(t *testing.T) {
	g, _ := newDesk(t)
	w := send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	var listed struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Properties           map[string]any
					Required             []string
					AdditionalProperties bool
				}
				Annotations struct{ ReadOnlyHint bool }
			}
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &listed))
	required := map[string][]string{
		"screen": {"token", "amount"}, "dry_run": {"token", "amount"}, "get_verdict": {"txnId"}, "get_limits": {"token"}, "explain": {"txnId"},
		"confirm": {"txnId"}, "settle": {"txnId"}, "release": {"txnId", "reason"},
	}
	require.Len(t, listed.Result.Tools, len(required))
	require.Len(t, toolNames, len(required))
	for _, tool := range listed.Result.Tools {
		require.Contains(t, toolNames, tool.Name)
		require.Equal(t, required[tool.Name], tool.InputSchema.Required)
		require.Equal(t, slices.Contains([]string{"dry_run", "get_verdict", "get_limits", "explain"}, tool.Name), tool.Annotations.ReadOnlyHint)
		require.False(t, tool.InputSchema.AdditionalProperties)
		for _, name := range tool.InputSchema.Required {
			require.Contains(t, tool.InputSchema.Properties, name)
		}
	}
	require.Contains(t, send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Body.String(), `"version":"1.2.3"`)
}

func TestOnlyScreenersComeIn(t *testing.T) {
	const challenge = `Bearer resource_metadata="https://guard.example.org/.well-known/oauth-protected-resource/mcp", scope="screen"`
	for name, c := range map[string]struct {
		key       fakeAnswer
		status    int
		challenge string
	}{
		"screener":            {fakeAnswer{status: 200, body: `{"roles":["auditor","screener"]}`}, 200, ""},
		"admin":               {fakeAnswer{status: 200, body: `{"roles":["admin"]}`}, 200, ""},
		"auditor":             {fakeAnswer{status: 200, body: `{"roles":["auditor"]}`}, 403, challenge + `, error="insufficient_scope"`},
		"a key without roles": {fakeAnswer{status: 200, body: `{}`}, 403, challenge + `, error="insufficient_scope"`},
		"an unknown key":      {fakeAnswer{status: 401, body: `{"code":"unauthorized"}`}, 401, challenge},
		"too many calls":      {fakeAnswer{status: 429, body: `{"code":"rate_limited"}`, headers: map[string]string{"Retry-After": "3"}}, 429, ""},
		"no leader":           {fakeAnswer{status: 503, body: `{"code":"no_leader"}`, headers: map[string]string{"X-Railguard-Outcome": "none"}}, 503, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers["GET /v1/key"] = c.key
			w := send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			require.Equal(t, c.status, w.Code, w.Body.String())
			require.Equal(t, c.challenge, w.Header().Get("WWW-Authenticate"))
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			for header, value := range c.key.headers {
				require.Equal(t, value, w.Header().Get(header))
			}
			switch c.status {
			case 200:
			case 403:
				require.Contains(t, w.Body.String(), "lacks the role screener")
				require.NotContains(t, w.Body.String(), "roles")
			default:
				require.JSONEq(t, c.key.body, w.Body.String())
			}
		})
	}
}

// The gate passes a message only if all parsers read it alike.
func TestGate(t *testing.T) {
	message := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	padded := message(`1`) + strings.Repeat(" ", bodyMax-len(message(`1`)))
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"an id of 15 digits":     {message(`999999999999999`), 200, `"id":999999999999999`},
		"an id of 16 digits":     {message(`1000000000000000`), 400, "id must be a text or a whole number"},
		"a negative id":          {message(`-1`), 200, `"id":-1`},
		"an id that is text":     {message(`"a"`), 200, `"id":"a"`},
		"an id with a fraction":  {message(`1.5`), 400, "id must be"},
		"an id with an exponent": {message(`1e3`), 400, "id must be"},
		"an id that is true":     {message(`true`), 400, "id must be"},
		"a batch":                {" \t\r\n[" + message(`1`) + "]", 400, "one message a call"},
		"a member twice":         {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 400, "no message of the protocol"},
		"bytes behind it":        {message(`1`) + message(`2`), 400, "no message of the protocol"},
		"nothing":                {"", 400, "no message of the protocol"},
		"the longest body":       {padded, 200, `"id":1`},
		"a byte more":            {padded + " ", 413, "larger than 128 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := newDesk(t)
			w := send(g, "POST", Path, c.body)
			require.Equal(t, c.status, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), c.says)
		})
	}
	t.Run("a body that breaks off", func(t *testing.T) {
		g, _ := newDesk(t)
		r := httptest.NewRequest("POST", Path, iotest.ErrReader(errors.New("gone")))
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), "did not come whole")
	})
	t.Run("no session to read or end", func(t *testing.T) {
		g, _ := newDesk(t)
		for _, method := range []string{"GET", "DELETE"} {
			require.Equal(t, 405, send(g, method, Path, "").Code, method)
		}
	})
	t.Run("pages of other origins", func(t *testing.T) {
		g, api := newDesk(t)
		require.Equal(t, 403, send(g, "POST", Path, message(`1`), "Origin", "https://evil.example.org").Code)
		require.Equal(t, 403, send(g, "POST", Path, message(`1`), "Sec-Fetch-Site", "cross-site").Code)
		require.Empty(t, api.asked)
	})
}

func TestMetadata(t *testing.T) {
	g, api := newDesk(t)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		w := send(g, "GET", path, "")
		require.Equal(t, 200, w.Code)
		require.JSONEq(t, `{"resource":"https://guard.example.org/mcp","resource_name":"Railguard","scopes_supported":["screen"],"bearer_methods_supported":["header"],"resource_documentation":"https://guard.example.org/docs"}`, w.Body.String())
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
		require.Equal(t, 200, send(g, "HEAD", path, "").Code)
		refused := send(g, "POST", path, "{}")
		require.Equal(t, 405, refused.Code)
		require.Equal(t, "GET, HEAD", refused.Header().Get("Allow"))
	}
	require.Empty(t, api.asked)
	require.Equal(t, 404, send(g, "GET", "/v1/nowhere", "").Code)
	require.Equal(t, 404, send(g, "POST", "/mcp/", "{}").Code, "the API's to answer")
	require.Equal(t, []string{"GET /v1/nowhere", "POST /mcp/"}, []string{api.asked[0].call, api.asked[1].call})
}

func TestNewNeedsItsConfig(t *testing.T) {
	_, err := New(Config{API: http.NotFoundHandler()})
	require.ErrorContains(t, err, "are required")
	_, err = New(Config{PublicURL: func() string { return "" }})
	require.ErrorContains(t, err, "are required")
}

// Each message's check of the caller's key carries the message's cost.
func TestKeyIsAskedAtTheCostOfAMessage(t *testing.T) {
	var cost int
	g, err := New(Config{PublicURL: func() string { return "" }, API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cost = guest.Cost(r.Context())
		w.WriteHeader(401)
	})})
	require.NoError(t, err)
	require.Equal(t, 401, send(g, "POST", Path, "{}").Code)
	require.Equal(t, costMessage, cost, fmt.Sprint("of ", Path))
}
