package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"railguard/ofac/listtest"
)

// spoilt writes a list with one malformed entity.
func spoilt(t *testing.T) []string {
	entities := []listtest.Entity{}
	for i := range 1200 {
		entities = append(entities, listtest.Entity{ID: 1 + i, Last: fmt.Sprintf("QUARTZMIRROR %s WORKS", strings.Repeat(string(rune('A'+i%26)), 1+i/26%12))})
	}
	text := string(listtest.WriteEnhanced("SDN List", time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), entities...))
	text = strings.Replace(text, `<entity id="500">`, `<entity id="499">`, 1)
	file := filepath.Join(t.TempDir(), "SDN_ENHANCED.XML")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return []string{file}
}

// TestQuarantineIsShown: a malformed entity is shown before the list is activated, and from
// then on wherever the list is shown: on its page, in the overview and in the alerts.
func TestQuarantineIsShown(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	w := s.window(0)
	w.signIn(s.key("Olga", "policy,reviewer"))
	w.at("/lists", "Lists")
	w.chooses(spoilt(t))
	w.shows("h1", "List snp_")
	w.shows(".aside", "1 malformed entity is quarantined: nobody is screened against it.")
	w.shows(".aside li", "is malformed and was left out")
	w.click(".activate")
	w.do(chromedp.WaitVisible("dialog input[name=force]", chromedp.ByQuery))
	w.click("dialog input[name=force]")
	w.types("dialog textarea", "a drill")
	w.confirm()
	w.shows("#active .aside", "1 malformed entity is quarantined")
	w.shows("#active .aside li", "is malformed and was left out")
	w.at("/alerts?kind=list_quarantine", "Alerts")
	w.shows(".row", "Entities put aside")
	w.shows(".row", "1 entity")
	w.at("/", "Overview")
	w.shows(".card", "1 malformed entity is left out.")
	w.clean()
}

// TestPrintOfCase: a printed case has everything that an examiner asks for and no buttons, in
// light colours even if the screen is dark.
func TestPrintOfCase(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.name, `{"disposition":"REJECTED","reviewedBy":"Ann","notes":"no such customer"}`, 200)
	w := s.window(0)
	w.signIn(s.Key)
	w.at("/case/"+d.name, "$120")
	w.shows("#proof", "verified in your browser")
	seen := func(expression string) bool {
		return w.value(`(() => { const all = [...document.querySelectorAll(`+expression+`)]; return all.length > 0 && all.every((e) => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0); })()`) == "true"
	}
	require.True(t, seen(`'#head'`))
	require.False(t, seen(`'.ladder .rung'`), "folded on the screen")
	w.do(chromedp.Evaluate(`document.documentElement.dataset.look = 'dark'`, nil), emulation.SetEmulatedMedia().WithMedia("print"))
	for _, gone := range []string{"#head", "button", "form"} {
		require.Equal(t, "0", w.value(`[...document.querySelectorAll('`+gone+`')].filter((e) => e.getBoundingClientRect().height > 0).length`), gone)
	}
	for _, there := range []string{"h1", ".sentence", ".hit .compare", "#proof", ".ladder .rung", ".note q"} {
		require.True(t, seen("'"+there+"'"), there)
	}
	require.Equal(t, "light", w.value(`getComputedStyle(document.documentElement).colorScheme`))
	require.Equal(t, "true", w.value(`document.documentElement.scrollWidth <= innerWidth`))
	text := w.value(`document.querySelector('main').innerText`)
	for _, word := range []string{"no such customer", "Ann", "MADURO MOROS", "22790", d.name, "R25", "List digest"} {
		require.Contains(t, text, word)
	}
	w.clean()
}

