package httpapi

import (
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// kindsOf returns the types of the events that a key may see about something, oldest first.
func (n *tenants) kindsOf(key, about string) (types []string) {
	from := "/v1/events?limit=500"
	for {
		page := answer(n.t, n.do(key, "GET", from, ""), 200)
		for _, event := range page.GetArray("data") {
			data := event.Get("data")
			if string(data.GetStringBytes("agentId")) == about || string(data.GetStringBytes("fleetId")) == about {
				types = append(types, string(event.GetStringBytes("type")))
			}
		}
		if len(page.GetArray("data")) == 0 {
			return types
		}
		from = "/v1/events?limit=500&after=" + url.QueryEscape(textOf(page, "nextCursor"))
	}
}

// TestRetire: a fleet without agents, and an agent that was revoked 91 days ago, are gone after
// DELETE. A token of such an agent is of nobody.
func TestRetire(t *testing.T) {
	n := newTenants(t)
	fleet, agent := "/v1/fleets/"+n.fleet, "/v1/agents/"+n.agent
	answer(t, n.do("acme", "POST", fleet+"/agents", `{"agentId":"`+n.agent+`"}`), 200)
	refused(t, n.do("acme", "DELETE", fleet, ""), 409, "invalid_transition")
	answer(t, n.do("acme", "DELETE", fleet+"/agents/"+n.agent, ""), 200)
	refused(t, n.do("globex", "DELETE", fleet, ""), 404, "not_found")
	refused(t, n.do("screener", "DELETE", fleet, ""), 403, "forbidden")
	before := n.kindsOf("acme", n.fleet)
	require.Subset(t, before, []string{"fleet.created", "fleet.assigned", "fleet.removed"})
	gone := answer(t, n.do("acme", "DELETE", fleet, ""), 200)
	require.Equal(t, n.fleet, textOf(gone, "fleetId"))
	require.True(t, gone.GetBool("retired"))
	require.Equal(t, append(before, "fleet.retired"), n.kindsOf("acme", n.fleet), "what happened stays readable")
	require.Empty(t, n.kindsOf("globex", n.fleet))
	refused(t, n.do("acme", "DELETE", fleet, ""), 404, "not_found")
	refused(t, n.do("acme", "GET", fleet, ""), 404, "not_found")
	n.fleets[1] = &engine.FleetProfile{Slot: 1, Operator: 1} // A node that has not published it yet.
	refused(t, n.do("acme", "GET", fleet, ""), 404, "not_found")
	delete(n.fleets, 1)
	require.Empty(t, answer(t, n.do("acme", "GET", "/v1/fleets", ""), 200).GetArray("data"))

	refused(t, n.do("acme", "DELETE", agent, ""), 409, "invalid_transition")
	answer(t, n.do("acme", "POST", agent+"/revoke", `{"reason":"r","actor":"a"}`), 200)
	n.advance(engine.AgentValidity)
	early := n.do("acme", "DELETE", agent, "")
	require.Equal(t, "REVOKED", textOf(answer(t, early, 409), "credentialStatus"))
	n.advance(engine.Minute)
	refused(t, n.do("globex", "DELETE", agent, ""), 404, "not_found")
	gone = answer(t, n.do("acme", "DELETE", agent, ""), 200)
	require.Equal(t, n.agent, textOf(gone, "agentId"))
	require.Equal(t, n.operatorID("Acme"), textOf(gone, "operatorId"))
	refused(t, n.do("acme", "DELETE", agent, ""), 404, "not_found")
	for _, path := range []string{"", "/limits", "/attestations", "/whitelist"} {
		refused(t, n.do("acme", "GET", agent+path, ""), 404, "not_found")
	}
	require.Empty(t, answer(t, n.do("acme", "GET", "/v1/agents", ""), 200).GetArray("data"))
	for _, path := range []string{"/v1/screen", "/v1/screen/dry-run"} {
		require.Equal(t, "UNKNOWN", textOf(answer(t, n.do("acme", "POST", path, `{"token":"`+n.token+`","amount":1}`), 200), "verdict"), path)
	}
	refused(t, n.do("acme", "POST", "/v1/delegates/create", `{"agentName":"B","parentAgentId":"`+n.agent+`"}`), 404, "not_found")
}

// TestRecordsOfARetiredAgentStay: the calls of an agent's last 90 days, its events and its exports
// are readable and provable after it was retired, by the institution and by its operator, and by
// nobody else.
func TestRecordsOfARetiredAgentStay(t *testing.T) {
	n := newTenants(t)
	agent := "/v1/agents/" + n.agent
	answer(t, n.do("acme", "POST", agent+"/revoke", `{"reason":"r","actor":"a"}`), 200)
	n.advance(engine.AgentValidity - 20*engine.DayLength)
	late := textOf(answer(t, n.do("acme", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":1}`), 200), "txnId")
	n.advance(20*engine.DayLength + engine.Minute)
	before := n.kindsOf("acme", n.agent)
	answer(t, n.do("acme", "DELETE", agent, ""), 200)
	require.Equal(t, append(slices.Clone(before), "agent.retired"), n.kindsOf("acme", n.agent))

	records := "/v1/audit?from=" + (n.now - 30*engine.DayLength).String() + "&agentId=" + n.agent
	for _, key := range []string{"acme", "auditor"} {
		page := answer(t, n.do(key, "GET", records, ""), 200).GetArray("data")
		require.Len(t, page, 1)
		require.Equal(t, late, string(page[0].GetStringBytes("txnId")))
		answer(t, n.do(key, "GET", "/v1/audit/"+late, ""), 200)
	}
	answer(t, n.do("auditor", "GET", "/v1/audit/"+late+"/proof", ""), 200)
	require.Empty(t, answer(t, n.do("globex", "GET", records, ""), 200).GetArray("data"))

	export := func(from, to engine.Time) [][]byte {
		return n.exportLines(t, "auditor", "?agentId="+n.agent+"&from="+from.String()+"&to="+to.String())
	}
	d := diary{testNode: n.testNode, id: n.agent, keys: n.settings.Genesis.LogKeys}
	report, err := d.examine(export(n.now-30*engine.DayLength, n.now))
	require.NoError(t, err)
	require.Equal(t, 1, report.Screens)
	require.Nil(t, report.Chain.After, "nothing came after its retirement")
	last := report.Chain.Last
	n.advance(engine.DayLength)
	report, err = d.examine(export(n.now-engine.Hour, n.now))
	require.NoError(t, err)
	require.Zero(t, report.Screens)
	require.Nil(t, report.Chain.After)
	require.Equal(t, last, report.Chain.Before.Sequence, "a time after its retirement is proven empty")
	report, err = d.examine(export(n.now-21*engine.DayLength-engine.Hour, n.now-21*engine.DayLength+engine.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, report.Screens)
	require.Equal(t, last, report.Chain.After.Sequence, "its retirement")
}
