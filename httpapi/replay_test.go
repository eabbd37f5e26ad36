package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every decision that is replayed from its record comes out as recorded, whatever policy
// and list are in force by then.
func TestReplayIsIdentical(t *testing.T) {
	records := 1000
	if testing.Short() {
		records = 100
	}
	n := newTestNode(t)
	h := newChronicle(n, 11)
	h.run(records)
	for i, policy := range policies[1:4] {
		h.must("policy", "PUT", "/v1/policy", `{"reason":"test","policy":`+policy+`}`)
		if i > 0 {
			h.changeList()
		}
		h.run(1)
	}
	require.GreaterOrEqual(t, len(h.all), records)
	for _, txn := range h.all {
		before := n.do("auditor", "GET", "/v1/audit/"+txn, "").Body.String()
		replayed := answer(t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200)
		require.True(t, replayed.GetBool("match"), "%s: %s", txn, replayed)
		require.Equal(t, replayed.Get("recorded").String(), replayed.Get("replayed").String())
		require.Equal(t, "null", replayed.Get("listUnavailable").String())
		require.Equal(t, before, n.do("auditor", "GET", "/v1/audit/"+txn, "").Body.String(), "a replay changes nothing")
	}
}
