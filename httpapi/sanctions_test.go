package httpapi

import (
	"encoding/csv"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/ofac/sample"
)

// blocked makes a BLOCK of an agent's payment to a listed party, and returns the case that it
// opened or joined.
func (n *testNode) blocked(token, party, more string) (caseID, txn string) {
	n.t.Helper()
	v := answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":7.25,"cpName":"`+party+`"`+more+`}`), 200)
	require.Equal(n.t, "BLOCK", textOf(v, "verdict"))
	for _, word := range []string{"case", "sanctions.", "dueAt"} {
		require.NotContains(n.t, strings.ToLower(v.String()), word, "the answer tells nothing of a case")
	}
	list := answer(n.t, n.do("reviewer", "GET", "/v1/sanctions/cases?limit=1", ""), 200)
	return textOf(list, "data", "0", "caseId"), textOf(v, "txnId")
}

// TestFormNamesTheField: the form sets the identifier that hit beside the listed one, whatever signs
// stand in it, and says from which member an embargoed place was read.
func TestFormNamesTheField(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	n.activate(withNumbers(), sample.Meta())
	form := func(said string) *fastjson.Value {
		w := n.screen(token, said)
		require.Equal(t, "BLOCK", member(t, w.Body.Bytes(), "verdict"))
		list := answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases?limit=1", ""), 200)
		return answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases/"+textOf(list, "data", "0", "caseId"), ""), 200).Get("form")
	}
	v := form(`,"cpName":"Corner Bakery","cpIdentifiers":[{"type":"tax_id","value":"12-345-678-90","country":"RU"},{"type":"duns","value":"123456789"}]`)
	found := map[string]*fastjson.Value{}
	for _, one := range v.GetArray("comparisons") {
		found[textOf(one, "what")] = one
	}
	require.Equal(t, "true", found["identifier tax_id"].Get("agrees").String(), v.String())
	require.Equal(t, "Tax ID No. 1234567890", textOf(found["identifier tax_id"], "listed"))
	require.Equal(t, "false", found["identifier duns"].Get("agrees").String())
	require.NotContains(t, found, "name of the counterparty", "no name hit")
	require.Contains(t, textOf(v, "steps", "4", "finding"), "identifier tax_id")
	v = form(`,"cpIdentifiers":[{"type":"phone","value":"+98 21 1234 5678"}]`)
	require.Contains(t, textOf(v, "steps", "1", "finding"), "cpIdentifiers[0].value read as IR", v.String())
}

