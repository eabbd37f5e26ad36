package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/ofac/sample"
	"railguard/seal"
)

// register registers an agent and returns its id and token.
func (n *testNode) register(fields string) (id, token string) {
	n.t.Helper()
	body := `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"buy"` + fields + `}`
	w := n.do("admin", "POST", "/v1/agents/register", body)
	require.Equal(n.t, http.StatusCreated, w.Code, w.Body)
	return member(n.t, w.Body.Bytes(), "agentId"), member(n.t, w.Body.Bytes(), "token")
}

func (n *testNode) screen(token, fields string, headers ...string) *httptest.ResponseRecorder {
	return n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+fields+`}`, headers...)
}

func verdict(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, 200, w.Code, w.Body)
	rule := member(t, w.Body.Bytes(), "rule")
	return member(t, w.Body.Bytes(), "verdict") + " " + rule
}

// When the list changes between judging and applying, the record is stale and is judged
// again with the new list.
func TestStaleBasisIsJudgedAgain(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
	var once sync.Once
	n.before = func(kind wire.Kind) {
		if kind == wire.KindScreen {
			once.Do(func() {
				entities := append(sample.Entities(), ofac.Entity{
					UID: 999999, Type: ofac.Company, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
					Names: []ofac.Name{{ID: 1, AliasType: "Name", Primary: true, Script: "Latin", Full: "PAPER TIGER HOLDING"}},
				})
				n.before = nil
				n.activate(entities, sample.Meta())
			})
		}
	}
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
}

// When the basis changes every time, the call ends with a refusal, not with a verdict.
func TestRejudgingIsBounded(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	calls := 0
	n.before = func(kind wire.Kind) {
		if kind == wire.KindScreen {
			calls++
			before := n.before
			n.before = nil
			n.activate(sample.Entities()[calls:], sample.Meta())
			n.before = before
		}
	}
	w := n.screen(token, "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
	require.Contains(t, w.Body.String(), `"overloaded"`)
	require.Equal(t, engine.RejudgeMax, calls)
}

// An agent was just registered on another node: this node asks the leader once before it
// calls the agent unknown.
func TestAgentRegisteredElsewhere(t *testing.T) {
	n := newTestNode(t)
	id, token := n.register("")
	slot, ok := n.api.Judges().Now().ParseAgent(id)
	require.True(t, ok)
	n.hidden[slot] = 1
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, "")))
	n.hidden[slot] = 1000
	w := n.screen(token, "")
	require.Equal(t, "UNKNOWN R1_NO_CREDENTIAL", verdict(t, w))
	require.Equal(t, id, member(t, w.Body.Bytes(), "agentId"), "the signature was good")
}

func TestUserCredentialAloneIsBlocked(t *testing.T) {
	n := newTestNode(t)
	w := n.do("admin", "POST", "/v1/users/register", `{"legalName":"Ivo Unbound"}`)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, "BLOCK R23_CREDENTIAL_CONTEXT", verdict(t, n.screen(member(t, w.Body.Bytes(), "token"), "")))
}

// Without a published list there is no verdict, and never a PROCEED.
func TestNoListNoVerdict(t *testing.T) {
	for name, spoil := range map[string]func(n *testNode){
		"none":              func(n *testNode) { n.settings.List = nil },
		"empty":             func(n *testNode) { info := *n.settings.List; info.Entries = 0; n.settings.List = &info },
		"sample in earnest": func(n *testNode) { g := *n.settings.Genesis; g.Dev = false; n.settings.Genesis = &g },
		"not opened":        func(n *testNode) { n.list, n.lists = nil, nil },
		"not compiled yet": func(n *testNode) { // Only the previous list is compiled.
			info := *n.settings.List
			info.Digest[0] ^= 1
			n.settings.List = &info
		},
		"compiled for another matcher": func(n *testNode) { n.settings.Matcher++ },
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			_, token := n.register("")
			settings := *n.settings
			n.settings = &settings
			spoil(n)
			for _, path := range []string{"/v1/screen", "/v1/screen/dry-run"} {
				w := n.do("admin", "POST", path, `{"token":"`+token+`","amount":1}`)
				require.Equal(t, http.StatusServiceUnavailable, w.Code)
				require.Contains(t, w.Body.String(), `"sanctions_data_unavailable"`)
				require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
				require.NotContains(t, w.Body.String(), "verdict\"")
			}
		})
	}
}

