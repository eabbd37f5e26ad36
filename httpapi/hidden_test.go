package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/sample"
)

// A possible hit that another rule decides is found by its own rule, stands first, and is counted.
func TestNoHitHidesBehindAnotherRule(t *testing.T) {
	n := newTestNode(t)
	n.activate(withNumbers(), sample.Meta())
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	var plain []string
	for range 3 {
		plain = append(plain, textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20000,"cpName":"Corner Bakery"}`), 200), "txnId"))
	}
	v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20,"cpName":"Corner Bakery","memo":"rent to Zorbal Frobnitz Holding"}`), 200)
	hidden := textOf(v, "txnId")
	require.Equal(t, "R10_SINGLE_TX_LIMIT", textOf(v, "rule"))

	queue := answer(t, n.do("reviewer", "GET", "/v1/queue?sort=priority", ""), 200)
	first := queue.Get("data", "0")
	require.Equal(t, hidden, textOf(first, "txnId"))
	require.Equal(t, `["R10_SINGLE_TX_LIMIT","R21_POSSIBLE_NAME_MATCH"]`, string(first.Get("rules").MarshalTo(nil)))
	require.Equal(t, "R21_POSSIBLE_NAME_MATCH", textOf(first, "gravestRule"))
	require.Equal(t, "party", textOf(first, "gravity"))
	require.Equal(t, 7, first.GetInt("priority"))
	require.Equal(t, 4, first.GetInt("similarOpen"))
	require.Equal(t, 4, first.GetInt("samePayeeOpen"))
	require.Equal(t, 4, queue.GetInt("data", "1", "priority"), "20,000 USD over a limit")

	found := answer(t, n.do("reviewer", "GET", "/v1/queue?rule=R21", ""), 200)
	require.Len(t, found.GetArray("data"), 1)
	require.Equal(t, hidden, textOf(found, "data", "0", "txnId"))
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/queue?rule=R10", ""), 200).GetArray("data"), 4)
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/queue?q=possible_name", ""), 200).GetArray("data"), 1)
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/queue?payeeOf="+plain[0], ""), 200).GetArray("data"), 4)
	require.Equal(t, "payeeOf", textOf(answer(t, n.do("reviewer", "GET", "/v1/queue?payeeOf=txn_00000000", ""), 400), "param"))
	next := answer(t, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"r","filter":{"rule":"R21"}}`), 200)
	require.Equal(t, hidden, textOf(next, "txnId"))
	require.Equal(t, 204, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"q","filter":{"rule":"R21"}}`).Code)
}
