package httpapi

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// waits makes a REVIEW and returns its id.
func (n *testNode) waits(token, party string) string {
	n.t.Helper()
	v := answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"`+party+`"}`), 200)
	require.Equal(n.t, "REVIEW", textOf(v, "verdict"), v.String())
	return textOf(v, "txnId")
}

func (n *testNode) decides(key, txn, disposition string) {
	n.t.Helper()
	answer(n.t, n.do(key, "POST", "/v1/reviews/"+txn, `{"disposition":"`+disposition+`","reviewedBy":"x","notes":"because"}`), 200)
}

// rowWith returns the row of a table of the figures whose member has a value.
func rowWith(t *testing.T, v *fastjson.Value, table, member, value string) *fastjson.Value {
	t.Helper()
	for _, row := range v.GetArray(table) {
		if textOf(row, member) == value {
			return row
		}
	}
	t.Fatalf("%s has no row with %s %s: %s", table, member, value, v.Get(table).String())
	return nil
}

// after is a millisecond after a time.
func after(t *testing.T, text string) string {
	t.Helper()
	at, ok := strictjson.ParseTime(text)
	require.True(t, ok, text)
	return (at + engine.Millisecond).String()
}

func ints(v *fastjson.Value, names ...string) (all []int) {
	for _, name := range names {
		all = append(all, v.GetInt(name))
	}
	return all
}

// TestLearningCountsWhatOfficersDecided: by officer, rule, entry, operator and day.
func TestLearningCountsWhatOfficersDecided(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_cara", Name: "cara", Roles: wire.RoleReviewer, Person: "Cara", PersonKey: "cara"}, testSecret("cara"))
	n.addKey(wire.APIKey{ID: "key_dave", Name: "dave", Roles: wire.RoleReviewer, Person: "Dave", PersonKey: "dave"}, testSecret("dave"))
	_, token := n.registered("")
	began := n.LogTime()
	for i, answers := range []struct {
		key, disposition string
		wait             engine.Time
	}{{"cara", "APPROVED", 60}, {"cara", "APPROVED", 120}, {"cara", "REJECTED", 600}, {"dave", "APPROVED", 30}, {"dave", "ESCALATE_SAR", 90}} {
		party := "Nikolas Maduro"
		if i == 2 {
			party = "Vladimir Putan"
		}
		txn := n.waits(token, party)
		n.advance(answers.wait * engine.Second)
		n.decides(answers.key, txn, answers.disposition)
	}
	n.waits(token, "Nikolas Maduro")

	v := answer(t, n.do("auditor", "GET", "/v1/learning", ""), 200)
	require.True(t, v.GetBool("complete"))
	require.Equal(t, []int{5, 3, 1, 1, 0}, ints(v.Get("total"), "decisions", "approved", "rejected", "escalated", "twoPersons"))
	require.Equal(t, 90, v.GetInt("total", "medianSeconds"))
	cara := rowWith(t, v, "officers", "subject", "person:cara")
	require.Equal(t, []int{3, 2, 1, 0, 120}, ints(cara, "decisions", "approved", "rejected", "escalated", "medianSeconds"))
	require.Equal(t, "Cara", textOf(cara, "name"))
	require.Equal(t, "person:cara", textOf(v, "officers", "0", "subject"), "who decided most comes first")
	require.Equal(t, []int{3, 2}, ints(rowWith(t, cara, "rules", "rule", "R21_POSSIBLE_NAME_MATCH"), "decisions", "falsePositives"))
	dave := rowWith(t, v, "officers", "subject", "person:dave")
	require.Equal(t, []int{2, 30}, ints(dave, "decisions", "medianSeconds"), "of two the shorter")
	require.Equal(t, []int{5, 3, 3}, ints(rowWith(t, v, "rules", "rule", "R21_POSSIBLE_NAME_MATCH"), "decisions", "approved", "falsePositives"))
	maduro := rowWith(t, v, "entries", "name", "MADURO MOROS, Nicolas")
	require.Equal(t, []int{4, 3, 3}, ints(maduro, "decisions", "approved", "falsePositives"))
	require.NotEmpty(t, textOf(maduro, "uid"))
	require.NotEmpty(t, textOf(maduro, "list"))
	require.Len(t, v.GetArray("operators"), 1)
	require.NotEmpty(t, textOf(v, "operators", "0", "name"))
	require.Equal(t, []int{6, 5, 3}, ints(v.Get("days", "0"), "opened", "decisions", "approved"))

	w := n.do("auditor", "GET", "/v1/learning?format=csv", "")
	require.Equal(t, `attachment; filename="learning.csv"`, w.Header().Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(w.Body.String())).ReadAll()
	require.NoError(t, err)
	require.Contains(t, rows, []string{"total", "", "", "", "", "5", "3", "1", "1", "90", "0", "", "", "", "", "", "", "", "0", "0", "0", "0", "", ""})
	require.Contains(t, rows, []string{"officer and rule", "person:cara", "Cara", "R21_POSSIBLE_NAME_MATCH", "", "3", "2", "1", "0", "120", "", "", "", "", "", "", "", "", "0", "0", "0", "0", "", ""})
	require.Equal(t, "complete", rows[len(rows)-1][3])

	// Cut after three decisions, it says where the rest begins.
	first := answer(t, n.do("auditor", "GET", "/v1/learning?limit=3", ""), 200)
	require.False(t, first.GetBool("complete"))
	require.Equal(t, []int{3, 4}, []int{first.GetInt("total", "decisions"), first.GetInt("days", "0", "opened")})
	rest := answer(t, n.do("auditor", "GET", "/v1/learning?from="+after(t, textOf(first, "to")), ""), 200)
	require.Equal(t, []int{2, 2}, []int{rest.GetInt("total", "decisions"), rest.GetInt("days", "0", "opened")})

	none := answer(t, n.do("auditor", "GET", "/v1/learning?to="+(began-1).String(), ""), 200)
	require.Equal(t, 0, none.GetInt("total", "decisions"))
	require.Equal(t, "null", none.Get("total", "medianSeconds").String())

	// The role policy alone does not learn of reports.
	v = answer(t, n.do("policy", "GET", "/v1/learning", ""), 200)
	require.Equal(t, []int{5, 3, 2, 0}, ints(v.Get("total"), "decisions", "approved", "rejected", "escalated"))

	for query, param := range map[string]string{"?format=xml": "format", "?from=x": "from", "?to=yesterday": "to", "?from=2026-03-02&to=2026-03-01": "from", "?what=1": "what", "?limit=0": "limit", "?limit=10001": "limit"} {
		require.Equal(t, param, textOf(answer(t, n.do("auditor", "GET", "/v1/learning"+query, ""), 400), "param"), query)
	}
	answer(t, n.do("screener", "GET", "/v1/learning", ""), 403)
}

// TestLearningCountsSecondPersons: a confirmed decision is the first person's, and one that was
// taken back counts for nobody but as taken back.
func TestLearningCountsSecondPersons(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_cara", Name: "cara", Roles: wire.RoleReviewer, Person: "Cara", PersonKey: "cara"}, testSecret("cara"))
	n.addKey(wire.APIKey{ID: "key_dave", Name: "dave", Roles: wire.RoleReviewer, Person: "Dave", PersonKey: "dave"}, testSecret("dave"))
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"fourEyes":{"minAmount":1}}}`), 200)
	n.advance(engine.DayLength)
	_, token := n.registered("")
	one, two := n.waits(token, "Nikolas Maduro"), n.waits(token, "Nikolas Maduro")
	for _, txn := range []string{one, two} {
		answer(t, n.do("cara", "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"Cara"}`), 200)
	}
	n.decides("dave", one, "APPROVED")
	answer(t, n.do("dave", "POST", "/v1/reviews/"+two+"/withdraw", `{"reviewedBy":"Dave","reason":"look again"}`), 200)
	v := answer(t, n.do("auditor", "GET", "/v1/learning", ""), 200)
	require.Equal(t, []int{1, 1}, ints(v.Get("total"), "decisions", "twoPersons"))
	cara := rowWith(t, v, "officers", "subject", "person:cara")
	require.Equal(t, 1, cara.GetInt("decisions"))
	require.Equal(t, []int{0, 1, 1}, ints(cara.Get("agreement"), "seconded", "confirmed", "withdrawn"))
	require.Equal(t, []int{1, 0, 0}, ints(cara.Get("reversals"), "withdrawn", "rejudged", "reopened"))
	dave := rowWith(t, v, "officers", "subject", "person:dave")
	require.Equal(t, []int{0, 1}, []int{dave.GetInt("decisions"), dave.GetInt("agreement", "seconded")})
}

// TestLearningCountsWhatCameAfter: an approved payment that was blocked when it was made, and a
// sanctions case of another party.
func TestLearningCountsWhatCameAfter(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered("")
	txn := n.waits(token, "Nikolas Maduro")
	n.decides("reviewer", txn, "APPROVED")
	answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"stop"}`), 200)
	confirmed := answer(t, n.do("screener", "POST", "/v1/transactions/"+txn+"/confirm", `{}`), 200)
	require.Equal(t, "BLOCK", textOf(confirmed, "verdict"), confirmed.String())
	answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/reinstate", `{"reason":"go on"}`), 200)
	id, _ := n.blocked(token, "Lazarus Group", "")
	answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/"+id+"/move", `{"to":"NOT_THE_PARTY","by":"Ann","reason":"a bakery"}`), 200)
	v := answer(t, n.do("auditor", "GET", "/v1/learning", ""), 200)
	require.Equal(t, []int{0, 1, 0}, ints(v.Get("officers", "0", "reversals"), "withdrawn", "rejudged", "reopened"), v.Get("officers").String())
	require.Equal(t, []int{0, 1, 1}, ints(rowWith(t, v, "entries", "name", "LAZARUS GROUP"), "decisions", "notTheParty", "falsePositives"))
}