// The names and wallets that control a sandbox's answer are ordinary ones elsewhere, also
// on a development node.
func TestOnlyASandboxObeys(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for _, asked := range []string{`"cpName":"SANDBOX R2"`, `"cpName":"SANDBOX no_quorum"`, `"cpWallet":"0x5555555555555555555555555555555555550002"`, `"cpWallet":"0x5555555555555555555555555555555555550501"`} {
		for _, path := range []string{"/v1/screen", "/v1/screen/dry-run"} {
			w := n.do("admin", "POST", path, `{"token":"`+token+`","amount":1,`+asked+`}`)
			require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
			require.Equal(t, "PROCEED", member(t, w.Body.Bytes(), "verdict"), asked)
		}
		w := n.do("admin", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1,`+asked+`}]}`)
		require.Contains(t, w.Body.String(), `"verdict":"PROCEED"`, asked)
	}
}

// Every failure of a proposal, as callers see it.
func TestProposalErrors(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for _, c := range []struct {
		err     error
		status  int
		code    string
		outcome string
	}{
		{wire.ErrNoQuorum, 503, "no_quorum", "none"},
		{wire.ErrNoLeader, 503, "no_leader", "none"},
		{wire.ErrOverloaded, 503, "overloaded", "none"},
		{wire.ErrStorageLow, 503, "storage_low", "none"},
		{wire.ErrShuttingDown, 503, "shutting_down", "none"},
		{wire.ErrUnknown, 503, "outcome_unknown", "unknown"},
		{wire.ErrTooLarge, 413, "payload_too_large", ""},
		{fmt.Errorf("forward: %w", wire.ErrUnknown), 503, "outcome_unknown", "unknown"},
		{fmt.Errorf("disk exploded at /secret/path"), 500, "internal_error", ""},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			n.proposeError = c.err
			defer func() { n.proposeError = nil }()
			w := n.screen(token, "")
			require.Equal(t, c.status, w.Code)
			require.Equal(t, c.code, member(t, w.Body.Bytes(), "code"))
			require.Equal(t, c.outcome, w.Header().Get(border.HeaderOutcome))
			require.NotContains(t, w.Body.String(), "secret")
			require.NotContains(t, w.Body.String(), "verdict")
			if c.status == 503 {
				require.Equal(t, "1", w.Header().Get("Retry-After"))
			}
		})
	}
}

// The token is in no record, in no answer but the registration's, and in no log line
// (statement T123). The counterparty's name is not in the access log.
func TestTokensAndNamesAreNotKept(t *testing.T) {
	n := newTestNode(t)
	var logged bytes.Buffer
	n.reopen(func(d *Deps) {
		d.Logger = slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, token := n.register("")
	w := n.screen(token, `,"cpName":"Secret Counterparty"`)
	require.Equal(t, 200, w.Code)
	n.screen("Bearer "+token+"x", `,"cpName":"Secret Counterparty"`)
	n.do("auditor", "GET", "/v1/audit?name=Secret%20Counterparty", "")
	signature := token[strings.LastIndexByte(token, '.')+1:]
	for i := range n.store.Size() {
		data, err := n.store.Leaf(i)
		require.NoError(t, err)
		require.NotContains(t, string(data), signature)
		require.NotContains(t, string(data), testSecret("screener"))
	}
	require.NotEmpty(t, logged.String())
	require.NotContains(t, logged.String(), signature)
	require.NotContains(t, logged.String(), "Secret")
	require.NotContains(t, logged.String(), testSecret("screener"))
}

// A panic gives a 500 that says nothing about it, and the node continues.
func TestPanicIsInternalError(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.before = func(wire.Kind) { panic("do not tell anybody") }
	w := n.screen(token, "", "Idempotency-Key", "k")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal_error", member(t, w.Body.Bytes(), "code"))
	require.NotContains(t, w.Body.String(), "anybody")
	require.NotContains(t, w.Body.String(), "goroutine")
	n.before = nil
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, "", "Idempotency-Key", "k")), "the key is free again")
	require.Zero(t, n.api.Running())
}

// Of two simultaneous calls with one key on one node, the second is told to wait.
func TestIdempotencyInFlight(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	var second *httptest.ResponseRecorder
	n.before = func(wire.Kind) {
		n.before = nil
		second = n.screen(token, "", "Idempotency-Key", "pay-9")
	}
	first := n.screen(token, "", "Idempotency-Key", "pay-9")
	require.Equal(t, 200, first.Code)
	require.Equal(t, http.StatusConflict, second.Code)
	require.Equal(t, "idempotency_in_flight", member(t, second.Body.Bytes(), "code"))
	require.Equal(t, "1", second.Header().Get("Retry-After"))
	fleet := func() *httptest.ResponseRecorder {
		return n.do("admin", "POST", "/v1/fleets/create", `{"fleetName":"f","operatorLegalName":"Acme Inc","dailyLimitUSDC":1}`, "Idempotency-Key", "fleet-1")
	}
	var other *httptest.ResponseRecorder
	n.before = func(wire.Kind) { n.before, other = nil, fleet() }
	require.Equal(t, 201, fleet().Code)
	require.Equal(t, "idempotency_in_flight", textOf(answer(t, other, 409), "code"), "every write")
	third := n.screen(token, "", "Idempotency-Key", "pay-9")
	require.Equal(t, "true", third.Header().Get(border.HeaderReplayed))
	require.Equal(t, member(t, first.Body.Bytes(), "txnId"), member(t, third.Body.Bytes(), "txnId"))
}

// After an unknown outcome, a retry with the same key tells the caller what happened.
func TestUnknownThenReplay(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	first := n.screen(token, "", "Idempotency-Key", "pay-1")
	n.proposeError = wire.ErrUnknown
	require.Equal(t, "unknown", n.screen(token, "", "Idempotency-Key", "pay-1").Header().Get(border.HeaderOutcome))
	n.proposeError = nil
	replay := n.screen(token, "", "Idempotency-Key", "pay-1")
	require.Equal(t, strip(first), strip(replay))
}

func strip(w *httptest.ResponseRecorder) string {
	return latencyLine.ReplaceAllString(w.Body.String(), "")
}

// A leased review stays the answer of its key, even when nothing else is left to lease.
func TestNextIsReplayed(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	next := func() *httptest.ResponseRecorder {
		return n.do("reviewer", "POST", "/v1/queue/next", `{}`, "Idempotency-Key", "lease-1")
	}
	first := next()
	require.Equal(t, 200, first.Code, first.Body)
	require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
	again := next()
	require.Equal(t, "true", again.Header().Get(border.HeaderReplayed))
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, 204, n.do("reviewer", "POST", "/v1/queue/next", `{}`, "Idempotency-Key", "lease-2").Code)
}

// Concurrent calls against one limit never overspend, in any order.
func TestConcurrentScreens(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"dailyLimitUSDC":10}`)
	var wait sync.WaitGroup
	var mutex sync.Mutex
	counts := map[string]int{}
	for range 50 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w := n.screen(token, "")
			var answer struct{ Verdict string }
			_ = json.Unmarshal(w.Body.Bytes(), &answer)
			mutex.Lock()
			counts[answer.Verdict]++
			mutex.Unlock()
		}()
	}
	wait.Wait()
	require.Equal(t, map[string]int{"PROCEED": 10, "REVIEW": 40}, counts)
}

