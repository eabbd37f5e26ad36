package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// What the institution set, only the institution widens: at a re-issue, in settings, in a fleet
// and by leaving a fleet. Whatever roles a key of an operator can have, it may only tighten.
func TestOnlyTheInstitutionWidensWhatItSet(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RolesOfOutsiders)
	fleet := textOf(answer(t, n.do("operator", "POST", "/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":100}`), 201), "fleetId")
	id, _ := n.register(`,"spendPolicy":{"maxSingleTxUSDC":10,"dailyLimitUSDC":50},"operatingHours":{"timezone":"UTC","windows":[{"days":["MON"],"from":"09:00","to":"10:00"}]},"velocity":{"maxPerMinute":2}`)
	agent := "/v1/agents/" + id
	answer(t, n.do("operator", "POST", "/v1/fleets/"+fleet+"/agents", `{"agentIds":["`+id+`"]}`), 200)
	answer(t, n.do("policy", "PUT", agent+"/whitelist", `{"mode":"enforce","entries":[{"name":"Paper and Co"}],"reason":"r"}`), 200)
	size := n.store.Size()
	for _, call := range [][3]string{
		{"POST", agent + "/reissue", `{"spendPolicy":{"maxSingleTxUSDC":1000000000,"dailyLimitUSDC":1000000000},"reason":"r"}`},
		{"POST", agent + "/reissue", `{"spendPolicy":{"maxSingleTxUSDC":10},"reason":"r"}`},
		{"POST", agent + "/reissue", `{"spendPolicy":{}}`},
		{"PATCH", agent, `{"operatingHours":null,"reason":"r"}`},
		{"PATCH", agent, `{"velocity":null,"reason":"r"}`},
		{"PUT", agent + "/whitelist", `{"mode":"off","entries":[],"reason":"r"}`},
		{"PATCH", "/v1/fleets/" + fleet, `{"dailyLimitUSDC":1000000,"reason":"r"}`},
		{"DELETE", "/v1/fleets/" + fleet + "/agents/" + id, ""},
	} {
		refused(t, n.do("acme", call[0], call[1], call[2]), 403, "forbidden")
	}
	require.Equal(t, size, n.store.Size(), "nothing came into the log")
	answer(t, n.do("acme", "POST", agent+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":5,"dailyLimitUSDC":50}}`), 201)
	refused(t, n.do("acme", "POST", agent+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":6,"dailyLimitUSDC":50}}`), 403, "forbidden")
	refused(t, n.do("operator", "POST", agent+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":6,"dailyLimitUSDC":50}}`), 403, "forbidden")
	answer(t, n.do("admin", "POST", agent+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":20,"dailyLimitUSDC":50},"reason":"asked for"}`), 201)
	answer(t, n.do("operator", "DELETE", "/v1/fleets/"+fleet+"/agents/"+id, ""), 200)

	answer(t, n.do("acme", "POST", "/v1/fleets/"+fleet+"/agents", `{"agentIds":["`+id+`"]}`), 200)
	answer(t, n.do("acme", "DELETE", "/v1/fleets/"+fleet+"/agents/"+id, ""), 200)
}

// What an operator's key sets itself it may widen, up to the caps of the institution's policy.
func TestOperatorsCaps(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RolesOfOutsiders)
	register := func(policy string) (string, int) {
		w := n.do("acme", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"`+policy+`}`)
		if w.Code != 201 {
			require.Equal(t, "policy_widening", member(t, w.Body.Bytes(), "code"))
			return "", w.Code
		}
		return member(t, w.Body.Bytes(), "agentId"), 201
	}
	id, _ := register(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	answer(t, n.do("acme", "POST", "/v1/agents/"+id+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":1000}}`), 201)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"operators":{"caps":{"maxSingleTxUSDC":500,"dailyLimitUSDC":2000}}}`), 200)
	for policy, status := range map[string]int{
		``: 422, `,"spendPolicy":{}`: 422, `,"spendPolicy":{"maxSingleTxUSDC":500}`: 422, `,"spendPolicy":{"maxSingleTxUSDC":500.01,"dailyLimitUSDC":2000}`: 422,
		`,"spendPolicy":{"maxSingleTxUSDC":500,"dailyLimitUSDC":2000}`: 201,
	} {
		_, code := register(policy)
		require.Equal(t, status, code, policy)
	}
	refused(t, n.do("acme", "POST", "/v1/agents/"+id+"/reissue", `{"spendPolicy":{"maxSingleTxUSDC":501,"dailyLimitUSDC":1}}`), 422, "policy_widening")
	refused(t, n.do("acme", "POST", "/v1/delegates/create", `{"agentName":"D","parentAgentId":"`+id+`"}`), 422, "policy_widening")
	answer(t, n.do("acme", "POST", "/v1/agents/"+id+"/reissue", `{}`), 201)
	answer(t, n.do("operator", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`), 201)
	refused(t, n.do("policy", "PUT", "/v1/policy", `{"operators":{"caps":{"maxSingle":500}}}`), 422, "unknown_field")
}
