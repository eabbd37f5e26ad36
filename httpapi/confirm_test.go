package httpapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
)

// screened makes a screening call and returns its answer.
func (n *testNode) screened(verdict, body string) *fastjson.Value {
	n.t.Helper()
	got := answer(n.t, n.do("screener", "POST", "/v1/screen", body), 200)
	require.Equal(n.t, verdict, textOf(got, "verdict"), got)
	return got
}

func (n *testNode) confirmed(txn, body string) *httptest.ResponseRecorder {
	return n.do("screener", "POST", "/v1/transactions/"+txn+"/confirm", body)
}

func redeemBody(permit, pay string) string {
	if pay != "" {
		pay = `,"pay":` + pay
	}
	return `{"permit":"` + permit + `"` + pay + `}`
}

// TestRedeemOnce (statements P11 and P12): of many callers at once one gets the leave of a permit, and
// two permits of one payment are one leave. A lost answer is asked for again with the same key.
func TestRedeemOnce(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered("")
	got := n.screened("PROCEED", `{"token":"`+token+`",`+permittedPayment+`,"permit":{}}`)
	first, txn := textOf(got, "permit"), textOf(got, "txnId")
	n.advance(engine.Second)
	second := textOf(answer(t, n.confirmed(txn, `{"permit":{"aud":"https://shop.example"}}`), 200), "permit")
	require.NotEqual(t, first, second)
	for body, code := range map[string]string{
		redeemBody(token, ""):                "permit_invalid",
		redeemBody("x", ""):                  "permit_invalid",
		redeemBody(first[:len(first)-8], ""): "permit_invalid",
		redeemBody(first, `{"amount":"25.01","payee":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}`):                                                                                                   "permit_mismatch",
		redeemBody(first, `{"amount":25,"payee":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","chain":"eth","rail":"usdc","payer":"0x857B06519E91E3A54538791BDBB0E22373E36B66","ref":"inv-2026-0007"}`): "permit_mismatch",
		redeemBody(first, `{"amount":25,"payeeIds":["x"],"chain":"base","rail":"usdc","ref":"inv-2026-0007"}`):                                                                                         "permit_mismatch",
		redeemBody(first, `{"amount":25,"identifiers":[{"type":"bic","value":"DEUTDEFF"}],"asset":"a","units":"1","nonce":"n"}`):                                                                       "permit_mismatch",
		redeemBody(first, `{"payee":"x"}`): "invalid_field",
		`{}`:                               "missing_field",
		`{"permit":"x","other":1}`:         "unknown_field",
	} {
		require.Equal(t, code, textOf(answer(t, n.do("screener", "POST", "/v1/permits/redeem", body), 422), "code"), body)
	}
	const callers = 40
	answers := make([]*httptest.ResponseRecorder, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			answers[i] = n.do("screener", "POST", "/v1/permits/redeem", redeemBody([]string{first, second}[i%2], ""), "Idempotency-Key", fmt.Sprint("r", i))
		})
	}
	all.Wait()
	won := -1
	for i, a := range answers {
		if a.Code == 200 {
			require.Equal(t, -1, won, "two callers have the leave")
			won = i
			require.Equal(t, "redeemed", textOf(answer(t, a, 200), "state"))
			continue
		}
		refused := answer(t, a, 409)
		require.Equal(t, "permit_used", textOf(refused, "code"))
		require.NotEmpty(t, textOf(refused, "redeemedAt"))
	}
	require.NotEqual(t, -1, won)
	again := n.do("screener", "POST", "/v1/permits/redeem", redeemBody([]string{first, second}[won%2], ""), "Idempotency-Key", fmt.Sprint("r", won))
	require.Equal(t, answers[won].Body.String(), again.Body.String())
	require.Equal(t, "permit_used", textOf(answer(t, n.confirmed(txn, `{}`), 409), "code"))
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+txn, ""), 200)
	require.Equal(t, "redeemed", textOf(record, "payment", "state"))
	require.Equal(t, "redeemed", textOf(record, "hold", "state"))
	settled := answer(t, n.do("settler", "POST", "/v1/transactions/"+txn+"/settle", `{}`), 200)
	require.Nil(t, settled.Get("unpermitted"))
	n.advance(engine.Hour)
	expired := answer(t, n.do("screener", "POST", "/v1/permits/redeem", redeemBody(first, "")), 409)
	require.Equal(t, "permit_expired", textOf(expired, "code"))
	var exported strings.Builder
	for _, line := range n.exportLines(t, "auditor", "") {
		exported.Write(line)
	}
	require.Contains(t, exported.String(), `payment.redeemed`)
	require.NotContains(t, exported.String(), first[:80], "no permit is stored")
	require.NotContains(t, exported.String(), second[len(second)-60:], "no permit is stored")
}

