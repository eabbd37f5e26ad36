package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// all cuts answers until the test says otherwise: a browser asks again by itself where a connection that
// it had used before breaks.
const all = 1 << 30

// signsOut ends the session with the menu.
func (w *tab) signsOut() {
	w.t.Helper()
	w.click(".menu summary")
	w.click(".menu button")
	w.shows("h1", "Sign in")
}

// signsInAgain signs in without loading the page anew.
func (w *tab) signsInAgain(key, heading string) {
	w.t.Helper()
	w.do(chromedp.SendKeys("#key", key+"\n", chromedp.ByQuery))
	w.shows("h1", heading)
}

// ofPerson makes an API key that names a person.
func (s *site) ofPerson(name, roles, person string) string {
	return s.call(0, s.Key, "POST", "/admin/keys", fmt.Sprintf(`{"name":%q,"roles":%q,"person":%q}`, name, roles, person), 201)["key"].(string)
}

// TestNobodyElsesName: a decision is in the name of the person of the session, whoever sat at the
// same browser before.
func TestNobodyElsesName(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	dana, eric, fay := s.key("Dana", "reviewer"), s.key("Eric", "reviewer"), s.ofPerson("desk 3", "reviewer", "Fay Okafor")
	w := s.window(0)
	w.signIn(dana)
	approve := func(id, amount string) {
		t.Helper()
		w.at("/case/"+id, amount)
		w.press("a")
		w.asked("Approve the payment")
	}
	approve(d.limit, "$6,200")
	w.types("dialog input[name=by]", "Dana Ortiz")
	w.enter("dialog button[type=submit]")
	w.shows(".note", "by Dana Ortiz")
	approve(d.more[0], "$700")
	require.Equal(t, "Dana", w.value(`document.querySelector('dialog input[name=by]').value`), "the page was loaded anew")
	w.press(kb.Escape)
	w.signsOut()
	w.signsInAgain(eric, "$700")
	w.press("a")
	w.asked("Approve the payment")
	require.Equal(t, "Eric", w.value(`document.querySelector('dialog input[name=by]').value`))
	w.enter("dialog button[type=submit]")
	w.shows(".note", "by Eric")
	w.signsOut()
	w.signsInAgain(fay, "$700")
	approve(d.more[1], "$701")
	w.shows("dialog .signs", "Decided by Fay Okafor")
	require.Equal(t, "null", w.value(`document.querySelector('dialog input[name=by]')`), "the key says who she is")
	w.enter("dialog button[type=submit]")
	w.shows(".note", "by Fay Okafor")
	for id, who := range map[string]string{d.limit: "Dana Ortiz", d.more[0]: "Eric", d.more[1]: "Fay Okafor"} {
		require.Equal(t, who, s.call(0, s.Key, "GET", "/v1/audit/"+id, "", 200)["reviewedBy"])
	}
	require.Equal(t, "null", w.value(`localStorage.getItem('railguard.officer')`))
	w.clean()
}

// TestLostAnswer: an answer that gets lost is asked for again by the same Idempotency-Key; the page
// says what happened, and it happened once.
func TestLostAnswer(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	b := stand(t, s.Nodes[0].HTTP)
	w := s.behind(b)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/case/"+d.limit, "$6,200")

	// Once: the page asks again by itself.
	b.cuts("/reviews/", 1)
	w.press("r")
	w.asked("Reject the payment")
	w.press("Too much at once.")
	w.enter("dialog button[type=submit]")
	w.shows(".toast", "It had been recorded at the first try")
	w.shows(".note", "by Dana")
	w.closed()

	// For long: the page says that it does not know, and pressing again tells.
	w.at("/case/"+d.model, "$300")
	b.cuts("/reviews/", all)
	w.press("r")
	w.asked("Reject the payment")
	w.press("Another model.")
	w.enter("dialog button[type=submit]")
	w.shows("dialog .lostanswer", "It may have been recorded or not")
	w.shows("dialog button[type=submit]", "Ask again")
	require.Equal(t, "true", w.value(`document.querySelector('dialog textarea').readOnly`), "another text would be another act")
	require.Equal(t, "REJECTED", s.call(0, s.Key, "GET", "/v1/audit/"+d.model, "", 200)["disposition"])
	b.cuts("", 0)
	w.enter("dialog button[type=submit]")
	w.shows(".toast", "It had been recorded at the first try")
	w.closed()

	// A comment is one, and a case that is decided in her own name is not somebody's who was faster.
	w.at("/case/"+d.stale, "$15,000")
	b.cuts("/comment", all)
	w.do(chromedp.SendKeys("textarea[name=comment]", "Called the operator.", chromedp.ByQuery))
	w.pick("form button", "Comment")
	w.shows("form .lostanswer", "It may have been recorded or not")
	b.cuts("", 0)
	w.pick("form button", "Comment")
	w.shows(".comments li", "Called the operator.")
	require.Len(t, s.call(0, s.Key, "GET", "/v1/audit/"+d.stale, "", 200)["comments"], 1)
	w.press("r")
	w.asked("Reject the payment")
	w.press("No.")
	s.call(0, s.Key, "POST", "/v1/reviews/"+d.stale, `{"disposition":"APPROVED","reviewedBy":"Dana"}`, 200)
	w.enter("dialog button[type=submit]")
	w.shows("dialog .lost", "It is decided already, in your name: APPROVED")
	w.clean()
}

