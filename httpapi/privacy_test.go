package httpapi

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// addCaller adds a key with roles for an operator ("": the institution).
func (n *testNode) addCaller(name, operator string, roles uint16) {
	n.addKey(wire.APIKey{ID: "key_" + name, Name: name, Roles: roles, Owner: operator}, testSecret(name))
}

// Reviewers see names; callers who pay see those of their own payments. A key that also has
// ops sees them only with such a role, and no filter confirms a masked name.
func TestNamesAreMasked(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RoleOperator|wire.RoleScreener)
	n.addCaller("opspolicy", "", wire.RoleOps|wire.RolePolicy)
	n.addCaller("opsoperator", "", wire.RoleOps|wire.RoleOperator)
	_, token := n.register("")
	own := n.screen(token, `,"cpName":"Erika Mustermann"`)
	tenants := n.do("acme", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Erika Mustermann"}`)
	institutions, acmes := member(t, own.Body.Bytes(), "txnId"), member(t, tenants.Body.Bytes(), "txnId")
	const sees, masked, nothing = "sees", "masked", "nothing"
	for key, want := range map[string][2]string{
		"ops":         {masked, masked},
		"opspolicy":   {masked, masked},
		"opsoperator": {sees, masked}, // This key pays for the institution; the calls of Acme's key belong to Acme.
		"screener":    {sees, nothing},
		"operator":    {sees, nothing},
		"reviewer":    {sees, sees},
		"auditor":     {sees, sees},
		"admin":       {sees, sees},
		"acme":        {sees, sees}, // The agent belongs to Acme.
	} {
		shown := 0
		for i, txn := range []string{institutions, acmes} {
			w := n.do(key, "GET", "/v1/audit/"+txn, "")
			switch want[i] {
			case nothing:
				require.Equal(t, 404, w.Code, "%s %d", key, i)
			case masked:
				require.Equal(t, 200, w.Code, "%s %d", key, i)
				require.NotContains(t, w.Body.String(), "Mustermann", "%s %d", key, i)
				require.Contains(t, w.Body.String(), `"cpName":"***"`)
			case sees:
				require.Contains(t, w.Body.String(), "Erika Mustermann", "%s %d", key, i)
				shown++
			}
		}
		list := n.do(key, "GET", "/v1/audit", "")
		require.Equal(t, shown, strings.Count(list.Body.String(), "Mustermann"), "the list shows %s what GET does", key)
		named := n.do(key, "GET", "/v1/audit?name=Mustermann+Erika", "")
		if shown == 0 {
			require.Equal(t, 403, named.Code, "%s must not confirm a name", key)
			continue
		}
		named = n.do(key, "GET", "/v1/audit?name=erika+MUSTERMANN", "")
		require.Equal(t, 200, named.Code)
		require.Equal(t, shown, strings.Count(named.Body.String(), `"txnId"`), "%s: %s", key, named.Body)
	}
}

// Users' names and addresses are shown to roles that register users, review or audit.
func TestUsersAreMasked(t *testing.T) {
	n := newTestNode(t)
	v := answer(t, n.do("operator", "POST", "/v1/users/register", `{"legalName":"Erika Mustermann","email":"erika@example.com"}`), 201)
	path := "/v1/users/" + textOf(v, "userId")
	for _, key := range []string{"operator", "reviewer", "auditor", "admin"} {
		require.Contains(t, n.do(key, "GET", path, "").Body.String(), "erika@example.com", key)
	}
	w := n.do("policy", "GET", path, "")
	require.Equal(t, 200, w.Code)
	require.NotContains(t, strings.ToLower(w.Body.String()), "erika")
	require.NotContains(t, w.Body.String(), "eyJ", "no token")
}

