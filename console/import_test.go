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

// publication writes the files of a list whose parties have these names. The parties of the
// embedded sample are not in it.
func publication(t *testing.T, names ...string) []string {
	folder := t.TempDir()
	var entries, addresses strings.Builder
	for i, name := range names {
		uid := strconv.Itoa(9_100_100 + i)
		entries.WriteString(uid + `,"` + name + `",-0- ,"SAMPLE",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ` + "\r\n")
		addresses.WriteString(uid + "," + uid + `,-0- ,"Pyongyang","Korea, North",-0- ` + "\r\n")
	}
	var files []string
	for name, text := range map[string]string{"sdn.csv": entries.String(), "add.csv": addresses.String(), "alt.csv": "", "sdn_comments.csv": ""} {
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, []byte(text+"\x1a"), 0o600))
		files = append(files, file)
	}
	return files
}

// datesList says in the form as of when the next list is: a day later than the list before it.
func (w *tab) datesList() {
	w.t.Helper()
	w.lists++
	w.types("input[name=asOf]", time.Now().AddDate(0, 0, w.lists-30).Format(time.DateOnly))
}

// drops drops files on the page, as from a desktop.
func (w *tab) drops(files []string) {
	w.t.Helper()
	w.datesList()
	var parts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(w.t, err)
		parts = append(parts, "data.items.add(new File(["+strconv.QuoteToASCII(string(text))+"], "+strconv.Quote(filepath.Base(file))+"));")
	}
	w.do(chromedp.WaitVisible(".drop", chromedp.ByQuery), chromedp.Evaluate(`(() => { const data = new DataTransfer(); `+strings.Join(parts, " ")+
		` const zone = document.querySelector('.drop'); for (const kind of ['dragover', 'drop']) zone.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true})); })()`, nil))
}

// chooses gives files to the file button, which a keyboard reaches.
func (w *tab) chooses(files []string) {
	w.t.Helper()
	w.datesList()
	w.do(chromedp.SetUploadFiles("#files", files, chromedp.ByQuery))
}

// TestListImport: files come by drag and drop or by the file button. The list is staged, read
// on a page and activated with a reason. The page then shows which past payments it names,
// and the list is rolled back.
func TestListImport(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	s.morning()
	w := s.window(0)
	w.signIn(s.key("Olga", "policy,reviewer"))

	w.at("/lists", "Lists")
	junk := filepath.Join(t.TempDir(), "holidays.csv")
	require.NoError(t, os.WriteFile(junk, []byte("no list at all"), 0o600))
	w.drops([]string{junk})
	w.shows("#import", "refused")
	require.Empty(t, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"])

	w.drops(publication(t, "VESTA CLEANING", "NOBODY ANYBODY PAID LLC"))
	w.shows("h1", "List snp_")
	w.shows("#diff .sentence", "2 came")
	w.shows("#diff summary", "Added: 2")
	w.shows("#diff td, #diff th", "VESTA CLEANING")
	require.Len(t, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"], 1, "staged, and not active")
	w.click(".activate")
	w.shows("dialog .action", "Screen every payment from now on")
	w.click("dialog button[type=submit]")
	w.shows("dialog .note.bad", "The list is refused") // The list lacks half of the sample: somebody must confirm that.
	w.click("dialog input[name=force]")
	w.click("dialog button[type=submit]")
	require.Equal(t, "true", w.value(`document.querySelector('dialog').open`), "not without a reason")
	w.types("dialog textarea", "the sample goes, on purpose")
	w.confirm()
	w.shows("h1", "Lists")
	w.shows("#active", "The past was held against it: 1 hit")
	w.click("#found a")
	w.shows("#outcome", "1 payment of $4,144.00 and 0 registered parties are named; 1 of the payments went through ($4,144.00).")
	w.shows(".found", "VESTA CLEANING")
	w.pick("td a, th a", "UTC")
	w.shows("h1", "$4,144.00 to Vesta Cleaning")

	w.at("/lists", "Lists")
	w.click("#before .rollback")
	w.types("dialog textarea", "that was a mistake")
	w.click("dialog button[type=submit]")
	w.shows("dialog .note.bad", "the embedded sample would replace a published list")
	w.click("dialog input[name=force]")
	w.confirm()
	w.shows("#active", "The embedded sample")
	require.Equal(t, true, s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["active"].(map[string]any)["sample"])

	w.do(chromedp.Focus("#files", chromedp.ByQuery)) // The file button works without a mouse.
	w.chooses(publication(t, "SOMEBODY ELSE LLC"))
	w.shows("h1", "List snp_")
	w.clean()
}

// TestWhoImports: the page offers an import only to those who may change lists.
func TestWhoImports(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	w := s.window(0)
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/lists", "Lists")
	w.shows("#staged", "Nothing is staged")
	require.Equal(t, "null", w.value(`document.querySelector('.drop')`))
	w.clean()
}
