package httpapi

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/httpapi/casework"
)

// escalated makes an escalated case, among others of the same pair.
func (n *testNode) escalated() (txn string) {
	n.t.Helper()
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	pay := func(amount, party string) string {
		return textOf(answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"cpName":"`+party+`"}`), 200), "txnId")
	}
	pay("10", "Blue <Harbour> Trading")
	pay("20.5", "Blue <Harbour> Trading")
	pay("7", "Somebody Else")
	txn = pay("900", "BLUE <harbour> trading")
	answer(n.t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann","notes":"layering, I think"}`), 200)
	return txn
}

// An escalation opens a report; its packet holds what the records say of the pair.
func TestSARPacket(t *testing.T) {
	n := newTestNode(t)
	require.Empty(t, answer(t, n.do("reviewer", "GET", "/v1/sar", ""), 200).GetArray("data"))
	txn := n.escalated()
	v := answer(t, n.do("auditor", "GET", "/v1/sar/"+txn, ""), 200)
	require.Equal(t, "DRAFT", textOf(v, "state"))
	require.Equal(t, "Ann", textOf(v, "escalatedBy"))
	require.Equal(t, "layering, I think", textOf(v, "notes"))
	require.Equal(t, "2026-04-21", textOf(v, "dueAt")[:10], "30 days")
	require.Equal(t, 3, v.GetInt("activity", "count"), "of this pair alone")
	require.Equal(t, 930.5, v.GetFloat64("activity", "totalUSDC"))
	require.Equal(t, 30.5, v.GetFloat64("activity", "proceededUSDC"))
	require.True(t, v.GetBool("activity", "complete"))
	require.Equal(t, "ESCALATE_SAR", textOf(v, "activity", "transactions", "2", "disposition"))
	require.Equal(t, "Acme Inc", textOf(v, "subject", "operatorLegalName"))
	require.Equal(t, "BLUE <harbour> trading", textOf(v, "subject", "counterparty", "cpName"))
	require.Equal(t, "R10_SINGLE_TX_LIMIT", textOf(v, "evidence", "rule"))
	require.True(t, v.GetBool("narrativeIsDraft"))
	for _, word := range []string{"900 USD", "3 payments", "930.5 USD", "30.5 USD, went ahead", "Ann escalated", "layering", "[Who is suspected"} {
		require.Contains(t, textOf(v, "narrative"), word)
	}

	page := n.do("reviewer", "GET", "/v1/sar/"+txn+"?format=html", "")
	require.Equal(t, 200, page.Code)
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, page.Body.String(), "BLUE &lt;harbour&gt; trading")
	require.NotContains(t, page.Body.String(), "<harbour>")
	require.Equal(t, 1, strings.Count(page.Body.String(), "<th scope=\"col\" align=\"left\">Screened at</th>"), "the payments are one table")
	require.Contains(t, page.Body.String(), "To be filed by")
	answer(t, n.do("reviewer", "GET", "/v1/sar/"+txn+"?format=pdf", ""), 400)
	answer(t, n.do("reviewer", "GET", "/v1/sar/txn_00000000", ""), 404)
	answer(t, n.do("screener", "GET", "/v1/sar/"+txn, ""), 403)
	answer(t, n.do("operator", "GET", "/v1/sar", ""), 403)
}

// No spreadsheet runs the table of the pair's payments as formulas.
func TestSARTable(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	const party = `"cpName":"=cmd, \"a\"","chain":"BASE"`
	n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":10.5,`+party+`}`)
	txn := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":900,`+party+`}`), 200), "txnId")
	answer(t, n.do("reviewer", "GET", "/v1/sar/"+txn+"?format=csv", ""), 404) // The case was not escalated.
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann"}`), 200)
	w := n.do("auditor", "GET", "/v1/sar/"+txn+"?format=csv", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "text/csv; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, `attachment; filename="sar-`+txn+`.csv"`, w.Header().Get("Content-Disposition"))
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, casework.SarColumns, rows[0])
	require.Equal(t, []string{"10.5", "PROCEED", "", "", "BASE", "", `'=cmd, "a"`, ""}, rows[1][2:])
	require.Equal(t, []string{txn, "900", "REVIEW", "R10_SINGLE_TX_LIMIT", "ESCALATE_SAR"}, append([]string{rows[2][0]}, rows[2][2:6]...))
	answer(t, n.do("operator", "GET", "/v1/sar/"+txn+"?format=csv", ""), 403)
}

