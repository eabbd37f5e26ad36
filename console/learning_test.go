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
	today := w.value(`new Date().toISOString().slice(0, 10)`)
	w.types(`#examiner input[name=from]`, today)
	w.types(`#examiner input[name=to]`, "2020-01-01")
	w.click("#bundle")
	w.shows("#examiner [role=status]", "31 days at most")
	got := w.value(`(() => { const ask = new XMLHttpRequest(); ask.open('GET', '/console/bundle?from=` + today + `&to=` + today + `', false); ask.send(); return ask.status + ' ' + ask.getResponseHeader('Content-Disposition'); })()`)
	require.Equal(t, `200 attachment; filename="railguard-`+today+`-`+today+`.tar.zst"`, got)
	w.at("/learning?from=2020-01-01&to=2020-01-02", "Learning")
	w.shows("#officers", "Nothing here.")
	w.clean()
}
