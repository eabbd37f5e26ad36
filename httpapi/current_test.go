package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// Currentness implements Records: a node that is current, unless a test says otherwise.
func (n *testNode) Currentness() report.Currentness {
	if n.currentness != nil {
		return *n.currentness
	}
	return report.Current
}

// exampleOf returns a call of a route with made-up ids.
func exampleOf(r *border.Route) (method, path, body string) {
	path = strings.ReplaceAll(pathValue.ReplaceAllString(r.Path, "1"), "...", "")
	if r.Body == border.BodyObject {
		body = `{}`
	}
	return r.Method, path, body
}

// Every route passes one gate. A node that starts answers nothing that rests on the state of the
// group; a node that is cut off leaves only records to the log. What speaks of the node, or
// proves itself, is answered at any time.
func TestCurrentOrSilent(t *testing.T) {
	n := newTestNode(t)
	silent := func(r *border.Route, admin bool) bool {
		method, path, body := exampleOf(r)
		do := func() *httptest.ResponseRecorder { return n.do("", method, path, body) } // Without a key: the gate comes first.
		if admin {
			do = func() *httptest.ResponseRecorder { return n.doAdmin(method, path, body) }
		}
		w := do()
		if w.Code != 503 || !strings.Contains(w.Body.String(), `"no_leader"`) {
			return false
		}
		require.Equal(t, border.OutcomeNone, w.Header().Get(border.HeaderOutcome), "%s %s", method, path)
		return true
	}
	answered := map[border.Ground]int{}
	for i, routes := range [][]border.Route{n.publicRoutes(), n.adminRoutes()} {
		for _, r := range routes {
			if strings.HasPrefix(r.Path, "/debug/") || r.Path == "/metrics" {
				continue // They last, or are another library's; they are of the ground "node".
			}
			ground := border.GroundOf(r.Method, r.Path)
			answered[ground]++
			starting, cutOff := report.Starting, report.CutOff
			n.currentness = &starting
			require.Equal(t, ground != border.GroundNode, silent(&r, i == 1), "%s %s of a node that starts", r.Method, r.Path)
			n.currentness = &cutOff
			want := ground == border.GroundState || ground == border.GroundPublished
			require.Equal(t, want, silent(&r, i == 1), "%s %s of a node that is cut off", r.Method, r.Path)
			n.currentness = nil
		}
	}
	require.Len(t, answered, 4, "every ground has its routes")
}

// What must be answered at any time, and what must not, by name: the table cannot be bent without
// this test.
func TestGroundsOfTheRoutesThatMatter(t *testing.T) {
	for _, route := range []string{
		"GET /v1/health", "GET /livez", "GET /readyz", "GET /metrics", "GET /v1/.well-known/jwks.json", "GET /contexts/kya/v1", "GET /docs/errors",
		"GET /log/checkpoint", "GET /log/keys", "GET /log/consistency/{from}/{to}", "GET /log/tile/{level}/{index...}", "GET /v1/cluster/status",
		"POST /v1/cluster/confirm-time",
	} {
		method, path, _ := strings.Cut(route, " ")
		require.Equal(t, border.GroundNode, border.GroundOf(method, path), route)
	}
	for _, route := range []string{
		"GET /v1/agents/{id}", "GET /v1/agents", "GET /v1/users/{id}", "GET /v1/audit/{txnId}", "GET /v1/audit", "POST /v1/audit/search", "GET /v1/audit/export",
		"GET /v1/match", "POST /v1/match", "POST /v1/screen/dry-run", "GET /v1/policy", "GET /v1/ofac", "GET /v1/queue", "GET /v1/sar", "GET /v1/events",
		"GET /log/tile/entries/{index...}", "GET /v1/cluster/backup", "GET /v1/cluster/snapshot", "GET /admin/keys", "GET /v1/key", "GET /no/such/route",
	} {
		method, path, _ := strings.Cut(route, " ")
		require.Equal(t, border.GroundState, border.GroundOf(method, path), route)
	}
	require.Equal(t, border.GroundLog, border.GroundOf("POST", "/v1/screen"))
	require.Equal(t, border.GroundPublished, border.GroundOf("GET", "/status-lists/{list}"))
}

// makeKeyElsewhere makes a key at the leader and returns its id and secret.
func (f *follower) makeKeyElsewhere(roles string) (id, secret string) {
	here := f.api
	f.api = f.leader
	defer func() { f.api = here }()
	v := answer(f.t, f.doAdmin("POST", "/admin/keys", `{"name":"k","roles":"`+roles+`"}`), 201)
	return textOf(v, "keyId"), textOf(v, "key")
}

func (f *follower) revokeElsewhere(id string) {
	here := f.api
	f.api = f.leader
	defer func() { f.api = here }()
	require.Equal(f.t, 200, f.doAdmin("DELETE", "/admin/keys/"+id, "").Code)
}

