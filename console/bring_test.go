package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestWholeListInTheBrowser: an officer brings a list beside OFAC's as a file. A file with a bad row is
// refused with the row; a good one is staged, read on its page and activated; the next file of the list
// takes the place of all that it had.
func TestWholeListInTheBrowser(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	w := s.window(0)
	w.signIn(s.key("Olga", "reviewer,policy"))
	token := s.call(0, s.Key, "POST", "/v1/agents/register", `{"agentName":"Errand bot","agentType":"supervised","operatorLegalName":"Lindqvist Handel AB","purpose":"errands"}`, 201)["token"].(string)
	pays := func(name, verdict, reason string) {
		t.Helper()
		got := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+token+`","amount":12,"cpName":"`+name+`"}`, 200)
		require.Equal(t, verdict, got["verdict"])
		require.Contains(t, got["reason"], reason)
	}
	chooses := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "house.csv")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		w.do(chromedp.SetUploadFiles("dialog input[type=file]", []string{file}, chromedp.ByQuery))
	}
	w.at("/lists", "Lists")
	w.click("#besides button.bring")
	w.click("dialog button[type=submit]")
	require.Equal(t, "true", w.value(`document.querySelector('dialog').open`), "not without an id and a file")
	w.types("dialog input[name=list]", "house")
	w.types("dialog input[name=listName]", "House list")
	w.do(chromedp.SetValue("dialog select[name=effect]", "block", chromedp.ByQuery))
	chooses("id,kind,name\ncase-7,ship,Quuxven Zorbal Trading\n")
	w.click("dialog button[type=submit]")
	w.shows("dialog .note.bad", "row 2, column kind")
	require.Empty(t, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"])
	chooses("id,kind,name\ncase-7,company,Quuxven Zorbal Trading\ncase-8,company,Frobnitz Gulp Bank\n")
	w.confirm()
	w.shows("h1", "List snp_")
	w.shows("#diff summary", "Added: 2")
	pays("Quuxven Zorbal Trading", "PROCEED", "")
	w.pick(".activate", "Activate")
	w.types("dialog textarea", "our own list")
	w.confirm()
	w.shows("h1", "Lists")
	w.shows("#besides", "House list")
	w.shows("#besides", "An exact hit blocks.")
	pays("Quuxven Zorbal Trading", "BLOCK", "on the list House list")

	w.click("#besides button.file")
	chooses("id,kind,name\ncase-8,company,Frobnitz Gulp Bank\ncase-9,company,Plonk Wibble Foundry\n")
	w.confirm()
	w.shows("h1", "List snp_")
	w.shows("#diff summary", "Added: 1")
	w.pick(".activate", "Activate")
	w.types("dialog textarea", "the file of today")
	w.confirm()
	w.shows("h1", "Lists")
	pays("Quuxven Zorbal Trading", "PROCEED", "")
	pays("Plonk Wibble Foundry", "BLOCK", "on the list House list")
	w.clean()
}
