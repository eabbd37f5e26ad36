package httpapi

import (
	"net/http"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var pathValue = regexp.MustCompile(`\{[^}]*\}`)

// allRoutes lists both listeners as lines: listener, method, path, who may.
func allRoutes(n *testNode) []string {
	var lines []string
	add := func(listener string, routes []route) {
		for _, r := range routes {
			who := "public"
			if r.roles == anyRole {
				who = "any key"
			} else if r.roles != 0 {
				who = strings.Join(roleList(r.roles), " ")
			}
			lines = append(lines, listener+" "+r.method+" "+r.path+": "+who)
		}
	}
	add("public", n.api.publicRoutes())
	add("admin", n.api.adminRoutes())
	sort.Strings(lines)
	return lines
}

// The route table, as a golden file: who may call what is read in one place.
func TestRouteTable(t *testing.T) {
	const file = "testdata/routes.golden"
	got := strings.Join(allRoutes(newTestNode(t)), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Every route, every role (decision 61, no. 24): without a key 401, with a
// key that lacks the role 403, with one that has it neither.
func TestEveryRouteEveryRole(t *testing.T) {
	n := newTestNode(t)
	for _, r := range n.api.publicRoutes() {
		path := pathValue.ReplaceAllString(r.path, "x")
		if r.roles == 0 {
			require.NotEqual(t, 401, n.do("", r.method, path, "").Code, path)
			continue
		}
		require.Equal(t, 401, n.do("", r.method, path, "").Code, "%s %s", r.method, path)
		for role, bit := range testRoles {
			if r.roles&bit != 0 && (r.method != http.MethodGet && strings.HasPrefix(path, "/v1/cluster/")) {
				continue // The verbs are called in their own transcript.
			}
			code := n.do(role, r.method, path, "{}").Code
			if r.roles&bit == 0 {
				require.Equal(t, 403, code, "%s %s as %s", r.method, path, role)
			} else {
				require.NotContains(t, []int{401, 403, 405, 500}, code, "%s %s as %s", r.method, path, role)
			}
		}
	}
}

// The admin listener is not the public one, and the other way round.
func TestListenersAreApart(t *testing.T) {
	n := newTestNode(t)
	for _, path := range []string{"/metrics", "/debug/pprof/heap", "/admin/keys"} {
		require.Equal(t, 404, n.do("admin", "GET", path, "").Code, path)
	}
	require.Equal(t, 404, n.doAdmin("GET", "/v1/audit", "").Code)
	metrics := n.doAdmin("GET", "/metrics", "", "Authorization", "")
	require.Equal(t, 200, metrics.Code)
	n.screen("x", "")
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), `railguard_screen_total{verdict="UNKNOWN",rule="R1_NO_CREDENTIAL"}`)
	for _, name := range []string{"railguard_screen_seconds_count", "railguard_ofac_age_seconds", "railguard_log_tree_size"} {
		require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), name)
	}
}

// Every code the service answers with is in the documentation.
func TestEveryErrorCodeIsDocumented(t *testing.T) {
	known := map[string]bool{"": true}
	for _, entry := range codeTable {
		require.False(t, known[entry.code], "twice: %s", entry.code)
		known[entry.code] = true
	}
	used := regexp.MustCompile(`(?:failure\([^,]+|conflict\(|unavailable\(|Code:) ?,? ?"([a-z_]+)"`)
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		data, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		for _, match := range used.FindAllStringSubmatch(string(data), -1) {
			require.True(t, known[match[1]], "%s: %s is not in codeTable", file.Name(), match[1])
			found++
		}
	}
	require.Greater(t, found, 30)
}