// TestConfirmGivesAPermitOfNow: it names its own leaf, and a verifier accepts it; a replay has the same
// bytes.
func TestConfirmGivesAPermitOfNow(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	txn := textOf(n.screened("PROCEED", `{"token":"`+token+`",`+permittedPayment+`}`), "txnId")
	got := answer(t, n.do("screener", "POST", "/v1/transactions/"+txn+"/confirm", `{"token":"`+token+`","permit":{"ttlSeconds":60}}`, "Idempotency-Key", "c"), 200)
	require.Equal(t, "PROCEED", textOf(got, "verdict"))
	require.Equal(t, "held", textOf(got, "payment", "state"))
	claims, err := n.verifyPermit(textOf(got, "permit"), testPublicURL, nil)
	require.NoError(t, err)
	require.Equal(t, txn, claims.TxnID)
	data, err := n.store.Leaf(claims.Leaf)
	require.NoError(t, err)
	require.Contains(t, string(data), `"kind":"payment.confirmed"`)
	n.advance(engine.Minute)
	again := answer(t, n.do("screener", "POST", "/v1/transactions/"+txn+"/confirm", `{"token":"`+token+`","permit":{"ttlSeconds":60}}`, "Idempotency-Key", "c"), 200)
	require.Equal(t, textOf(got, "permit"), textOf(again, "permit"))
	require.Equal(t, "unknown_field", textOf(answer(t, n.confirmed(txn, `{"amount":1}`), 422), "code"))
	require.Equal(t, "not_found", textOf(answer(t, n.confirmed("txn_00000000", `{}`), 404), "code"))
	require.Equal(t, "invalid_field", textOf(answer(t, n.confirmed(txn, `{"permit":{"ttlSeconds":1}}`), 422), "code"))
}

// TestAnApprovalIsConfirmed (statements P16 to P20): by what is true now; what was not decided and what
// was escalated read the same.
func TestAnApprovalIsConfirmed(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	review := func() string {
		return textOf(n.screened("REVIEW", `{"token":"`+token+`","amount":101,"cpName":"Acme Ltd","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}`), "txnId")
	}
	waits, escalated := review(), review()
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+escalated, `{"disposition":"ESCALATE_SAR","reviewedBy":"nia","notes":"odd"}`), 200)
	open, told := answer(t, n.confirmed(waits, `{}`), 409), answer(t, n.confirmed(escalated, `{}`), 409)
	for _, refused := range []*fastjson.Value{open, told} {
		refused.Del("requestId")
		refused.Del("txnId")
	}
	require.Equal(t, open.String(), told.String())
	require.Equal(t, "waiting", textOf(open, "state"))

	approved := review()
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+approved, `{"disposition":"APPROVED","reviewedBy":"nia","notes":"fine"}`), 200)
	got := answer(t, n.confirmed(approved, `{"permit":{}}`), 200)
	require.Equal(t, "PROCEED", textOf(got, "verdict"))
	require.Equal(t, "open", textOf(got, "approval", "state"))
	require.NotEmpty(t, textOf(got, "permit"))
	record := answer(t, n.do("screener", "GET", "/v1/audit/"+approved, ""), 200)
	require.Equal(t, "open", textOf(record, "approval", "state"))
	require.True(t, record.GetBool("confirmable"))
	replayed := answer(t, n.do("auditor", "POST", "/v1/audit/"+approved+"/replay", ""), 200)
	require.Equal(t, "No rule in force was triggered. Not judged again: R11_DAILY_LIMIT, R16_VELOCITY_FLAG, R25_STRUCTURING.", textOf(replayed, "confirmations", "0", "recorded", "reason"))
	redeemed := answer(t, n.confirmed(approved, `{"redeem":true}`), 200)
	require.Equal(t, "redeemed", textOf(redeemed, "approval", "state"))
	record = answer(t, n.do("screener", "GET", "/v1/audit/"+approved, ""), 200)
	require.Equal(t, "redeemed", textOf(record, "approval", "state"))
	require.Equal(t, "redeemed", textOf(record, "confirmableReason"))
	n.advance(25 * engine.Hour)
	n.confirmList()
	record = answer(t, n.do("screener", "GET", "/v1/audit/"+approved, ""), 200)
	require.Equal(t, "unresolved", textOf(record, "payment", "state"))
	require.Equal(t, "redeemed", textOf(record, "approval", "state"))

	late := review()
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+late, `{"disposition":"APPROVED","reviewedBy":"nia","notes":"fine"}`), 200)
	answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/revoke", `{"reason":"stolen"}`), 200)
	block := answer(t, n.confirmed(late, `{}`), 200)
	require.Equal(t, "BLOCK", textOf(block, "verdict"))
	require.Equal(t, "R2_CREDENTIAL_STATUS", textOf(block, "rule"))
	require.Equal(t, "lapsed", textOf(block, "approval", "state"))
	require.Equal(t, "released", textOf(answer(t, n.confirmed(late, `{}`), 409), "state"))
	record = answer(t, n.do("auditor", "GET", "/v1/audit/"+late, ""), 200)
	require.Equal(t, "released", textOf(record, "payment", "state"))
	for txn, count := range map[string]int{approved: 2, late: 1} {
		replayed := answer(t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200)
		require.Len(t, replayed.GetArray("confirmations"), count)
		for _, again := range replayed.GetArray("confirmations") {
			require.True(t, again.GetBool("match"), again)
			require.NotContains(t, textOf(again, "recorded", "reason"), "Off or in shadow", "no rule is off: they were left out")
		}
	}
}
