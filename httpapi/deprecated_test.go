package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that goes away says so on every answer, the refused ones too; others say nothing.
func TestDeprecatedCallsSaySo(t *testing.T) {
	since := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	deprecated["GET /v1/key"] = deprecation{since, since.Add(deprecationLeast)}
	defer delete(deprecated, "GET /v1/key")
	n := newTestNode(t)
	call := func(method, path, key string) http.Header {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r)
		return w.Header()
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, key := range []string{testSecret("ops"), "nobody"} {
			head := call(method, "/v1/key", key)
			require.Equal(t, "@1795305600", head.Get("Deprecation"))
			require.Equal(t, "Fri, 21 May 2027 00:00:00 GMT", head.Get("Sunset"))
			require.Contains(t, head.Get("Link"), `</docs/changelog.json>; rel="deprecation"`)
		}
	}
	for _, name := range []string{"Deprecation", "Sunset", "Link"} {
		require.Empty(t, call("GET", "/v1/health", "").Get(name))
		require.Empty(t, call("POST", "/v1/key", testSecret("ops")).Get(name))
	}
}

// What the code announces stands in document and feed, long enough before, and the other
// way round.
func TestDeprecationsAreAnnounced(t *testing.T) {
	data, err := os.ReadFile("openapi/changes.json")
	require.NoError(t, err)
	var feed struct {
		Items []struct {
			Text string    `json:"content_text"`
			At   time.Time `json:"date_published"`
			Tags []string
		}
	}
	require.NoError(t, json.Unmarshal(data, &feed))
	require.NoError(t, announced(deprecated, func(call string, since time.Time) bool {
		for _, item := range feed.Items {
			if slices.Contains(item.Tags, "deprecated") && strings.Contains(item.Text, call) && !item.At.After(since) {
				return true
			}
		}
		return false
	}))
	known := map[string]bool{}
	for _, o := range held.Operations {
		name := o.Method + " " + o.Path
		known[name] = true
		d, going := deprecated[name]
		require.Equal(t, going, o.Deprecated, "%s: deprecated", name)
		if going {
			require.Equal(t, d.since.Format(time.DateOnly), o.Since, "%s: x-deprecated", name)
			require.Equal(t, d.sunset.Format(time.DateOnly), o.Sunset, "%s: x-sunset", name)
		}
	}
	for name := range deprecated {
		require.True(t, known[name], name)
	}
}

// The check of announcements finds what is wrong with them.
func TestAnnouncementsAreChecked(t *testing.T) {
	since := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	told := func(string, time.Time) bool { return true }
	require.NoError(t, announced(map[string]deprecation{"GET /x": {since, since.Add(deprecationLeast)}}, told))
	require.Error(t, announced(map[string]deprecation{"GET /x": {since, since.Add(deprecationLeast - time.Hour)}}, told))
	require.Error(t, announced(map[string]deprecation{"GET /x": {since, since.Add(deprecationLeast)}}, func(string, time.Time) bool { return false }))
}

// The integrator's guide has every code with its status, and no other.
func TestGuideHasEveryCode(t *testing.T) {
	guide, err := os.ReadFile("../docs/integrators.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(guide), "### Every code\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	shown := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([^|]*) \\|").FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			require.Empty(t, shown[code[1]], "%s stands twice", code[1])
			shown[code[1]] = row[2]
		}
	}
	for _, c := range codeTable {
		require.Contains(t, shown[c.code], strconv.Itoa(c.status), c.code)
		delete(shown, c.code)
	}
	require.Empty(t, shown, "no such codes")
}
