package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// paidTo makes a payment that is let through.
func (n *testNode) paidTo(token, party string) (txn string) {
	n.t.Helper()
	v := answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":7.25,"cpName":"`+party+`"}`), 200)
	require.Equal(n.t, "PROCEED", textOf(v, "verdict"))
	return textOf(v, "txnId")
}

// TestAReportOfAnyRecord: a PROCEED, a REVIEW, a BLOCK and an approved payment each get a report, one at
// a time, which says who opened it and why; the same key gives the same answer.
func TestAReportOfAnyRecord(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	waiting, approved := n.held(token, "900"), n.held(token, "800")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+approved, `{"disposition":"APPROVED","reviewedBy":"Ann"}`), 200)
	_, blocked := n.blocked(token, "Lazarus Group", "")
	for _, txn := range []string{n.paidTo(token, "Paper Shop"), waiting, approved, blocked} {
		body := `{"txnId":"` + txn + `","by":"Ann","reason":"paid in parts"}`
		v := answer(t, n.do("reviewer", "POST", "/v1/sar", body, "Idempotency-Key", txn), 200)
		require.Equal(t, []string{txn, "DRAFT", "Ann", "paid in parts"}, []string{textOf(v, "txnId"), textOf(v, "state"), textOf(v, "openedBy"), textOf(v, "reason")})
		require.Equal(t, v.String(), answer(t, n.do("reviewer", "POST", "/v1/sar", body, "Idempotency-Key", txn), 200).String())
		again := answer(t, n.do("reviewer", "POST", "/v1/sar", body, "Idempotency-Key", txn+"2"), 409)
		require.Equal(t, []string{"already_open", "DRAFT"}, []string{textOf(again, "code"), textOf(again, "state")})
		packet := answer(t, n.do("auditor", "GET", "/v1/sar/"+txn, ""), 200)
		require.Contains(t, textOf(packet, "narrative"), "Ann opened this report on")
		require.Contains(t, textOf(packet, "narrative"), "Reason: paid in parts")
		only := answer(t, n.do("auditor", "GET", "/v1/sar?txnId="+txn, ""), 200).GetArray("data")
		require.Len(t, only, 1)
		require.Equal(t, []string{txn, "Ann", "paid in parts"}, []string{textOf(only[0], "txnId"), textOf(only[0], "openedBy"), textOf(only[0], "reason")})
		require.False(t, only[0].Exists("escalatedBy"))
	}
	require.Equal(t, "txnId", textOf(answer(t, n.do("auditor", "GET", "/v1/sar?txnId=x", ""), 400), "param"))
	size := n.store.Size()
	for body, param := range map[string]string{`{"by":"Ann","reason":"r"}`: "txnId", `{"txnId":"` + waiting + `","reason":"r"}`: "by", `{"txnId":"` + waiting + `","by":"Ann","reason":" "}`: "reason"} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "POST", "/v1/sar", body), 422), "param"), body)
	}
	answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"txn_00000000","by":"Ann","reason":"r"}`), 404)
	require.Equal(t, size, n.store.Size())

	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+waiting, `{"disposition":"ESCALATE_SAR","reviewedBy":"Bob"}`), 200)
	require.Equal(t, "Ann", textOf(answer(t, n.do("auditor", "GET", "/v1/sar?txnId="+waiting, ""), 200), "data", "0", "openedBy"), "the escalation goes on with it")
	names, _ := n.told("reviewer", "sar.*")
	require.Equal(t, []string{"sar.opened", "sar.opened", "sar.opened", "sar.opened"}, names, "the escalation opened none")
	answer(t, n.do("reviewer", "POST", "/v1/sar/"+waiting+"/move", `{"by":"Ann","to":"CLOSED","reason":"a caterer"}`), 200)
	reopened := answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"`+waiting+`","by":"Cyd","reason":"more came"}`), 200)
	require.Equal(t, "Cyd", textOf(reopened, "openedBy"), "it is closed, so there may be another")
	require.Equal(t, "DRAFT", textOf(answer(t, n.do("auditor", "GET", "/v1/sar/"+waiting, ""), 200), "state"))
}

