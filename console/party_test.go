package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestPartyKeepsWhatWasDone: an alert that was acknowledged stays on the page of its party, with who, when
// and why, and its link leads to it; a clearing is made there with its evidence, taken back there, and
// then shown as taken back. From every page a key leads to the search, which leads to the party.
func TestPartyKeepsWhatWasDone(t *testing.T) {
	browser(t)
	source := axe(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	s.call(0, s.Key, "POST", "/v1/transactions/"+d.name+"/settle", `{}`, 200)
	alerts := s.call(0, s.Key, "GET", "/v1/alerts?kind=not_allowed", "", 200)["data"].([]any)
	alert := alerts[0].(map[string]any)["alertId"].(string)
	s.call(0, s.Key, "POST", "/v1/alerts/"+alert+"/acknowledge", `{"by":"Ann","reason":"the rail paid twice"}`, 200)
	w := s.window(0)
	w.do(page.SetBypassCSP(true)) // Only the checker needs this.
	w.signIn(s.key("Olga", "reviewer"))

	w.at("/agents", "Agents")
	w.press("/")
	require.Equal(t, "find", w.value(`document.activeElement.id`))
	w.types("#find", "nikolas maduro")
	w.press(kb.Enter)
	w.shows("h1", "Search")
	require.Equal(t, "nikolas maduro", w.value(`new URLSearchParams(location.search).get('q')`))
	w.pick("tbody a", "Nikolas Maduro")
	w.shows("h1", "Nikolas Maduro")
	w.shows("#closed tbody", "the rail paid twice")
	w.shows("#closed tbody", "Ann")
	w.shows("#closed tbody", "acknowledged")
	require.Equal(t, "/console/alerts?state=acknowledged#"+alert, w.value(`document.querySelector('#closed tbody a').getAttribute('href')`))
	w.accessible(source, "a party with closed work")

	w.click("#cleared .clear")
	w.asked("“Nikolas Maduro” is not MADURO MOROS, Nicolas")
	w.shows("#grounds", "born 1962 · country Venezuela")
	w.types("dialog textarea", "A cook in Lyon.")
	w.confirm()
	w.shows("#cleared tbody", "in force")
	require.Equal(t, "null", w.value(`document.querySelector('#cleared .clear')`))
	w.click("#cleared .takeback")
	w.asked("no cleared pair any more")
	w.types("dialog textarea", "His passport says so.")
	w.confirm()
	w.shows("#cleared tbody", "taken back")
	w.shows("#cleared tbody", "His passport says so.")
	require.NotEqual(t, "null", w.value(`document.querySelector('#cleared .clear')`), "it can be cleared anew")
	w.shows("table", "Cleared pair taken back")

	w.pick("#closed tbody a", "")
	w.shows("h1", "Alerts")
	w.press("?")
	w.shows("dialog", "find anything, from every page")
	w.clean()
}
