package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// desk adds other things than cases that wait for an officer: an alert, a report, an overdue
// review.
func (s *site) desk(d *day) {
	s.call(0, s.Key, "POST", "/v1/transactions/"+d.more[0]+"/settle", "{}", 200)
	s.call(0, s.Key, "POST", "/v1/transactions/"+d.more[1]+"/settle", "{}", 200)
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.stale, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann","notes":"layering"}`, 200)
	s.call(0, s.Key, "PUT", "/v1/policy?reason=test", `{"review":{"sla":"4h","fourEyes":{"rules":["R21"]}}}`, 200)
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"5h"}`, 200)
}

// TestOfficersDesk: alerts, four eyes with a withdrawal, the deadlines of cases, deciding
// many at once, reports, and the page of changes.
func TestOfficersDesk(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	s.desk(d)
	dana, eric := s.key("Dana", "reviewer"), s.key("Eric", "reviewer")
	s.call(0, eric, "POST", "/v1/reviews/"+d.name, `{"disposition":"APPROVED","reviewedBy":"Eric"}`, 200)
	w := s.window(0)
	w.signIn(dana)

	w.at("/alerts", "Alerts")
	w.shows("#totals", "2 alerts")
	w.shows(".row", "Paid, not allowed")
	w.do(chromedp.Evaluate(`document.querySelectorAll('.row input').forEach((box) => box.click())`, nil))
	w.shows(".bulk", "2 selected")
	w.click(".bulk button")
	w.do(chromedp.SendKeys("dialog textarea", "the rail pays on Sundays", chromedp.ByQuery))
	w.click("dialog button[type=submit]")
	w.shows("#totals", "Nothing wants you")
	require.Len(t, s.call(0, s.Key, "GET", "/v1/alerts?state=acknowledged", "", 200)["data"], 2)

	w.at("/queue", "Queue")
	w.shows("#"+d.limit, "overdue by ")
	w.shows("#"+d.name, "proposed Approve by Eric")
	w.at("/case/"+d.name, "$120")
	w.shows(".note", "Eric proposed")
	w.shows("#clock", "overdue by ")
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('.note button')].find((b) => b.innerText.includes('Withdraw')).click()`, nil), chromedp.WaitVisible("dialog textarea", chromedp.ByQuery))
	w.do(chromedp.SendKeys("dialog textarea", "compare the birth date", chromedp.ByQuery))
	w.click("dialog button[type=submit]")
	w.shows(".toast", "Withdrawn")
	require.Nil(t, s.call(0, s.Key, "GET", "/v1/audit/"+d.name, "", 200)["proposed"])

	w.at("/queue?sort=amount&slaBreached=true", "Queue")
	for _, txn := range []string{d.limit, d.model} {
		w.do(chromedp.Click("#"+txn+" input", chromedp.ByQuery))
	}
	w.shows(".bulk", "2 selected")
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('.bulk button')].find((b) => b.innerText.includes('Reject')).click()`, nil), chromedp.WaitVisible("dialog textarea", chromedp.ByQuery))
	w.do(chromedp.SendKeys("dialog textarea", "one pattern", chromedp.ByQuery))
	w.click("dialog button[type=submit]")
	w.shows(".results", "Rejected")
	for _, txn := range []string{d.limit, d.model} {
		require.Equal(t, "REJECTED", s.call(0, s.Key, "GET", "/v1/audit/"+txn, "", 200)["disposition"])
	}

	w.at("/reports", "Reports")
	w.shows("td", "DRAFT")
	w.at("/activity?show=changes", "Activity")
	for _, word := range []string{"policy.activated", "review.withdrawn", "alert.acknowledged", "review.dispositioned", "agent.registered"} {
		w.shows("td", word)
	}
	w.shows("td", "compare the birth date") // The reason.
	require.NotContains(t, w.value("document.body.innerText"), "screen.proceed")

	// The page filters by person, kind and time, and the address holds the filter.
	w.types("input[name=by]", "eric")
	w.click(".filters button")
	w.shows("tbody", "review.proposed")
	require.NotContains(t, w.value("document.querySelector('tbody').innerText"), "Ann")
	w.at("/activity?show=changes&group=policy", "Activity")
	w.shows("tbody", "bootstrap") // The name of the key.
	require.NotContains(t, w.value("document.querySelector('tbody').innerText"), "Eric")
	w.findsByDayAndName(s, d)
	w.at("/activity?show=changes&to=2020-01-01", "Activity")
	w.shows(".card", "Nobody changed anything")
	w.clean()
}

// findsByDayAndName: a filter by day includes the whole day, and parties are shown by name.
func (w *tab) findsByDayAndName(s *site, d *day) {
	today := s.call(0, s.Key, "GET", "/v1/audit/"+d.name, "", 200)["screenedAt"].(string)[:10]
	w.at("/activity?from="+today+"&to="+today, "Activity")
	w.shows("tbody", "Nikolas Maduro")
	w.at("/activity?show=changes&group=fleet", "Activity")
	w.shows("tbody", "Europe")
	w.at("/users/"+d.user, "Users")
	w.shows(".facts a", "Procurement bot")
}
