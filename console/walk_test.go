package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"railguard/engine/passkey/passkeytest"
)

// TestOfficersDay walks the day of two officers at two nodes of three: sign in, skim by
// keyboard alone, approve, reject, escalate, lose a race, verify a proof, sign out.
func TestOfficersDay(t *testing.T) {
	browser(t)
	s := cluster(t, 3)
	d := s.morning()
	dana, eric := s.key("Dana", "reviewer"), s.key("Eric", "reviewer")
	w := s.window(0)
	w.at("/case/"+d.name, "Sign in") // A link from a mail: the case opens after the sign-in.
	w.do(chromedp.SendKeys("#key", "rg_live_nobody\n", chromedp.ByQuery))
	w.shows("[role=alert]", "not known")
	w.do(chromedp.SendKeys("#key", dana+"\n", chromedp.ByQuery))
	w.shows("h1", "$120.00 to Nikolas Maduro")
	require.Equal(t, "", w.value("document.cookie"), "no script reads the session")
	require.Equal(t, "0", w.value(`[...document.querySelectorAll('nav a')].filter((a) => ['Cluster', 'Operators ', 'Settings'].includes(a.textContent)).length`), "a reviewer sees no page of ops")

	w.reads(d)
	w.skims(s, d)
	w.losesRace(s, d, eric)
	w.seesClaim(s, d, eric)
	w.decidesTheRest(s, d, eric)

	// Changes made elsewhere show up without a reload, and another node accepts the same
	// session.
	w.shows("#totals", "Nothing is waiting")
	w.before, w.origin = w.origin, "http://"+s.Nodes[1].HTTP
	w.at("/queue", "Queue")
	w.click(".menu summary")
	w.click(".menu button")
	w.shows("h1", "Sign in")
	w.do(chromedp.Reload())
	w.shows("h1", "Sign in")
	w.clean()
}

// reads checks the proof, the sentence and the marked letters.
func (w *tab) reads(d *day) {
	t := w.t
	w.shows("#proof", "proof verified in your browser")
	w.shows(".sentence", "could be “MADURO MOROS, Nicolas”")
	require.Equal(t, "k", w.value(`[...document.querySelectorAll('.hit .compare tr:first-child td:nth-of-type(1) mark')].map((m) => m.textContent).join('')`), "the letter that differs")
	require.Equal(t, "MOROS,c", w.value(`[...document.querySelectorAll('.hit .compare tr:first-child td:nth-of-type(2) mark')].map((m) => m.textContent).join(',')`), "the listed word and letter that the payment has not")
	w.at("/case/"+d.limit, "$6,200")
	w.shows(".sentence", "$6,200.00 is above the single payment limit of this agent, $5,000.00.")
	w.shows("td", "$5,000")
}

// skims decides by keyboard. A rejection needs a reason.
func (w *tab) skims(s *site, d *day) {
	t := w.t
	w.at("/queue", "Queue")
	w.shows("#totals", "7 cases")
	w.press("j")
	w.shows(".preview .sentence", "attested")
	w.press("k")
	w.shows(".preview .sentence", "could be")
	w.press("a")
	w.shows("dialog .action", "Approve the payment of $120.00 to Nikolas Maduro")
	w.shows("dialog", "Today’s list")
	w.shows("dialog .unseenhits", "1 hit is not marked as compared")
	require.Equal(t, "TEXTAREA", w.value(`document.activeElement.tagName`), "the focus is not on Approve before it is compared")
	w.press(kb.Escape)
	w.closed()
	w.click(".preview .hit input[type=checkbox]")
	w.do(chromedp.Evaluate(`document.querySelector('#`+d.name+` a').focus()`, nil))
	w.press("a")
	w.shows("dialog", "Today’s list")
	w.press("\r") // The button has the focus.
	w.shows(".toast", "Approved")
	w.shows("#totals", "6 cases")
	require.Equal(t, d.stale, w.value(`document.activeElement.closest('.row')?.id`), "the focus goes to the case behind it")
	record := s.call(2, s.Key, "GET", "/v1/audit/"+d.name+"?consistency=leader", "", 200)
	require.Equal(t, "APPROVED", record["disposition"])
	require.Equal(t, "Dana", record["reviewedBy"])

	// The next case is selected. A rejection needs a reason.
	w.shows(".preview .sentence", "attested")
	w.click(".preview button.bad")
	w.shows("dialog .action", "Reject the payment of $15,000")
	w.click("dialog button[type=submit]")
	require.Equal(t, "true", w.value(`document.querySelector('dialog').open`), "no rejection without a reason")
	w.do(chromedp.SendKeys("dialog textarea", "Nobody attested it, and nobody expects it. jkarsnx?", chromedp.ByQuery))
	require.Contains(t, w.value(`document.querySelector('dialog textarea').value`), "jkarsnx?", "shortcuts are inert in inputs")
	w.click("dialog button[type=submit]")
	w.shows("#totals", "5 cases")
	require.Equal(t, "REJECTED", s.call(1, s.Key, "GET", "/v1/audit/"+d.stale+"?consistency=leader", "", 200)["disposition"])
}

