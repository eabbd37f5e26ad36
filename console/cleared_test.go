package console_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// listed is one party of an invented list.
type listed struct {
	uid                 int
	name, kind, program string // kind: individual, or -0- for a company.
}

// published are the files of a list that names these parties.
func published(t *testing.T, parties ...listed) []string {
	t.Helper()
	folder := t.TempDir()
	var entries strings.Builder
	for _, p := range parties {
		entries.WriteString(strconv.Itoa(p.uid) + `,"` + p.name + `",` + p.kind + `,"` + p.program + `",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ` + "\r\n")
	}
	var files []string
	for name, text := range map[string]string{"sdn.csv": entries.String(), "add.csv": "", "alt.csv": "", "sdn_comments.csv": ""} {
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, []byte(text+"\x1a"), 0o600))
		files = append(files, file)
	}
	return files
}

// puts drops a list's files on the lists page and activates the list.
func (w *tab) puts(s *site, files []string) {
	w.t.Helper()
	w.at("/lists", "Lists")
	w.drops(files)
	w.shows("h1", "List snp_")
	id := s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"].([]any)[0].(map[string]any)["snapshotId"].(string)
	s.call(0, s.Key, "POST", "/v1/ofac/"+id+"/activate", `{"force":true,"reason":"made up","actor":"Olga"}`, 200)
}

// clears clears a pair that resembles the one in the morning's case.
func (s *site) clears(d *day) {
	uid := s.call(0, s.Key, "GET", "/v1/audit/"+d.name, "", 200)["matches"].([]any)[0].(map[string]any)["uid"].(string)
	until := time.Now().AddDate(0, 6, 0).Format(time.DateOnly)
	s.call(0, s.Key, "POST", "/v1/cleared", `{"name":"Nicolas Maduro","uid":"`+uid+`","reason":"a cook in Lyon, born 1990","nameOnly":true,"expiresAt":"`+until+`","clearedBy":"Ann"}`, 201)
}

// TestClearedPairs: an officer clears a pair from its case with a reason. A page shows who
// cleared it, when, why and until when. The pair becomes void when the listed entry changes
// or goes, and it can be taken back.
func TestClearedPairs(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	w := s.window(0)
	w.signIn(s.key("Olga", "reviewer,policy"))
	other := s.call(0, s.Key, "POST", "/v1/agents/register", `{"agentName":"Errand bot","agentType":"supervised","operatorLegalName":"Lindqvist Handel AB","purpose":"errands"}`, 201)["token"].(string)
	pays := func(stopped bool, said ...string) {
		t.Helper()
		require.Equal(t, stopped, s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+other+`","amount":12,"cpName":"Nikolas Maduro"`+strings.Join(said, "")+`}`, 200)["verdict"] != "PROCEED")
	}
	w.at("/cleared", "Cleared pairs")
	w.shows("#pairs", "No pair is cleared")
	pays(true)

	w.at("/case/"+d.name, "$120")
	entry, err := strconv.Atoi(w.value(`/Entry (\d+)\./.exec(document.querySelector('.hit .why').innerText)[1]`))
	require.NoError(t, err)
	w.click("button.clear")
	w.asked("“Nikolas Maduro” is not MADURO MOROS, Nicolas")
	w.shows("#grounds", "It rests on: born 1962 · country Venezuela.")
	w.types("dialog textarea", "   ")
	w.click("dialog button[type=submit]")
	w.shows("dialog [role=alert]", "Say how you know")
	w.types("dialog textarea", "A cook in Lyon, born 1990.")
	w.confirm()
	w.shows(".hit .note", "This pair is cleared")
	require.Equal(t, "null", w.value(`document.querySelector('button.clear')`))
	pays(true)
	pays(true, `,"cpCountry":"France"`)
	pays(false, `,"cpCountry":"Venezuela"`)
	w.at("/cleared", "Cleared pairs")
	for _, text := range []string{"nikolas maduro", "MADURO MOROS, Nicolas", "in force", "Olga", "A cook in Lyon, born 1990.", "born 1962 · country Venezuela"} {
		w.shows("#pairs tbody", text)
	}
	w.shows("#totals", "1 pair")

	w.puts(s, published(t, listed{entry, "MADURO, Nicolas", `"individual"`, "VENEZUELA"}, listed{9_100_300, "SOMEBODY ELSE LLC", "-0- ", "SAMPLE"}))
	w.at("/cleared", "Cleared pairs")
	w.shows("#pairs tbody", "The listed entry changed since")
	w.shows("#totals", "1 pair, 1 void")
	pays(true, `,"cpCountry":"Venezuela"`)
	w.at("/cleared?state=force", "Cleared pairs")
	w.shows("#pairs", "None of that kind")
	w.puts(s, published(t, listed{9_100_300, "SOMEBODY ELSE LLC", "-0- ", "SAMPLE"}))
	w.at("/cleared?q=lyon", "Cleared pairs")
	w.shows("#pairs tbody", "The entry is listed no more")
	w.shows("#pairs tbody", "not on the list in force")

	w.click(".takeback")
	w.asked("no cleared pair any more")
	w.types("dialog textarea", "He is of no list.")
	w.confirm()
	w.shows("#pairs", "No pair is cleared")
	require.Empty(t, s.call(0, s.Key, "GET", "/v1/cleared", "", 200)["data"])
	w.at("/activity?show=changes&group=cleared", "Activity")
	w.shows("tbody", "Cleared pair taken back")
	w.shows("tbody .event", "cleared.removed")
	w.shows("tbody", "Pair cleared")
	w.clean()
}

