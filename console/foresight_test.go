package console_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// pick clicks the first element of a selector that has a text.
func (w *tab) pick(selector, text string) {
	w.t.Helper()
	w.shows(selector, text)
	quoted, _ := json.Marshal(selector)
	wanted, _ := json.Marshal(text)
	w.do(chromedp.Evaluate(`[...document.querySelectorAll(`+string(quoted)+`)].find((e) => e.innerText.includes(`+string(wanted)+`)).click()`, nil))
}

// types sets the text of a field as typing would.
func (w *tab) types(selector, text string) {
	w.t.Helper()
	quoted, _ := json.Marshal(selector)
	wanted, _ := json.Marshal(text)
	w.do(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Evaluate(`(() => { const e = document.querySelector(`+string(quoted)+`); e.value = `+string(wanted)+`; e.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil))
}

// waits waits until an expression is true.
func (w *tab) waits(expression string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	require.NoError(w.t, chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0))), expression)
}

// confirm presses the dialog's button and waits until the dialog is gone.
func (w *tab) confirm() {
	w.t.Helper()
	w.click("dialog button[type=submit]")
	w.closed()
}

// refusedMorning is a morning whose case above a limit an officer has refused.
func (s *site) refusedMorning() *day {
	d := s.morning()
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.limit, `{"disposition":"REJECTED","reviewedBy":"Root","notes":"too much"}`, 200)
	return d
}

// TestForesightPages backtests an edit of the policy and runs it as a shadow, from any node,
// and then activates it.
func TestForesightPages(t *testing.T) {
	browser(t)
	s := cluster(t, 3)
	d := s.refusedMorning()
	w := s.window(0)
	w.signIn(s.key("Olga", "policy,reviewer"))

	w.at("/policy", "Policy")
	w.shows("#told", "it says what is in force")
	w.types("textarea.code", `{"rules": {"R10": "off"}, "velocity": {"maxPerMinute": "many"}}`)
	w.shows("#told", "Rule R10: it is not judged (off); until now it stops the payment for a person (review).")
	w.shows("#told", "Payments a minute: many; until now 1000, the default.")
	w.click("#backtest")
	w.shows("#verdict", "velocity.maxPerMinute:")
	require.Equal(t, "null", w.value(`document.querySelector('dialog')`), "what is refused is not tried")
	w.types("textarea.code", `{"rules": {"R10": "off"}}`)
	w.click("#backtest")
	w.shows("dialog .action", "under your edit")
	w.confirm()
	w.shows("h1", "Backtest of another policy")
	w.shows(".badge", "done")
	w.shows("#outcome", "1 of 15 payments would have had another verdict")
	w.shows("#matrix .moved", "$6,200")
	w.tellsWho()
	id := regexp.MustCompile(`bt_\w+`).FindString(w.value("location.pathname"))
	w.pick("td a, th a", "UTC") // The example links to its case.
	w.shows("h1", "$6,200")
	require.Contains(t, w.value("location.pathname"), d.limit)

	// Another node fetches the trial from the node that has it. The edit is still there.
	w.before, w.origin = w.origin, "http://"+s.Nodes[2].HTTP
	w.at("/foresight", "Foresight")
	w.pick("tbody a", "UTC")
	w.shows("#outcome", "1 of 15 payments")
	require.Contains(t, w.value("location.pathname"), id)
	w.pick("a.button", "Edit this policy")
	w.shows(".note", id)
	w.shows("#told", "Rule R10: it is not judged")

	w.click("#shadow")
	w.shows("dialog .action", "judged a second time, under your edit")
	w.confirm()
	w.shows("h1", "Shadow of another policy")
	w.shows("#outcome", "No payment was judged yet")
	s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":6100,"chain":"BASE","rail":"USDC","cpName":"Northwind Traders","cpType":"business"}`, 200)
	w.shows("#outcome", "1 of 1 payments so far would have had another verdict")

	w.click("#promote")
	w.shows("dialog li", "Rule R10: it is not judged")
	w.types("dialog textarea", "the shadow was right")
	w.types("dialog input", "yes")
	w.click("dialog button[type=submit]")
	require.Equal(t, "true", w.value(`document.querySelector('dialog').open`), "not without the words")
	require.EqualValues(t, 1, s.call(0, s.Key, "GET", "/v1/policy", "", 200)["policyVersion"])
	w.types("dialog input", "put in force")
	w.confirm()
	w.shows(".card", "It is the policy that is in force now")
	require.EqualValues(t, 2, s.call(2, s.Key, "GET", "/v1/policy?consistency=leader", "", 200)["policyVersion"])
	w.click("#stop")
	w.shows("dialog .action", "It judges no more payments")
	w.confirm()
	w.shows(".badge", "done")

	w.at("/policy", "Policy")
	w.shows(".comments li", "the shadow was right")
	w.keepsDraft(s)
	w.pick(".comments summary", "What version 2 changed")
	w.shows(".comments li li", "Rule R10: it is not judged")
	w.clean()
}

// keepsDraft: an edit survives a visit to another page, and another person does not see it.
func (w *tab) keepsDraft(s *site) {
	w.types("textarea.code", `{"retro": {"suspend": true}}`)
	w.shows("#told", "Suspend whom a new list names: yes")
	w.turns("alerts", "Alerts")
	w.turns("policy", "Policy")
	w.shows("#told", "Suspend whom a new list names: yes")
	w.click(".menu summary")
	w.click(".menu button")
	w.shows("h1", "Sign in")
	w.do(chromedp.SendKeys("#key", s.Key+"\n", chromedp.ByQuery))
	w.shows("h1", "Policy")
	w.shows("#told", "it says what is in force")
}

// tellsWho: a trial lists its limits, and shows keys and agents by name.
func (w *tab) tellsWho() {
	w.shows("#saved .sentence", "officers approved 0 and refused 1.")
	w.shows("#saved tbody", "$6,200")
	w.shows("#doubts", "Nobody knows what agents would have done next")
	w.shows(".meta", "by Olga")
	w.shows("td a", "Procurement bot")
	require.NotRegexp(w.t, `key_|agt_`, w.value("document.querySelector('main').innerText"))
}
