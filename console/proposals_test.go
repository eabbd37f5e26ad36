package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestProposals: what one person proposed waits on a page, with what it would change, and is
// done when a second person confirms it there. Who proposed it is told that nothing is done.
func TestProposals(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	alone := s.window(0)
	alone.signIn(s.Key)
	alone.puts(s, publication(t, "ORION FREIGHT"))
	made := func(person string) string {
		return s.call(0, s.Key, "POST", "/admin/keys", `{"name":"`+person+`","roles":"policy,reviewer","person":"`+person+`"}`, 201)["key"].(string)
	}
	pia, paul := made("Pia"), made("Paul")
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"25h"}`, 200)
	s.call(0, s.Key, "PUT", "/v1/policy", `{"twoPersons":"bank"}`, 200)
	list := s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["active"].(map[string]any)["snapshotId"].(string)

	w := s.window(0)
	w.lists = alone.lists
	w.signIn(pia)
	w.at("/proposals", "Proposals")
	w.shows("#proposals", "Nothing waits for a second person")
	w.at("/lists", "Lists")
	w.drops(publication(t, "VESTA CLEANING"))
	w.shows("h1", "List snp_")
	w.click(".activate")
	w.click("dialog input[name=force]")
	w.types("dialog textarea", "the sample goes")
	w.click("dialog button[type=submit]")
	w.shows(".toast", "Nothing is done yet")
	w.at("/proposals", "Proposals")
	w.shows(".proposal", "You do not confirm it: the proposer cannot confirm")
	require.Equal(t, list, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["active"].(map[string]any)["snapshotId"])
	s.call(0, pia, "PUT", "/v1/policy", `{"policy":{"twoPersons":"bank","rules":{"R17":"shadow"}},"reason":"too many"}`, 202)

	second := s.window(0)
	second.signIn(paul)
	second.at("/proposals", "Proposals")
	second.shows("#proposals", "Rule R17: it only notes (shadow)")
	second.shows(".proposal .leaving", "From the list leave")
	second.do(chromedp.Evaluate(`[...document.querySelectorAll('.proposal')].find((e) => e.innerText.includes('From the list leave')).querySelector('.confirm').click()`, nil))
	second.asked("comes in force")
	second.confirm()
	second.shows(".toast", "Confirmed: it is done")
	require.NotEqual(t, list, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["active"].(map[string]any)["snapshotId"])
	second.click(".withdraw")
	second.types("dialog textarea", "not today")
	second.confirm()
	second.shows("#proposals", "Nothing waits for a second person")
	w.clean()
	second.clean()
}