// losesRace escalates a case that another officer approves first at another node.
func (w *tab) losesRace(s *site, d *day, eric string) {
	t := w.t
	w.at("/case/"+d.limit, "$6,200")
	w.click("button.warn")
	w.shows("dialog .action", "Escalate as suspicious")
	w.do(chromedp.SendKeys("dialog textarea", "A pattern.", chromedp.ByQuery))
	s.call(1, eric, "POST", "/v1/reviews/"+d.limit, `{"disposition":"APPROVED","reviewedBy":"Eric"}`, 200)
	w.click("dialog button[type=submit]")
	w.shows("dialog .lost", "Eric was faster")
	w.shows("dialog .lost", "APPROVED")
	require.Equal(t, "A pattern.", w.value(`document.querySelector('dialog textarea').value`), "the dialog keeps what she wrote")
	w.click("dialog .lost a")
	w.shows(".note", "by Eric")
}

// seesClaim sees another officer's claim, and escalates all the same.
func (w *tab) seesClaim(s *site, d *day, eric string) {
	s.call(1, eric, "POST", "/v1/queue/"+d.model+"/claim", `{"assignee":"Eric"}`, 200)
	w.at("/case/"+d.model, "$300")
	w.shows(".note.warn", "Eric is working on this case")
	w.press("s")
	w.shows("dialog .note.warn", "Eric is working on this case")
	w.do(chromedp.SetValue("dialog textarea", "Another model, another pattern.", chromedp.ByQuery))
	w.click("dialog button[type=submit]")
	w.shows(".note", "ESCALATED")
	w.shows("#proof", "proof verified in your browser") // It proves the disposition's leaf too.
}

// decidesTheRest rejects three cases at once; another officer decides one of them first.
func (w *tab) decidesTheRest(s *site, d *day, eric string) {
	t := w.t
	w.at("/queue", "Queue")
	w.shows("#totals", "3 cases")
	w.do(chromedp.Evaluate(`document.querySelectorAll('.row input').forEach((box) => box.click())`, nil))
	w.shows(".bulk", "3 selected")
	w.click(".bulk button.bad")
	w.do(chromedp.SendKeys("dialog textarea", "Not over this chain.", chromedp.ByQuery))
	s.call(2, eric, "POST", "/v1/reviews/"+d.more[0], `{"disposition":"APPROVED","reviewedBy":"Eric"}`, 200)
	w.click("dialog button[type=submit]")
	w.shows("dialog", "Eric was faster: APPROVED")
	w.shows("dialog button[type=submit]", "Done")
	w.click("dialog button[type=submit]")
	for _, id := range d.more[1:] {
		require.Equal(t, "REJECTED", s.call(0, s.Key, "GET", "/v1/audit/"+id, "", 200)["disposition"])
	}
}

