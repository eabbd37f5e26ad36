package httpapi

import (
	"encoding/base64"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/jws"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/rulebook"
	"railguard/seal"
	"railguard/strictjson"
)

// answer returns the parsed body of an answer, which must have the given status.
func answer(t testing.TB, w *httptest.ResponseRecorder, status int) *fastjson.Value {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	v, err := fastjson.ParseBytes(w.Body.Bytes())
	require.NoError(t, err)
	return v
}

func textOf(v *fastjson.Value, path ...string) string { return string(v.GetStringBytes(path...)) }

// registered registers an agent and returns its id and token.
func (n *testNode) registered(extra string) (id, token string) {
	n.t.Helper()
	body := `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"` + extra + `}`
	v := answer(n.t, n.do("operator", "POST", "/v1/agents/register", body), 201)
	return textOf(v, "agentId"), textOf(v, "token")
}

// another makes a second API over the same state, like another node of the cluster.
func (n *testNode) another(change func(*Deps)) *API {
	n.t.Helper()
	deps := Deps{
		Proposer: n, Published: n, Records: n, Lists: n, Operations: n, Secrets: n.secrets,
		Node: "n2", Version: "0.0.0-test", AdminToken: "admin-token-of-the-tests", Now: n.wallClock,
	}
	if change != nil {
		change(&deps)
	}
	api, err := New(deps)
	require.NoError(n.t, err)
	return api
}

// A token is a W3C credential in a JWT, and any node mints the same bytes again.
func TestTokenIsThePureFunctionOfTheLeaf(t *testing.T) {
	n := newTestNode(t)
	w := n.do("operator", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p","spendPolicy":{"dailyLimitUSDC":1.50}}`,
		"Idempotency-Key", "one")
	first := answer(t, w, 201)
	token := textOf(first, "token")
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	claims, err := fastjson.ParseBytes(payload)
	require.NoError(t, err)
	require.Equal(t, string(first.Get("credential").MarshalTo(nil)), string(claims.Get("vc").MarshalTo(nil)))
	require.Equal(t, int64(91*24*3600), claims.GetInt64("exp")-claims.GetInt64("iat"))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	require.NoError(t, err)
	require.Len(t, signature, 64)

	key := n.Settings().SigningKeys[0]
	set, err := credential.NewKeySet("did:kya:railguard", []jws.PublicKey{{ID: key.KID, Point: key.Public}})
	require.NoError(t, err)
	verified, err := set.Open(token)
	require.NoError(t, err)
	require.Equal(t, textOf(first, "agentId"), verified.Subject)

	n.advance(engine.Hour)
	n.api = n.another(nil)
	again := n.do("operator", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p","spendPolicy":{"dailyLimitUSDC":1.50}}`,
		"Idempotency-Key", "one")
	require.Equal(t, "true", again.Header().Get(border.HeaderReplayed))
	require.Equal(t, w.Body.String(), again.Body.String())
	require.Equal(t, w.Header().Get("Location"), again.Header().Get("Location"))
	read := answer(t, n.do("operator", "GET", "/v1/agents/"+textOf(first, "agentId"), ""), 200)
	require.Equal(t, token, textOf(read, "token"))
	other := answer(t, n.do("operator", "POST", "/v1/agents/register", `{"agentName":"Other","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p"}`,
		"Idempotency-Key", "one"), 422)
	require.Equal(t, "idempotency_conflict", textOf(other, "code"))
}

