package console_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const pictureMax = 150 << 10 // Bytes of one screenshot.

// TestScreenshots draws every page, light and dark, into the folder that
// RAILGUARD_SCREENSHOTS names: make screenshots.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("RAILGUARD_SCREENSHOTS")
	if folder == "" {
		t.Skip("draws pictures only where RAILGUARD_SCREENSHOTS names a folder: make screenshots")
	}
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	s.clears(d)
	w := s.window(0)
	w.at("/", "Sign in")
	shoot(w, folder, "sign-in")
	w.signIn(s.Key)
	w.at("/match?name=Nikolas%20Maduro&cpDateOfBirth=1962", "Match") // Taken before another list is active.
	w.settled("match", d)
	shoot(w, folder, "match")
	w.at("/cleared", "Cleared pairs")
	shoot(w, folder, "cleared")
	found := s.foreseen(w, d)
	for _, p := range []struct{ name, path, heading string }{
		{"overview", "/", "Overview"}, {"queue", "/queue", "Queue"}, {"case", "/case/" + d.name, "$120"}, {"case-limit", "/case/" + d.limit, "$6,200"},
		{"alerts", "/alerts", "Alerts"}, {"reports", "/reports", "Reports"},
		{"lists", "/lists", "Lists"}, {"list", "/lists/" + found.list, "List"},
		{"agents", "/agents", "Agents"}, {"agent", "/agents/" + d.agent, "Procurement"},
		{"fleets", "/fleets", "Fleets"}, {"fleet", "/fleets/" + d.fleet, "Europe"}, {"users", "/users", "Users"}, {"user", "/users/" + d.user, "Users"}, {"operators", "/operators", "Operators"},
		{"policy", "/policy?from=" + found.backtest, "Policy"}, {"foresight", "/foresight", "Foresight"}, {"backtest", "/foresight/backtests/" + found.backtest, "Backtest"},
		{"shadow", "/foresight/shadows/" + found.shadow, "Shadow"}, {"retro", "/foresight/retro/" + found.retro, "Looking back"},
		{"activity", "/activity", "Activity"}, {"changes", "/activity?show=changes", "Activity"}, {"cluster", "/cluster", "Cluster"}, {"playground", "/playground", "Playground"},
	} {
		w.at(p.path, p.heading)
		w.settled(p.name, d)
		shoot(w, folder, p.name)
	}
	w.at("/case/"+d.name, "$120")
	w.click("button.bad")
	w.do(chromedp.WaitVisible("dialog", chromedp.ByQuery))
	shoot(w, folder, "decide")
	w.at("/foresight/shadows/"+found.shadow, "Shadow")
	w.click("#promote")
	w.do(chromedp.WaitVisible("dialog", chromedp.ByQuery))
	shoot(w, folder, "promote")
	w.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
	for _, p := range [][3]string{{"overview", "/", "Overview"}, {"queue", "/queue", "Queue"}, {"case", "/case/" + d.name, "$120"}, {"backtest", "/foresight/backtests/" + found.backtest, "Backtest"}, {"lists", "/lists", "Lists"}} {
		w.at(p[1], p[2])
		w.settled(p[0]+"-phone", d)
		shoot(w, folder, p[0]+"-phone")
	}
	w.clean()
}

// settled waits until a page shows what it loads after its heading.
func (w *tab) settled(name string, d *day) {
	w.t.Helper()
	switch name {
	case "queue":
		w.press("j")
		w.shows(".preview .sentence", " ")
		w.do(chromedp.WaitVisible(".preview .actions", chromedp.ByQuery))
	case "case", "case-limit", "case-phone":
		w.shows("#proof", "verified in your browser")
	case "match":
		w.shows("h2", "Answer")
	case "lists", "lists-phone":
		w.shows("#found", "hit")
	case "playground":
		w.do(chromedp.SetValue(`input[name=agent]`, d.agent, chromedp.ByQuery), chromedp.SetValue(`input[name=amount]`, "6200", chromedp.ByQuery))
		w.click(".filters button")
		w.shows("h2", "would be")
	}
}