// TestAnOfficersWalk: from the BLOCK to the report, and to the end of the case.
func TestAnOfficersWalk(t *testing.T) {
	n := newTestNode(t)
	require.Empty(t, answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200).GetArray("data"))
	agent, token := n.registered("")
	id, first := n.blocked(token, "Lazarus Group", `,"cpType":"business","cpCountry":"FR","chain":"BASE","cpWallet":"0x1111111111111111111111111111111111111111"`)
	again, last := n.blocked(token, "LAZARUS GROUP", "")
	require.Equal(t, id, again, "the second payment joins the case")
	path := "/v1/sanctions/cases/" + id
	v := answer(t, n.do("auditor", "GET", path, ""), 200)
	require.Equal(t, []string{"OPEN", agent, first, last}, []string{textOf(v, "state"), textOf(v, "agentId"), textOf(v, "firstTxnId"), textOf(v, "lastTxnId")})
	require.Equal(t, []any{2, 14.5}, []any{v.GetInt("count"), v.GetFloat64("amountUSDC")})
	require.Equal(t, "2026-04-04T04:00:00.000Z", textOf(v, "dueAt"))
	require.Equal(t, `["TRUE_MATCH","NOT_THE_PARTY"]`, v.Get("next").String())
	require.Equal(t, "LAZARUS GROUP", textOf(v, "listedName"))
	require.Len(t, v.GetArray("records"), 2)
	require.True(t, v.GetBool("recordsComplete"))
	require.Equal(t, "sanctions.opened", textOf(v, "history", "0", "what"))
	require.Len(t, v.GetArray("form", "steps"), 5)
	require.Contains(t, textOf(v, "form", "steps", "2", "finding"), "LAZARUS GROUP")
	require.Equal(t, "name of the counterparty", textOf(v, "form", "comparisons", "0", "what"))
	require.True(t, v.GetBool("form", "comparisons", "0", "agrees"))
	require.Contains(t, textOf(v, "note"), "no legal advice")

	for body, param := range map[string]string{
		`{}`: "by", `{"by":"Ann"}`: "to", `{"by":"Ann","to":"true_match"}`: "to", `{"by":"Ann","to":"TRUE_MATCH"}`: "kind",
		`{"by":"Ann","to":"TRUE_MATCH","kind":"blocked_property"}`: "property", `{"by":"Ann","to":"TRUE_MATCH","kind":"rejected_transaction","property":{}}`: "property.party",
		`{"by":"Ann","to":"NOT_THE_PARTY"}`: "reason", `{"by":"Ann","to":"REPORTED"}`: "reference", `{"by":"Ann","to":"REPORTED","reference":"  "}`: "reference", `{"by":"Ann","to":"CLOSED","reason":"r","reference":"x"}`: "reference",
	} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "POST", path+"/move", body), 422), "param"), body)
	}
	require.Equal(t, "OPEN", textOf(answer(t, n.do("reviewer", "POST", path+"/move", `{"by":"Ann","to":"REPORTED","reference":"ORS-1"}`), 409), "state"))
	early := answer(t, n.do("reviewer", "GET", path+"/report", ""), 409)
	require.Equal(t, "OPEN", textOf(early, "state"), "nobody said what to report")
	require.Contains(t, textOf(early, "message"), "once TRUE_MATCH says")
	answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/case_aaaaaaaaaaaa/move", `{"by":"Ann","to":"NOT_THE_PARTY","reason":"r"}`), 404)

	const match = `{"by":"Ann","to":"TRUE_MATCH","kind":"rejected_transaction","notes":"same group"}`
	moved := answer(t, n.do("reviewer", "POST", path+"/move", match, "Idempotency-Key", "m"), 200)
	require.Equal(t, []string{"TRUE_MATCH", "OPEN", "rejected_transaction"}, []string{textOf(moved, "state"), textOf(moved, "from"), textOf(moved, "kind")})
	require.Equal(t, moved.String(), answer(t, n.do("reviewer", "POST", path+"/move", match, "Idempotency-Key", "m"), 200).String())

	n.requireRejectedReport(path, id)
	done := answer(t, n.do("reviewer", "POST", path+"/move", `{"by":"Bob","to":"REPORTED","reference":"ORS-1"}`), 200)
	require.Equal(t, "ORS-1", textOf(done, "reference"))
	answer(t, n.do("reviewer", "POST", path+"/move", `{"by":"Bob","to":"CLOSED","reason":"done"}`), 200)
	require.Contains(t, textOf(answer(t, n.do("reviewer", "POST", path+"/move", `{"by":"Bob","to":"CLOSED","reason":"done"}`), 409), "message"), "nowhere")
	next, _ := n.blocked(token, "Lazarus Group", "")
	require.NotEqual(t, id, next, "a new action has a report of its own")
	require.Equal(t, id, textOf(answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases/"+next, ""), 200), "caseBefore"))
	names, _ := n.told("reviewer", "sanctions.*")
	require.Equal(t, []string{"sanctions.opened", "sanctions.moved", "sanctions.moved", "sanctions.moved", "sanctions.opened"}, names)
}

// requireRejectedReport reads the report of the walk's rejected transaction in each form.
func (n *testNode) requireRejectedReport(path, id string) {
	t := n.t
	report := answer(t, n.do("reviewer", "GET", path+"/report", ""), 200)
	require.Equal(t, "31 CFR 501.604(b)", textOf(report, "regulation"))
	members := report.GetArray("members")
	require.Equal(t, []string{"(1)", "(2)", "(2)", "(2)", "(2)", "(3)", "(4)", "(5)", "(6)", "(7)"}, paragraphs(report))
	require.True(t, members[0].GetBool("toBeFilledIn"), "who files is not known here")
	require.Contains(t, members[2].Get("values").String(), "Lazarus Group")
	require.Contains(t, members[3].Get("values").String(), "7.25 USDC, chain BASE")
	require.Contains(t, members[5].Get("values").String(), "uid 27307")
	require.Contains(t, members[5].Get("values").String(), "named as counterparty")
	require.Contains(t, members[6].Get("values").String(), "2026-03-21 in New York")
	require.Contains(t, members[7].Get("values").String(), "14.5 in 2 payments")
	page := n.do("reviewer", "GET", path+"/report?format=html", "")
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	require.Contains(t, page.Body.String(), "no legal advice")
	table := n.do("reviewer", "GET", path+"/report?format=csv", "")
	require.Equal(t, `attachment; filename="sanctions-`+id+`.csv"`, table.Header().Get("Content-Disposition"))
	rows, err := csv.NewReader(table.Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"31 CFR 501.604(b)", "(1)"}, rows[1][:2])
	answer(t, n.do("reviewer", "GET", path+"/report?format=pdf", ""), 400)
}

