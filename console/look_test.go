package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// TestASecondLookInTheConsole: an officer takes a look from the inbox, sees the case and nothing else,
// answers, and then reads what was decided. Whatever page he opens meanwhile leads back to the look.
func TestASecondLookInTheConsole(t *testing.T) {
	browser(t)
	source := axe(t)
	s := cluster(t, 1)
	d := s.morning()
	dana, eric := s.ofPerson("Dana", "reviewer,auditor", "Dana"), s.ofPerson("Eric", "reviewer", "Eric")
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"25h"}`, 200) // A key looks again once it is a day old.
	s.call(0, s.Key, "PUT", "/v1/policy", `{"review":{"secondLook":{"basisPoints":10000}}}`, 200)
	s.call(0, eric, "POST", "/v1/reviews/"+d.name, `{"disposition":"APPROVED","reviewedBy":"Eric","notes":"a grocer of that name"}`, 200)
	w := s.window(0)
	w.do(page.SetBypassCSP(true)) // Only the checker needs this.
	w.signIn(dana)
	w.at("/inbox?kind=look", "Inbox")
	w.shows(".inbox", "A decision to look at again")
	require.NotContains(t, w.value(`document.querySelector('.inbox').innerText`), "Maduro")
	w.pick(".inbox .row a", "Open it")
	w.shows("#take", "Another officer decided this case")
	w.accessible(source, "a look that nobody has")
	w.click("#takeit")
	w.shows("h1", "$120")
	w.shows("#hits-card", "MADURO MOROS, Nicolas")
	for _, told := range []string{"Approved", "APPROVED", "grocer", "Eric"} {
		require.NotContains(t, w.value(`document.getElementById('main').innerText`), told)
	}
	w.accessible(source, "a look in hand")
	for _, path := range []string{"/case/" + d.name, "/", "/inbox", "/activity", "/learning", "/search?q=maduro"} {
		w.at(path, "$120")
		require.Contains(t, w.value(`location.pathname`), "/console/look/", path)
	}
	w.click("button.bad")
	w.types("dialog textarea", "Name and year of birth are those of the entry.")
	w.accessible(source, "the dialog of a look")
	w.click("dialog button[type=submit]")
	w.shows("#sides", "The two differ")
	w.shows("#sides", "a grocer of that name")
	w.at("/alerts", "Alerts")
	w.shows(".alerts", "decided Approved, second look Rejected")
	w.at("/learning", "Learning")
	w.shows("#looks", "Eric")
	w.shows("#looks tbody td:nth-child(4)", "1 (100 %)")
	w.at("/policy", "Policy")
	w.shows("#main", "100 % of the decisions")
	w.clean()
}
