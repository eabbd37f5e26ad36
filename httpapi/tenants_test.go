package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/operations"
)

// tenants is a node with the data of one operator, ACME, and a key of another,
// Globex. Both keys have all roles that an operator's key can have.
type tenants struct {
	*testNode
	agent, token, fleet, user, userToken, txn string
}

func newTenants(t *testing.T) *tenants {
	n := &tenants{testNode: newTestNode(t)}
	n.addKey(wire.APIKey{ID: "key_acme", Roles: wire.RolesOfOutsiders, Owner: "Acme"}, testSecret("acme"))
	n.addKey(wire.APIKey{ID: "key_globex", Roles: wire.RolesOfOutsiders, Owner: "Globex"}, testSecret("globex"))
	made := func(path, body string) *httptest.ResponseRecorder {
		w := n.do("acme", "POST", path, body)
		require.Less(t, w.Code, 300, "%s: %s", path, w.Body)
		return w
	}
	w := made("/v1/agents/register", `{"agentName":"Acme Bot","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","spendPolicy":{"maxSingleTxUSDC":1}}`)
	n.agent, n.token = member(t, w.Body.Bytes(), "agentId"), member(t, w.Body.Bytes(), "token")
	n.fleet = member(t, made("/v1/fleets/create", `{"fleetName":"Acme Fleet","operatorLegalName":"Acme","dailyLimitUSDC":5}`).Body.Bytes(), "fleetId")
	w = made("/v1/users/register", `{"legalName":"Acme Person","agentIds":["`+n.agent+`"]}`)
	n.user, n.userToken = member(t, w.Body.Bytes(), "userId"), member(t, w.Body.Bytes(), "token")
	made("/v1/screen", `{"token":"`+n.token+`","amount":1,"paymentRef":"acme-1"}`)
	w = made("/v1/screen", `{"token":"`+n.token+`","amount":7,"cpName":"Acme Counterparty"}`)
	require.Equal(t, "REVIEW", member(t, w.Body.Bytes(), "verdict"))
	n.txn = member(t, w.Body.Bytes(), "txnId")
	return n
}

// foreignBodies are calls whose bodies name another operator's things.
func (n *tenants) foreignBodies() map[string]string {
	return map[string]string{
		"/v1/agents/register":     `{"agentName":"B","agentType":"supervised","operatorLegalName":"Acme","purpose":"p"}`,
		"/v1/delegates/create":    `{"agentName":"B","parentAgentId":"` + n.agent + `"}`,
		"/v1/fleets/create":       `{"fleetName":"F","operatorLegalName":"Acme","dailyLimitUSDC":5}`,
		"/v1/users/register":      `{"legalName":"P","agentIds":["` + n.agent + `"]}`,
		"/v1/operators/suspend":   `{"operatorLegalName":"Acme","reason":"r"}`,
		"/v1/operators/reinstate": `{"operatorLegalName":"Acme","reason":"r"}`,
		"/v1/screen":              `{"token":"` + n.token + `","amount":1}`,
		"/v1/screen/dry-run":      `{"token":"` + n.token + `","amount":1}`,
		"/v1/screen/batch":        `{"payments":[{"token":"` + n.token + `","amount":1},{"token":"` + n.token + `","amount":1,"idempotencyKey":"k"}]}`,
		"/v1/screen/stream":       `{"token":"` + n.token + `","amount":1}`,
		"/v1/queue/next":          `{"assignee":"me"}`,
		"/v1/queue/bulk":          `{"txnIds":["` + n.txn + `"],"disposition":"APPROVED","reviewedBy":"me"}`,

		// These bodies are checked before the id in the path.
		"/v1/agents/{id}/model":       `{"underlyingModel":"m"}`,
		"/v1/webhooks/{id}/redeliver": `{"all":true}`,
	}
}

