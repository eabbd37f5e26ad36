package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/guest"
)

// planted is a word that officers write wherever they may write one.
const planted = "Planted-7Q"

// suspect makes a world in which records of ACME are decided, commented, escalated, reported and
// alerted, and returns their ids.
func (n *tenants) suspect() []string {
	did := func(role, path, body string) string {
		w := n.do(role, "POST", path, body)
		require.Less(n.t, w.Code, 300, "%s: %s", path, w.Body)
		return w.Body.String()
	}
	screen := func(fields string) string {
		return member(n.t, []byte(did("acme", "/v1/screen", `{"token":"`+n.token+`",`+fields+`}`)), "txnId")
	}
	escalated, named, open := screen(`"amount":8`), screen(`"amount":1,"cpName":"Nikolas Maduro"`), screen(`"amount":9`)
	for _, txn := range []string{n.txn, escalated, named, open} {
		did("reviewer", "/v1/queue/"+txn+"/claim", `{"assignee":"`+planted+`"}`)
		did("reviewer", "/v1/queue/"+txn+"/comment", `{"comment":"`+planted+`"}`)
	}
	did("reviewer", "/v1/reviews/"+n.txn, `{"disposition":"APPROVED","reviewedBy":"Carla","notes":"`+planted+`"}`)
	for _, txn := range []string{escalated, named} {
		did("reviewer", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"`+planted+`","notes":"`+planted+`"}`)
	}
	answer(n.t, n.do("reviewer", "PUT", "/v1/sar/"+escalated+"/narrative", `{"by":"`+planted+`","narrative":"`+planted+`"}`), 200)
	did("reviewer", "/v1/sar/"+escalated+"/move", `{"to":"READY","by":"`+planted+`","reason":"`+planted+`"}`)
	did("reviewer", "/v1/sar", `{"txnId":"`+n.txn+`","by":"`+planted+`","reason":"`+planted+`"}`)
	did("reviewer", "/v1/sanctions/cases", `{"txnId":"`+n.txn+`","by":"`+planted+`","reason":"`+planted+`","place":"IR"}`)
	did("acme", "/v1/transactions/"+open+"/settle", `{}`) // A settle of what nobody allowed opens an alert.
	blocked := screen(`"amount":3,"cpName":"Lazarus Group"`)
	cases := answer(n.t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200)
	did("reviewer", "/v1/sanctions/cases/"+textOf(cases, "data", "0", "caseId")+"/move", `{"to":"NOT_THE_PARTY","by":"`+planted+`","reason":"`+planted+`"}`)
	screen(`"amount":4,"cpName":"Lazarus Group"`)
	return []string{n.txn, escalated, named, open, blocked}
}

// ofSuspicion are the signs of suspicion that no answer to somebody outside of the institution
// may have. Names of rules that were told when the payment was screened are none.
var ofSuspicion = []string{
	planted, "ESCALATE_SAR", `"sarEscalated":true`, `"triggered"`, `"matches"`, `"evidence"`, `"comments"`, `"notes"`, `"recheck"`, `"shadow"`,
	"alr_", `"alert.`, "case_", `"sanctions.`, `"sar.`, `"review.escalated"`, `"review.claimed"`, `"review.commented"`, "registered_with_match",
}

// Nobody outside of the institution is told of suspicion, on any route, with any role that its key
// can have, nor with the bits of roles that it cannot have.
func TestNobodyOutsideIsToldOfSuspicion(t *testing.T) {
	n := newTenants(t)
	txns := n.suspect()
	hook := textOf(answer(t, n.do("acme", "POST", "/v1/webhooks", hookBody), 201), "webhookId")
	refused(t, n.do("acme", "POST", "/v1/webhooks", `{"url":"https://hooks.example.com/in","sarAllowed":true}`), 422, "invalid_field")
	refused(t, n.do("acme", "PATCH", "/v1/webhooks/"+hook, `{"sarAllowed":true}`), 422, "invalid_field")
	refused(t, n.do("admin", "PATCH", "/v1/webhooks/"+hook, `{"sarAllowed":true}`), 422, "invalid_field")
	keys := []string{"acme"}
	for _, name := range edge.RoleList(wire.RolesOfOutsiders) {
		n.addKey(wire.APIKey{ID: "key_acme_" + name, Roles: testRoles[name], Owner: "Acme"}, testSecret("acme"+name))
		keys = append(keys, "acme"+name)
	}
	seen, inside := 0, 0
	for _, r := range n.publicRoutes() {
		if r.Method != http.MethodGet || r.Roles == 0 {
			continue
		}
		for _, txn := range txns {
			path := strings.NewReplacer("{txnId}", txn, "{agentId}", n.agent, "{index...}", "000", "{level}", "0").Replace(r.Path)
			for prefix, id := range map[string]string{"/v1/agents/": n.agent, "/v1/fleets/": n.fleet, "/v1/users/": n.user, "/v1/webhooks/": hook} {
				if strings.HasPrefix(path, prefix) {
					path = strings.Replace(path, "{id}", id, 1)
				}
			}
			path = pathValue.ReplaceAllString(path, "x")
			if r.Path == "/v1/transactions" {
				path += "?paymentRef=acme-1"
			}
			for _, key := range keys {
				w := n.do(key, http.MethodGet, path, "")
				require.NotEqual(t, 500, w.Code, "%s %s %s", key, path, w.Body)
				if w.Code == 200 {
					seen++
				}
				for _, sign := range ofSuspicion {
					require.NotContains(t, w.Body.String(), sign, "%s %s", key, path)
				}
			}
			if strings.Contains(n.do("reviewer", http.MethodGet, path, "").Body.String(), planted) {
				inside++
			}
		}
	}
	require.Greater(t, seen, 60, "the walk reaches what keys may read")
	require.Greater(t, inside, 10, "an officer sees what was planted")
	for _, key := range keys {
		require.NotContains(t, n.do(key, "GET", "/v1/audit?disposition=ESCALATE_SAR", "").Body.String(), `"txnId":"txn_`, "no filter finds what is not shown")
	}
}

// Bits of roles that a key of an operator cannot have give it nothing, however they came there.
func TestRolesOfTheHouseAreItsOwn(t *testing.T) {
	caller := edge.NewCaller(&wire.APIKey{ID: "k", Owner: "acme", Roles: border.AnyRole | wire.RoleGateway}, 1)
	require.Equal(t, wire.RolesOfOutsiders, caller.Roles)
	require.False(t, caller.SeesAll())
	require.False(t, (&edge.Caller{Owner: "acme", Roles: wire.RoleAdmin}).SeesAll())
	n := newTestNode(t)
	for _, role := range []string{"reviewer", "auditor", "policy", "ops", "admin"} {
		refused(t, n.doAdmin("POST", "/admin/keys", `{"name":"k","operator":"Acme","roles":["screener","`+role+`"]}`), 422, "role_not_allowed")
	}
}

// A session ends on every node when its key's sessions were ended, rotated or revoked; the key
// itself is good outside of sessions.
func TestSessionsEnd(t *testing.T) {
	n := newTestNode(t)
	ask := func(number uint32) int {
		r := httptest.NewRequest(http.MethodGet, "/v1/queue", nil)
		r.Header.Set("Authorization", "Bearer "+testSecret("reviewer"))
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r.WithContext(guest.InSession(r.Context(), number)))
		return w.Code
	}
	require.Equal(t, 200, ask(0))
	v := answer(t, n.do("reviewer", "POST", "/v1/key/end-sessions", ""), 200)
	require.Equal(t, "key_reviewer", textOf(v, "keyId"))
	require.Equal(t, 401, ask(0))
	require.Equal(t, 200, n.do("reviewer", "GET", "/v1/queue", "").Code)
	require.Equal(t, 1, answer(t, n.do("reviewer", "GET", "/v1/key", ""), 200).GetInt("sessions"))
	require.Equal(t, 200, ask(1))
	answer(t, n.doAdmin("POST", "/admin/keys/key_reviewer/end-sessions", ""), 200)
	require.Equal(t, 401, ask(1))
	answer(t, n.doAdmin("POST", "/admin/keys/key_reviewer/rotate", `{"overlap":"1h"}`), 200)
	require.Equal(t, 401, ask(2), "a rotation ends them too, though the secret before is good for an hour")
	require.Equal(t, 200, ask(3))
	n.advance(engine.Hour)
	require.Equal(t, 401, ask(3), "the hour is over")
}