// TestCaseSaysWhy: the page shows the value that decided beside the value that would have
// been allowed, and never says "within". It shows what the rules looked at in words.
func TestCaseSaysWhy(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/case/"+d.more[0], "$700")
	w.shows("td", "ETH, BASE")
	w.shows("td", "asks for a person")
	require.NotContains(t, w.value(`document.querySelector('.columns .card').innerText`), "within")
	w.do(chromedp.Evaluate(`document.querySelectorAll('.ladder details, details').forEach((e) => { e.open = true; })`, nil))
	w.shows(".ladder", "this agent: spent $0.00, held $0.00, daily limit $60,000.00")
	ladder := w.value(`document.querySelector('.ladder').innerText`)
	require.NotContains(t, ladder, "{", "no JSON")
	require.NotContains(t, ladder, "null")
	w.at("/case/"+d.model, "$300")
	w.shows("td", "model-b")
	require.NotContains(t, w.value(`document.querySelector('.columns .card').innerText`), "within")

	// On the narrowest phone nothing overlaps, and wide tables do not break their lines.
	w.do(emulation.SetDeviceMetricsOverride(320, 700, 1, true))
	w.at("/case/"+d.more[0], "$700")
	w.shows("#proof", "proof")
	w.do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((e) => { e.open = true; })`, nil))
	require.Equal(t, "0", w.value(`[...document.querySelectorAll('.rung .what')].filter((e) => e.scrollWidth > e.clientWidth).length`), "words beneath others")
	require.Equal(t, "0", w.value(`[...document.querySelectorAll('.ladder dd')].filter((e) => e.getBoundingClientRect().width < 60).length`), "a letter a line")
	w.at("/queue", "Queue")
	w.shows("#totals", "cases")
	require.Equal(t, "true", w.value(`document.documentElement.scrollWidth <= innerWidth`))
	w.at("/activity", "Activity")
	w.shows("tbody", "Fjord")
	require.Equal(t, "0", w.value(`[...document.querySelectorAll('tbody tr')].filter((e) => e.getBoundingClientRect().height > 90).length`), "lines of one word")
	w.clean()
}

// TestPartiesAndTheirHistory: users can be listed and re-issued, an operator shows its
// status, and an agent's history shows what was done, by whom and why.
func TestPartiesAndTheirHistory(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	for _, verb := range []string{"suspend", "reinstate"} {
		s.call(0, s.Key, "POST", "/v1/agents/"+d.agent+"/"+verb, `{"reason":"a drill of `+verb+`","actor":"Dora"}`, 200)
	}
	s.call(0, s.Key, "POST", "/v1/operators/suspend", `{"operatorLegalName":"Borealis Payments Ltd","reason":"a drill"}`, 200)
	w := s.window(0)
	w.signIn(s.Key)
	w.at("/users", "Users")
	w.pick("tbody a", "Erika Mustermann")
	w.shows("dt", "Issued")
	w.click(".reissue")
	w.types("dialog textarea", "a new device")
	w.confirm()
	w.shows("dd", "2")
	require.EqualValues(t, 2, s.call(0, s.Key, "GET", "/v1/users/"+d.user, "", 200)["credentialVersion"])
	w.at("/operators", "Operators")
	w.shows("tbody tr", "Borealis Payments Ltd\tSUSPENDED")
	w.shows("tbody tr", "Acme Robotics Inc\tACTIVE")
	require.Equal(t, "Suspend …,Reinstate …", w.value(`[...document.querySelectorAll('tbody button')].map((b) => b.innerText).join(',')`), "to each what changes something")
	w.at("/agents/"+d.agent, "Procurement bot")
	for _, act := range []string{"registered", "suspended by Dora", "reinstated by Dora"} {
		w.shows(".act", act)
	}
	w.shows(".act q", "a drill of suspend")
	w.clean()
}

// TestReportsAndAlertsTellAll: a report's narrative is written before it is made ready, and its
// packet can be fetched in every form. An alert of a list names the payment and the listed
// party. A second look back with a list says what is already known.
func TestReportsAndAlertsTellAll(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.more[0], `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann","notes":"layering"}`, 200)
	w := s.window(0)
	w.signIn(s.Key)
	w.at("/reports", "Reports")
	w.shows("td q", "layering")
	w.pick("td button", "Narrative …")
	w.do(chromedp.WaitVisible("dialog textarea[name=narrative]", chromedp.ByQuery))
	require.Contains(t, w.value(`document.querySelector('dialog textarea[name=narrative]').value`), "[Who is suspected, and of what?]")
	w.types("dialog textarea[name=narrative]", "Three payments to one party.")
	w.confirm()
	w.pick("td button", "Ready …")
	w.do(chromedp.WaitVisible("dialog textarea[name=reason]", chromedp.ByQuery))
	w.confirm()
	w.shows("td", "READY")
	packet := s.call(0, s.Key, "GET", "/v1/sar/"+d.more[0], "", 200)
	require.Equal(t, "Three payments to one party.", packet["narrative"])
	for form, kind := range map[string]string{"html": "text/html", "json": "application/json", "csv": "text/csv", "xml": "application/xml"} {
		got := w.fetched(`document.querySelector('.packet a[href$="=` + form + `"]').href`)
		require.True(t, strings.HasPrefix(got, "200 "+kind), "%s: %s", form, got)
	}

	w.at("/lists", "Lists")
	w.drops(publication(t, "VESTA CLEANING", "NOBODY ANYBODY PAID LLC"))
	w.shows("h1", "List snp_")
	list := s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"].([]any)[0].(map[string]any)["snapshotId"].(string)
	s.call(0, s.Key, "POST", "/v1/ofac/"+list+"/activate", `{"force":true,"reason":"a drill"}`, 200)
	w.at("/lists", "Lists")
	w.shows("#found", "1 hit.")
	w.at("/alerts?kind=retro_hit", "Alerts")
	w.shows(".row", "to Vesta Cleaning · as VESTA CLEANING")
	w.shows(".row a", "Procurement bot")
	w.at("/lists", "Lists")
	w.click(".retro")
	w.do(chromedp.WaitVisible("dialog button[type=submit]", chromedp.ByQuery))
	w.confirm()
	w.shows("#outcome", "Nobody more is named by it: 1 hit is known from earlier runs of this list.")
	w.clean()
}

// fetched fetches an address from inside the page and returns status and content type.
func (w *tab) fetched(address string) string {
	w.t.Helper()
	w.do(chromedp.Evaluate(`window.fetchedOnce = ''; fetch(`+address+`).then((r) => { window.fetchedOnce = r.status + ' ' + r.headers.get('Content-Type'); })`, nil),
		chromedp.Poll(`window.fetchedOnce !== ''`, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	return w.value(`window.fetchedOnce`)
}
