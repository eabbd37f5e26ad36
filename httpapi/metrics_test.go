package httpapi

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
	"railguard/httpapi/exposition"
)

// metricPage is docs/METRICS.md.
const metricPage = "../docs/METRICS.md"

// metricNames returns the metric families that the source of all rooms names.
func metricNames(t *testing.T) []string {
	whole := regexp.MustCompile("[\"`](railguard_[a-z0-9_]+)[{\"`]")
	ofNode := regexp.MustCompile(`gauge\("([a-z_]+)"\)`)
	found := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "../bench") || strings.HasPrefix(path, "../httpapi/description") || strings.HasSuffix(path, "exposition.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range whole.FindAllSubmatch(source, -1) {
			found[string(match[1])] = true
		}
		for _, match := range ofNode.FindAllSubmatch(source, -1) {
			found["railguard_cluster_"+string(match[1])] = true
		}
		return nil
	})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(found))
}

// Every family has its help text, every help text has its family, and docs/METRICS.md
// (written by -update) has both.
func TestEveryMetricIsExplained(t *testing.T) {
	require.Equal(t, slices.Sorted(maps.Keys(exposition.Help)), metricNames(t))
	var page strings.Builder
	page.WriteString("# Metrics\n\n`GET /metrics` on the admin listener gives these families in Prometheus' text format. Times are in seconds, sizes in bytes, and counters end in `_total`.\n" +
		"[Alerts and their runbooks](RUNBOOKS.md) say what to be alarmed by. `make golden` writes this page.\n\n")
	for _, name := range slices.Sorted(maps.Keys(exposition.Help)) {
		page.WriteString("- `" + name + "`: " + exposition.Help[name] + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(metricPage, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(metricPage)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run with -update and read the diff")
}

// The served format is Prometheus': HELP and TYPE for each family, buckets by le. Where
// promtool is installed, it has no complaint about our families.
func TestMetricsArePrometheus(t *testing.T) {
	n := newTestNode(t)
	n.screen("x", "")
	answer := n.doAdmin("GET", "/metrics", "")
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", answer.Header().Get("Content-Type"))
	text := answer.Body.String()
	require.NotContains(t, text, "vmrange")
	require.Contains(t, text, `railguard_screen_seconds_bucket{stage="total",le="0.001"}`)
	require.Contains(t, text, "# TYPE railguard_screen_seconds histogram\n")
	require.Contains(t, text, "# HELP railguard_screen_total Verdicts by rule.\n")
	require.Contains(t, text, "\nprocess_max_fds ", "how many callers it may have")
	for _, code := range border.CodeTable {
		require.Contains(t, text, `railguard_http_requests_total{code="`+strconv.Itoa(code.Status)+`"}`, code.Code)
	}
	sample := regexp.MustCompile(`^([a-z0-9_]+)`)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "railguard_") {
			continue
		}
		family := sample.FindString(line)
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(family, suffix); cut && exposition.Help[base] != "" {
				family = base
			}
		}
		require.Contains(t, text, "# HELP "+family+" "+exposition.Help[family]+"\n")
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: not asked")
	}
	check := exec.Command(tool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	said, err := check.CombinedOutput()
	require.NoError(t, err, "promtool: %s", said)
}