// TestShortcutsAndRefresh: single-key shortcuts can be switched off (WCAG 2.1.4), and changes
// made elsewhere do not move the selected case.
func TestShortcutsAndRefresh(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/queue", "Queue")
	w.press("j")
	w.shows(".row.selected", "Fjord")
	w.click(".menu summary")
	w.click(".menu input[type=checkbox]")
	w.at("/queue", "Queue")
	w.shows("#totals", "7 cases")
	w.shows(".row.selected", "Maduro")
	w.press("j", "a")
	require.Equal(t, "false", w.value(`document.querySelector('dialog') !== null || document.querySelector('.row.selected').innerText.includes('Fjord')`))
	w.click(".menu summary")
	w.click(".menu input[type=checkbox]")

	// A case decided elsewhere disappears; the selected case stays selected.
	w.click("#" + d.stale + " a")
	w.shows("h1", "$15,000")
	w.at("/queue", "Queue")
	w.press("j", "j")
	w.shows(".row.selected", "Northwind")
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.name, `{"disposition":"REJECTED","reviewedBy":"Eric"}`, 200)
	w.shows("#totals", "6 cases")
	w.shows(".row.selected", "Northwind")
	require.Contains(t, w.value(`document.getElementById('said').textContent`), "1 decided elsewhere")

	// An open case does not change by itself: it says that another officer decided it, and
	// shows that on request.
	w.at("/case/"+d.model, "$300")
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.model, `{"disposition":"REJECTED","reviewedBy":"Eric"}`, 200)
	w.shows("#news", "Eric decided this case meanwhile")
	require.NotContains(t, w.value(`document.querySelector('.titlebar').innerText`), "REJECTED")
	w.pick("#news button", "Show")
	w.shows(".titlebar", "REJECTED")
	w.clean()
}

// axeVersion is the version of the accessibility checker, which the test downloads.
const axeVersion = "4.10.3"

// axe returns the checker's source from the user's cache folder, and downloads it if needed.
func axe(t *testing.T) string {
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	folder := filepath.Join(cache, "railguard-axe", axeVersion)
	file := filepath.Join(folder, "package", "axe.min.js")
	if text, err := os.ReadFile(file); err == nil {
		return string(text)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm on this machine: accessibility is not checked")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pack := exec.CommandContext(ctx, "npm", "pack", "--silent", "axe-core@"+axeVersion)
	pack.Dir = folder
	if output, err := pack.CombinedOutput(); err != nil {
		t.Skipf("axe-core cannot be fetched: accessibility is not checked: %s", output)
	}
	unpack := exec.Command("tar", "xzf", "axe-core-"+axeVersion+".tgz")
	unpack.Dir = folder
	output, err := unpack.CombinedOutput()
	require.NoError(t, err, string(output))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// TestAccessibility: axe-core finds nothing of level A or AA on any page, light or dark,
// on a desk or a phone, and in the dialogs.
func TestAccessibility(t *testing.T) {
	browser(t)
	source := axe(t)
	s := cluster(t, 1)
	d := s.morning()
	s.desk(d)
	s.clears(d)
	w := s.window(0)
	w.do(page.SetBypassCSP(true)) // Only the checker needs this; the other tests run with the policy.
	check := func(where string) { t.Helper(); w.accessible(source, where) }
	backtest := s.call(0, s.Key, "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z","policy":{"rules":{"R10":"off"}}}`, 202)["id"].(string)
	shadow := s.call(0, s.Key, "POST", "/v1/policy/shadow", `{"policy":{"rules":{"R10":"off"}}}`, 202)["id"].(string)
	retro := s.call(0, s.Key, "POST", "/v1/ofac/retro", `{}`, 202)["retroId"].(string)
	list := s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["active"].(map[string]any)["snapshotId"].(string)
	w.at("/", "Sign in")
	check("sign-in")
	ada, party := s.staff()
	w.signIn(ada)
	walk := func(kind string) {
		for _, p := range [][2]string{
			{"/", "Overview"}, {"/inbox", "Inbox"}, {"/party?state=all", "Parties"}, {"/party/" + party, "Maduro"}, {"/search?q=maduro", "Search"}, {"/queue", "Queue"}, {"/case/" + d.name, "$120"}, {"/case/" + d.limit, "$6,200"}, {"/match?name=Nikolas%20Maduro", "Match"}, {"/lists", "Lists"}, {"/lists/" + list, "List"}, {"/agents", "Agents"},
			{"/agents/" + d.runner, "Treasury"}, {"/fleets", "Fleets"}, {"/fleets/" + d.fleet, "Europe"}, {"/users/" + d.user, "Users"}, {"/operators", "Operators"}, {"/cleared", "Cleared pairs"}, {"/policy", "Policy"}, {"/alerts?state=", "Alerts"}, {"/reports", "Reports"},
			{"/foresight", "Foresight"}, {"/foresight/backtests/" + backtest, "Backtest"}, {"/foresight/shadows/" + shadow, "Shadow"}, {"/foresight/retro/" + retro, "Looking back"}, {"/policy?from=" + backtest, "Policy"},
			{"/activity", "Activity"}, {"/learning", "Learning"}, {"/activity?show=changes", "Activity"}, {"/cluster", "Cluster"}, {"/people", "People"}, {"/passkeys", "Passkeys"}, {"/playground", "Playground"}, {"/nowhere", "No such page"},
		} {
			w.at(p[0], p[1])
			if shown, named := map[string][2]string{"Match": {"h2", "Answer"}, "People": {"#people", "person ended"}, "Passkeys": {"#passkeys", "Ada's own"}, "Policy": {"#whitelist", "Whitelist"}}[p[1]]; named {
				w.shows(shown[0], shown[1])
			}
			check(kind + " " + p[0])
		}
	}
	walk("desk")
	w.at("/case/"+d.name, "$120")
	w.do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((x) => { x.open = true; })`, nil))
	check("everything unfolded")
	for _, button := range []string{"button.good", "button.bad"} {
		w.at("/case/"+d.name, "$120")
		w.click(button)
		w.do(chromedp.WaitVisible("dialog", chromedp.ByQuery))
		check("dialog of " + button)
	}
	for path, button := range map[string]string{"/foresight/shadows/" + shadow: "#promote", "/foresight": "#begin-retro", "/policy?from=" + backtest: "#activate", "/lists": ".retro", "/people": ".endperson", "/passkeys": ".register", "/cluster": ".confirmtime"} {
		w.at(path, "")
		w.click(button)
		w.do(chromedp.WaitVisible("dialog", chromedp.ByQuery))
		check("dialog of " + button)
	}
	w.at("/policy", "Policy")
	w.types("textarea.code", `{"velocity": {"maxPerMinute": "many"}}`)
	w.click("#check")
	w.shows("#verdict", "refused")
	check("a policy that is refused")
	w.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
	for _, path := range []string{"/inbox", "/party?state=all", "/search?q=maduro", "/queue", "/case/" + d.name, "/", "/policy", "/lists", "/foresight/backtests/" + backtest, "/foresight", "/activity?show=changes", "/alerts", "/reports", "/cleared"} {
		w.at(path, "")
		check("phone " + path)
		require.LessOrEqual(t, w.value(`document.documentElement.scrollWidth - innerWidth`), "0", fmt.Sprintf("%s is wider than a phone", path))
	}
}

