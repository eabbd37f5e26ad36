package console_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Environment variables that name the folders of two published lists. The older list is
// active when the day begins. Without them the test uses the embedded sample, and then an
// invented list.
const (
	oldListName = "RAILGUARD_OFAC_OLD"
	newListName = "RAILGUARD_OFAC_NEW"
)

const tabsMax = 300 // How often Tab may be pressed to reach an element.

// reach presses Tab until an element has the focus.
func (w *tab) reach(selector string) {
	w.t.Helper()
	w.waits(fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e?.checkVisibility() && !e.closest('[hidden]'); })()`, selector))
	for range tabsMax {
		if w.value(fmt.Sprintf(`Boolean(document.activeElement?.matches(%q))`, selector)) == "true" {
			return
		}
		w.press(kb.Tab)
	}
	require.Fail(w.t, "the keyboard does not reach it", "%s; the focus is on %s", selector, w.value("document.activeElement.outerHTML.slice(0, 200)"))
}

// enter reaches an element and presses Enter.
func (w *tab) enter(selector string) {
	w.t.Helper()
	w.reach(selector)
	w.press(kb.Enter)
}

// page opens a page by its link in the header, which may stand in a group that is folded.
func (w *tab) page(path, heading string) {
	w.t.Helper()
	link := `nav a[href="/console/` + path + `"]`
	if group := w.value(fmt.Sprintf("document.querySelector(%q).closest('ul')?.id ?? ''", link)); group != "" {
		w.enter(`nav button[aria-controls="` + group + `"]`)
	}
	w.enter(link)
	w.shows("h1", heading)
}

// asked waits for the dialog that announces an action.
func (w *tab) asked(action string) {
	w.t.Helper()
	w.shows("dialog .action", action)
}

// closed waits until no dialog is open.
func (w *tab) closed() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Poll(`!document.querySelector('dialog')`, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0))); err != nil {
		require.NoError(w.t, err, "the dialog says: %s; wrong: %v", w.value(`document.querySelector('dialog')?.innerText`), w.wrong)
	}
}

// keyboard signs in by keyboard. The window gets no mouse events from here on.
func (s *site) keyboard(node int, key string) *tab {
	w := s.window(node)
	w.at("/", "Sign in")
	w.press(key, kb.Enter) // The field has the focus.
	w.shows("h1", "Overview")
	return w
}

// TestWholeDay is the day of three officers and their lead at the three nodes of a cluster, by keyboard
// alone: they skim, approve, reject, escalate, decide a case with two persons, lose a race,
// verify a proof, activate a list and see which past payments it names, and change the policy
// after a backtest. The lead finds a party by a piece of its name, reads who decided what, and takes
// an examiner's bundle.
func TestWholeDay(t *testing.T) {
	browser(t)
	old, new := os.Getenv(oldListName), os.Getenv(newListName)
	var more []string
	if old == "" || new == "" {
		t.Logf("the lists are made up: %s and %s name no folders of published ones", oldListName, newListName)
		new = ""
	} else {
		more = []string{"--ofac-dir", old}
	}
	s := cluster(t, 3, more...)
	s.call(0, s.Key, "PUT", "/v1/policy?reason=test", `{"twoPersons":[],"review":{"sla":"4h","fourEyes":{"rules":["R22"]}}}`, 200)
	dana, eric, olga := s.key("Dana", "reviewer"), s.key("Eric", "reviewer"), s.key("Olga", "policy,reviewer")
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"25h"}`, 200) // A younger key confirms nothing.
	d := s.morning()

	w := s.keyboard(0, dana)
	w.decidesByKeys(s, d)
	second := s.keyboard(2, eric)
	second.confirmsByKeys(s, d)
	w.losesByKeys(s, d, eric)

	third := s.keyboard(1, olga)
	third.bringsList(s, d, new)
	third.changesPolicy(s, d)

	third.page("activity", "Activity")
	third.enter(`a[href="/console/activity?show=changes"]`)
	third.shows("h1", "Activity")
	for _, text := range []string{"Olga", "Eric", "Dana", "list.activated", "policy.activated", "review.proposed"} {
		third.shows("tbody", text)
	}
	fourth := s.keyboard(2, s.key("Lea", "reviewer,auditor"))
	fourth.looksBackByKeys(d)
	for _, window := range []*tab{w, second, third, fourth} {
		window.clean()
	}
}

