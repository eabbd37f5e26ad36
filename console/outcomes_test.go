package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestOutcomesFromWhereTheWorkIs: from a payment that proceeded an officer opens a report and a
// sanctions case; its page says what became of them, and the list of reports who opened which and why.
func TestOutcomesFromWhereTheWorkIs(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	paid := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":70,"cpName":"Northwind Traders"}`, 200)["txnId"].(string)
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/case/"+paid, "Northwind")
	w.pick(".further button", "Open a report …")
	w.do(chromedp.WaitVisible("dialog textarea[name=reason]", chromedp.ByQuery))
	w.types("dialog textarea[name=reason]", "Paid the day after the tip came.")
	w.confirm()
	w.shows("#report", "A report is a draft · opened by Dana")
	w.shows("#report", "Paid the day after the tip came.")
	require.NotContains(t, w.value(`document.querySelector('.further').innerText`), "Open a report", "it has one")
	require.Equal(t, "Paid the day after the tip came.", s.call(0, s.Key, "GET", "/v1/sar?txnId="+paid, "", 200)["data"].([]any)[0].(map[string]any)["reason"])

	w.pick(".further button", "Report to OFAC …")
	w.do(chromedp.WaitVisible("dialog input[name=which]", chromedp.ByQuery))
	uid := s.call(0, s.Key, "GET", "/v1/audit/"+d.name, "", 200)["matches"].([]any)[0].(map[string]any)["uid"].(string)
	w.types("dialog input[name=which]", uid)
	w.types("dialog textarea[name=reason]", "The passport is that of the listed man.")
	w.confirm()
	cases := s.call(0, s.Key, "GET", "/v1/sanctions/cases?limit=1", "", 200)["data"].([]any)[0].(map[string]any)
	require.Equal(t, []any{true, paid}, []any{cases["wentAhead"], cases["firstTxnId"]})
	w.at("/sanctions/"+cases["caseId"].(string), "")
	w.shows("#gone", "The money has gone")
	w.pick("button", "True match …")
	w.do(chromedp.WaitVisible("dialog select[name=kind]", chromedp.ByQuery))
	require.Equal(t, "processed_transaction,blocked_property", w.value(`[...document.querySelectorAll('dialog select[name=kind] option')].map((o) => o.value).sort().reverse().join(',')`), "it was not rejected")
	w.do(chromedp.KeyEvent("\x1b"))

	w.at("/reports", "Reports")
	w.shows("td", "Northwind Traders · $70.00")
	w.shows("td q", "Paid the day after the tip came.")
	w.at("/inbox?kind=report", "Inbox")
	w.shows(".inbox .row", "Northwind Traders")
	w.clean()
}

// TestAlikeOnesAreALink: the queue says how many open cases are to the same payee, and leads to exactly
// those.
func TestAlikeOnesAreALink(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	var txns []string
	for _, amount := range []string{"6100", "6200", "6300"} {
		txns = append(txns, s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":`+amount+`,"cpName":"Blue Harbour"}`, 200)["txnId"].(string))
	}
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/queue", "Queue")
	w.do(chromedp.WaitVisible("#"+txns[0], chromedp.ByQuery))
	w.pick("#"+txns[0]+" a", "3 to this payee")
	w.shows("#totals", "3 cases")
	shown := w.value(`[...document.querySelectorAll('.queue .row')].map((x) => x.id).sort().join(',')`)
	for _, txn := range txns {
		require.Contains(t, shown, txn)
	}
	require.Len(t, strings.Split(shown, ","), 3)
	w.do(chromedp.WaitVisible(".preview #list", chromedp.ByQuery))
	require.Contains(t, w.value(`document.querySelector('.preview #list').textContent`), "List version", "by which list it was judged")
	w.clean()
}