// A key of one operator gets nothing of another's on any route: not by id, not by name, not
// in a list. The test finds new routes of ScopeOwner itself; a route with ids in its body
// needs a line in foreignBodies.
func TestTenantsAreApart(t *testing.T) {
	n := newTenants(t)
	hook := textOf(answer(t, n.do("acme", "POST", "/v1/webhooks", hookBody), 201), "webhookId")
	before := n.store.Size()
	bodies := n.foreignBodies()
	for _, r := range n.publicRoutes() {
		if r.Path == "/v1/permits/redeem" { // Whoever has a permit has its leave, and nobody's key makes one.
			answer(t, n.do("globex", r.Method, r.Path, `{"permit":"x"}`), 422)
			continue
		}
		if r.Scope != border.ScopeOwner || r.Path == "/v1/webhooks" && r.Method == http.MethodPost { // It names no owner: the key decides whose it is.
			continue
		}
		path := strings.NewReplacer("{txnId}", n.txn, "{agentId}", n.agent, "{entry}", "1").Replace(r.Path)
		for prefix, id := range map[string]string{"/v1/agents/": n.agent, "/v1/fleets/": n.fleet, "/v1/users/": n.user, "/v1/webhooks/": hook} {
			if strings.HasPrefix(path, prefix) {
				path = strings.Replace(path, "{id}", id, 1)
			}
		}
		if r.Path == "/v1/transactions" {
			path += "?paymentRef=acme-1"
		}
		require.NotContains(t, path, "{", "%s: name what stands for it", r.Path)
		body, named := bodies[r.Path]
		search := r.Path == "/v1/audit/search" // An empty body lists all.
		require.True(t, named || search || r.Method == http.MethodGet || r.Path != path, "%s %s: give it a body that names another operator's things", r.Method, r.Path)
		if !named {
			body = "{}"
		}
		w := n.do("globex", r.Method, path, body)
		if (r.Roles|r.Outsiders)&wire.RolesOfOutsiders == 0 { // The institution's roles alone.
			require.Equal(t, 403, w.Code, "%s %s", r.Method, r.Path)
			continue
		}
		if r.Path == path && !named { // A list must hold nothing of ACME's.
			require.Equal(t, 200, w.Code, "%s %s", r.Method, r.Path)
			for _, word := range []string{"acme", n.agent, n.fleet, n.user, n.txn} {
				require.NotContains(t, strings.ToLower(w.Body.String()), word, "%s %s", r.Method, r.Path)
			}
			continue
		}
		switch r.Path {
		case "/v1/screen/batch":
			for _, result := range results(t, w) {
				require.Equal(t, 403, result.GetInt("status"), "%s", result)
			}
		case "/v1/screen/stream":
			require.Contains(t, w.Body.String(), `{"line":1,"status":403,`)
		default:
			require.Contains(t, []int{403, 404}, w.Code, "%s %s: %s", r.Method, r.Path, w.Body)
		}
		require.NotContains(t, strings.ToLower(w.Body.String()), "acme", "%s %s", r.Method, r.Path)
	}
	require.Equal(t, before, n.store.Size(), "nothing came into the log")
}