// decidesByKeys approves, rejects, escalates and proposes from the queue.
func (w *tab) decidesByKeys(s *site, d *day) {
	t := w.t
	w.page("queue", "Queue")
	w.shows("#totals", "7 cases")
	w.shows("#"+d.limit, "due in")
	select1 := func(id string) {
		t.Helper()
		for range 10 {
			if w.value(fmt.Sprintf(`document.getElementById(%q).classList.contains('selected')`, id)) == "true" {
				w.do(chromedp.WaitVisible(".preview[aria-busy=false], .preview:not([aria-busy])", chromedp.ByQuery))
				return
			}
			w.press("j")
		}
		require.Fail(t, "J does not get there", id)
	}
	disposition := func(id string) any {
		return s.call(2, s.Key, "GET", "/v1/audit/"+id+"?consistency=leader", "", 200)["disposition"]
	}

	w.press("k", "k", "k")
	select1(d.name)
	w.press("a")
	w.asked("Approve the payment of $120")
	w.shows("dialog .unseenhits", "not marked") // A published list has more than one of the name.
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows("#totals", "6 cases")
	require.Equal(t, "APPROVED", disposition(d.name))

	w.press("k", "k", "k", "k", "k", "k")
	select1(d.model)
	w.press("r")
	w.asked("Reject the payment of $300")
	w.press("Nobody announced another model.") // The reason has the focus.
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows("#totals", "5 cases")
	require.Equal(t, "REJECTED", disposition(d.model))

	w.press("k", "k", "k", "k", "k")
	select1(d.more[0])
	w.press("s")
	w.asked("Escalate as suspicious")
	w.press("The same to nobody, three times.")
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows("#totals", "4 cases")
	require.Equal(t, "ESCALATE_SAR", disposition(d.more[0]))

	w.press("k", "k", "k", "k")
	select1(d.stale)
	w.press("a")
	w.asked("Approve the payment of $15,000")
	w.press(kb.Enter)
	w.closed()
	w.shows(".toast", "another officer has to confirm")
	require.Nil(t, disposition(d.stale))
}

// confirmsByKeys confirms as the second person, at another node.
func (w *tab) confirmsByKeys(s *site, d *day) {
	w.page("queue", "Queue")
	w.shows("#"+d.stale, "proposed Approve by Dana")
	w.enter("#" + d.stale + " a")
	w.shows("h1", "$15,000")
	w.shows(".note", "Dana proposed")
	w.press("a")
	w.shows("dialog .note", "Two officers decide this case")
	w.press(kb.Enter)
	w.closed()
	w.shows(".note", "by Eric")
	w.shows("#proof", "proof verified in your browser")
	require.Equal(w.t, "APPROVED", s.call(0, s.Key, "GET", "/v1/audit/"+d.stale+"?consistency=leader", "", 200)["disposition"])
}

// losesByKeys decides a case that another officer decides first at another node.
func (w *tab) losesByKeys(s *site, d *day, eric string) {
	w.enter("#" + d.limit + " a")
	w.shows("h1", "$6,200")
	w.shows("#clock", "due in")
	w.shows("#proof", "proof verified in your browser")
	w.press("r")
	w.asked("Reject the payment of $6,200")
	w.press("Too much at once.")
	s.call(1, eric, "POST", "/v1/reviews/"+d.limit, `{"disposition":"APPROVED","reviewedBy":"Eric"}`, 200)
	w.enter("dialog button[type=submit]")
	w.shows("dialog .lost", "Eric was faster: the case was decided APPROVED")
	w.enter("dialog .lost a")
	w.closed()
	w.shows(".note", "by Eric")
}

