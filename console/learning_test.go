package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLearningPage reads what was decided: who, how fast, and which entry made work for nothing.
func TestLearningPage(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	dana := s.key("Dana", "reviewer,auditor")
	s.call(0, dana, "POST", "/v1/reviews/"+d.name, `{"disposition":"APPROVED","reviewedBy":"Dana"}`, 200)
	s.call(0, dana, "POST", "/v1/reviews/"+d.limit, `{"disposition":"REJECTED","reviewedBy":"Dana","notes":"too much"}`, 200)
	w := s.window(0)
	w.signIn(dana)
	w.at("/learning", "Learning")
	w.shows("#total", "2")
	w.shows("#officers tbody th", "Dana")
	w.shows("#officers tbody td:nth-child(3)", "1 (50 %)")
	w.shows("#rules tbody", "R21")
	w.shows("#entries tbody th", "MADURO MOROS, Nicolas")
	w.shows("#entries tbody td:last-child", "1 (100 %)")
	w.shows("#days tbody", "2")
	require.Contains(t, w.value(`(() => { const ask = new XMLHttpRequest(); ask.open('GET', document.querySelector('#period a').href, false); ask.send(); return ask.responseText; })()`), "officer and rule,")
	w.at("/learning?from=2020-01-01&to=2020-01-02", "Learning")
	w.shows("#officers", "Nothing here.")
	w.clean()
}