// held makes a payment that waits for review because of its amount.
func (n *testNode) held(token, amount string) (txn string) {
	n.t.Helper()
	v := answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"cpName":"Blue Harbour"}`), 200)
	require.Equal(n.t, "REVIEW", textOf(v, "verdict"))
	return textOf(v, "txnId")
}

// TestNarrativesAreKept: each is a leaf, nobody overwrites what he has not read, and a step that waits
// for its second person does not outlive its narrative.
func TestNarrativesAreKept(t *testing.T) {
	n := newTestNode(t)
	txn := n.escalated()
	path := "/v1/sar/" + txn + "/narrative"
	answer(t, n.do("reviewer", "PUT", "/v1/sar/txn_00000000/narrative", `{"by":"Ann","narrative":"n"}`), 404)
	for body, param := range map[string]string{
		`{"narrative":"n"}`: "by", `{"by":"Ann"}`: "narrative", `{"by":"Ann","narrative":" "}`: "narrative", `{"by":"Ann","narrative":"n","replaces":"xyz"}`: "replaces",
		`{"by":"Ann","narrative":"` + strings.Repeat("n", 32<<10+1) + `"}`: "narrative",
	} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "PUT", path, body), 422), "param"))
	}
	first := n.write(txn, `"One."`)
	require.Equal(t, "narrative_changed", textOf(answer(t, n.do("reviewer", "PUT", path, `{"by":"Bob","narrative":"Two."}`), 409), "code"), "Bob has not read it")
	second := n.write(txn, `"Two."`)
	v := answer(t, n.do("auditor", "GET", "/v1/sar/"+txn, ""), 200)
	require.Equal(t, []string{"Two.", textOf(first, "narrativeSha256"), textOf(second, "narrativeSha256"), textOf(second, "narrativeSha256")},
		[]string{textOf(v, "narrative"), textOf(v, "narratives", "0", "narrativeSha256"), textOf(v, "narratives", "1", "narrativeSha256"), textOf(v, "narrativeSha256")})
	require.True(t, v.GetBool("narrativeFinished"))

	move := "/v1/sar/" + txn + "/move"
	answer(t, n.do("reviewer", "POST", move, `{"by":"Ann","to":"READY"}`), 200)
	require.Equal(t, "narrative_unfinished", textOf(answer(t, n.do("reviewer", "PUT", path, `{"by":"Ann","narrative":"[Who?]","replaces":"`+textOf(second, "narrativeSha256")+`"}`), 409), "code"), "it is ready")
	answer(t, n.do("reviewer", "POST", move, `{"by":"Ann","to":"FILED","bsaId":"1"}`), 202)
	n.write(txn, `"Three."`)
	require.False(t, answer(t, n.do("auditor", "GET", "/v1/sar?txnId="+txn, ""), 200).Exists("data", "0", "waits"), "it was proposed of another narrative")
	n.advance(24 * engine.Hour)
	answer(t, n.do("admin", "POST", move, `{"by":"Bob","to":"FILED","bsaId":"1"}`), 202)
	answer(t, n.do("reviewer", "POST", move, `{"by":"Ann","to":"FILED","bsaId":"1"}`), 200)
	for _, role := range []string{"auditor", "operator", "screener", "policy"} {
		answer(t, n.do(role, "PUT", path, `{"by":"Ann","narrative":"n"}`), 403)
		answer(t, n.do(role, "POST", "/v1/sar", `{"txnId":"`+txn+`","by":"Ann","reason":"r"}`), 403)
		answer(t, n.do(role, "POST", "/v1/sanctions/cases", `{"txnId":"`+txn+`","by":"Ann","reason":"r","uid":"27307"}`), 403)
	}
}

// TestACaseOfMoneyThatIsGone: an officer opens it of what went ahead and of nothing else; it says that
// the money has gone, and stands in no register unless something is blocked after all.
func TestACaseOfMoneyThatIsGone(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	paid, waiting := n.paidTo(token, "Paper Shop"), n.held(token, "900")
	const cases = "/v1/sanctions/cases"
	open := func(txn, more, key string, status int) string {
		t.Helper()
		return answer(t, n.do("reviewer", "POST", cases, `{"txnId":"`+txn+`","by":"Ann","reason":"the same man"`+more+`}`, "Idempotency-Key", key), status).String()
	}
	require.Contains(t, open(waiting, `,"uid":"27307"`, "a", 409), `"did_not_go_ahead"`)
	_, blocked := n.blocked(token, "Lazarus Group", "")
	require.Contains(t, open(blocked, `,"uid":"27307"`, "b", 409), `"did_not_go_ahead"`)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+waiting, `{"disposition":"APPROVED","reviewedBy":"Ann"}`), 200)
	for body, param := range map[string]string{``: "uid", `,"uid":"27307","place":"IR"`: "uid", `,"uid":"x"`: "uid", `,"uid":"4"`: "uid", `,"place":"iran"`: "place"} {
		require.Contains(t, open(paid, body, "bad", 422), `"param":"`+param+`"`, body)
	}
	open("txn_00000000", `,"uid":"27307"`, "gone", 404)
	first := open(paid, `,"uid":"27307"`, "c", 200)
	require.Contains(t, first, `"wentAhead":true`)
	require.Contains(t, first, `"amount":7.25`)
	require.Equal(t, first, open(paid, `,"uid":"27307"`, "c", 200), "the same call")
	id := textOf(answer(t, n.do("reviewer", "GET", cases+"?limit=1", ""), 200), "data", "0", "caseId")
	require.Contains(t, open(paid, `,"uid":"27307"`, "d", 409), `"caseId":"`+id+`"`)
	open(paid, `,"place":"IR"`, "e", 200)
	open(waiting, `,"uid":"27307"`, "f", 200)

	v := answer(t, n.do("auditor", "GET", cases+"/"+id, ""), 200)
	require.True(t, v.GetBool("wentAhead"))
	require.Equal(t, []string{paid, paid, "Ann"}, []string{textOf(v, "firstTxnId"), textOf(v, "records", "0", "txnId"), textOf(v, "history", "0", "actor")})
	require.True(t, v.GetBool("recordsComplete"))
	move := func(body string, status int) string {
		t.Helper()
		return answer(t, n.do("reviewer", "POST", cases+"/"+id+"/move", body), status).String()
	}
	require.Contains(t, move(`{"by":"Ann","to":"TRUE_MATCH","kind":"rejected_transaction"}`, 422), "went ahead")
	move(`{"by":"Ann","to":"TRUE_MATCH","kind":"processed_transaction"}`, 200)
	report := answer(t, n.do("reviewer", "GET", cases+"/"+id+"/report", ""), 200)
	require.Equal(t, "31 CFR part 501, appendix A", textOf(report, "regulation"))
	require.Contains(t, report.Get("members", "1", "values").String(), "nothing of it is blocked property")
	require.Contains(t, report.Get("members", "9", "values").String(), "It was let through.")
	const register = "/v1/sanctions/blocked-property"
	require.Equal(t, 0, answer(t, n.do("auditor", "GET", register, ""), 200).GetInt("count"))
	move(`{"by":"Ann","to":"NOT_THE_PARTY","reason":"looked again"}`, 200)
	move(`{"by":"Ann","to":"OPEN","reason":"looked again"}`, 200)
	move(`{"by":"Ann","to":"TRUE_MATCH","kind":"blocked_property","property":{"party":"LAZARUS","description":"2 USDC that came back","location":"omnibus wallet","valueUSD":2}}`, 200)
	require.Equal(t, 2.0, answer(t, n.do("auditor", "GET", register, ""), 200).GetFloat64("totalUSD"))
	stopped := textOf(answer(t, n.do("reviewer", "GET", cases+"?order=asc&limit=1", ""), 200), "data", "0", "caseId")
	require.Equal(t, "kind", textOf(answer(t, n.do("reviewer", "POST", cases+"/"+stopped+"/move", `{"by":"Ann","to":"TRUE_MATCH","kind":"processed_transaction"}`), 422), "param"), "a BLOCK did not go ahead")
	for _, role := range []string{"screener", "operator"} {
		told, _ := n.told(role, "sanctions.*")
		require.Empty(t, told, role)
		require.NotContains(t, n.do(role, "GET", "/v1/audit/"+paid, "").Body.String(), "case_")
	}
}

// TestReopenedCountsReportsAndCases: what an officer approved, and was taken up again afterwards, once
// for each payment.
func TestReopenedCountsReportsAndCases(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	txns := []string{n.held(token, "900"), n.held(token, "800"), n.held(token, "700"), n.held(token, "600")}
	answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"`+txns[3]+`","by":"Ann","reason":"r"}`), 200)
	for _, txn := range txns {
		answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"Ann"}`), 200)
	}
	reopened := func(role string) int {
		return answer(t, n.do(role, "GET", "/v1/learning", ""), 200).GetInt("officers", "0", "reversals", "reopened")
	}
	require.Equal(t, 0, reopened("reviewer"), "that report was opened before")
	answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"`+txns[0]+`","by":"Ann","reason":"r"}`), 200)
	require.Equal(t, 1, reopened("reviewer"))
	for _, txn := range txns[:2] {
		answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases", `{"txnId":"`+txn+`","by":"Ann","reason":"r","uid":"27307"}`), 200)
	}
	require.Equal(t, 2, reopened("reviewer"))
	answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"`+n.paidTo(token, "Paper Shop")+`","by":"Ann","reason":"r"}`), 200)
	require.Equal(t, 2, reopened("auditor"), "nobody approved that")
}

// TestReportsAreNotSeenByOperators: what an officer opens of a PROCEED shows in no answer, event or
// number of the operator's.
func TestReportsAreNotSeenByOperators(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered("")
	paid := n.paidTo(token, "Paper Shop")
	seen := func() (all string) {
		for _, path := range []string{"/v1/audit/" + paid, "/v1/agents/" + agent, "/v1/audit/" + paid + "/proof"} {
			all += n.do("operator", "GET", path, "").Body.String()
		}
		return all
	}
	before := seen()
	answer(t, n.do("reviewer", "POST", "/v1/sar", `{"txnId":"`+paid+`","by":"Ann","reason":"tip"}`), 200)
	n.write(paid, `"He did this."`)
	answer(t, n.do("reviewer", "POST", "/v1/sar/"+paid+"/move", `{"by":"Ann","to":"READY"}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/sar/"+paid+"/move", `{"by":"Ann","to":"FILED","bsaId":"1"}`), 202)
	for _, word := range []string{"sar.", "reportLeaf", "He did this", "tip"} {
		require.NotContains(t, seen(), word)
	}
	require.Equal(t, strings.Count(before, `"leaf"`), strings.Count(seen(), `"leaf"`), "the proof leads to no further leaf")
	for _, role := range []string{"operator", "screener"} {
		told, _ := n.told(role, "sar.*")
		require.Empty(t, told, role)
	}
}