func TestClearedNamesAreMasked(t *testing.T) {
	n := newTestNode(t)
	uid := member(t, n.do("reviewer", "GET", "/v1/match?name=Lazarus+Group", "").Body.Bytes(), "matches.0.uid")
	answer(t, n.do("reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Grupe","uid":"`+uid+`","reason":"another","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`), 201)
	require.Contains(t, n.do("auditor", "GET", "/v1/cleared", "").Body.String(), "lazarus grupe")
	w := n.do("policy", "GET", "/v1/cleared", "")
	require.Equal(t, 200, w.Code)
	require.NotContains(t, strings.ToLower(w.Body.String()), "lazarus")
}

var uptimeLine = regexp.MustCompile(`"(uptimeSeconds|index)":[0-9]+`)

// No public document shows how many reviews are open or closed: an escalation would show as
// a case that never got an answer (T153).
func TestNothingPublicCountsReviews(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	var paths []string
	for _, r := range n.publicRoutes() {
		if r.Roles == 0 && !strings.Contains(r.Path, "{") && !strings.HasPrefix(r.Path, "/log/") {
			paths = append(paths, r.Path)
		}
	}
	look := func() map[string]string {
		n.api = n.another(nil) // A new node, so that nothing is cached.
		seen := map[string]string{}
		for _, path := range paths {
			seen[path] = uptimeLine.ReplaceAllString(n.do("", "GET", path, "").Body.String(), "")
		}
		return seen
	}
	before := look()
	var txn string
	for range 3 {
		txn = member(t, n.screen(token, "").Body.Bytes(), "txnId")
	}
	require.Equal(t, before, look(), "open reviews show")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"o"}`), 200)
	require.Equal(t, before, look(), "an escalation shows")
}

// A retry may use another key of the same owner, but no key of another owner: each owner
// has its own outcome.
func TestIdempotencyIsTheOwners(t *testing.T) {
	n := newTestNode(t)
	for _, name := range []string{"acme1", "acme2"} {
		n.addCaller(name, "Acme Inc", wire.RoleScreener)
	}
	n.addCaller("screener2", "", wire.RoleScreener)
	_, token := n.register("")
	pay := func(key string) (string, string) {
		w := n.do(key, "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`, "Idempotency-Key", "pay-1")
		require.Equal(t, 200, w.Code, w.Body)
		return member(t, w.Body.Bytes(), "txnId"), w.Header().Get(border.HeaderReplayed)
	}
	first, _ := pay("screener")
	again, replayed := pay("screener2")
	require.Equal(t, first, again)
	require.Equal(t, "true", replayed)
	theirs, replayed := pay("acme1")
	require.NotEqual(t, first, theirs)
	require.Empty(t, replayed)
	again, replayed = pay("acme2")
	require.Equal(t, theirs, again)
	require.Equal(t, "true", replayed)

	// The calling key's role is checked first, and the answer shows what that key may see.
	require.Equal(t, 403, n.do("operator", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`, "Idempotency-Key", "pay-1").Code)
	admins := func() *httptest.ResponseRecorder {
		return n.do("admin", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`, "Idempotency-Key", "pay-1")
	}
	require.Contains(t, admins().Body.String(), `"triggered"`)
	require.NotContains(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`, "Idempotency-Key", "pay-1").Body.String(), `"triggered"`)
}

// A record belongs to the owner of the key that made the call, since keys come and go.
func TestRecordsAreTheOwners(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("screener2", "", wire.RoleScreener)
	n.addCaller("acme1", "Acme Inc", wire.RoleScreener)
	n.addCaller("acme2", "Acme Inc", wire.RoleScreener)
	n.addCaller("globex", "Globex", wire.RoleScreener)
	_, token := n.register("")
	id := func(w *httptest.ResponseRecorder) string { return member(t, w.Body.Bytes(), "txnId") }
	of := map[string]string{
		"institution": id(n.screen(token, "")),
		"acme":        id(n.do("acme1", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`)),
		"acme, R1":    id(n.do("acme1", "POST", "/v1/screen", `{"token":"no token","amount":1}`)),
	}
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_acme1"}})
	for key, may := range map[string][]string{
		"screener2": {"institution"}, "acme2": {"acme", "acme, R1"}, "globex": nil,
	} {
		for whose, txn := range of {
			want := 404
			for _, own := range may {
				if own == whose {
					want = 200
				}
			}
			require.Equal(t, want, n.do(key, "GET", "/v1/audit/"+txn, "").Code, "%s reads %s", key, whose)
		}
		list := n.do(key, "GET", "/v1/audit", "").Body.String() // A scoped key's list holds records of its operator's agents; R1 has no agent.
		require.Equal(t, min(len(may), 1), strings.Count(list, `"txnId"`), key)
	}
}