// write writes the narrative of a report over the one that stands there.
func (n *testNode) write(txn, narrative string) *fastjson.Value {
	n.t.Helper()
	before := ""
	if v := answer(n.t, n.do("reviewer", "GET", "/v1/sar/"+txn, ""), 200); v.Get("narrativeSha256").Type() == fastjson.TypeString {
		before = `,"replaces":"` + textOf(v, "narrativeSha256") + `"`
	}
	return answer(n.t, n.do("reviewer", "PUT", "/v1/sar/"+txn+"/narrative", `{"by":"Ann","narrative":`+narrative+before+`}`), 200)
}

// People move a report from one state to the next, and no step can be skipped. A late caller
// learns the report's state.
func TestSARMoves(t *testing.T) {
	n := newTestNode(t)
	txn := n.escalated()
	path := "/v1/sar/" + txn + "/move"
	for body, param := range map[string]string{
		`{}`: "by", `{"by":"Ann"}`: "to", `{"by":"Ann","to":"ready"}`: "to", `{"by":"Ann","to":"FILED"}`: "bsaId",
		`{"by":"Ann","to":"READY","bsaId":"1"}`: "bsaId", `{"by":"Ann","to":"CLOSED"}`: "reason",
	} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "POST", path, body), 422), "param"), body)
	}
	answer(t, n.do("auditor", "POST", path, `{"by":"Ann","to":"READY"}`), 403)
	answer(t, n.do("reviewer", "POST", "/v1/sar/txn_00000000/move", `{"by":"Ann","to":"READY"}`), 404)
	early := answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"FILED","bsaId":"31"}`), 409)
	require.Equal(t, "DRAFT", textOf(early, "state"))
	unfinished := func(why string) {
		t.Helper()
		require.Equal(t, "narrative_unfinished", textOf(answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"READY"}`), 409), "code"), why)
	}
	unfinished("nobody has written one")
	skeleton := answer(t, n.do("reviewer", "GET", "/v1/sar/"+txn, ""), 200).Get("narrative")
	for _, unwritten := range []string{skeleton.String(), `"He did this. [What was done about it?]"`, strings.NewReplacer("[Who is suspected, and of what?]", "", "[What was unusual, against what is usual for this customer?]", "", "[When and where did it happen, and how?]", "", "[What was done about it?]", "").Replace(skeleton.String())} {
		require.False(t, n.write(txn, unwritten).GetBool("finished"), unwritten)
		unfinished(unwritten)
	}
	require.True(t, n.write(txn, `"He did\nthis."`).GetBool("finished"))
	ready := answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"READY"}`, "Idempotency-Key", "s"), 200)
	require.Equal(t, "READY", textOf(ready, "state"))
	require.Equal(t, ready.String(), answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"READY"}`, "Idempotency-Key", "s"), 200).String())
	require.Equal(t, "READY", textOf(answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"READY"}`), 409), "state"))
	answer(t, n.do("reviewer", "POST", path, `{"by":"Bob","to":"FILED","bsaId":"31000012345678"}`), 202)
	waiting := answer(t, n.do("reviewer", "GET", "/v1/sar", ""), 200).Get("data", "0")
	require.Equal(t, "READY", textOf(waiting, "state"), "one person does not file it")
	require.Equal(t, []string{"FILED", "Bob"}, []string{textOf(waiting, "waits", "to"), textOf(waiting, "waits", "proposedBy")}, "it waits for the second one")
	n.advance(24 * engine.Hour)
	answer(t, n.do("reviewer", "POST", path, `{"by":"Bob","to":"FILED","bsaId":"31000012345678"}`), 202)
	answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"FILED","bsaId":"31000012345678"}`), 409)
	answer(t, n.do("admin", "POST", path, `{"by":"Bob","to":"FILED","bsaId":"31000012345678"}`), 200)
	v := answer(t, n.do("reviewer", "GET", "/v1/sar/"+txn, ""), 200)
	require.Equal(t, "FILED", textOf(v, "state"))
	require.Equal(t, []string{"31000012345678", "Bob", textOf(v, "history", "1", "time")}, []string{textOf(v, "bsaId"), textOf(v, "filedBy"), textOf(v, "filedAt")})
	require.False(t, v.Exists("waits"))
	require.Equal(t, "FILED", textOf(answer(t, n.do("reviewer", "PUT", "/v1/sar/"+txn+"/narrative", `{"by":"Ann","narrative":"Another one.","replaces":"`+textOf(v, "narrativeSha256")+`"}`), 409), "state"))
	require.Equal(t, "He did\nthis.", textOf(v, "narrative"))
	require.False(t, v.GetBool("narrativeIsDraft"))
	require.Len(t, v.GetArray("history"), 2)
	require.Equal(t, "Bob", textOf(v, "history", "1", "actor"))
	names, _ := n.told("reviewer", "sar.*")
	require.Equal(t, []string{"sar.opened", "sar.narrative", "sar.narrative", "sar.narrative", "sar.narrative", "sar.moved", "sar.moved", "sar.filed"}, names)
	names, _ = n.told("screener", "sar.*")
	require.Empty(t, names)
}

