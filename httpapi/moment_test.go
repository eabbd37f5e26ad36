package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// A dry run gives what the same call gives right after it: decision, reason, rules.
func TestDryRunIsTheCall(t *testing.T) {
	rotate := func(n *testNode) {
		answer(n.t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"revoke":"cc-v1","reason":"leaked"}`), 201)
	}
	for name, test := range map[string]struct {
		rule   string
		body   func(n *testNode) string
		change func(n *testNode)
	}{
		"signing key revoked": {"The key that signed the credential is revoked.", nil, rotate},
		"operator suspended": {"The operator is suspended.", nil, func(n *testNode) {
			answer(n.t, n.do("admin", "POST", "/v1/operators/suspend", `{"operatorLegalName":"Acme Inc","reason":"x"}`), 200)
		}},
		"user alone, its credential revoked": {"The user credential is revoked.", func(n *testNode) string {
			v := answer(n.t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"Ivo Unbound"}`), 201)
			answer(n.t, n.do("admin", "POST", "/v1/users/"+textOf(v, "userId")+"/revoke", `{"reason":"x"}`), 200)
			return textOf(v, "token")
		}, func(*testNode) {}},
		"clear": {engine.NewestRules.Clear.All, nil, func(*testNode) {}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			var token string
			if test.body != nil {
				token = test.body(n)
			} else {
				_, token = n.register("")
			}
			test.change(n)
			body := `{"token":"` + token + `","amount":1}`
			dry := answer(t, n.do("policy", "POST", "/v1/screen/dry-run", body), 200)
			real := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
			require.Equal(t, test.rule, textOf(dry, "reason"))
			require.Equal(t, textOf(real, "verdict"), textOf(dry, "verdict"))
			require.Equal(t, textOf(real, "rule"), textOf(dry, "rule"))
			require.Equal(t, textOf(real, "reason"), textOf(dry, "reason"))
		})
	}
}

// GET and lists show the same status as a record.
func TestStatusIsTheRecords(t *testing.T) {
	suspend := func(n *testNode, id string) {
		answer(n.t, n.do("admin", "POST", "/v1/agents/"+id+"/suspend", `{"reason":"x"}`), 200)
	}
	for name, test := range map[string]struct {
		want   string
		change func(n *testNode, id string)
	}{
		"suspended, then past its expiry": {"SUSPENDED", func(n *testNode, id string) {
			suspend(n, id)
			n.advance(engine.AgentValidity)
		}},
		"expired under a suspended operator": {"SUSPENDED", func(n *testNode, _ string) {
			answer(n.t, n.do("admin", "POST", "/v1/operators/suspend", `{"operatorLegalName":"Acme Inc","reason":"x"}`), 200)
			n.advance(engine.AgentValidity)
		}},
		"its signing key was revoked": {"REVOKED", func(n *testNode, _ string) {
			answer(n.t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"revoke":"cc-v1","reason":"leaked"}`), 201)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			id, token := n.register("")
			test.change(n, id)
			record := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200)
			record = answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(record, "txnId"), ""), 200)
			require.Equal(t, test.want, textOf(record, "credentialStatus"), record)
			require.Equal(t, test.want, textOf(answer(t, n.do("operator", "GET", "/v1/agents/"+id, ""), 200), "credentialStatus"))
			listed := answer(t, n.do("operator", "GET", "/v1/agents?status="+test.want, ""), 200)
			require.Len(t, listed.GetArray("data"), 1)
		})
	}
}

// A revoked signing key counts wherever a credential that it signed is used: also for a
// user alone, for whom the agent's credential stands in, and for the parents of a delegate.
func TestRevokedSigningKeyCountsEverywhere(t *testing.T) {
	n := newTestNode(t)
	parent, _ := n.register("")
	answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"reason":"next"}`), 201)
	v := answer(t, n.do("admin", "POST", "/v1/delegates/create", `{"agentName":"child","parentAgentId":"`+parent+`"}`), 201)
	delegate := textOf(v, "token")
	v = answer(t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"Ivo","agentIds":["`+parent+`"]}`), 201)
	alone := textOf(v, "token")
	require.Equal(t, "PROCEED null", verdict(t, n.screen(delegate, "")))
	require.Equal(t, "PROCEED null", verdict(t, n.screen(alone, "")))
	answer(t, n.doAdmin("POST", "/admin/signing-keys/cc-v1/revoke", `{"reason":"leaked"}`), 200)
	for token, reason := range map[string]string{
		delegate: "A parent of the delegate is revoked.", alone: "The key that signed the credential is revoked.",
	} {
		w := n.screen(token, "")
		require.Equal(t, "BLOCK R2_CREDENTIAL_STATUS", verdict(t, w))
		require.Equal(t, reason, member(t, w.Body.Bytes(), "reason"))
		replay := n.do("auditor", "POST", "/v1/audit/"+member(t, w.Body.Bytes(), "txnId")+"/replay", "")
		require.Equal(t, "true", member(t, replay.Body.Bytes(), "match"), replay.Body)
		dry := answer(t, n.do("policy", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1}`), 200)
		require.Equal(t, reason, textOf(dry, "reason"))
	}
	v = answer(t, n.do("admin", "GET", "/v1/agents/"+textOf(answer(t, n.do("admin", "GET", "/v1/agents?limit=1", ""), 200), "data", "0", "agentId"), ""), 200)
	require.Equal(t, "REVOKED", textOf(v, "credentialStatus"), "the delegate, by its parent's key")
	require.Equal(t, 409, n.do("admin", "POST", "/v1/delegates/create", `{"agentName":"two","parentAgentId":"`+parent+`"}`).Code)
}

// A valid agent's token with the credential of an erased user gives R1; the call is not
// judged again without end.
func TestErasedUserIsUnknown(t *testing.T) {
	n := newTestNode(t)
	id, token := n.register("")
	v := answer(t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"Ivo","agentIds":["`+id+`"]}`), 201)
	user := textOf(v, "token")
	for range 33 {
		n.advance(engine.DayLength)
	}
	n.confirmList()
	require.Nil(t, n.User(1), "erased")
	require.Equal(t, "UNKNOWN R1_NO_CREDENTIAL", verdict(t, n.screen(token, `,"userToken":"`+user+`"`)))
	require.Equal(t, "UNKNOWN R1_NO_CREDENTIAL", verdict(t, n.screen(user, "")))
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, "")))
}
