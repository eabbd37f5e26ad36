package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestInboxToParty: an officer reads the ranked inbox, opens the party of a hit, sees on the first screen
// who, whom, why and what differs, decides all its payments at once, and finds it again by a piece of its
// name.
func TestInboxToParty(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	early := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":70,"cpName":"Maduro Nikolas"}`, 200)["txnId"].(string)
	s.call(0, s.Key, "POST", "/v1/reviews/"+early, `{"disposition":"APPROVED","reviewedBy":"Eric","notes":"a grocer"}`, 200)
	late := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":6400,"cpName":"Nikolas Maduro","cpDateOfBirth":"1991","cpCountry":"ES"}`, 200)["txnId"].(string)
	w := s.window(0)
	w.do(emulation.SetDeviceMetricsOverride(1280, 800, 1, false))
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/inbox", "Inbox")
	w.shows("#totals", "reviews")
	rank := `[...document.querySelectorAll('.inbox .row')].map((x) => [x.querySelector('.hitname') ? 1 : 0, Number(x.querySelector('.why strong').textContent.replace(/\D/g, ''))])`
	require.Equal(t, "true", w.value(rank+`.every(([hit, n], i, all) => i === 0 || (all[i - 1][1] >= n && all[i - 1][0] >= hit))`), "hits first, then by rank")
	require.Contains(t, w.value(`document.querySelector('.inbox .why').textContent`), "+10,000 a listed name")
	require.Equal(t, "true", w.value(`[...document.querySelectorAll('.inbox .row')].every((x) => { const n = [...x.querySelector('.why').textContent.matchAll(/([+−])([\d,]+) /g)].reduce((sum, m) => sum + (m[1] === '+' ? 1 : -1) * Number(m[2].replaceAll(',', '')), 0); return n === Number(x.querySelector('.why strong').textContent.replace(/\D/g, '')); })`), "the parts on a row add up to its rank")

	w.pick(".inbox .row:has(a[href$='"+d.name+"']) a", "All of this party")
	w.shows("h1", "Maduro")
	w.shows(".sentence", "2 payments of $6,520.00 wait")
	w.shows(".sentence", "$70.00 went ahead")
	for what, selector := range map[string]string{"who": "h1", "whom": ".sentence", "why": ".columns.first .facts", "what differs": ".columns.first table", "the decision": ".actions.decide button.bad"} {
		require.Equal(t, "true", w.value(fmt.Sprintf(`(() => { const r = document.querySelector(%q)?.getBoundingClientRect(); return Boolean(r) && r.bottom <= 800 && scrollY === 0; })()`, selector)), "%s stands on the first screen", what)
	}
	require.Contains(t, w.value(`document.querySelector('.columns.first').innerText`), "1962")
	require.Equal(t, "0", w.value(`document.documentElement.scrollWidth - innerWidth`))
	w.click(".actions.decide button.bad")
	w.shows("dialog .action", "Reject 2 payments of $6,520.00")
	w.click("dialog button[type=submit]")
	w.shows("dialog .alerts", "whoever asks")
	w.do(chromedp.SendKeys("dialog textarea", "The passports say that it is the same man.", chromedp.ByQuery))
	w.click("dialog button[type=submit]")
	w.shows(".sentence", "Nothing of it waits")
	for _, txn := range []string{d.name, late} {
		record := s.call(0, s.Key, "GET", "/v1/audit/"+txn, "", 200)
		require.Equal(t, "REJECTED", record["disposition"])
		require.Equal(t, "The passports say that it is the same man.", record["notes"])
	}
	require.Equal(t, "APPROVED", s.call(0, s.Key, "GET", "/v1/audit/"+early, "", 200)["disposition"])

	w.at("/search?q=maduro%20nik", "Search")
	w.shows("td", "MADURO")
	w.at("/party?state=all", "Parties")
	w.shows("table", "Northwind Traders")
	w.clean()
}

// TestInboxTellsNoLies: with more rows than one page, a poll says of a row that it is done only when it
// is, and takes a row that was decided elsewhere out without a reload.
func TestInboxTellsNoLies(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	for i := range 60 {
		s.call(0, s.Key, "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":%d,"cpName":"Stationer %d"}`, d.token, 5001+i, i), 200)
	}
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/inbox", "Inbox")
	w.shows("#totals", "50 and more shown")
	w.pick("button", "Show more")
	w.waits(`document.querySelectorAll('.inbox .row').length > 60`)
	shown := w.value(`document.querySelectorAll('.inbox .row').length`)
	w.do(chromedp.Evaluate(`document.getElementById('said').textContent = ''`, nil))
	w.waits(`performance.getEntriesByType('resource').filter((x) => x.name.includes('/inbox?limit=6')).length > 1`) // Two polls of all rows.
	require.Equal(t, shown, w.value(`document.querySelectorAll('.inbox .row').length`))
	require.Equal(t, "", w.value(`document.getElementById('said').textContent`), "nobody decided anything")
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.limit, `{"disposition":"APPROVED","reviewedBy":"Eric"}`, 200)
	w.waits(`!document.getElementById('item-` + d.limit + `')`)
	w.waits(`document.getElementById('said').textContent.includes('1 done')`)
	s.call(0, s.Key, "POST", "/v1/queue/"+d.model+"/claim", `{"assignee":"Eric"}`, 200)
	w.shows("#item-"+d.model, "by Eric")
	w.clean()
}