// bringsList imports a list, reads what it changes, activates it, and sees which past
// payments it names.
func (w *tab) bringsList(s *site, d *day, folder string) {
	t := w.t
	files := publication(t, "VESTA CLEANING", "NOBODY ANYBODY PAID LLC")
	if folder != "" {
		var err error
		files, err = filepath.Glob(filepath.Join(folder, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
	}
	w.page("lists", "Lists")
	w.reach("#files") // Pressing it would open the system's file window.
	w.chooses(files)
	w.shows("h1", "List snp_")
	w.shows("#diff .sentence", "came")
	staged := s.call(0, s.Key, "GET", "/v1/ofac?consistency=leader", "", 200)["staged"].([]any)[0].(map[string]any)["snapshotId"].(string)
	added := s.call(0, s.Key, "GET", "/v1/ofac/"+staged+"/diff", "", 200)["added"].(map[string]any)["entries"].([]any)
	require.NotEmpty(t, added)
	if folder != "" { // A party of the invented list was paid in the morning already.
		name := added[0].(map[string]any)["name"].(string)
		s.call(2, s.Key, "POST", "/v1/screen", fmt.Sprintf(`{"token":%q,"amount":12,"cpName":%q}`, d.token, name), 200)
	}
	w.enter(".activate")
	w.asked("Screen every payment from now on by " + staged)
	w.reach("dialog input[name=force]")
	w.press(" ")
	w.reach("dialog textarea")
	w.press("It is what there is today.")
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows("#active", staged)
	w.shows("#found", "The past was held against it")
	w.enter("#found a")
	w.shows("h1", "Looking back with a list")
	w.shows(".found", "payment")
	w.shows("#outcome", "are named")
	require.NotEmpty(t, s.call(2, s.Key, "GET", "/v1/alerts?kind=retro_hit", "", 200)["data"])
}

// looksBackByKeys reads the inbox, finds a party again, and sees what was decided.
func (w *tab) looksBackByKeys(d *day) {
	t := w.t
	w.page("inbox", "Inbox")
	w.shows("#item-"+d.more[1], "Kestrel Trading")
	w.page("search", "Search")
	w.reach("main input[name=q]")
	w.press("maduro nik", kb.Enter)
	w.shows("td", "MADURO")
	w.enter(`main a[href^="/console/party/"]`)
	w.shows("h1", "Maduro")
	w.shows(".sentence", "$120.00 went ahead")
	w.shows(".sentence", "Nothing of it waits")
	w.page("learning", "Learning")
	for _, who := range []string{"Dana", "Eric"} {
		w.shows("#officers tbody", who)
	}
	today := w.value(`new Date().toISOString().slice(0, 10)`)
	got := w.value(`(() => { const ask = new XMLHttpRequest(); ask.open('GET', '/console/bundle?from=` + today + `&to=` + today + `', false); ask.send(); return ask.status + ' ' + ask.getResponseHeader('Content-Type'); })()`)
	require.Contains(t, got, "200 ")
}

// changesPolicy backtests an edit of the policy and then activates it.
func (w *tab) changesPolicy(s *site, _ *day) {
	t := w.t
	version := s.call(0, s.Key, "GET", "/v1/policy?consistency=leader", "", 200)["policyVersion"].(float64)
	w.page("policy", "Policy")
	w.reach("textarea.code")
	w.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(2))) // Control+A selects everything.
	w.press(`{"rules": {"R9": "off"}, "review": {"sla": "4h", "fourEyes": {"rules": ["R22"]}}}`)
	w.shows("#told", "Rule R9: it is not judged")
	w.enter("#backtest")
	w.asked("under your edit")
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows("h1", "Backtest of another policy")
	w.shows(".badge", "done")
	w.shows("#outcome", "3 of")
	w.shows("#matrix .moved", "$2,103")
	w.enter("a.button")
	w.shows(".note", "The document of bt_")
	w.enter("#activate")
	w.asked("It replaces version")
	w.shows("dialog .note.warn", "lets through what was stopped before")
	w.reach("dialog textarea")
	w.press("Three of three were fine.")
	w.enter("dialog button[type=submit]")
	w.closed()
	w.shows(".comments", "Three of three were fine.")
	require.Equal(t, version+1, s.call(2, s.Key, "GET", "/v1/policy?consistency=leader", "", 200)["policyVersion"])
}