// A key of a caller sees and ends what its own keys screened and nothing else; references and
// idempotency keys of others are not in its way. It has no agents, and registers none.
func TestCallersAreApart(t *testing.T) {
	n := newTenants(t)
	n.addKey(wire.APIKey{ID: "key_shop", Roles: wire.RoleScreener, Owner: "cal_shop"}, testSecret("shop"))
	n.addKey(wire.APIKey{ID: "key_shop_all", Roles: wire.RolesOfOutsiders, Owner: "cal_shop"}, testSecret("shopall"))
	n.addKey(wire.APIKey{ID: "key_gate", Roles: wire.RolesOfOutsiders, Owner: "cal_gate"}, testSecret("gate"))
	pay := func(key, amount string) string {
		w := n.do(key, "POST", "/v1/screen", `{"token":"`+n.token+`","amount":`+amount+`,"paymentRef":"inv-1","hold":{"ttlSeconds":600}}`, "Idempotency-Key", "order-1")
		require.Equal(t, "PROCEED null", verdict(t, w))
		return member(t, w.Body.Bytes(), "txnId")
	}
	mine, theirs := pay("shop", "1"), pay("gate", "0.5")
	require.NotEqual(t, mine, theirs)
	for _, path := range []string{"/v1/audit/" + mine, "/v1/audit/" + mine + "/proof"} {
		require.NotEqual(t, 200, n.do("gate", "GET", path, "").Code, path)
	}
	require.Equal(t, 200, n.do("shopall", "GET", "/v1/audit/"+mine, "").Code, "another key of the owner")
	require.Equal(t, 404, n.do("gate", "POST", "/v1/transactions/"+mine+"/release", `{"reason":"x"}`).Code)
	require.Equal(t, 404, n.do("gate", "POST", "/v1/transactions/"+mine+"/settle", `{}`).Code)
	require.Equal(t, theirs, member(t, n.do("gate", "GET", "/v1/transactions?paymentRef=inv-1", "").Body.Bytes(), "txnId"))
	for path, holds := range map[string]bool{
		"/v1/audit": true, "/v1/events?types=screen.proceed": true, "/v1/transactions/unresolved": false, "/v1/agents": false, "/v1/users": false, "/v1/fleets": false, "/v1/webhooks": false,
	} {
		text := n.do("gate", "GET", path, "").Body.String()
		require.Equal(t, holds, strings.Contains(text, theirs), "%s: %s", path, text)
		require.NotContains(t, text, mine, path)
		require.NotContains(t, text, n.txn, path)
	}
	require.Equal(t, 404, n.do("gate", "GET", "/v1/agents/"+n.agent, "").Code)
	require.Equal(t, 403, n.do("gate", "POST", "/v1/agents/register", `{"agentName":"B","agentType":"supervised","operatorLegalName":"Gate","purpose":"p"}`).Code)
	require.Equal(t, 403, n.do("gate", "POST", "/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Gate","dailyLimitUSDC":5}`).Code)

	made := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"shop","roles":["screener"],"caller":"new"}`), 201)
	owner := textOf(made, "owner")
	require.Regexp(t, "^cal_[a-z2-7]{12}$", owner)
	second := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"shop 2","roles":["screener"],"caller":"`+owner+`"}`), 201)
	require.Equal(t, owner, textOf(second, "owner"))
}

// On every route, a record of another operator is answered in the same words as a record
// that never existed, and the leader is asked in both cases: no answer confirms an id.
func TestForeignRecordsReadAsNone(t *testing.T) {
	n := newTenants(t)
	never := n.api.Judges().Now().IDs.TxnID(n.store.Size() + 1000)
	walked := 0
	told := func(method, path, body string, status int) string {
		w := n.do("globex", method, path, body)
		require.Equal(t, status, w.Code, "%s %s: %s", method, path, w.Body)
		return member(t, w.Body.Bytes(), "message")
	}
	for _, r := range n.publicRoutes() {
		if r.Scope != border.ScopeOwner || r.Roles&wire.RolesOfOutsiders == 0 || !strings.Contains(r.Path, "{txnId}") {
			continue
		}
		walked++
		body := `{"reason":"r"}`
		if strings.HasSuffix(r.Path, "/settle") || strings.HasSuffix(r.Path, "/confirm") {
			body = `{}`
		}
		foreign, none := strings.Replace(r.Path, "{txnId}", n.txn, 1), strings.Replace(r.Path, "{txnId}", never, 1)
		require.Equal(t, told(r.Method, none, body, 404), told(r.Method, foreign, body, 404), r.Path)
		n.readError = wire.ErrNoLeader
		require.Equal(t, told(r.Method, none, body, 503), told(r.Method, foreign, body, 503), r.Path)
		n.readError = nil
	}
	require.Greater(t, walked, 2)
}

// A user credential of another operator, sent with the caller's own agent, adds none of
// that user's data to the caller's records. A credential that is bound to the agent counts
// as the agent's.
func TestForeignUsersAreNotRecorded(t *testing.T) {
	n := newTenants(t)
	w := n.do("globex", "POST", "/v1/agents/register", `{"agentName":"G","agentType":"supervised","operatorLegalName":"Globex","purpose":"p"}`)
	agent, token := member(t, w.Body.Bytes(), "agentId"), member(t, w.Body.Bytes(), "token")
	before := n.store.Size()
	call := `{"token":"` + token + `","userToken":"` + n.userToken + `","amount":1}`
	require.Equal(t, 403, n.do("globex", "POST", "/v1/screen", call).Code)
	require.Equal(t, 403, n.do("globex", "POST", "/v1/screen/dry-run", call).Code)
	require.Equal(t, []int{403}, statuses(answer(t, n.do("globex", "POST", "/v1/screen/batch", `{"payments":[`+call+`]}`), 200)))
	require.Equal(t, before, n.store.Size())
	require.Equal(t, "BLOCK R23_CREDENTIAL_CONTEXT", verdict(t, n.do("admin", "POST", "/v1/screen", call)), "the institution sees both")

	w = n.do("admin", "POST", "/v1/users/register", `{"legalName":"Both's","operatorLegalName":"Acme","agentIds":["`+agent+`"]}`)
	both := answer(t, w, 201)
	call = `{"token":"` + token + `","userToken":"` + textOf(both, "token") + `","amount":1}`
	require.Equal(t, "PROCEED null", verdict(t, n.do("globex", "POST", "/v1/screen", call)))
}

// joinFails is a cluster whose joins fail with a detailed reason.
type joinFails struct {
	operations.Operations
	err error
}

func (j joinFails) Admit(context.Context, string, string, string, wire.Common) error { return j.err }

// The answer to a failed join holds nothing that came from the address.
func TestJoinTellsNothing(t *testing.T) {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) {
		d.Operations = joinFails{n, errors.New("dial tcp 10.0.0.1:22: got SSH-2.0-OpenSSH_9.9")}
	})
	w := n.do("admin", "POST", "/v1/cluster/admit", `{"id":"n2","addr":"10.0.0.1:22"}`)
	require.Equal(t, 422, w.Code)
	require.NotContains(t, w.Body.String(), "SSH")
	require.NotContains(t, w.Body.String(), "10.0.0.1")
	require.Equal(t, "addr", member(t, w.Body.Bytes(), "param"))
	n.api = n.another(func(d *Deps) { d.Operations = joinFails{n, report.ErrNotWaiting} })
	require.Equal(t, 404, n.do("admin", "POST", "/v1/cluster/admit", `{"id":"n2"}`).Code)
	n.api = n.another(func(d *Deps) { d.Operations = joinFails{n, report.ErrOtherKey} })
	w = n.do("admin", "POST", "/v1/cluster/admit", `{"id":"n2","key":"aa"}`)
	require.Equal(t, 422, w.Code)
	require.Equal(t, "key", member(t, w.Body.Bytes(), "param"))
	n.api = n.another(func(d *Deps) { d.Operations = joinFails{n, wire.ErrNoLeader} })
	require.Equal(t, 503, n.do("admin", "POST", "/v1/cluster/admit", `{"id":"n2","addr":"10.0.0.1:22"}`).Code)
}

// A wallet that was listed at issuance is R3 until the institution's policy changes that: a
// re-issue with another wallet, or none, is not enough.
func TestListedWalletIsTheInstitutions(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RolesOfOutsiders)
	n.addCaller("officer", "", wire.RoleOperator|wire.RolePolicy)
	id, token := n.register(`,"operatorWallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"`)
	blocked := func(token string) bool {
		return verdict(t, n.screen(token, "")) == "BLOCK R3_OPERATOR_OFAC_ISSUANCE"
	}
	require.True(t, blocked(token))
	for _, key := range []string{"acme", "operator"} {
		for _, wallet := range []string{`"0x00000000000000000000000000000000000000aa"`, `""`} {
			w := n.do(key, "POST", "/v1/agents/"+id+"/reissue", `{"operatorWallet":`+wallet+`}`)
			require.NotEqual(t, 201, w.Code, "%s %s", key, wallet)
		}
	}
	w := n.do("operator", "POST", "/v1/agents/"+id+"/reissue", `{"operatorLegalName":"Globex"}`)
	require.Equal(t, 403, w.Code, "a change of operator takes the wallet away: %s", w.Body)
	w = n.do("acme", "POST", "/v1/agents/"+id+"/reissue", `{}`)
	require.Equal(t, 201, w.Code, "the same wallet again changes nothing")
	require.True(t, blocked(member(t, w.Body.Bytes(), "token")))
	w = n.do("officer", "POST", "/v1/agents/"+id+"/reissue", `{"operatorWallet":"0x00000000000000000000000000000000000000aa"}`)
	require.Equal(t, 201, w.Code, w.Body)
	require.False(t, blocked(member(t, w.Body.Bytes(), "token")))
}

// A tenant learns that the institution suspended or flagged something, and may not undo it.
func TestTenantsMayNotLift(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RolesOfOutsiders)
	id, _ := n.register("")
	refused := func(method, path, body string) string {
		w := n.do("acme", method, path, body)
		require.Equal(t, 403, w.Code, w.Body)
		return member(t, w.Body.Bytes(), "message")
	}
	answer(t, n.do("acme", "POST", "/v1/agents/"+id+"/suspend", `{"reason":"x"}`), 200)
	v := answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/suspend", `{"reason":"x"}`), 200)
	require.Equal(t, "SUSPENDED", textOf(v, "previousStatus"))
	require.False(t, v.Exists("unchanged"))
	require.Contains(t, refused("POST", "/v1/agents/"+id+"/reinstate", `{"reason":"x"}`), "the institution suspended it")
	require.Contains(t, refused("POST", "/v1/agents/"+id+"/reissue", `{}`), "the institution suspended it")
	answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/reinstate", `{"reason":"x"}`), 200)

	v = answer(t, n.do("operator", "POST", "/v1/operators/reinstate", `{"operatorLegalName":"Acme Inc","reason":"x"}`), 200)
	require.True(t, v.GetBool("unchanged"))
	require.NotContains(t, textOf(v, "changedAt"), "1970", "active for as long as it is known")
	answer(t, n.do("operator", "POST", "/v1/operators/suspend", `{"operatorLegalName":"Acme Inc","reason":"x"}`), 200)
	require.Contains(t, refused("POST", "/v1/operators/reinstate", `{"operatorLegalName":"Acme Inc","reason":"x"}`), "the institution suspended it")
	answer(t, n.do("operator", "POST", "/v1/operators/reinstate", `{"operatorLegalName":"Acme Inc","reason":"x"}`), 200)

	answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/ownership-transfer", `{"newOperatorLegalName":"Globex"}`), 200)
	require.Contains(t, refused("POST", "/v1/agents/"+id+"/reissue", `{}`), "ownership transfer is flagged")
	require.Contains(t, refused("DELETE", "/v1/agents/"+id+"/ownership-transfer", ""), "lacks the role policy")
	require.Equal(t, 403, n.do("operator", "POST", "/v1/agents/"+id+"/reissue", `{}`).Code, "a key without policy names the new operator")
	answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/reissue", `{"operatorLegalName":"Globex"}`), 201)
}

// A user's credential without an agent belongs to its operator, like an agent's: a key of
// another operator cannot screen with it.
func TestUserAloneIsInScope(t *testing.T) {
	n := newTenants(t)
	unbound := answer(t, n.do("acme", "POST", "/v1/users/register", `{"legalName":"Acme Person","operatorLegalName":"Acme"}`), 201)
	size := n.store.Size()
	for _, token := range []string{textOf(unbound, "token"), n.userToken} {
		for _, path := range []string{"/v1/screen", "/v1/screen/dry-run"} {
			require.Equal(t, 403, n.do("globex", "POST", path, `{"token":"`+token+`","amount":1}`).Code, path)
			require.Equal(t, 403, n.do("globex", "POST", path, `{"token":"`+token+`","amount":1}`).Code, path)
		}
	}
	require.Equal(t, size, n.store.Size())
	require.Equal(t, 200, n.do("acme", "POST", "/v1/screen", `{"token":"`+textOf(unbound, "token")+`","amount":1}`).Code)
}

// A registration that the institution refused leaves evidence, for persons as for agents.
func TestRefusedUsersLeaveANote(t *testing.T) {
	n := newTestNode(t)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"registration":{"onMatch":"refuse"}}`), 200)
	size := n.store.Size()
	w := n.do("operator", "POST", "/v1/users/register", `{"legalName":"Nicolas Maduro Moros"}`)
	require.Equal(t, 422, w.Code, w.Body)
	require.Equal(t, "operator_sanctioned", member(t, w.Body.Bytes(), "code"))
	require.Equal(t, size+1, n.store.Size())
	leaf, err := n.store.Leaf(size)
	require.NoError(t, err)
	require.Equal(t, "user.refused", member(t, leaf, "kind"))
	require.Equal(t, "Nicolas Maduro Moros", member(t, leaf, "legalName"))
	require.Equal(t, "key_operator", member(t, leaf, "actorKeyId"))
}

