package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnListInTheBrowser: an officer begins a list of the institution's own on the lists page, and a
// payment to whom it names is reviewed; the entry is ended, and the payment passes.
func TestOwnListInTheBrowser(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	w := s.window(0)
	w.signIn(s.key("Olga", "reviewer,policy"))
	token := s.call(0, s.Key, "POST", "/v1/agents/register", `{"agentName":"Errand bot","agentType":"supervised","operatorLegalName":"Lindqvist Handel AB","purpose":"errands"}`, 201)["token"].(string)
	pays := func(verdict, reason string) {
		t.Helper()
		got := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+token+`","amount":12,"cpName":"Quuxven Zorbal Trading"}`, 200)
		require.Equal(t, verdict, got["verdict"])
		require.Contains(t, got["reason"], reason)
	}
	pays("PROCEED", "")
	w.at("/lists", "Lists")
	w.shows("#besides", "No other list")
	w.click("#besides button.begin")
	w.types("dialog input[name=list]", "house")
	w.types("dialog input[name=id]", "case-7")
	w.types("dialog input[name=name]", "Quuxven Zorbal Trading")
	w.types("dialog textarea[name=reason]", "fraud, case 7")
	w.confirm()
	w.shows("#besides", "house")
	w.shows("#besides", "An exact hit is reviewed.")
	pays("REVIEW", "on the list house")

	w.click("#besides button.add")
	w.types("dialog input[name=id]", "case-8")
	w.types("dialog input[name=name]", "Frobnitz Gulp Bank")
	w.types("dialog textarea[name=reason]", "fraud, case 8")
	w.confirm()
	w.shows("#besides td:nth-child(3)", "2")
	w.click("#besides button.end")
	w.types("dialog input[name=id]", "case-7")
	w.types("dialog textarea[name=reason]", "he paid")
	w.confirm()
	w.shows("#besides td:nth-child(3)", "1")
	pays("PROCEED", "")
	w.clean()
}
