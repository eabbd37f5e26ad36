package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// turns opens a page with the mouse, from its group in the header.
func (w *tab) turns(path, heading string) {
	w.t.Helper()
	link := `nav a[href="/console/` + path + `"]`
	if group := w.value(fmt.Sprintf("document.querySelector(%q).closest('ul')?.id ?? ''", link)); group != "" {
		w.click(`nav button[aria-controls="` + group + `"]`)
	}
	w.click(link)
	w.shows("h1", heading)
}

// TestNavigation: all pages of a key with every role stand in one row at 1280 px; a group unfolds by
// mouse and keyboard, tells a screen reader so, and folds again.
func TestNavigation(t *testing.T) {
	browser(t)
	source := axe(t)
	s := cluster(t, 1)
	w := s.window(0)
	w.do(page.SetBypassCSP(true)) // Only the checker needs this.
	w.do(emulation.SetDeviceMetricsOverride(1280, 800, 1, false))
	w.signIn(s.Key)
	require.Equal(t, "1", w.value(`new Set([...document.querySelectorAll('#head > *, nav > a, nav > .group > button')].map((e) => { const r = e.getBoundingClientRect(); return Math.round((r.top + r.bottom) / 8); })).size`), "one row")
	require.LessOrEqual(t, w.value(`document.documentElement.scrollWidth - innerWidth`), "0")
	require.Greater(t, w.value(`document.querySelectorAll('nav a').length`), "1", "pages are links")

	// Every group unfolds within the window, and one at a time.
	groups := w.value(`document.querySelectorAll('nav .group').length`)
	require.NotEqual(t, "0", groups)
	require.Equal(t, "true", w.value(`[...document.querySelectorAll('nav .group button')].every((b) => {
		b.click();
		const panel = document.getElementById(b.getAttribute('aria-controls'));
		const r = panel.getBoundingClientRect();
		return b.getAttribute('aria-expanded') === 'true' && r.width > 0 && r.right <= innerWidth && document.querySelectorAll('nav ul:not([hidden])').length === 1;
	})`))
	w.accessible(source, "a group unfolded")
	w.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	w.click("main")
	require.Equal(t, "0", w.value(`document.querySelectorAll('nav ul:not([hidden])').length`), "a click elsewhere folds it")

	// By keyboard: down into the pages, round, and back out.
	w.reach(`nav button[aria-controls="nav-work"]`)
	w.press(kb.ArrowDown)
	first := w.value(`document.activeElement.textContent`)
	require.Equal(t, "true", w.value(`document.activeElement === document.querySelector('#nav-work a')`))
	w.press(kb.ArrowUp)
	require.NotEqual(t, first, w.value(`document.activeElement.textContent`), "from the first to the last")
	w.press(kb.Escape)
	require.Equal(t, "nav-work", w.value(`document.activeElement.getAttribute('aria-controls')`))
	require.Equal(t, "true", w.value(`document.getElementById('nav-work').hidden`))
	w.press(kb.Enter)
	w.enter(`#nav-work a[href="/console/alerts"]`)
	w.shows("h1", "Alerts")
	require.Equal(t, "page", w.value(`document.querySelector('nav a[href="/console/alerts"]').getAttribute('aria-current')`))
	require.Equal(t, "here", w.value(`document.querySelector('nav button[aria-controls="nav-work"]').className`))
	w.clean()
}
