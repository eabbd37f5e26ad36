package console_test

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const pictureMax = 150 << 10 // Bytes of one picture.

// TestScreenshots draws every page, light and dark, into the folder that
// RAILGUARD_SCREENSHOTS names: make screenshots.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("RAILGUARD_SCREENSHOTS")
	if folder == "" {
		t.Skip("draws pictures only where RAILGUARD_SCREENSHOTS names a folder: make screenshots")
	}
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	w := s.window(0)
	w.at("/", "Sign in")
	shoot(w, folder, "sign-in")
	w.signIn(s.Key)
	for _, p := range []struct{ name, path, heading string }{
		{"overview", "/", "Overview"}, {"queue", "/queue", "Queue"}, {"case", "/case/" + d.name, "$120"}, {"case-limit", "/case/" + d.limit, "$6,200"},
		{"match", "/match?name=Nikolas%20Maduro&cpDateOfBirth=1962", "Match"}, {"lists", "/lists", "Lists"}, {"agents", "/agents", "Agents"}, {"agent", "/agents/" + d.agent, "Procurement"},
		{"fleet", "/fleets/" + d.fleet, "Europe"}, {"user", "/users/" + d.user, "Users"}, {"operators", "/operators", "Operators"},
		{"policy", "/policy", "Policy"}, {"activity", "/activity", "Activity"}, {"cluster", "/cluster", "Cluster"}, {"playground", "/playground", "Playground"},
	} {
		w.at(p.path, p.heading)
		switch p.name {
		case "queue":
			w.press("j")
			w.shows(".preview .sentence", " ")
			w.do(chromedp.WaitVisible(".preview .actions", chromedp.ByQuery))
		case "case", "case-limit":
			w.shows("#proof", "verified in your browser")
		case "match":
			w.shows("h2", "Answer")
		case "playground":
			w.do(chromedp.SetValue(`input[name=agent]`, d.agent, chromedp.ByQuery), chromedp.SetValue(`input[name=amount]`, "6200", chromedp.ByQuery))
			w.click(".filters button")
			w.shows("h2", "would be")
		}
		shoot(w, folder, p.name)
	}
	w.at("/case/"+d.name, "$120")
	w.click("button.bad")
	w.do(chromedp.WaitVisible("dialog", chromedp.ByQuery))
	shoot(w, folder, "decide")
	w.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
	w.at("/queue", "Queue")
	shoot(w, folder, "queue-phone")
	w.at("/case/"+d.name, "$120")
	w.shows("#proof", "verified in your browser")
	shoot(w, folder, "case-phone")
	w.clean()
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