// staff makes an admin with a passkey and a person who was ended, and returns the admin's key and a party.
func (s *site) staff() (ada, party string) {
	make := func(name, roles string) map[string]any {
		return s.call(0, s.Key, "POST", "/admin/keys", fmt.Sprintf(`{"name":%q,"person":%q,"roles":%q}`, name, name, roles), 201)
	}
	ada = make("Ada", "admin")["key"].(string)
	s.call(0, ada, "POST", "/admin/passkeys", passkeytest.New("http://localhost", "localhost").Register("Ada's own", nil), 201)
	rita := make("Rita", "reviewer")["keyId"].(string)
	s.call(0, s.Key, "POST", "/admin/keys/"+rita+"/end-person", `{"reason":"left"}`, 200)
	return ada, s.call(0, ada, "GET", "/v1/parties?state=all&q=maduro", "", 200)["data"].([]any)[0].(map[string]any)["partyId"].(string)
}

// accessible runs the checker on the current page, light and dark.
func (w *tab) accessible(source, where string) {
	w.t.Helper()
	for _, look := range []string{"light", "dark"} {
		w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look}, {Name: "prefers-reduced-motion", Value: "reduce"}}))
		var found string
		if w.value("typeof axe") == "undefined" {
			w.do(chromedp.Evaluate(source+`;0`, nil))
		}
		only := `{type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}`
		if look == "dark" { // Only the colours differ.
			only = `{type: 'rule', values: ['color-contrast', 'link-in-text-block']}`
		}
		w.do(chromedp.Evaluate(`axe.run(document, {runOnly: `+only+`}).then((r) =>
			JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? ''))])))`, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		var violations []any
		require.NoError(w.t, json.Unmarshal([]byte(found), &violations))
		if len(violations) > 0 {
			w.t.Errorf("%s, %s: %s", where, look, found)
		}
	}
}