// paragraphs lists the paragraphs of a report's members, without the section.
func paragraphs(report *fastjson.Value) (all []string) {
	for _, member := range report.GetArray("members") {
		all = append(all, strings.TrimPrefix(textOf(member, "paragraph"), textOf(report, "regulation")))
	}
	return all
}

// TestRegisterOfBlockedProperty: what was blocked on a day, with its sum, until it is released.
func TestRegisterOfBlockedProperty(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	id, _ := n.blocked(token, "Lazarus Group", "")
	path := "/v1/sanctions/cases/" + id + "/move"
	answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"TRUE_MATCH","kind":"blocked_property","property":{"party":"=LAZARUS","description":"7.25 USDC","location":"omnibus wallet","action":"kept in a blocked account","valueUSD":7.25}}`), 200)
	report := answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases/"+id+"/report", ""), 200)
	require.Equal(t, "31 CFR 501.603(b)(1)", textOf(report, "regulation"))
	require.Equal(t, []string{"(ii)(A)", "(ii)(B)", "(ii)(B)", "(ii)(B)", "(ii)(C)", "(ii)(D)", "(ii)(E)", "(ii)(F)", "(ii)(G)", "(ii)(H)", "(ii)(I)"}, paragraphs(report))
	require.Contains(t, report.Get("members", "8", "values").String(), "kept in a blocked account")
	answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"REPORTED","reference":"B-1"}`), 200)
	const register = "/v1/sanctions/blocked-property"
	v := answer(t, n.do("auditor", "GET", register, ""), 200)
	require.Equal(t, []any{1, 7.25, "2025-06-30", "2025-09-30"}, []any{v.GetInt("count"), v.GetFloat64("totalUSD"), textOf(v, "annualReport", "asOf"), textOf(v, "annualReport", "dueOn")})
	require.Equal(t, []string{"B-1", "27307", "2026-03-21", "kept in a blocked account"}, []string{textOf(v, "data", "0", "reference"), textOf(v, "data", "0", "uid"), textOf(v, "data", "0", "valueAsOf"), textOf(v, "data", "0", "action")})
	require.NotEmpty(t, v.GetArray("toBeFilledIn"), "the holder's name and address")
	n.advance(2 * engine.DayLength)
	require.Equal(t, 0, answer(t, n.do("auditor", "GET", register+"?asOf=2026-03-20", ""), 200).GetInt("count"))
	require.Equal(t, 1, answer(t, n.do("auditor", "GET", register+"?asOf=2026-03-21", ""), 200).GetInt("count"))
	for _, bad := range []string{"?asOf=2026-06-31", "?asOf=2030-06-30", "?asOf=now", "?format=xml"} {
		answer(t, n.do("auditor", "GET", register+bad, ""), 400)
	}
	rows, err := csv.NewReader(n.do("auditor", "GET", register+"?format=csv", "").Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"'=LAZARUS", "27307", ""}, rows[1][2:5])
	require.Equal(t, []string{"7.25 USDC", "omnibus wallet", "", "kept in a blocked account", "7.25", "2026-03-21", "B-1", ""}, rows[1][6:])
	page := n.do("auditor", "GET", register+"?format=html", "").Body.String()
	require.Contains(t, page, "Register of blocked property")
	require.Contains(t, page, "<td>=LAZARUS</td>")
	require.True(t, strings.HasSuffix(page, "</html>\n"))
	metrics := n.doAdmin("GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, "railguard_sanctions_property_blocked 1")
	require.Contains(t, metrics, "railguard_sanctions_cases_open 0")
	answer(t, n.do("reviewer", "POST", path, `{"by":"Ann","to":"CLOSED","reason":"released under licence X"}`), 200)
	require.Equal(t, 0, answer(t, n.do("auditor", "GET", register, ""), 200).GetInt("count"))
	require.NotEmpty(t, textOf(answer(t, n.do("auditor", "GET", register+"?asOf=2026-03-22", ""), 200), "data", "0", "releasedAt"))
}