// X-Railguard-Min-Index waits until this node has what the caller saw on another one.
func TestMinIndex(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	w := n.screen(token, "")
	index := w.Header().Get(border.HeaderIndex)
	txn := member(t, w.Body.Bytes(), "txnId")
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/"+txn, "", "X-Railguard-Min-Index", index).Code)
	late := n.do("auditor", "GET", "/v1/audit/"+txn, "", "X-Railguard-Min-Index", "999999")
	require.Equal(t, 503, late.Code)
	require.Equal(t, "none", late.Header().Get(border.HeaderOutcome))
	require.Equal(t, 422, n.do("auditor", "GET", "/v1/audit/"+txn, "", "X-Railguard-Min-Index", "x").Code)
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/"+txn+"?consistency=leader", "").Code)
	require.Equal(t, 400, n.do("auditor", "GET", "/v1/audit/"+txn+"?consistency=maybe", "").Code)
}

// Without a leader nobody says that a key is still good, so nothing is read with it: neither a
// record nor that there is none.
func TestReadsWithoutALeader(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	n.readError = wire.ErrNoLeader
	require.Equal(t, 503, n.do("auditor", "GET", "/v1/audit/"+txn, "").Code)
	missing := n.api.Judges().Now().IDs.TxnID(n.store.Size() + 5)
	w := n.do("auditor", "GET", "/v1/audit/"+missing, "")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "no_leader", member(t, w.Body.Bytes(), "code"))
	require.Equal(t, 503, n.do("auditor", "GET", "/v1/audit/"+txn+"?consistency=leader", "").Code)
	require.Equal(t, 200, n.do("", "GET", "/v1/.well-known/jwks.json", "").Code, "what proves itself is told")
	require.Equal(t, 200, n.do("", "GET", "/log/checkpoint", "").Code)
	n.readError = nil
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/"+txn, "").Code)
	require.Equal(t, 404, n.do("auditor", "GET", "/v1/audit/"+missing, "").Code)
}

