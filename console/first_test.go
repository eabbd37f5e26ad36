package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// above is how far down the lowest of these elements reaches, in pixels; an element that is missing or
// unseen is far down.
func (w *tab) above(selectors ...string) string {
	w.t.Helper()
	quoted := make([]string, len(selectors))
	for i, s := range selectors {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return w.value(`Math.max(...[` + strings.Join(quoted, ",") + `].map((s) => { const e = document.querySelector(s); return e && e.getBoundingClientRect().height > 0 ? Math.round(e.getBoundingClientRect().bottom) : 99999; }))`)
}

// identified are the files of a list that says of a person what a list may say.
func identified(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	var files []string
	for name, text := range map[string]string{
		"sdn.csv":          `22790,"MADURO MOROS, Nicolas","individual","VENEZUELA",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,"DOB 23 Nov 1962; POB Caracas, Venezuela; nationality Venezuela; Gender Male; Passport 5892464 (Venezuela) (individual)."` + "\r\n",
		"add.csv":          `22790,39512,"Palacio de Miraflores","Caracas","Venezuela",-0- ` + "\r\n",
		"alt.csv":          `22790,71,"aka","MADURO GUERRA, Nico",-0- ` + "\r\n",
		"sdn_comments.csv": "",
	} {
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, []byte(text+"\x1a"), 0o600))
		files = append(files, file)
	}
	return files
}

// TestFirstScreen: without scrolling, at 1280 × 800, a case says who pays whom, why it is here, and
// what of identity differs, both sides beside each other.
func TestFirstScreen(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	s.call(0, s.Key, "PUT", "/v1/policy?reason=test", `{"review":{"sla":"4h"}}`, 200)
	lists := s.window(0)
	lists.signIn(s.Key)
	lists.puts(s, identified(t))
	id := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":1246.7,"chain":"BASE","rail":"USDC","cpName":"Nikolas Maduro","cpType":"individual","cpDateOfBirth":"1975","cpCountry":"JO","cpAddress":"12 Rainbow Street, Amman, Jordan"}`, 200)["txnId"].(string)
	w := s.window(0)
	w.do(emulation.SetDeviceMetricsOverride(1280, 800, 1, false))
	w.signIn(s.key("Dana", "reviewer"))
	w.at("/case/"+id, "$1,246.70 to Nikolas Maduro")
	w.shows("#proof", "proof verified in your browser")
	rows := `[...document.querySelectorAll('.compare tbody tr')].map((r) => [...r.children].map((c) => c.innerText).join(' | ')).join('\n')`
	text := w.value(rows)
	require.Contains(t, text, "Date of birth | 1975 | 23 Nov 1962 | differs")
	require.Regexp(t, `Country \| Jordan \(JO\) \| Venezuela.* \| differs`, text)
	require.Contains(t, text, "Address | 12 Rainbow Street, Amman, Jordan |")
	w.shows("#differing", "differs: date of birth")
	w.shows(".hit .why", "Venezuela (VENEZUELA)")
	w.shows(".hit .aliases", "Also known as")
	require.LessOrEqual(t, len(w.above("h1", ".sentence", "#clock", ".actions.decide", ".chain li:last-child", ".compare tbody tr:nth-child(4)")), 3)
	require.LessOrEqual(t, w.above("h1", ".sentence", "#clock", ".actions.decide", ".chain li:last-child", ".compare tbody tr:nth-child(4)"), "800")
	good := w.value(`getComputedStyle(document.querySelector('.badge.good')).color`)
	require.NotEqual(t, good, w.value(`getComputedStyle(document.querySelector('.compare strong.differs')).color`), "what differs is not green")
	w.shows("#list", "List version 2, published ")

	// A name of 512 letters does not scroll the page, in the queue neither.
	long := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":6000,"chain":"BASE","rail":"USDC","cpType":"business","cpName":"`+strings.Repeat("W", 512)+`"}`, 200)["txnId"].(string)
	for path, heading := range map[string]string{"/case/" + long: "$6,000.00", "/queue": "Queue"} {
		w.at(path, heading)
		if path == "/queue" {
			w.do(chromedp.Evaluate(`document.querySelector('#`+long+` .rowbody').click()`, nil))
			w.shows(".preview h2", "WWWW")
		} else {
			w.press("a")
			w.asked("WWWW")
		}
		require.LessOrEqual(t, w.value(`document.documentElement.scrollWidth - innerWidth`), "0", path)
		require.Equal(t, "0", w.value(`[...document.querySelectorAll('dialog, .preview')].filter((e) => e.scrollWidth > e.clientWidth).length`), path)
	}

	// A print is of the day of the record, not of the day on which it is made.
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"49h"}`, 200)
	w.at("/case/"+d.limit, "$6,200.00")
	w.shows("#today", "Spent today")
	w.shows("#thatday", "before this payment")
	w.do(emulation.SetEmulatedMedia().WithMedia("print"), chromedp.WaitVisible("#thatday", chromedp.ByQuery))
	require.Equal(t, "0", w.value(`document.querySelector('#today').getBoundingClientRect().height`))
	w.clean()
}
