package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestExplorer: the API's explorer opens under its content policy, unfolds an operation and
// tries one on this node. It sends no request to any other origin.
func TestExplorer(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	w := s.window(0)
	w.do(chromedp.Navigate(w.origin + "/docs"))
	w.shows(".opblock", "/v1/screen")
	w.click("#operations-health-health .opblock-summary-control")
	w.shows("#operations-health-health .opblock-body", "Responses")
	w.click("#operations-health-health .try-out__btn")
	w.click("#operations-health-health .execute")
	w.shows("#operations-health-health .live-responses-table", `"status"`)
	w.shows("#operations-health-health .request-url", w.origin+"/v1/health")
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, wrong := range w.wrong {
		require.True(t, strings.HasPrefix(wrong, "request to "+w.origin+"/"), wrong)
	}
}