// Before bootstrap the node serves only information about itself.
func TestBeforeBootstrap(t *testing.T) {
	n := newTestNode(t)
	settings := *n.settings
	settings.Genesis, settings.Keys, settings.SigningKeys, settings.List = nil, nil, nil, nil
	n.settings = &settings
	n.reopen(nil)
	for _, path := range []string{"/v1/audit", "/v1/audit/txn_00000000", "/v1/queue"} {
		w := n.do("admin", "GET", path, "")
		require.Equal(t, 503, w.Code, path)
		require.Equal(t, "no_leader", member(t, w.Body.Bytes(), "code"))
	}
	require.Equal(t, 503, n.do("", "GET", "/v1/.well-known/jwks.json", "").Code)
	require.Equal(t, 503, n.do("", "GET", "/log/checkpoint", "").Code)
	require.Equal(t, 200, n.do("", "GET", "/livez", "").Code)
	require.Equal(t, 503, n.do("", "GET", "/readyz", "").Code)
	w := n.do("", "GET", "/v1/health", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "degraded", member(t, w.Body.Bytes(), "status"))
}

// Without quorum, health reports it (statement T132).
func TestHealthWithoutQuorum(t *testing.T) {
	n := newTestNode(t)
	n.status = &report.ClusterStatus{Role: "follower", Writes: report.WriteState{State: "no_quorum"}}
	w := n.do("ops", "GET", "/v1/health", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "degraded", member(t, w.Body.Bytes(), "status"))
	require.Equal(t, "disconnected", member(t, w.Body.Bytes(), "kv"))
	require.Equal(t, "null", member(t, w.Body.Bytes(), "leader"))
}

// A node with the wrong cluster secret is not ready and mints nothing.
func TestWrongClusterSecret(t *testing.T) {
	n := newTestNode(t)
	n.reopen(func(d *Deps) { d.Secrets = seal.NewSecrets([]byte("not the cluster's secret")) })
	require.Equal(t, 503, n.do("", "GET", "/readyz", "").Code)
	_, err := n.api.Judges().Now().Signer(seal.FirstKID)
	require.Error(t, err)
	require.Equal(t, "unavailable", member(t, n.do("", "GET", "/v1/health", "").Body.Bytes(), "signingKey"))
	require.Equal(t, 200, n.do("", "GET", "/v1/.well-known/jwks.json", "").Code, "the public half needs no secret")
}

// On all ten paths of the specification a wrong method gets 405, without a key.
func TestWrongMethods(t *testing.T) {
	n := newTestNode(t)
	for path, method := range map[string]string{
		"/v1/agents/register": "GET", "/v1/screen": "GET", "/v1/fleets/create": "PUT", "/v1/delegates/create": "GET",
		"/v1/users/register": "DELETE", "/v1/agents/agt_x/attest": "GET", "/v1/reviews/txn_x": "GET", "/v1/audit/txn_x": "POST",
		"/v1/health": "POST", "/v1/.well-known/jwks.json": "DELETE",
	} {
		w := n.do("", method, path, "")
		require.Equal(t, 405, w.Code, path)
		require.Equal(t, "method_not_allowed", member(t, w.Body.Bytes(), "code"))
		require.NotEmpty(t, w.Header().Get("Allow"))
	}
}

