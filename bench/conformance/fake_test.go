package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeRun runs the whole suite, everything allowed, against a handler.
func fakeRun(t *testing.T, handler http.HandlerFunc, change func(*Config)) map[string]Result {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	cfg := Config{
		BaseURLs: []string{server.URL, server.URL}, APIKey: "rg_live_0123456789abcdef0123456789ab", AdminURL: server.URL,
		Strict: true, AllowTestClock: true, AllowListSwitch: true, EgressCut: true, Version: "0.2.0", NoQuorumURL: server.URL,
		Restart: func(context.Context) error { return nil }, DistinctCalls: 50, Parallel: 4,
	}
	if change != nil {
		change(&cfg)
	}
	results := map[string]Result{}
	Run(context.Background(), cfg, func(r Result) {
		_, twice := results[r.ID]
		require.False(t, twice, "check %s ran twice", r.ID)
		results[r.ID] = r
	})
	return results
}

func passed(results map[string]Result) []string {
	var out []string
	for id, r := range results {
		if r.Outcome == Pass {
			out = append(out, id)
		}
	}
	sort.Strings(out)
	return out
}

// surprising are the ids that are not among the allowed ones.
func surprising(ids []string, allowed string) []string {
	var out []string
	for _, id := range ids {
		if !strings.Contains(" "+allowed+" ", " "+id+" ") {
			out = append(out, id)
		}
	}
	return out
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}

// TestEmptyObjects: an implementation that answers 200 {} to everything must pass almost nothing;
// the checks that it does pass are named here, so that a new check that cannot fail is noticed.
func TestEmptyObjects(t *testing.T) {
	t.Parallel()
	results := fakeRun(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, "{}") }, nil)
	require.Empty(t, passed(results))
	require.Greater(t, len(results), 200)
}

// TestRefusals: an implementation that refuses everything, well formed, passes only
// statements that ask for a refusal.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]string{401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 422: "invalid_field", 500: "internal_error"} {
		body := fmt.Sprintf(`{"error":%q,"code":%q,"message":"no","requestId":"r1","txnId":null}`, code, code)
		handler := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "GET, POST")
			w.Header().Set("X-Request-Id", "r1")
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerJSON(w, status, body)
		}
		allowed := map[int]string{
			401: "T001 T002 T013 X-HTTP-14",
			405: "T006 T007 X-HTTP-5",
		}
		require.Empty(t, surprising(passed(fakeRun(t, handler, nil)), allowed[status]), "status %d", status)
	}
}

// rubberStamp issues something that looks like a credential and lets everything pass.
func rubberStamp(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", "r1")
	switch {
	case r.URL.Path == "/v1/screen":
		answerJSON(w, 200, `{"verdict":"PROCEED","txnId":"txn_`+randomHex(4)+`","rule":null,"reason":"fine","agentId":"agt_x","agentName":"x",`+
			`"operatorLegalName":"x","credentialStatus":"ACTIVE","ofacSource":"kv:live","screenedAt":"2026-01-01T00:00:00Z","latencyMs":1}`)
	case strings.HasPrefix(r.URL.Path, "/v1/agents/register"), r.URL.Path == "/v1/delegates/create":
		answerJSON(w, 201, `{"agentId":"agt_`+randomHex(6)+`","token":"eyJhbGciOiJFUzI1NiJ9.e30.AAAA","credential":{"@context":[],"type":[]}}`)
	default:
		answerJSON(w, 200, `{"status":"ok","data":[],"fleetId":"flt_x","keys":[],"userId":"usr_x","token":"eyJhbGciOiJFUzI1NiJ9.e30.AAAA"}`)
	}
}

// TestRubberStamp: a service that lets everything through fails every rule.
func TestRubberStamp(t *testing.T) {
	t.Parallel()
	results := fakeRun(t, rubberStamp, nil)
	allowed := "T003 T017 T020 T035 T086 T042 T042/us T043 T055 T056 T090 T011 T015 T015/all T017/all T040/all T042/all T044/all T045/all T046/all T048/all X-HDR-1 X-HDR-2 T049 T050 X-JSON-2 X-JSON-6 X-HTTP-2"
	require.Empty(t, surprising(passed(results), allowed))
	for _, id := range []string{"T060", "T063", "T064", "T065", "T068", "T069", "T072", "T074", "T075", "T079", "T052"} {
		require.Equal(t, Fail, results[id].Outcome, id)
	}
}

// TestSkips: what the target lacks is skipped with a reason and never passes.
func TestSkips(t *testing.T) {
	t.Parallel()
	results := fakeRun(t, rubberStamp, func(cfg *Config) {
		*cfg = Config{BaseURLs: cfg.BaseURLs[:1], APIKey: cfg.APIKey, DistinctCalls: 50}
	})
	for _, check := range Checks() {
		if check.Needs != 0 {
			require.Equal(t, Skipped, results[check.ID].Outcome, check.ID)
			require.NotEmpty(t, results[check.ID].Reason, check.ID)
		}
	}
	notThere := fakeRun(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/screen" || r.URL.Path == "/v1/agents/register" {
			rubberStamp(w, r)
			return
		}
		answerJSON(w, 404, `{"error":"not_found","code":"not_found","message":"no","requestId":"r1"}`)
	}, func(cfg *Config) { cfg.Strict = false })
	require.Equal(t, Skipped, notThere["T071"].Outcome, notThere["T071"].Reason)
	require.Contains(t, notThere["T071"].Reason, "test clock")
	require.Equal(t, Skipped, notThere["T062"].Outcome, notThere["T062"].Reason)
	require.Equal(t, Skipped, notThere["X-ROLE-1"].Outcome, notThere["X-ROLE-1"].Reason)
}

// TestOnlySpec leaves our rulings out, and nothing else.
func TestOnlySpec(t *testing.T) {
	t.Parallel()
	results := fakeRun(t, rubberStamp, func(cfg *Config) { cfg.OnlySpec = true })
	for _, check := range Checks() {
		_, ran := results[check.ID]
		require.Equal(t, check.Source != Ruling, ran, check.ID)
	}
	some := fakeRun(t, rubberStamp, func(cfg *Config) { cfg.IDs = []string{"T04"} })
	for id := range some {
		require.True(t, strings.HasPrefix(id, "T04"), id)
	}
	require.NotEmpty(t, some)
}

// TestNoSecrets: no result shows the key or a credential, though failures quote the
// exchanges that hold them.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "rg_live_0123456789abcdef0123456789ab"
	results := fakeRun(t, func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, 200, fmt.Sprintf(`{"echo":%q,"token":"eyJhbGciOiJFUzI1NiJ9.c2VjcmV0cGF5bG9hZA.c2VjcmV0","agentId":"agt_x"}`, r.Header.Get("Authorization")))
	}, nil)
	raw, err := json.Marshal(results)
	require.NoError(t, err)
	require.NotContains(t, string(raw), key)
	require.NotContains(t, string(raw), "c2VjcmV0cGF5bG9hZA")
	require.Equal(t, Fail, results["T015/all"].Outcome)
}

// TestNoTarget: with no address every check fails and none panics.
func TestNoTarget(t *testing.T) {
	t.Parallel()
	summary := Run(context.Background(), Config{}, nil)
	require.Zero(t, summary.Pass)
	require.False(t, summary.OK())
	require.Len(t, summary.Results, len(Checks()))
}
