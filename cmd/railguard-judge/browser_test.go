//go:build !js

package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"railguard/audit/bundle"
	"railguard/console/browsertest"
)

const patience = browsertest.Patience

// browser is the installed Chromium, or the test is skipped.
func browser(t *testing.T) string {
	return browsertest.Path(t, "nothing is judged in a browser")
}

// makePage makes the page of this tree, as `make judge` does.
func makePage(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "page.html")
	out, err := exec.Command("go", "run", "railguard/.ci/judge", "-out", path+".gz", "-page", path, "-version", "test").CombinedOutput()
	require.NoError(t, err, string(out))
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	return page
}

// tab is a window of a browser.
type tab struct {
	t     *testing.T
	ctx   context.Context
	wrong []string // Errors of scripts and of the security policy.
	asked []string // Addresses that the page asked for.
}

func openTab(t *testing.T) *tab {
	ctx := browsertest.Window(t, browser(t), 4*patience, chromedp.WindowSize(1280, 900))
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.wrong = append(b.wrong, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			b.wrong = append(b.wrong, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, e.Request.URL)
		}
	})
	require.NoError(t, chromedp.Run(ctx, log.Enable(), network.Enable()))
	return b
}

// do runs steps, and then waits until the page has judged.
func (b *tab) do(steps ...chromedp.Action) {
	b.t.Helper()
	wait := chromedp.Poll(`!["Nothing is judged yet.", "Starting the judge…", "Judging…"].includes(document.getElementById("verdict").textContent)`, nil, chromedp.WithPollingTimeout(patience))
	require.NoError(b.t, chromedp.Run(b.ctx, append(steps, wait)...))
}

func (b *tab) open(dir string) {
	b.t.Helper()
	b.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: filepath.Join(dir, "index.html")}).String()))
}

// choose gives the page a folder, or a packed bundle.
func (b *tab) choose(id, path string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`document.getElementById("verdict").textContent = "Judging…"`, nil), chromedp.SetUploadFiles("#"+id, []string{path}, chromedp.ByQuery))
}

// give types the log's keys and has the page judge again.
func (b *tab) give(keys string) {
	b.t.Helper()
	typed, err := json.Marshal(keys)
	require.NoError(b.t, err)
	b.do(chromedp.Evaluate(`document.getElementById("keys").value = `+string(typed), nil), chromedp.Click("#again", chromedp.ByQuery),
		chromedp.Poll(`document.getElementById("judged").textContent !== "" || document.getElementById("error").textContent !== ""`, nil, chromedp.WithPollingTimeout(patience)))
}

// shown is what the page shows.
type shown struct {
	Verdict, Headline, Error, Whose string
	Shown, NotShown                 []string
	Files, Rows                     [][]string
	Chapters                        []string
	Hidden                          bool
}

func (b *tab) read() (s shown) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, chromedp.Evaluate(`(() => {
		const text = (id) => document.getElementById(id).textContent;
		const list = (id) => [...document.getElementById(id).children].map((e) => e.textContent);
		const table = (id) => [...document.getElementById(id).children].map((row) => [...row.children].map((c) => c.textContent));
		return { Verdict: text("verdict"), Headline: text("headline"), Error: text("error"), Whose: text("whose"), Shown: list("shown"), NotShown: list("notshown"),
			Files: table("files"), Rows: table("rows"), Chapters: list("chapters"), Hidden: document.getElementById("results").hidden };
	})()`, &s)))
	return s
}

// requireLike compares what the page shows with what the native judge says.
func (s *shown) requireLike(t *testing.T, a *answer) {
	t.Helper()
	require.Equal(t, a.Verdict, s.Verdict)
	require.Equal(t, a.Error, s.Error)
	require.Equal(t, a.Shown, s.Shown)
	require.Equal(t, a.NotShown, s.NotShown)
	words := map[string]string{bundle.FileProven: "yes", bundle.FileRefused: "NO", bundle.FileOpen: "not shown"}
	require.Len(t, s.Files, len(a.Files))
	for i, f := range a.Files {
		require.Equal(t, []string{f.Name, strconv.FormatInt(f.Size, 10), words[f.State], f.Why, f.Sum}, s.Files[i])
	}
	if !a.Records {
		require.Empty(t, s.Chapters, "of what is not proven nothing is told")
	} else {
		require.NotEmpty(t, s.Chapters)
		require.Len(t, s.Chapters, len(a.Chapters))
		for i, c := range a.Chapters {
			require.Contains(t, s.Chapters[i], c.Reason)
			for _, l := range c.Listed {
				require.Contains(t, s.Chapters[i], l.How)
			}
			for _, step := range c.Steps {
				require.Contains(t, s.Chapters[i], step.Words)
			}
		}
	}
	require.Len(t, s.Rows, len(a.Rows))
	places := map[uint64]int{}
	for i, r := range a.Rows {
		cells := s.Rows[i]
		if places[r.Leaf] = i; r.Of != nil {
			later := s.Rows[places[*r.Of]][12]
			require.Contains(t, later, r.Kind+", leaf "+cells[0]+": "+r.Verdict+" "+r.Rule+"; judged again: "+cells[5])
		}
		require.Equal(t, []string{strconv.FormatUint(r.Leaf, 10), r.Time, r.Kind}, cells[:3])
		switch {
		case !a.Records:
			require.Equal(t, "NO", cells[3])
		case a.Keys.Given:
			require.Equal(t, "yes", cells[3])
		default:
			require.Equal(t, "consistent", cells[3])
		}
		if r.Outcome == bundle.Same || r.Outcome == bundle.Different {
			require.True(t, strings.HasPrefix(cells[4], r.Verdict+" "+r.Rule), cells[4])
			require.True(t, strings.HasPrefix(strings.TrimPrefix(cells[5], "DIFFERENT: "), r.AgainVerdict+" "+r.AgainRule), cells[5])
			require.Equal(t, r.Outcome == bundle.Different, strings.HasPrefix(cells[5], "DIFFERENT"))
			require.Contains(t, cells[10], r.List[:16])
		}
	}
}

