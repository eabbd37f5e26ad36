package httpapi

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
)

// acts returns all items of GET /v1/activity, read in pages of two.
func (n *testNode) acts(role, query string) (all []*fastjson.Value) {
	n.t.Helper()
	cursor := ""
	for range 100 {
		v := answer(n.t, n.do(role, "GET", "/v1/activity?limit=2"+query+cursor, ""), 200)
		all = append(all, v.GetArray("data")...)
		next := textOf(v, "nextCursor")
		if next == "" {
			return all
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	require.Fail(n.t, "no end")
	return nil
}

// TestActivity: the activity list filters by person, action and time, shows reasons, and
// keeps the tipping-off wall.
func TestActivity(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	began := n.LogTime()
	n.advance(engine.Hour)
	paid := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	review := member(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":11}`).Body.Bytes(), "txnId")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+review, `{"disposition":"APPROVED","reviewedBy":"Carla","notes":"her invoice"}`), 200)
	answer(t, n.do("admin", "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"too eager","actor":"Dora"}`), 200)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"policy":{"requireCounterparty":"all"},"reason":"asked for"}`), 200)
	answer(t, n.do("admin", "POST", "/v1/agents/"+agent+"/reinstate", `{"reason":"it was not","actor":"Dora"}`), 200)

	all := n.acts("auditor", "")
	var types []string
	for _, act := range all {
		types = append(types, textOf(act, "type"))
		require.NotEqual(t, paid, textOf(act, "data", "txnId"), "a payment is no change")
	}
	require.Equal(t, []string{"agent.reinstated", "policy.activated", "agent.suspended", "review.dispositioned"}, types[:4])
	require.Contains(t, types, "agent.registered")
	require.Equal(t, "asked for", textOf(all[1], "reason"))
	require.Equal(t, "", textOf(all[1], "actor"), "the call named nobody")
	require.NotEmpty(t, textOf(all[1], "actorKeyName"))
	require.Equal(t, "Dora", textOf(all[2], "actor"))
	require.Equal(t, "Carla", textOf(all[3], "actor"))
	require.Equal(t, "her invoice", textOf(all[3], "reason"))

	require.Len(t, n.acts("auditor", "&by=DOR"), 2, "part of a name, in any case")
	require.Len(t, n.acts("auditor", "&by="+textOf(all[1], "actorKeyId")), 1, "or the key")
	var history []string
	for _, act := range n.acts("auditor", "&about="+agent) {
		history = append(history, textOf(act, "type"))
	}
	require.Equal(t, []string{"agent.reinstated", "agent.suspended", "review.dispositioned", "agent.registered"}, history, "what was done to one agent and about its calls")
	require.Equal(t, 400, n.do("auditor", "GET", "/v1/activity?about=Dora", "").Code)
	require.Len(t, n.acts("auditor", "&types=policy.activated"), 1)
	require.Len(t, n.acts("auditor", "&types=agent.*&by=dora&from="+began.String()), 2)
	require.Empty(t, n.acts("auditor", "&types=agent.suspended&to="+began.String()))
	require.Len(t, n.acts("auditor", "&types=agent.registered&to="+began.String()), 1)
	require.Equal(t, "agent.suspended", textOf(n.acts("auditor", "&types=agent.suspended")[0], "type"))

	for _, act := range n.acts("policy", "&by=carla") {
		require.Equal(t, "", textOf(act, "reason"), "what an officer wrote about a payment")
	}
	for _, role := range []string{"operator", "screener", "ops"} {
		require.Equal(t, 403, n.do(role, "GET", "/v1/activity", "").Code, role)
	}
	for query, param := range map[string]string{"types=none.*": "types", "from=yesterday": "from", "cursor=x": "cursor", "order=asc": "order", "limit=0": "limit"} {
		w := n.do("auditor", "GET", "/v1/activity?"+query, "")
		require.Equal(t, 400, w.Code, query)
		require.Equal(t, param, member(t, w.Body.Bytes(), "param"))
	}
}
