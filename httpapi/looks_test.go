package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/guest"
)

// looked returns what the log holds of looks, each as "what by whom: how often".
func (n *testNode) looked() (all []string) {
	n.t.Helper()
	v := answer(n.t, n.do("auditor", "GET", "/v1/events?types=key.looked&limit=100", ""), 200)
	for _, event := range v.GetArray("data") {
		data := event.Get("data")
		who := textOf(data, "keyId")
		if who == "" {
			who = "nobody"
		}
		if look := textOf(data, "look"); look != "records" || who != "key_auditor" { // Such is this call.
			all = append(all, look+" by "+who+": "+strconv.Itoa(data.GetInt("count")))
		}
	}
	return all
}

// Whoever looks at suspicion, exports or people, signs in, or uses the admin token leaves one leaf
// for each key, kind and hour. Payments leave none.
func TestWhoLookedIsKept(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 3 {
		answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
		answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200)
		require.Equal(t, 200, n.screen(token, "").Code)
	}
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/export?from=2026-01-01", "").Code)
	answer(t, n.do("auditor", "POST", "/v1/audit/search", `{"name":"Ada Byron"}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/match", `{"name":"Ada Byron"}`), 200)
	require.Equal(t, http.StatusForbidden, n.do("screener", "GET", "/v1/alerts", "").Code, "nothing was shown")
	r := httptest.NewRequest("GET", "/v1/key", nil)
	r.Header.Set("Authorization", "Bearer "+testSecret("ops"))
	n.api.Handler().ServeHTTP(httptest.NewRecorder(), r.WithContext(guest.SigningIn(r.Context())))

	n.api.Looks().Send(t.Context(), false)
	first := []string{
		"suspicion by key_reviewer: 6", "match by key_reviewer: 1", "export by key_auditor: 1", "names by key_auditor: 1", "sign_in by key_ops: 1",
	}
	require.ElementsMatch(t, first, n.looked())
	for range 4 {
		answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200)
		n.api.Looks().Send(t.Context(), false)
	}
	require.ElementsMatch(t, first, n.looked(), "the hour is not over")
	n.advance(engine.Hour)
	n.api.Looks().Send(t.Context(), false)
	n.api.Looks().Send(t.Context(), false)
	require.ElementsMatch(t, append(first, "suspicion by key_reviewer: 4"), n.looked())
	leaf := answer(t, n.do("auditor", "GET", "/v1/events?types=key.looked", ""), 200).GetArray("data")[0].Get("data")
	require.Equal(t, "n1", textOf(leaf, "node"))
	require.Equal(t, "192.0.2.1", textOf(leaf, "firstAddress"))
	n.addKey(wire.APIKey{ID: "key_tenant", Name: "a customer", Roles: wire.RoleViewer, Owner: "opr_1"}, testSecret("tenant"))
	for _, role := range []string{"screener", "policy", "ops", "tenant"} {
		require.Empty(t, answer(t, n.do(role, "GET", "/v1/events?types=key.looked", ""), 200).GetArray("data"), "others are not told: %s", role)
	}
}

// Reads of records, of events and of the whole state leave leaves where the key is shown who is
// suspected. A search for a name is one however it is written, and the admin token is used by calls
// that are refused, too.
func TestReadsOfRecordsAreKept(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	txn := textOf(answer(t, n.screen(token, ""), 200), "txnId")
	for _, role := range []string{"reviewer", "screener"} {
		answer(t, n.do(role, "GET", "/v1/audit/"+txn, ""), 200)
		answer(t, n.do(role, "GET", "/v1/audit", ""), 200)
		answer(t, n.do(role, "GET", "/v1/events", ""), 200)
		answer(t, n.do(role, "GET", "/v1/key", ""), 200)
	}
	answer(t, n.do("screener", "GET", "/v1/audit?n%61me=Ada", ""), 200)
	answer(t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200)
	require.Equal(t, 200, n.do("admin", "GET", "/v1/cluster/backup", "").Code)
	require.Equal(t, http.StatusNotFound, n.doAdmin("POST", "/admin/keys/key_nobody/rotate", "{}").Code)
	n.api.Looks().Send(t.Context(), false)
	require.ElementsMatch(t, []string{
		"records by key_reviewer: 3", "names by key_screener: 1", "suspicion by key_auditor: 1", "export by key_bootstrap: 1", "admin_token by nobody: 1",
	}, n.looked())
}

// The first use of the admin token in an hour is told at once, as a leaf and an alert.
func TestAdminTokenAlerts(t *testing.T) {
	n := newTestNode(t)
	for range 3 {
		answer(t, n.doAdmin("GET", "/admin/keys", ""), 200)
	}
	n.api.Looks().Send(t.Context(), false)
	require.Equal(t, []string{"admin_token by nobody: 3"}, n.looked())
	answer(t, n.doAdmin("GET", "/admin/keys", ""), 200)
	n.api.Looks().Send(t.Context(), false)
	require.Len(t, n.looked(), 1, "once an hour")
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=admin_token_used", ""), 200).GetArray("data")
	require.Len(t, alerts, 1)
	require.Equal(t, "n1", textOf(alerts[0], "lookedOn"))
	require.Equal(t, 3, alerts[0].GetInt("lookCount"))
	n.advance(engine.Hour)
	answer(t, n.doAdmin("GET", "/admin/keys", ""), 200)
	n.api.Looks().Send(t.Context(), false)
	require.Equal(t, []string{"admin_token by nobody: 3", "admin_token by nobody: 1", "suspicion by key_reviewer: 1", "admin_token by nobody: 1"}, n.looked())
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=admin_token_used", ""), 200).GetArray("data"), 2)
}

// A key that cannot see matches and tries names until it hears PROCEED is seen: by the number of
// its dry runs, and by the names around one listed party.
func TestDryRunsAreCounted(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	dry := func(role, name string) {
		answer(t, n.do(role, "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`), 200)
	}
	kinds := func() (all []string) {
		n.api.Looks().Send(t.Context(), false)
		for _, alert := range answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200).GetArray("data") {
			all = append(all, textOf(alert, "kind")+" "+textOf(alert, "lookedBy"))
		}
		return all
	}
	near := []string{"Lazarus Groupe", "Lazarus Groop", "Lazarus Grup", "Lazaruss Group", "Lazarus Gruppe", "Lasarus Group", "Lazarus Grouppe", "Lazarus Goup"}
	require.Len(t, near, engine.NamesCalm)
	for range 3 {
		for _, name := range near[1:] {
			dry("screener", name)
		}
	}
	require.Empty(t, kinds(), "few names, however often")
	for _, name := range near {
		dry("policy", name)
	}
	require.Empty(t, kinds(), "an officer is shown matches anyway")
	dry("screener", near[0])
	require.Equal(t, []string{"names_probed key_screener"}, kinds())
	for range engine.DryRunsCalm {
		dry("screener", "Paper Mill "+strings.Repeat("x", 3))
	}
	require.Equal(t, []string{"many_dry_runs key_screener", "names_probed key_screener"}, kinds())
	require.Len(t, kinds(), 2)
}

