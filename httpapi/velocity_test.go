package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A velocity limit has no effect where a stricter one applies: the answer to the write and
// every GET show the effective one, and warn.
func TestVelocityIsShownAsEffective(t *testing.T) {
	n := newTestNode(t)
	said := func(body string, status int, method, path, effective string, warned ...string) string {
		t.Helper()
		v := answer(t, n.do("admin", method, path, body), status)
		require.Equal(t, effective, v.Get("effectiveVelocity").String())
		params := []string{}
		for _, w := range v.GetArray("warnings") {
			if textOf(w, "code") == "velocity_not_effective" {
				params = append(params, textOf(w, "param"))
			}
		}
		require.ElementsMatch(t, warned, params)
		return textOf(v, "agentId") + textOf(v, "fleetId")
	}
	const agent = `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","velocity":`
	id := said(agent+`{"maxPerMinute":5000,"maxPerHour":600}}`, 201, "POST", "/v1/agents/register", // The institution's limit is 1,000.
		`{"maxPerMinute":1000,"maxPerHour":600}`, "velocity.maxPerMinute")
	said("", 200, "GET", "/v1/agents/"+id, `{"maxPerMinute":1000,"maxPerHour":600}`, "velocity.maxPerMinute")
	said(`{"velocity":{"maxPerMinute":900},"reason":"r"}`, 200, "PATCH", "/v1/agents/"+id, `{"maxPerMinute":900}`)
	said(`{"velocity":{"maxPerMinute":900,"burstFactor":21},"reason":"r"}`, 200, "PATCH", "/v1/agents/"+id,
		`{"maxPerMinute":900,"burstFactor":20}`, "velocity.burstFactor")
	said(`{"agentName":"Child","parentAgentId":"`+id+`","velocity":{"maxPerMinute":950}}`, 201, "POST", "/v1/delegates/create",
		`{"maxPerMinute":900}`, "velocity.maxPerMinute")

	fleet := said(`{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":5,"velocity":{"maxPerMinute":2000,"maxPerHour":9}}`, 201,
		"POST", "/v1/fleets/create", `{"maxPerMinute":1000,"maxPerHour":9}`, "velocity.maxPerMinute")
	said("", 200, "GET", "/v1/fleets/"+fleet, `{"maxPerMinute":1000,"maxPerHour":9}`, "velocity.maxPerMinute")
	said(`{"velocity":{"maxPerMinute":800},"reason":"r"}`, 200, "PATCH", "/v1/fleets/"+fleet, `{"maxPerMinute":800}`)
	require.Equal(t, 200, n.do("admin", "POST", "/v1/fleets/"+fleet+"/agents", `{"agentIds":["`+id+`"]}`).Code)
	said("", 200, "GET", "/v1/agents/"+id, `{"maxPerMinute":800,"burstFactor":20}`, "velocity.maxPerMinute", "velocity.burstFactor")

	policy := answer(t, n.do("admin", "PUT", "/v1/policy", `{"velocity":{"maxPerMinute":700}}`), 200)
	require.NotNil(t, policy)
	said("", 200, "GET", "/v1/fleets/"+fleet, `{"maxPerMinute":700}`, "velocity.maxPerMinute")
	said("", 200, "GET", "/v1/agents/"+id, `{"maxPerMinute":700,"burstFactor":20}`, "velocity.maxPerMinute", "velocity.burstFactor")

	quiet, _ := n.registered("")
	require.Nil(t, answer(t, n.do("admin", "GET", "/v1/agents/"+quiet, ""), 200).Get("effectiveVelocity"), "what others set is not told")
}