// TestARegisterIsWhole: an institution with many entries gets all of them, in each form.
func TestARegisterIsWhole(t *testing.T) {
	n := newTestNode(t)
	for i := range n.settings.Keys {
		n.settings.Keys[i].Rate = -1 // Else a fast machine makes more calls in a second than a key may.
	}
	const entries = 530 // More than one piece.
	for range entries {
		_, token := n.registered("")
		id, _ := n.blocked(token, "Lazarus Group", "")
		answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/"+id+"/move",
			`{"by":"Ann","to":"TRUE_MATCH","kind":"blocked_property","property":{"party":"LAZARUS","description":"7.25 USDC","location":"omnibus wallet","valueUSD":7.25}}`), 200)
	}
	const register = "/v1/sanctions/blocked-property"
	v := answer(t, n.do("auditor", "GET", register, ""), 200)
	require.Equal(t, []any{entries, entries * 7.25}, []any{v.GetInt("count"), v.GetFloat64("totalUSD")})
	ids := map[string]bool{}
	for _, item := range v.GetArray("data") {
		ids[textOf(item, "caseId")] = true
	}
	require.Len(t, ids, entries)
	rows, err := csv.NewReader(n.do("auditor", "GET", register+"?format=csv", "").Body).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+entries)
	require.Equal(t, entries, strings.Count(n.do("auditor", "GET", register+"?format=html", "").Body.String(), "<td>LAZARUS</td>"))
}

// TestCasesAreListed: filters, order, pages, and what is overdue.
func TestCasesAreListed(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	_, other := n.registered("")
	first, _ := n.blocked(token, "Lazarus Group", "")
	n.advance(20 * engine.DayLength)
	second, _ := n.blocked(other, "Lazarus Group", "")
	list := func(query string) (ids []string) {
		for _, item := range answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases"+query, ""), 200).GetArray("data") {
			ids = append(ids, textOf(item, "caseId"))
		}
		return ids
	}
	require.Equal(t, []string{second, first}, list(""))
	require.Equal(t, []string{first, second}, list("?order=asc"))
	require.Equal(t, []string{first}, list("?overdue=true"))
	require.Equal(t, []string{second}, list("?overdue=false&state=OPEN"))
	require.Empty(t, list("?state=CLOSED"))
	page := answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases?limit=1", ""), 200)
	require.Equal(t, []string{first}, list("?limit=1&cursor="+textOf(page, "nextCursor")))
	for _, bad := range []string{"?state=open", "?overdue=yes", "?cursor=x"} {
		answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases"+bad, ""), 400)
	}
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_sanctions_cases_overdue 1")
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=sanctions_report", ""), 200)
	require.Equal(t, first, textOf(alerts, "data", "0", "caseId"))
	names, _ := n.told("reviewer", "sanctions.due_soon,sanctions.overdue")
	require.Contains(t, names, "sanctions.overdue")
}