// A replay gets the first answer, even when the edge would judge differently today.
func TestReplayBeatsTodaysJudgement(t *testing.T) {
	n := newTestNode(t)
	root, _ := n.registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	list := n.do("policy", "POST", "/v1/whitelist/entries", `{"name":"Paper"}`)
	answer(t, list, 200)
	calls := []struct{ name, role, method, path, body string }{
		{"delegate", "operator", "POST", "/v1/delegates/create", `{"parentAgentId":"` + root + `","agentName":"Child","spendPolicy":{"dailyLimitUSDC":90},"expiresAt":"2026-03-23T00:00:00Z"}`},
		{"user", "operator", "POST", "/v1/users/register", `{"legalName":"Jane Public","agentIds":["` + root + `"]}`},
		{"attestation", "operator", "POST", "/v1/agents/" + root + "/model", `{"underlyingModel":"m"}`},
		{"suspend", "operator", "POST", "/v1/agents/" + root + "/suspend", `{"reason":"x"}`},
		{"reinstate", "operator", "POST", "/v1/agents/" + root + "/reinstate", `{"reason":"x"}`},
		{"entry", "policy", "POST", "/v1/agents/" + root + "/whitelist/entries", `{"name":"Ink"}`},
		{"cleared", "reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Groupe","uid":"27307","reason":"x","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`},
		{"reissue", "operator", "POST", "/v1/agents/" + root + "/reissue", `{"spendPolicy":{"dailyLimitUSDC":50}}`},
	}
	first := map[string]*httptest.ResponseRecorder{}
	for _, call := range calls {
		w := n.do(call.role, call.method, call.path, call.body, "Idempotency-Key", "k-"+call.name)
		require.Less(t, w.Code, 300, "%s: %s", call.name, w.Body.String())
		first[call.name] = w
	}
	answer(t, n.do("operator", "POST", "/v1/agents/"+root+"/revoke", `{"reason":"x"}`), 200)
	n.activate(testEntities("Somebody Else"), testMeta("2026-03-20", false)) // uid 27307 is no longer listed.
	for _, call := range calls {
		w := n.do(call.role, call.method, call.path, call.body, "Idempotency-Key", "k-"+call.name)
		require.Equal(t, first[call.name].Code, w.Code, "%s: %s", call.name, w.Body.String())
		require.Equal(t, first[call.name].Body.String(), w.Body.String(), call.name)
		require.Equal(t, "true", w.Header().Get(border.HeaderReplayed), call.name)
		fresh := n.do(call.role, call.method, call.path, call.body, "Idempotency-Key", "fresh-"+call.name)
		require.Empty(t, fresh.Header().Get(border.HeaderReplayed))
	}
	// After the narrowing, the same delegate is wider than its parent.
	w := n.do("operator", "POST", "/v1/delegates/create", calls[0].body, "Idempotency-Key", "late")
	require.Equal(t, "policy_widening", textOf(answer(t, w, 422), "code"))
	// That the key was used with another body is reported before anything else.
	w = n.do("operator", "POST", "/v1/delegates/create", strings.Replace(calls[0].body, "90", "95", 1), "Idempotency-Key", "k-delegate")
	require.Equal(t, "idempotency_conflict", textOf(answer(t, w, 422), "code"))
}

// A change between judging and logging makes the record stale: it is judged again on the
// newer state.
func TestStaleRegistrationIsJudgedAgain(t *testing.T) {
	n := newTestNode(t)
	listed := false
	n.before = func(kind wire.Kind) {
		if kind == wire.KindRegister && !listed {
			listed = true
			n.activate(testEntities("Acme Incorporated Holdings"), testMeta("2026-03-20", false))
		}
	}
	w := n.do("operator", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Incorporated Holdings","purpose":"p"}`)
	v := answer(t, w, 201)
	require.True(t, listed)
	require.Equal(t, "MATCH", textOf(v, "credential", "credentialSubject", "complianceAttestation", "ofacAtIssuance"))
}

// A parent that is narrowed between judging and logging makes a child too wide, and the
// call is refused.
func TestStaleDelegateIsJudgedAgain(t *testing.T) {
	n := newTestNode(t)
	root, _ := n.registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	narrowed := false
	n.before = func(kind wire.Kind) {
		if kind == wire.KindRegister && !narrowed {
			narrowed = true
			answer(t, n.do("operator", "POST", "/v1/agents/"+root+"/reissue", `{"spendPolicy":{"dailyLimitUSDC":10}}`), 201)
		}
	}
	w := n.do("operator", "POST", "/v1/delegates/create", `{"parentAgentId":"`+root+`","agentName":"Child","spendPolicy":{"dailyLimitUSDC":90}}`)
	require.Equal(t, "policy_widening", textOf(answer(t, w, 422), "code"))
}

// Two changes of one agent's settings at once: both are in the result.
func TestRevisionsAreNotLost(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.registered("")
	rounds := 0
	n.before = func(kind wire.Kind) {
		if kind == wire.KindSettings && rounds == 0 {
			rounds++
			answer(t, n.do("policy", "PATCH", "/v1/agents/"+agent, `{"velocity":{"maxPerMinute":7}}`), 200)
		}
	}
	v := answer(t, n.do("policy", "PATCH", "/v1/agents/"+agent, `{"allowedCounterpartyTypes":["business"]}`), 200)
	require.Equal(t, 7, v.GetInt("velocity", "maxPerMinute"))
	require.Equal(t, 3, v.GetInt("rev"))
	// When the revision changes every time, the call ends with an answer, not in a loop.
	n.before = func(kind wire.Kind) {
		if kind == wire.KindSettings {
			slot, ok := n.api.Judges().Now().ParseAgent(agent)
			require.True(t, ok)
			hook := n.before
			n.before = nil
			profile := n.Agent(slot)
			n.must(wire.KindSettings, &wire.Settings{Agent: slot, BaseRev: profile.Rev, Settings: profile.Settings, Event: "agent.settings"})
			n.before = hook
		}
	}
	v = answer(t, n.do("policy", "PATCH", "/v1/agents/"+agent, `{"velocity":{"maxPerMinute":6}}`), 503)
	require.Equal(t, "overloaded", textOf(v, "code"))
}

// Before a 404, a node asks the leader about an agent that it does not know yet.
func TestUnknownAgentAsksTheLeader(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.registered("")
	slot, _ := n.api.Judges().Now().ParseAgent(agent)
	n.hidden[slot] = 1
	answer(t, n.do("operator", "GET", "/v1/agents/"+agent, ""), 200)
	n.hidden[slot] = 1
	n.readError = wire.ErrNoLeader
	v := answer(t, n.do("operator", "GET", "/v1/agents/"+agent, ""), 503)
	require.Equal(t, "no_leader", textOf(v, "code"))
}

// Without a published list nobody is registered.
func TestNoListNoRegistration(t *testing.T) {
	n := newTestNode(t)
	settings := *n.settings
	settings.List = nil
	n.settings = &settings
	for path, body := range map[string]string{
		"/v1/agents/register": `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`,
		"/v1/users/register":  `{"legalName":"Jane"}`,
		"/v1/fleets/create":   `{"fleetName":"F","operatorLegalName":"Acme","dailyLimitUSDC":1}`,
	} {
		w := n.do("operator", "POST", path, body)
		require.Equal(t, "sanctions_data_unavailable", textOf(answer(t, w, 503), "code"), path)
		require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
	}
	require.Equal(t, `{"active":null,"staged":[],"history":[]}`, strings.Replace(n.do("ops", "GET", "/v1/ofac", "").Body.String(), historyOf(n.settings), "[]", 1))
}

// historyOf returns the history of lists as GET /v1/ofac shows it.
func historyOf(s *fsm.Settings) string {
	items := []string{}
	for _, info := range s.History {
		items = append(items, "{"+string(rulebook.ListMembers(info, 0))+"}")
	}
	return "[" + strings.Join(items, ",") + "]"
}

// The children of a parent and the entries of a whitelist are bounded.
func TestRegistryLimits(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.registered("")
	slot, _ := n.api.Judges().Now().ParseAgent(agent)
	for range engine.ChildrenMax {
		profile := engine.AgentProfile{AgentName: "c", Type: engine.Supervised, OperatorLegalName: "Acme Inc", Parent: slot, Policy: engine.NoSpendPolicy()}
		record := &wire.Register{Profile: profile, Operator: operatorNamed("Acme Inc")}
		record.Basis.List = n.settings.ListVersion
		record.Basis.Fold(engine.RevAgent, uint32(slot), 1)
		record.Basis.Fold(engine.RevOperator, 1, 1)
		n.must(wire.KindRegister, record)
	}
	v := answer(t, n.do("operator", "POST", "/v1/delegates/create", `{"parentAgentId":"`+agent+`","agentName":"one too many"}`), 409)
	require.Equal(t, "limit_reached", textOf(v, "code"))

	entries := func(count int) string {
		var b strings.Builder
		for i := range count {
			b.WriteString(`{"wallet":"0x` + strings.Repeat("0", 35) + strconv.Itoa(10000+i) + `"},`)
		}
		return `{"entries":[` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	w := n.do("policy", "PUT", "/v1/whitelist", entries(engine.WhitelistMax))
	v = answer(t, w, 200)
	require.Equal(t, engine.WhitelistMax, v.GetInt("entryCount"))
	require.Nil(t, v.Get("entries"), "too long for a leaf")
	require.Less(t, w.Body.Len(), 1000)
	require.Len(t, answer(t, n.do("policy", "GET", "/v1/whitelist", ""), 200).GetArray("entries"), engine.WhitelistMax)
	v = answer(t, n.do("policy", "POST", "/v1/whitelist/entries", `{"name":"one more"}`), 422)
	require.Equal(t, "invalid_field", textOf(v, "code"))
	v = answer(t, n.do("policy", "PUT", "/v1/whitelist", entries(engine.WhitelistMax+1)), 422)
	require.Equal(t, "invalid_field", textOf(v, "code"))
}

// Texts at their bound and one character beyond.
func TestRegistrationBounds(t *testing.T) {
	n := newTestNode(t)
	body := func(name, model, purpose string) string {
		return `{"agentName":"` + name + `","agentType":"supervised","operatorLegalName":"Acme","purpose":"` + purpose + `","underlyingModel":"` + model + `"}`
	}
	runes := strings.Repeat("é", engine.NameRunesMax)
	cases := []struct {
		name, body string
		status     int
		param      string
	}{
		{"name at bound", body(runes, "m", "p"), 201, ""},
		{"name past bound", body(runes+"é", "m", "p"), 422, "agentName"},
		{"model at bound", body("n", strings.Repeat("m", engine.FieldMax), "p"), 201, ""},
		{"model past bound", body("n", strings.Repeat("m", engine.FieldMax+1), "p"), 422, "underlyingModel"},
		{"purpose at bound", body("n", "m", strings.Repeat("p", engine.TextMax)), 201, ""},
		{"purpose past bound", body("n", "m", strings.Repeat("p", engine.TextMax+1)), 422, "purpose"},
		{"credential larger than a token", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":{"allowedChains":["ETH"` + strings.Repeat(`,"ETH"`, 1000) + `]}}`, 422, "spendPolicy"},
		{"metadata past bound", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","metadata":{"x":"` + strings.Repeat("y", engine.TextMax) + `"}}`, 422, "metadata"},
		{"leaf past bound", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"` + strings.Repeat(`\u0001`, engine.TextMax) + `","metadata":{"x":"` + strings.Repeat("<", 1300) + `"}}`, 413, ""},
		{"EIN with a dash", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorEIN":"12-3456789"}`, 201, ""},
		{"EIN of eight digits", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorEIN":"12-345678"}`, 422, "operatorEIN"},
		{"EIN of ten digits", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorEIN":"1234567890"}`, 422, "operatorEIN"},
		{"EIN with other digits", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorEIN":"12345678９"}`, 422, "operatorEIN"},
		{"wallet of 39 digits", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorWallet":"0x` + strings.Repeat("a", 39) + `"}`, 422, "operatorWallet"},
		{"wallet of 41 digits that bech32 has, too", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorWallet":"0x1` + strings.Repeat("c", 40) + `"}`, 422, "operatorWallet"},
		{"wallet of base58", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorWallet":"` + strings.Repeat("a", 25) + `"}`, 201, ""},
		{"wallet too short", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorWallet":"` + strings.Repeat("a", 24) + `"}`, 422, "operatorWallet"},
		{"empty wallet", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","operatorWallet":""}`, 422, "operatorWallet"},
		{"limit of zero", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":{"dailyLimitUSDC":0,"maxSingleTxUSDC":1e12}}`, 201, ""},
		{"limit past 1e12", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":{"maxSingleTxUSDC":1000000000000.000001}}`, 422, "spendPolicy.maxSingleTxUSDC"},
		{"policy not an object", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":[]}`, 422, "spendPolicy"},
		{"null inside a policy", `{"agentName":"n","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":{"allowedChains":null}}`, 201, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := answer(t, n.do("operator", "POST", "/v1/agents/register", c.body), c.status)
			require.Equal(t, c.param, textOf(v, "param"))
		})
	}
}

// The EIN is readable nowhere; only its last four digits are shown.
func TestEINIsSealed(t *testing.T) {
	n := newTestNode(t)
	agent, _ := n.registered(`,"operatorEIN":"12-3456789"`)
	slot, _ := n.api.Judges().Now().ParseAgent(agent)
	plain, err := n.secrets.Open(seal.LabelEIN, n.Agent(slot).EINSealed)
	require.NoError(t, err)
	require.Equal(t, "123456789", string(plain))
	for i := range n.store.Size() {
		data, err := n.store.Leaf(i)
		require.NoError(t, err)
		require.NotContains(t, string(data), "3456789")
	}
	// The same number in another spelling is the same operator: a plain renewal.
	v := answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/reissue", `{"operatorEIN":"123456789"}`), 201)
	require.False(t, v.GetBool("superseded"))
	v = answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/reissue", `{"operatorEIN":"123456780"}`), 201)
	require.True(t, v.GetBool("superseded"))
}

// Every answer in the transcripts is strict JSON: no member occurs twice.
func TestAnswersAreStrictJSON(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range strings.Split(string(data), "\n\n") {
			_, body, found := strings.Cut(block, "\n{\n")
			if !found || strings.HasPrefix(body, "{") {
				continue
			}
			var g strictjson.Validator
			require.NoError(t, g.Check([]byte("{\n"+body), engine.BodyValuesMax), "%s: %s", file, block)
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

// An error in either name of a user is reported, whichever name counts. A filter names an
// existing fleet.
func TestNamesOfUsersAndFleets(t *testing.T) {
	n := newTestNode(t)
	v := answer(t, n.do("operator", "POST", "/v1/users/register", `{"legalName":"Nia","userName":1.5}`), 422)
	require.Equal(t, "userName", textOf(v, "param"))
	answer(t, n.do("operator", "GET", "/v1/agents?fleetId=flt_aaaaaaaaaaaa", ""), 400)
}