// foreseen holds the ids of a list and of trials.
type foreseen struct{ list, backtest, shadow, retro string }

// foreseen adds what waits on a desk, a list that names somebody who was paid, and trials
// of a policy, and waits for all of it.
func (s *site) foreseen(w *tab, d *day) (f foreseen) {
	s.desk(d)
	w.at("/lists", "Lists")
	w.drops(publication(s.t, "VESTA CLEANING", "KESTREL TRADING", "HOLLOW PEAK SHIPPING LLC", "NOBODY ANYBODY PAID LLC"))
	w.shows("h1", "List snp_")
	f.list = s.call(0, s.Key, "GET", "/v1/ofac", "", 200)["staged"].([]any)[0].(map[string]any)["snapshotId"].(string)
	f.backtest = s.call(0, s.Key, "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z","policy":{"rules":{"R10":"off","R9":"off"},"velocity":{"maxPerMinute":40},"review":{"sla":"4h"}}}`, 202)["id"].(string)
	f.shadow = s.call(0, s.Key, "POST", "/v1/policy/shadow", `{"policy":{"rules":{"R10":"off"},"review":{"sla":"4h"}}}`, 202)["id"].(string)
	for _, amount := range []int{40, 5600, 130} {
		s.call(0, s.Key, "POST", "/v1/screen", fmt.Sprintf(`{"token":%q,"amount":%d,"chain":"BASE","rail":"USDC","cpName":"Oakley Stationers","cpType":"business"}`, d.token, amount), 200)
	}
	s.call(0, s.Key, "POST", "/v1/ofac/"+f.list+"/activate", `{"force":true,"reason":"the sample goes","actor":"Olga"}`, 200)
	done := func(path, count string) bool {
		job := s.call(0, s.Key, "GET", path, "", 200)
		if data, many := job["data"].([]any); many && count == "hits" {
			if len(data) == 0 {
				return false
			}
			job = data[0].(map[string]any)
			f.retro = job["retroId"].(string)
			return job["state"] == "done"
		}
		return job["state"] == "done" || count != "" && job[count].(float64) == 3
	}
	for path, count := range map[string]string{"/v1/backtests/" + f.backtest: "", "/v1/policy/shadow/" + f.shadow: "records", "/v1/ofac/retro": "hits"} {
		require.Eventually(s.t, func() bool { return done(path, count) }, 2*time.Minute, 100*time.Millisecond, path)
	}
	return f
}

func shoot(w *tab, folder, name string) {
	w.t.Helper()
	for _, look := range []string{"light", "dark"} {
		var picture []byte
		w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look}}),
			chromedp.Evaluate(`document.querySelectorAll('.toast').forEach((t) => t.remove())`, nil),
			chromedp.ActionFunc(func(ctx context.Context) (err error) {
				picture, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithOptimizeForSpeed(false).Do(ctx)
				return err
			}))
		picture = small(w.t, picture)
		require.Less(w.t, len(picture), pictureMax, "%s-%s", name, look)
		require.NoError(w.t, os.WriteFile(filepath.Join(folder, name+"-"+look+".png"), picture, 0o644))
	}
}

// small draws a picture again with its 256 most frequent colours.
func small(t *testing.T, data []byte) []byte {
	full, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	bounds := full.Bounds()
	seen := make(map[color.RGBA]int)
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			seen[at(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int { return cmp.Compare(seen[b], seen[a]) })
	var palette color.Palette
	for _, c := range frequent[:min(len(frequent), 256)] {
		palette = append(palette, c)
	}
	nearest := make(map[color.RGBA]uint8, len(seen))
	for c := range seen {
		nearest[c] = uint8(palette.Index(c))
	}
	drawn := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			drawn.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, drawn))
	return out.Bytes()
}