// Every change that lets through what was stopped needs a reason, wherever it is made.
func TestWideningNeedsAReason(t *testing.T) {
	n := newTestNode(t)
	id, _ := n.register(`,"velocity":{"maxPerMinute":5},"whitelist":{"mode":"enforce","entries":[]}`)
	fleet := textOf(answer(t, n.do("operator", "POST", "/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":5}`), 201), "fleetId")
	answer(t, n.do("policy", "PUT", "/v1/whitelist", `{"mode":"enforce","entries":[]}`), 200)
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "/v1/agents/" + id, `"velocity":{"maxPerMinute":6}`},
		{"PATCH", "/v1/fleets/" + fleet, `"dailyLimitUSDC":6`},
		{"PUT", "/v1/agents/" + id + "/whitelist", `"mode":"enforce","entries":[{"name":"Pens Ltd"}]`},
		{"POST", "/v1/whitelist/entries", `"name":"Pens Ltd"`},
		{"PUT", "/v1/whitelist", `"mode":"off","entries":[]`},
	} {
		for _, reason := range []string{"", `,"reason":""`, `,"reason":"  "`} {
			w := n.do("policy", c.method, c.path, "{"+c.body+reason+"}")
			require.Equal(t, 422, w.Code, "%s %s: %s", c.method, c.path, w.Body)
			require.Equal(t, "reason", member(t, w.Body.Bytes(), "param"))
		}
		answer(t, n.do("policy", c.method, c.path, "{"+c.body+`,"reason":"wanted"}`), 200)
	}
}
