package browsertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Patience is how long to wait until a page shows something, on a busy, slow machine.
const Patience = 3 * time.Minute

// Path is the installed Chromium. Without one, or in the short form, the test is skipped; what says
// what is not tested then.
func Path(t testing.TB, what string) string {
	if testing.Short() {
		t.Skipf("not in the short form: %s", what)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skipf("no Chromium on this machine (apt-get install chromium): %s", what)
	return ""
}

// Window opens a window of a Chromium with a fresh profile. It is closed when the test ends, or after
// the longest time.
func Window(t testing.TB, path string, longest time.Duration, more ...chromedp.ExecAllocatorOption) context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, longest)
	t.Cleanup(cancel)
	return ctx
}