// In a browser, from a file and without a network, a bundle is proven and each decision made again as
// by railguard verify. Whatever is altered is seen there in the same words.
func TestTheBrowserJudgesAlike(t *testing.T) {
	browser(t)
	page := makePage(t)
	dir := honest(t, page)
	keys := read(t, dir, bundle.KeysName)
	b := openTab(t)
	b.open(dir)
	s := b.read()
	s.requireLike(t, ask(t, dir, "", true))
	require.Equal(t, "CONSISTENT, WHOSE LOG IS NOT SHOWN", s.Verdict)
	require.Contains(t, s.Whose, "nothing shows whose they are")

	b.give(keys)
	s = b.read()
	s.requireLike(t, ask(t, dir, keys, true))
	require.Equal(t, "PROVEN", s.Verdict)
	b.give("nothing")
	s = b.read()
	require.Equal(t, unusable, s.Verdict)
	b.give(keys)

	b.choose("folder", dir)
	s = b.read()
	s.requireLike(t, ask(t, dir, keys, false))
	require.Len(t, s.Files, 11, "the page, the pages of cases and records, and SHA256SUMS too")
	packed := filepath.Join(t.TempDir(), "may.tar.zst")
	file, err := os.Create(packed)
	require.NoError(t, err)
	require.NoError(t, bundle.Pack(dir, file))
	require.NoError(t, file.Close())
	b.choose("packed", packed)
	s = b.read()
	require.Equal(t, "PROVEN", s.Verdict)
	require.Len(t, s.Files, 11)

	b.give("")
	for name, c := range altered(t, page) {
		b.choose("folder", c.dir)
		s = b.read()
		s.requireLike(t, ask(t, c.dir, "", false))
		require.Equal(t, notProven, s.Verdict, name)
		require.NotEmpty(t, s.Error, name)
	}
	require.Empty(t, b.wrong)
	for _, address := range b.asked {
		require.True(t, strings.HasPrefix(address, "file:") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:"), address)
	}
}

// What index.html carries is judged alike: a forger who alters the copies there is seen, and so is
// markup in a record, which stays text.
func TestThePageJudgesWhatItCarries(t *testing.T) {
	browser(t)
	page := makePage(t)
	b := openTab(t)
	dir, txn := lying(t, page)
	b.open(dir)
	s := b.read()
	s.requireLike(t, ask(t, dir, "", true))
	require.Contains(t, s.Error, txn)
	require.Contains(t, s.Error, "1 decisions come out otherwise")

	for says, lie := range liesOf() { // In this window: each other page that it opens is one more to wait for.
		dir, txn = lyingBy(t, page, lie)
		b.choose("folder", dir)
		s = b.read()
		s.requireLike(t, ask(t, dir, "", false))
		require.Contains(t, s.Error, txn)
		require.Contains(t, s.Error, says)
	}

	dir = honest(t, page)
	index := read(t, dir, "index.html")
	at := strings.Index(index, `data-name="`+bundle.RecordsName+`">`) + 4000
	write(t, dir, "index.html", index[:at]+swap(index[at])+index[at+1:])
	b.open(dir)
	s = b.read()
	require.Equal(t, notProven, s.Verdict)
	require.Contains(t, s.Error, bundle.RecordsName)

	edit(t, dir, "index.html", `<script id="wasm"`, `<script>document.title = "owned"</script><img src=x onerror="document.title='owned'"><script id="wasm"`)
	b.open(dir)
	var title string
	require.NoError(t, chromedp.Run(b.ctx, chromedp.Title(&title)))
	require.NotEqual(t, "owned", title, "the policy runs no script but the page's")
	require.NotEmpty(t, b.wrong)
}

// swap returns another sign of base64.
func swap(sign byte) string {
	if sign == 'A' {
		return "B"
	}
	return "A"
}