// TestListedOperator: if an operator is listed after its agents were registered, its payments
// are blocked as soon as the list is active, and an alert opens.
func TestListedOperator(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	w := s.window(0)
	w.signIn(s.key("Olga", "reviewer,policy"))
	w.puts(s, published(t, listed{9_100_400, "ACME ROBOTICS INC", "-0- ", "SAMPLE"}))
	require.Equal(t, "BLOCK", s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":12,"cpName":"Harbour Freight"}`, 200)["verdict"])
	w.at("/alerts?kind=operator_listed", "Alerts")
	w.shows("#totals", "1 alert")
	w.shows(".row", "Operator listed")
	w.shows(".row", "Acme Robotics Inc")
	w.shows(".row a", "Procurement bot")
	require.Equal(t, "true", w.value(`[...document.querySelectorAll('.row a')].some(a => a.href.endsWith('/`+d.agent+`'))`), "it leads to the agent")
	w.clean()
}

// TestPassesOver: the key N leads from case to case. A case that is left undecided is
// released, and comes again only when no other case is free. Nobody can escalate without a
// reason.
func TestPassesOver(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/queue", "Queue")
	w.shows("#totals", "7 cases")
	seen := map[string]bool{}
	for range 7 {
		w.press("n")
		w.do(chromedp.Poll(`location.pathname.startsWith('/console/case/') && !`+"["+quoted(seen)+"]"+`.includes(location.pathname) && document.querySelector('.claim')?.innerText.includes('by you') && document.querySelector('h1') !== null`, nil, chromedp.WithPollingTimeout(patience)))
		seen[w.value("location.pathname")] = true
	}
	require.Len(t, seen, 7)
	w.click("button.next") // The button does the same as the key.
	w.shows(".toast", "Nothing else is free. You passed over 7")
	require.Empty(t, s.call(0, s.Key, "GET", "/v1/queue?state=claimed", "", 200)["data"], "what was passed over is anybody's")

	w.at("/case/"+d.limit, "$6,200")
	w.press("s")
	w.asked("Escalate as suspicious")
	w.types("dialog textarea", " \n ")
	w.click("dialog button[type=submit]")
	w.shows("dialog [role=alert]", "Say what is suspicious")
	require.Equal(t, "true", w.value(`document.activeElement === document.querySelector('dialog textarea')`), "the field has the focus")
	require.Nil(t, s.call(0, s.Key, "GET", "/v1/audit/"+d.limit, "", 200)["disposition"])
	w.types("dialog textarea", "Above the limit, three times this week.")
	w.confirm()
	w.shows(".note", "ESCALATED")
	w.clean()
}

// quoted returns the keys of a set as the elements of a JavaScript array.
func quoted(set map[string]bool) string {
	var all []string
	for key := range set {
		all = append(all, strconv.Quote(key))
	}
	return strings.Join(all, ",")
}