func TestSARList(t *testing.T) {
	n := newTestNode(t)
	first := n.escalated()
	n.advance(31 * engine.DayLength)
	second := n.escalated()
	list := func(query string) (txns []string) {
		for _, item := range answer(t, n.do("reviewer", "GET", "/v1/sar"+query, ""), 200).GetArray("data") {
			txns = append(txns, textOf(item, "txnId"))
		}
		return txns
	}
	require.Equal(t, []string{second, first}, list(""))
	who := answer(t, n.do("auditor", "GET", "/v1/sar", ""), 200).Get("data", "0")
	require.Equal(t, "BLUE <harbour> trading", textOf(who, "cpName"))
	require.Equal(t, 900, who.GetInt("amount"))
	require.Equal(t, "Acme Inc", textOf(who, "operatorLegalName"))
	require.Equal(t, []string{first, second}, list("?order=asc"))
	require.Equal(t, []string{first}, list("?overdue=true"))
	require.Equal(t, []string{second}, list("?overdue=false&state=DRAFT"))
	require.Empty(t, list("?state=FILED"))
	page := answer(t, n.do("reviewer", "GET", "/v1/sar?limit=1", ""), 200)
	require.Equal(t, []string{first}, list("?limit=1&cursor="+textOf(page, "nextCursor")))
	for _, bad := range []string{"?state=open", "?overdue=yes", "?cursor=x"} {
		answer(t, n.do("reviewer", "GET", "/v1/sar"+bad, ""), 400)
	}
	metrics := n.doAdmin("GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, "railguard_sar_open 2")
	require.Contains(t, metrics, "railguard_sar_overdue 1")
}

// What went ahead is what was let through, approved or settled, of all agents who paid the party, and
// as much as was really paid.
func TestSARCountsWhatWentAhead(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, one := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	_, other := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	pay := func(token, amount, more string) string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"cpName":"Blue Harbour"`+more+`}`), 200), "txnId")
	}
	decide := func(txn, word string) {
		answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"`+word+`","reviewedBy":"Ann"}`), 200)
	}
	pay(one, "10", "")
	decide(pay(other, "1600", ""), "APPROVED")
	decide(pay(other, "60", ""), "REJECTED")
	settled := pay(one, "20", `,"hold":{"ttlSeconds":3600}`)
	answer(t, n.do("settler", "POST", "/v1/transactions/"+settled+"/settle", `{"amount":18}`), 200)
	released := pay(one, "30", `,"hold":{"ttlSeconds":3600}`)
	answer(t, n.do("settler", "POST", "/v1/transactions/"+released+"/release", `{"reason":"not sent"}`), 200)
	txn := pay(one, "900", "")
	decide(txn, "ESCALATE_SAR")
	v := answer(t, n.do("auditor", "GET", "/v1/sar/"+txn, ""), 200).Get("activity")
	require.Equal(t, 6, v.GetInt("count"))
	require.Equal(t, 2, v.GetInt("agents"))
	require.Equal(t, 3, v.GetInt("proceeded"))
	require.Equal(t, 1628.0, v.GetFloat64("proceededUSDC"), "10, 1,600 and the 18 that were paid of 20")
	page := n.do("auditor", "GET", "/v1/sar/"+txn+"?format=html", "").Body.String()
	require.Contains(t, page, "<h1>Confidential: suspicious activity report</h1>")
}
