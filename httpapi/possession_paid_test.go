package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/bundle"
)

// TestConfirmTakesProofs (statements P28, P29): a confirmation is proven for its payment; a captured one is a replay.
func TestConfirmTakesProofs(t *testing.T) {
	n := newTestNode(t)
	key := agentKeyEC("k")
	_, token := n.keyed(key, `,"possession":"required"`)
	held := n.screenedBy("screener", n.proving(key, "screen", "id-of-a-held-payment", `{"token":"`+token+`",`+strings.TrimSuffix(provenPayment, "}")+`,"hold":{"ttlSeconds":600}}`))
	require.Equal(t, "PROCEED", textOf(held, "verdict"))
	txn := textOf(held, "txnId")
	path, body := "/v1/transactions/"+txn+"/confirm", `{"token":"`+token+`","permit":{}}`
	confirmed := n.do("screener", "POST", path, n.proving(key, "confirm:"+txn, "id-of-a-confirmation", body))
	first := answer(t, confirmed, 200)
	require.Equal(t, "PROCEED", textOf(first, "verdict"), first.String())
	require.NotEmpty(t, textOf(first, "permit"))
	again := n.do("screener", "POST", path, n.proving(key, "confirm:"+txn, "id-of-a-confirmation", body))
	require.Equal(t, confirmed.Body.String(), again.Body.String())
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	answer(t, n.do("screener", "POST", path, n.proving(key, "confirm:"+txn, "id-of-a-confirmation", `{"token":"`+token+`"}`)), 422)
	unlike := answer(t, n.do("screener", "POST", path, n.proving(key, "confirm:"+txn, "id-of-a-second-one-1", body), "Idempotency-Key", "k"), 400)
	require.Equal(t, "bad_request", textOf(unlike, "code"))
	for want, body := range map[string]string{
		"UNKNOWN missing": body, "UNKNOWN request": n.proving(key, "screen", "id-of-another-act-01", body),
		"UNKNOWN key": n.proving(agentKey("thief"), "confirm:"+txn, "id-of-the-thief-0001", body),
	} {
		require.Equal(t, want, outcomeOf(answer(t, n.do("screener", "POST", path, body), 200)), body)
	}
	redeemed := answer(t, n.do("screener", "POST", "/v1/permits/redeem", `{"permit":"`+textOf(first, "permit")+`"}`), 200)
	require.Equal(t, "redeemed", textOf(redeemed, "state"), "whoever redeems need not be the agent")
	w := &bankWeek{testNode: n}
	report, err := w.verify()
	require.NoError(t, err, "nor when it is judged again")
	require.Equal(t, bundle.Confirmations{Same: 2, NoEvidence: 3}, report.Replay.Confirmations)
}