// TestClearAndApprove: hits are cleared and the payment is approved in one dialog, for one reason, and
// a lost answer makes neither of them twice.
func TestClearAndApprove(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	s.call(0, s.Key, "PUT", "/v1/policy?reason=test", `{"twoPersons":[]}`, 200)
	b := stand(t, s.Nodes[0].HTTP)
	w := s.behind(b)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/case/"+d.name, "$120")
	w.shows("#proof", "proof verified")
	w.click(".hit input[type=checkbox]")
	w.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	w.press("a")
	w.asked("Approve the payment")
	w.click("dialog .clears input")
	w.types("dialog textarea", "Born in 1975, in Amman; the passport was seen.")
	b.cuts("/reviews/", all)
	w.click("dialog button[type=submit]")
	w.shows("dialog .lostanswer", "It may have been recorded or not")
	b.cuts("", 0)
	w.click("dialog button[type=submit]")
	w.shows(".note", "by Dana")
	pairs := s.call(0, s.Key, "GET", "/v1/cleared", "", 200)["data"].([]any)
	require.Len(t, pairs, 1)
	require.Equal(t, "Born in 1975, in Amman; the passport was seen.", pairs[0].(map[string]any)["reason"])
	record := s.call(0, s.Key, "GET", "/v1/audit/"+d.name, "", 200)
	require.Equal(t, "APPROVED", record["disposition"])
	require.Equal(t, "Born in 1975, in Amman; the passport was seen.", record["notes"])
	w.clean()
}

// TestWhatSpeaksAgainstIt: limits that an approval passes today, hits that nobody compared and a payee
// who is listed since are said before the button, and Enter does not approve then.
func TestWhatSpeaksAgainstIt(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"25h"}`, 200)
	w := s.window(0)
	w.signIn(s.Key)

	// A clean case: Enter approves, and what it counts against is today.
	w.at("/case/"+d.model, "$300")
	w.press("a")
	w.asked("Approve the payment of $300")
	w.shows("dialog", "$300.00 count against the limits of today")
	w.shows("dialog", "Today’s list")
	require.Equal(t, "submit", w.value(`document.activeElement.type`))
	w.press(kb.Enter)
	w.closed()

	// The day's limit will be passed.
	for i, name := range []string{"Harbour Freight", "Alder Timber", "Lindqvist Papier", "Oakley Stationers", "Vesta Cleaning", "Marlow Print", "Quill Office"} {
		require.Equal(t, "PROCEED", s.call(0, s.Key, "POST", "/v1/screen", fmt.Sprintf(`{"token":%q,"amount":%d,"chain":"BASE","rail":"USDC","cpName":%q,"cpType":"business"}`, d.token, 4893+i, name), 200)["verdict"])
	}
	w.at("/case/"+d.limit, "$6,200")
	w.press("a")
	w.shows("dialog .overlimit", "The daily limit of this agent will be passed: $34,272.00 are spent or held today, $40,472.00 with this payment; the limit is $40,000.00")
	w.waits(`document.activeElement.tagName === 'TEXTAREA'`)
	w.press(kb.Escape)

	// Whoever was paid is listed since.
	w.puts(s, publication(t, "NORTHWIND TRADERS", "NOBODY ANYBODY PAID LLC"))
	w.at("/case/"+d.limit, "$6,200")
	w.press("a")
	w.shows("dialog .note.bad", "the payment would be BLOCKED")
	w.waits(`document.activeElement.tagName === 'TEXTAREA'`)
	w.press(kb.Enter)
	require.Equal(t, "true", w.value(`document.querySelector('dialog').open`))
	require.Nil(t, s.call(0, s.Key, "GET", "/v1/audit/"+d.limit, "", 200)["disposition"])
	w.clean()
}
