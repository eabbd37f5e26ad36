package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// addSettler adds a key of the institution that says what became of payments.
func (n *testNode) addSettler() {
	n.addKey(wire.APIKey{ID: "key_settler", Name: "test settler", Roles: wire.RoleSettler}, testSecret("settler"))
}

// TestUnresolvedPaymentsAreListed (line T1): a hold that nobody ends goes on counting, is told
// of everywhere with one word, and is released by a settler alone.
func TestUnresolvedPaymentsAreListed(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	n.addKey(wire.APIKey{ID: "key_acme", Owner: "Acme Inc", Roles: wire.RoleScreener}, testSecret("acme"))
	agent, token := n.registered("")
	pay := func(key, amount string) string {
		return textOf(answer(t, n.do(key, "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"hold":{"ttlSeconds":30},"paymentRef":"r`+amount+`"}`), 200), "txnId")
	}
	first, second := pay("screener", "20"), pay("acme", "7")
	list := func(key, query string) (ids []string) {
		for _, item := range answer(t, n.do(key, "GET", "/v1/transactions/unresolved"+query, ""), 200).GetArray("data") {
			require.Equal(t, "unresolved", textOf(item, "state"))
			ids = append(ids, textOf(item, "txnId"))
		}
		return ids
	}
	require.Empty(t, list("settler", ""))
	n.advance(31 * engine.Second)
	require.Equal(t, []string{second, first}, list("settler", ""))
	require.Equal(t, []string{first}, list("settler", "?order=asc&limit=1"))
	require.Equal(t, []string{first, second}, list("auditor", "?order=asc&agentId="+agent))
	require.Equal(t, []string{first}, list("screener", ""), "its owner's")
	require.Equal(t, []string{second}, list("acme", ""), "its owner's")
	next := textOf(answer(t, n.do("settler", "GET", "/v1/transactions/unresolved?limit=1", ""), 200), "nextCursor")
	require.Equal(t, []string{first}, list("settler", "?cursor="+next))
	item := answer(t, n.do("settler", "GET", "/v1/transactions/unresolved?order=asc&limit=1", ""), 200).Get("data", "0")
	require.EqualValues(t, 20, item.GetInt("amount"))
	require.Equal(t, "r20", textOf(item, "paymentRef"))
	require.False(t, item.GetBool("approved"))
	require.Equal(t, "bad_request", textOf(answer(t, n.do("settler", "GET", "/v1/transactions/unresolved?agentId=x", ""), 400), "code"))

	limits := answer(t, n.do("screener", "GET", "/v1/agents/"+agent+"/limits", ""), 200)
	require.EqualValues(t, 27, limits.GetInt("heldUSDC"))
	shown := answer(t, n.do("screener", "GET", "/v1/audit/"+first, ""), 200)
	require.Equal(t, "unresolved", textOf(shown, "hold", "state"))
	require.Equal(t, "unresolved", textOf(shown, "payment", "state"))
	told := n.do("reviewer", "GET", "/v1/alerts?kind=unresolved_payment", "")
	require.Equal(t, 1, strings.Count(told.Body.String(), `"agentId"`), "a member twice: %s", told.Body)
	alerts := answer(t, told, 200)
	require.Equal(t, first, textOf(alerts, "data", "0", "txnId"))
	require.EqualValues(t, 1, alerts.GetInt("data", "0", "payments"))
	metrics := n.doAdmin("GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, "railguard_payments_unresolved 2\n")
	require.Contains(t, metrics, "railguard_payments_unresolved_usd 27\n")

	release := `{"reason":"the rail did not make it"}`
	require.Equal(t, "settler_required", textOf(answer(t, n.do("screener", "POST", "/v1/transactions/"+first+"/release", release), 403), "code"))
	require.Equal(t, "released", textOf(answer(t, n.do("settler", "POST", "/v1/transactions/"+first+"/release", release), 200), "state"))
	require.Equal(t, "settled", textOf(answer(t, n.do("settler", "POST", "/v1/transactions/"+second+"/settle", `{"amount":5}`), 200), "state"))
	require.Empty(t, list("settler", ""))
	shown = answer(t, n.do("auditor", "GET", "/v1/audit/"+second, ""), 200)
	require.Equal(t, "settled", textOf(shown, "hold", "state"))
	require.Equal(t, "settled", textOf(shown, "payment", "state"))
	require.Nil(t, shown.Get("lateSettlement"))
}

// TestAnUnresolvedPaymentThatWasRedeemedSaysSo: whoever settles it by hand has to know that it may
// have been paid.
func TestAnUnresolvedPaymentThatWasRedeemedSaysSo(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered("")
	for amount, redeem := range map[string]bool{"20": true, "7": false} {
		id := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"hold":{"ttlSeconds":30}}`), 200), "txnId")
		if redeem {
			answer(t, n.do("screener", "POST", "/v1/transactions/"+id+"/confirm", `{"redeem":true}`), 200)
		}
	}
	n.advance(31 * engine.Second)
	listed := answer(t, n.do("settler", "GET", "/v1/transactions/unresolved", ""), 200).GetArray("data")
	require.Len(t, listed, 2)
	for _, item := range listed {
		require.Equal(t, item.GetInt("amount") == 20, item.GetBool("redeemed"))
	}
}

// TestApprovalIsConfirmableUntilItLapses (line T14): an approval says until when it is good and
// whether a confirmation may give leave now, at the approval, in its event and whenever it is read.
func TestApprovalIsConfirmableUntilItLapses(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	agent, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	review := func() string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20}`), 200), "txnId")
	}
	approve := func(txn string) string {
		return textOf(answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"Carla"}`), 200), "confirmableReason")
	}
	status := func(verb string) {
		answer(t, n.do("admin", "POST", "/v1/agents/"+agent+"/"+verb, `{"reason":"stolen key"}`), 200)
	}
	says := func(txn string, confirmable bool, why string) {
		t.Helper()
		shown := answer(t, n.do("screener", "GET", "/v1/audit/"+txn, ""), 200)
		require.Equal(t, "APPROVED", textOf(shown, "disposition"))
		require.Equal(t, confirmable, shown.GetBool("confirmable"))
		require.Equal(t, why, textOf(shown, "confirmableReason"))
	}
	first, second, third := review(), review(), review()
	require.Empty(t, approve(first))
	says(first, true, "")
	status("suspend")
	says(first, false, "agent_status")
	require.Equal(t, "agent_status", approve(second))
	status("reinstate")
	says(second, true, "")
	require.Empty(t, approve(third))
	answer(t, n.do("screener", "POST", "/v1/transactions/"+second+"/settle", `{}`), 200)
	says(second, false, "settled")
	answer(t, n.do("settler", "POST", "/v1/transactions/"+third+"/release", `{"reason":"r"}`), 200)
	says(third, false, "released")

	var confirmable []bool
	events := answer(t, n.do("auditor", "GET", "/v1/events?types=review.dispositioned", ""), 200)
	for _, e := range events.GetArray("data") {
		require.NotEmpty(t, textOf(e, "data", "payBy"))
		require.Equal(t, e.GetBool("data", "confirmable"), e.Get("data", "recheck") == nil)
		confirmable = append(confirmable, e.GetBool("data", "confirmable"))
	}
	require.Equal(t, []bool{true, false, true}, confirmable)

	n.advance(24 * engine.Hour)
	says(first, false, "lapsed")
	require.Equal(t, "approval_lapsed", textOf(answer(t, n.do("screener", "POST", "/v1/transactions/"+first+"/settle", `{}`), 409), "code"))
	var types []string
	for _, e := range answer(t, n.do("auditor", "GET", "/v1/events?types=review.approval_lapsed,hold.unresolved", ""), 200).GetArray("data") {
		types = append(types, textOf(e, "type"))
		require.Equal(t, first, textOf(e, "data", "txnId"))
		require.Equal(t, "unresolved", textOf(e, "data", "state"))
	}
	require.Equal(t, []string{"review.approval_lapsed", "hold.unresolved"}, types)
	require.Equal(t, "settled", textOf(answer(t, n.do("settler", "POST", "/v1/transactions/"+first+"/settle", `{}`), 200), "state"))
	says(first, false, "settled")
}
