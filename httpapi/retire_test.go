package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestRetire: a fleet without agents, and an agent that was revoked 91 days ago, are gone after
// DELETE, and their records stay. A token of such an agent is of nobody.
func TestRetire(t *testing.T) {
	n := newTenants(t)
	fleet, agent := "/v1/fleets/"+n.fleet, "/v1/agents/"+n.agent
	answer(t, n.do("acme", "POST", fleet+"/agents", `{"agentId":"`+n.agent+`"}`), 200)
	refused(t, n.do("acme", "DELETE", fleet, ""), 409, "invalid_transition")
	answer(t, n.do("acme", "DELETE", fleet+"/agents/"+n.agent, ""), 200)
	refused(t, n.do("globex", "DELETE", fleet, ""), 404, "not_found")
	gone := answer(t, n.do("acme", "DELETE", fleet, ""), 200)
	require.Equal(t, n.fleet, textOf(gone, "fleetId"))
	require.True(t, gone.GetBool("retired"))
	refused(t, n.do("acme", "DELETE", fleet, ""), 404, "not_found")
	refused(t, n.do("acme", "GET", fleet, ""), 404, "not_found")
	require.Empty(t, answer(t, n.do("acme", "GET", "/v1/fleets", ""), 200).GetArray("data"))

	refused(t, n.do("acme", "DELETE", agent, ""), 409, "invalid_transition")
	answer(t, n.do("acme", "POST", agent+"/revoke", `{"reason":"r","actor":"a"}`), 200)
	n.advance(engine.AgentValidity)
	refused(t, n.do("acme", "DELETE", agent, ""), 409, "invalid_transition")
	n.advance(engine.Minute)
	refused(t, n.do("globex", "DELETE", agent, ""), 404, "not_found")
	gone = answer(t, n.do("acme", "DELETE", agent, ""), 200)
	require.Equal(t, n.agent, textOf(gone, "agentId"))
	refused(t, n.do("acme", "DELETE", agent, ""), 404, "not_found")
	require.Empty(t, answer(t, n.do("acme", "GET", "/v1/agents", ""), 200).GetArray("data"))
	require.Equal(t, "UNKNOWN", textOf(answer(t, n.do("acme", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":1}`), 200), "verdict"))
}