// TestNobodyIsTippedOff: neither the caller nor any key but those of compliance sees that there is a
// case: not in routes, answers, records, events, nor in the numbers of an agent's leaves.
func TestNobodyIsTippedOff(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered("")
	before := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Paper Shop"}`), 200)
	id, txn := n.blocked(token, "Lazarus Group", "")
	answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/"+id+"/move", `{"by":"Ann","to":"NOT_THE_PARTY","reason":"a bakery"}`), 200)
	n.blocked(token, "Lazarus Group", "")
	after := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Paper Shop"}`), 200)
	if before.Exists("agentSequence") {
		require.Equal(t, before.GetInt("agentSequence")+3, after.GetInt("agentSequence"))
	}
	names, _ := n.told("reviewer", "sanctions.*")
	require.Equal(t, []string{"sanctions.opened", "sanctions.moved", "sanctions.blocked_again"}, names, "explained once")
	for _, role := range []string{"screener", "operator", "policy"} {
		for _, path := range []string{"/v1/sanctions/cases", "/v1/sanctions/cases/" + id, "/v1/sanctions/cases/" + id + "/report", "/v1/sanctions/blocked-property"} {
			answer(t, n.do(role, "GET", path, ""), 403)
		}
		answer(t, n.do(role, "POST", "/v1/sanctions/cases/"+id+"/move", `{"by":"Ann","to":"OPEN","reason":"r"}`), 403)
		told, _ := n.told(role, "sanctions.*")
		require.Empty(t, told, role)
		for _, path := range []string{"/v1/audit/" + txn, "/v1/agents/" + agent, "/v1/audit"} {
			w := n.do(role, "GET", path, "")
			require.NotContains(t, w.Body.String(), "case_", "%s %s", role, path)
			require.NotContains(t, w.Body.String(), `"sanctions.`, "%s %s", role, path)
		}
	}
	answer(t, n.do("auditor", "POST", "/v1/sanctions/cases/"+id+"/move", `{"by":"Ann","to":"OPEN","reason":"r"}`), 403)
}

// TestAFullTableTellsNobody: a BLOCK that finds no room for its case is refused, no case is
// displaced, and whoever was screened hears nothing of cases.
func TestAFullTableTellsNobody(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := limits.SanctionsCases
	t.Cleanup(func() { limits.SanctionsCases = before })
	limits.SanctionsCases = 4
	n := newTestNode(t)
	opened := 0
	pay := func(role, token string) *httptest.ResponseRecorder {
		return n.do(role, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Lazarus Group"}`)
	}
	var first, token string
	for ; opened < 10; opened++ {
		_, token = n.registered("")
		w := pay("screener", token)
		if w.Code == 429 {
			break
		}
		require.Equal(t, "BLOCK", member(t, w.Body.Bytes(), "verdict"))
		if first == "" {
			first = token
		}
	}
	require.Positive(t, opened)
	require.LessOrEqual(t, opened, 4)
	size := n.store.Size()
	refused := answer(t, pay("screener", token), 429)
	require.Equal(t, "share_used", textOf(refused, "code"))
	for _, word := range []string{"case", "sanction", "officer", "alert", "table\":"} {
		require.NotContains(t, refused.String(), word)
	}
	batch := n.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1,"cpName":"Lazarus Group"}]}`).Body.String()
	require.Contains(t, batch, "share_used")
	require.NotContains(t, batch, "sanctions")
	require.Equal(t, size, n.store.Size(), "nothing happened")
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200).GetArray("data"), opened, "none is displaced")
	require.Equal(t, "BLOCK", member(t, pay("screener", first).Body.Bytes(), "verdict"), "what joins a case needs no room")
	require.Equal(t, "PROCEED", member(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Paper Shop"}`).Body.Bytes(), "verdict"))
	require.True(t, strings.Contains(n.doAdmin("GET", "/metrics", "").Body.String(), `railguard_state_rows{table="sanctions_cases"} 4`))
	id := textOf(answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200), "data", "0", "caseId")
	answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/"+id+"/move", `{"by":"Ann","to":"NOT_THE_PARTY","reason":"a bakery"}`), 200)
	require.Equal(t, "BLOCK", member(t, pay("screener", token).Body.Bytes(), "verdict"), "a decision makes room")
}