// lastUsedAt is the hour of the last use, and null before the first.
func TestLastUsedAt(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	at := func(id string) string {
		for _, key := range answer(t, n.doAdmin("GET", "/admin/keys", ""), 200).GetArray("data") {
			if textOf(key, "keyId") == id {
				return string(key.Get("lastUsedAt").MarshalTo(nil))
			}
		}
		return "no such key"
	}
	require.Equal(t, "null", at("key_screener"))
	require.Equal(t, 200, n.screen(token, "").Code)
	hour := n.LogTime() / engine.Hour * engine.Hour
	n.advance(engine.Hour)
	n.api.Looks().Send(t.Context(), false)
	require.Equal(t, `"`+string(hour.AppendTime(nil))+`"`, at("key_screener"))
	require.Equal(t, "null", at("key_ops"))
	require.Equal(t, 200, n.screen(token, "").Code, "the key did not change")
}

// forgetful tells of nothing that it has proposed.
type forgetful struct{ *testNode }

func (f forgetful) Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	_, _ = f.testNode.Propose(ctx, kind, body)
	return wire.Result{}, wire.ErrUnknown
}

// A record of which nobody knows whether the log took it is sent again as it was, and counts once.
func TestLooksAreSentAgainAsTheyWere(t *testing.T) {
	n := newTestNode(t)
	deps := n.deps
	deps.Proposer = forgetful{n}
	api, err := New(deps)
	require.NoError(t, err)
	n.api = api
	answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	for range 3 {
		n.api.Looks().Send(t.Context(), false)
		answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	}
	require.Equal(t, []string{"suspicion by key_reviewer: 1"}, n.looked())
}

// What the log does not take waits, and is counted once. A node that ends sends what it has.
func TestLooksWaitForTheLog(t *testing.T) {
	n := newTestNode(t)
	answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	n.proposeError = wire.ErrUnknown
	n.api.Looks().Send(t.Context(), false)
	n.proposeError = nil
	require.Empty(t, n.looked())
	n.api.Looks().Send(t.Context(), false)
	require.Equal(t, []string{"suspicion by key_reviewer: 1"}, n.looked())
	answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	n.api.Looks().Stop() // It was not started: nothing happens.
	n.api.Looks().Start()
	n.api.Looks().Stop()
	require.Equal(t, []string{"suspicion by key_reviewer: 1", "suspicion by key_reviewer: 1"}, n.looked())
}