// Limits of decision 59, at the bound and one beyond.
func TestScreenFieldLimits(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for name, c := range map[string]struct {
		fields string
		status int
	}{
		"longest name":         {`,"cpName":"` + strings.Repeat("é", engine.NameRunesMax) + `"`, 200},
		"one character more":   {`,"cpName":"` + strings.Repeat("é", engine.NameRunesMax+1) + `"`, 400},
		"longest wallet":       {`,"cpWallet":"` + strings.Repeat("a", engine.FieldMax) + `"`, 200},
		"one byte more":        {`,"cpWallet":"` + strings.Repeat("a", engine.FieldMax+1) + `"`, 400},
		"longest protocol":     {`,"protocol":"` + strings.Repeat("a", engine.FieldMax) + `"`, 200},
		"protocol too long":    {`,"protocol":"` + strings.Repeat("a", engine.FieldMax+1) + `"`, 400},
		"unknown chain":        {`,"chain":"DOGE"`, 200},
		"chain too long":       {`,"chain":"` + strings.Repeat("a", engine.FieldMax+1) + `"`, 400},
		"unknown members":      {`,"x":{"y":[1,2,3]}`, 200},
		"nulls":                {`,"chain":null,"cpName":null,"userToken":null`, 200},
		"largest body":         {`,"x":"` + strings.Repeat("a", engine.ScreenBodyMax-len(token)-100) + `"`, 200},
		"body too large":       {`,"x":"` + strings.Repeat("a", engine.ScreenBodyMax) + `"`, 413},
		"escaped name":         {`,"cpName":"` + strings.Repeat(`\ud83d\ude00`, engine.NameRunesMax) + `"`, 200},
		"control characters":   {`,"cpName":"a\u0000\u202eb"`, 200},
		"longest token":        {`,"userToken":"` + strings.Repeat("a", engine.TokenMax) + `"`, 200},
		"more than a token":    {`,"userToken":"` + strings.Repeat("a", engine.TokenMax+1) + `"`, 200},
		"number where a text":  {`,"rail":1`, 400},
		"names of other types": {`,"model":["gpt"]`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			w := n.screen(token, c.fields)
			require.Equal(t, c.status, w.Code, w.Body)
			if c.status == 400 {
				require.Equal(t, "invalid_field", member(t, w.Body.Bytes(), "code"))
			}
		})
	}
}

// TestAfterTheFactNothingIsCalledNone: a call that is in the log, from this try or the
// first, is never answered "nothing happened", whatever cannot be read.
func TestAfterTheFactNothingIsCalledNone(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	require.Equal(t, 200, n.screen(token, "", "Idempotency-Key", "pay-1").Code)
	review := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":11}`), 200), "txnId")
	for name, broken := range map[string]error{
		"still being fetched": audit.ErrMissing, "not here yet": audit.ErrNotYet, "no leader": wire.ErrNoLeader, "late": context.DeadlineExceeded,
	} {
		n.leafError = broken
		w := n.screen(token, "", "Idempotency-Key", "pay-1")
		n.leafError = nil
		require.Equal(t, 503, w.Code, name)
		require.Equal(t, "unknown", w.Header().Get(border.HeaderOutcome), name)
		require.Contains(t, w.Body.String(), `"outcome_unknown"`, name)
	}
	n.before = func(kind wire.Kind) {
		if kind == wire.KindDisposition {
			n.leafError = audit.ErrMissing // Its answer needs the reviewed leaf.
		}
	}
	w := n.do("reviewer", "POST", "/v1/reviews/"+review, `{"disposition":"APPROVED","reviewedBy":"carla"}`)
	n.before, n.leafError = nil, nil
	require.Equal(t, 503, w.Code)
	require.Equal(t, "unknown", w.Header().Get(border.HeaderOutcome))
	require.Equal(t, 409, n.do("reviewer", "POST", "/v1/reviews/"+review, `{"disposition":"REJECTED","reviewedBy":"dora"}`).Code, "it happened")
}