func with(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// A 401 rests on state: a key that was made a moment ago is good on each node at once.
func TestNewKeyIsGoodAtOnce(t *testing.T) {
	f := newFollower(t)
	_, token := f.register("")
	for _, c := range [][3]string{
		{"GET", "/v1/key", ""}, {"GET", "/v1/agents", ""}, {"POST", "/v1/screen", `{"token":"` + token + `","amount":1}`}, {"GET", "/v1/cluster/status", ""},
	} {
		f.fallBehind()
		_, secret := f.makeKeyElsewhere("admin")
		require.True(t, f.held, "this node must not know yet")
		require.Equal(t, 200, f.do("", c[0], c[1], c[2], with(secret)...).Code, c[1])
		require.Equal(t, 1, f.asked, "the leader is asked once")
	}
	f.fallBehind()
	require.Equal(t, 401, f.do("", "GET", "/v1/key", "", with("rg_live_nobody00000000000000000000")...).Code, "a wrong key stays wrong")
	require.Equal(t, 1, f.asked)
	f.fallBehind()
	require.Equal(t, 401, f.do("", "GET", "/v1/key", "").Code)
	require.Zero(t, f.asked, "no key is no question")

	f.fallBehind()
	_, secret := f.makeKeyElsewhere("screener")
	f.readError = wire.ErrNoLeader
	w := f.do("", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`, with(secret)...)
	require.Equal(t, 503, w.Code, "without a leader nobody knows")
	require.Equal(t, "no_leader", textOf(answer(t, w, 503), "code"))
	require.Equal(t, border.OutcomeNone, w.Header().Get(border.HeaderOutcome))
}

// A key whose revocation was acknowledged reads nothing any more, at any node.
func TestRevokedKeyReadsNothing(t *testing.T) {
	f := newFollower(t)
	agent, token := f.register("")
	payment := textOf(answer(t, f.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "txnId")
	for _, c := range [][3]string{
		{"GET", "/v1/agents/" + agent, ""}, {"GET", "/v1/audit/" + payment, ""}, {"GET", "/v1/audit/" + payment + "?consistency=local", ""},
		{"GET", "/v1/agents", ""}, {"GET", "/v1/match?name=Acme", ""}, {"POST", "/v1/screen/dry-run", `{"token":"` + token + `","amount":1}`},
		{"GET", "/v1/policy", ""}, {"GET", "/v1/audit/export", ""}, {"GET", "/v1/events", ""}, {"GET", "/v1/cluster/status", ""}, {"GET", "/v1/cluster/snapshot", ""},
		{"POST", "/v1/agents/" + agent + "/reinstate", `{"reason":"r"}`},        // It holds already.
		{"POST", "/v1/screen/batch", `{"payments":[{"amount":1},{"token":1}]}`}, // No record comes of it.
	} {
		id, secret := f.makeKeyElsewhere("admin")
		require.Equal(t, 200, f.do("", c[0], c[1], c[2], with(secret)...).Code, c[1])
		f.fallBehind()
		f.revokeElsewhere(id)
		require.True(t, f.held, "this node must not know yet")
		require.Equal(t, 401, f.do("", c[0], c[1], c[2], with(secret)...).Code, c[1])
	}
	id, secret := f.makeKeyElsewhere("admin")
	require.Equal(t, 200, f.do("", "GET", "/v1/agents/"+agent, "", with(secret)...).Code)
	f.fallBehind()
	f.revokeElsewhere(id)
	f.readError = wire.ErrNoQuorum
	w := f.do("", "GET", "/v1/agents/"+agent, "", with(secret)...)
	require.Equal(t, "no_leader", textOf(answer(t, w, 503), "code"), "a node that is cut off may not know")
	require.Equal(t, border.OutcomeNone, w.Header().Get(border.HeaderOutcome))
	require.Equal(t, 503, f.do("", "GET", "/v1/audit/"+payment+"?consistency=local", "", with(secret)...).Code)
	require.Equal(t, 200, f.do("", "GET", "/v1/cluster/status", "", with(secret)...).Code, "operators see a group that has no leader")
}

// A call that waits for events ends when its key does, wherever that was.
func TestRevokedWhileItWaits(t *testing.T) {
	f := newFollower(t)
	f.register("")
	id, secret := f.makeKeyElsewhere("admin")
	f.fallBehind()
	f.revokeElsewhere(id)
	latest := textOf(answer(t, f.elsewhere("admin", "GET", "/v1/events?after=latest", ""), 200), "nextCursor")
	f.blind = 1 // The first answer of the leader is older than the revocation.
	w := f.do("", "GET", "/v1/events?wait=1&after="+latest, "", with(secret)...)
	require.Equal(t, 401, w.Code, w.Body)
}

// A key that was given another role a moment ago may use it, though this node has not heard.
func TestForbiddenAsksTheLeader(t *testing.T) {
	f := newFollower(t)
	_, token := f.register("")
	f.fallBehind()
	require.Equal(t, 403, f.do("auditor", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`).Code)
	require.Equal(t, 1, f.asked)
	f.fallBehind()
	f.readError = wire.ErrNoLeader
	require.Equal(t, 503, f.do("auditor", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`).Code)
}

// Verdicts pay nothing for it: a screening call with a known key asks nobody.
func TestScreeningAsksNobody(t *testing.T) {
	f := newFollower(t)
	_, token := f.register("")
	f.fallBehind()
	for range 3 {
		require.Equal(t, 200, f.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`).Code)
		answer(t, f.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1}]}`), 200)
	}
	require.Zero(t, f.asked)
}

// The time that a caller gives its call bounds the question to the leader as well.
func TestConfirmingKeepsTheDeadline(t *testing.T) {
	f := newFollower(t)
	f.hangs = true
	began := time.Now()
	w := f.do("admin", "GET", "/v1/agents", "", "X-Railguard-Timeout-Ms", "50")
	require.Equal(t, "no_leader", textOf(answer(t, w, 503), "code"))
	require.Less(t, time.Since(began), time.Duration(engine.WriteDeadline)/2)
}

// A read that takes longer than its deadline is confirmed at its end all the same: the leader is
// asked within a time of its own.
func TestASlowReadIsConfirmed(t *testing.T) {
	f := newFollower(t)
	_, token := f.register("")
	payment := textOf(answer(t, f.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "txnId")
	f.slow = 400 * time.Millisecond
	asked := f.asked
	answer(t, f.do("admin", "GET", "/v1/audit/"+payment, "", "X-Railguard-Timeout-Ms", "300"), 200)
	require.Equal(t, asked+2, f.asked, "at its beginning and at its end")
}
