package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// smallTables makes every table in which owners have shares small for one test.
func smallTables(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	for _, rows := range []*int{
		&limits.Agents, &limits.Fleets, &limits.Users, &limits.Statuses, &limits.Holds, &limits.OpenReviews,
		&limits.Alerts, &limits.SanctionsAlerts,
	} {
		*rows = 256 // Four of them for each owner.
	}
	limits.Agents, limits.Statuses, limits.Outcomes = 1024, 2048, 1024
	limits.AgentBytes, limits.FleetBytes, limits.UserBytes = 1<<20, 1<<18, 1<<18
}

// TestACalmTenantIsServedBesideAFlood (line K2): one tenant does everything until it is refused, at
// far more than ten times its share. Each refusal says why and changes nothing, and the first calls
// of a calm tenant go through as if it were alone.
func TestACalmTenantIsServedBesideAFlood(t *testing.T) {
	smallTables(t)
	n := newTenants(t)
	n.addKey(wire.APIKey{ID: "key_flood", Roles: wire.RolesOfOutsiders, Owner: "Acme", Rate: -1}, testSecret("flood"))
	long := strings.Repeat(`{"name":"A party of the list","label":"`+strings.Repeat("x", 200)+`"},`, 30)
	calls := []struct {
		table, path string
		body        func(n int) string
	}{
		{"holds", "/v1/screen", func(int) string { return `{"token":"` + n.token + `","amount":0.01,"hold":{"ttlSeconds":3600}}` }},
		{"open_reviews", "/v1/screen", func(int) string { return `{"token":"` + n.token + `","amount":7}` }},
		{"fleets", "/v1/fleets/create", func(i int) string {
			return fmt.Sprintf(`{"fleetName":"F%d","operatorLegalName":"Acme","dailyLimitUSDC":5}`, i)
		}},
		{"users", "/v1/users/register", func(i int) string { return fmt.Sprintf(`{"legalName":"P %d","agentIds":[%q]}`, i, n.agent) }},
		{"agents", "/v1/agents/register", func(i int) string {
			return fmt.Sprintf(`{"agentName":"B%d","agentType":"supervised","operatorLegalName":"Acme","purpose":"p","metadata":{"l":[%s]}}`, i, strings.TrimSuffix(long, ","))
		}},
	}
	for _, call := range calls {
		var size uint64
		var last string
		for i := 0; ; i++ {
			require.Less(t, i, 1100, "%s: nobody is refused", call.table)
			w := n.do("flood", "POST", call.path, call.body(i))
			if w.Code < 300 {
				continue
			}
			last = w.Body.String()
			require.Equal(t, 429, w.Code, last)
			require.Equal(t, "60", w.Header().Get("Retry-After"))
			size = n.store.Size()
			break
		}
		require.Contains(t, last, `"code":"share_used"`)
		require.Contains(t, last, `"table":"`+call.table+`"`)
		for i := range 20 {
			require.Equal(t, 429, n.do("flood", "POST", call.path, call.body(2000+i)).Code, call.table)
		}
		require.Equal(t, size, n.store.Size(), "a refusal changes nothing")
	}

	did := func(path, body string, headers ...string) []byte {
		t.Helper()
		w := n.do("globex", "POST", path, body, headers...)
		require.Less(t, w.Code, 300, "%s: %s", path, w.Body)
		return w.Body.Bytes()
	}
	agent := did("/v1/agents/register", `{"agentName":"Calm","agentType":"supervised","operatorLegalName":"Globex","purpose":"p","spendPolicy":{"maxSingleTxUSDC":1}}`, "Idempotency-Key", "calm-1")
	token := member(t, agent, "token")
	did("/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Globex","dailyLimitUSDC":5}`)
	did("/v1/users/register", `{"legalName":"P","agentIds":["`+member(t, agent, "agentId")+`"]}`)
	require.Equal(t, "PROCEED", member(t, did("/v1/screen", `{"token":"`+token+`","amount":1,"hold":{"ttlSeconds":60},"paymentRef":"calm"}`, "Idempotency-Key", "calm-2"), "verdict"))
	require.Equal(t, "REVIEW", member(t, did("/v1/screen", `{"token":"`+token+`","amount":7}`), "verdict"))
}
