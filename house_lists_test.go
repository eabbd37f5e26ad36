package railguard

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The program's lists (codes, calls, variables, exit codes) are in the documents, and what
// the documents name exists. Other tests compare flags and metrics: docs/CLI.md,
// docs/METRICS.md.

// stringsOf returns what an expression finds in the string literals of the chosen packages,
// without tests.
func stringsOf(t *testing.T, expression *regexp.Regexp, in func(s *source) bool) []string {
	var all []string
	for _, s := range sources(t) {
		if s.test || !in(&s) {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					all = append(all, expression.FindAllString(value, -1)...)
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// handbooks returns the text of the documents for operators and integrators.
func handbooks(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"docs/*.md", "README.md", "deploy/*/README.md", "client/README.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			all.WriteString(text(t, file))
		}
	}
	return all.String()
}

// The table in docs/integrators.md has exactly the error codes of the API, and some document
// names each call of the route table.
func TestCodesAndCallsAreDocumented(t *testing.T) {
	_, table, found := strings.Cut(text(t, "docs/integrators.md"), "\n### Every code\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	var codes []string
	for _, match := range regexp.MustCompile(`(?m)^\t\{"([a-z0-9_]+)", \d{3}, "`).FindAllStringSubmatch(text(t, "httpapi/border/errors.go"), -1) {
		codes = append(codes, match[1])
		require.True(t, strings.Contains(table, "`"+match[1]+"`"), "docs/integrators.md does not tell of the code %s", match[1])
	}
	require.Greater(t, len(codes), 30)
	for _, line := range regexp.MustCompile(`(?m)^\| ([^|]*) \| [^|]*\d{3}[^|]* \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(line[1], -1) {
			require.Contains(t, codes, name[1], "docs/integrators.md tells of a code that does not exist")
		}
	}
	told := handbooks(t)
	calls := regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (\\S+)`").FindAllStringSubmatch(text(t, "docs/ROUTES.md"), -1)
	require.Greater(t, len(calls), 150)
	told = braces.ReplaceAllString(spelledOut(strings.ReplaceAll(told, text(t, "docs/ROUTES.md"), "")), "{}")
	for _, call := range calls {
		if strings.HasPrefix(call[2], "/docs/") || strings.HasPrefix(call[2], "/debug/pprof") || strings.HasPrefix(call[2], "/log/tile") {
			continue // Files of the explorer, profiles of Go, and tiles as C2SP defines them.
		}
		require.True(t, tells(told, call[2]), "no document tells of %s %s", call[1], call[2])
	}
	require.True(t, strings.Contains(told, "/debug/pprof") && strings.Contains(told, "/log/tile/"), "no document tells of profiles, or of tiles")
}

// shared matches calls that a document lists together: "/v1/x/{id}/suspend, reinstate,
// revoke".
var shared = regexp.MustCompile(`(/v1/[\w/{}-]+/)([\w-]+)((?:, /?[a-z][\w-]+)+)`)

// spelledOut adds the full form of each path that a document shortens: paths listed by their last
// words only, {place} in the paths of whitelists, and … in the paths of webhooks.
func spelledOut(document string) string {
	for _, match := range shared.FindAllStringSubmatch(document, -1) {
		for _, word := range strings.Split(match[3], ", ") {
			document += "\n" + match[1] + strings.TrimPrefix(word, "/")
		}
	}
	document = strings.ReplaceAll(document, "`POST …/", "`POST /v1/webhooks/{id}/")
	document = strings.ReplaceAll(document, "`GET …/", "`GET /v1/webhooks/{id}/")
	for _, place := range []string{"/v1/agents/{id}/whitelist", "/v1/fleets/{id}/whitelist", "/v1/whitelist"} {
		document += "\n" + strings.ReplaceAll(document, "{place}", place)
	}
	return document
}

// braces matches a part of a path that callers fill in, whatever its name.
var braces = regexp.MustCompile(`\{[^}]*\}`)

// tells reports whether a document with empty braces names a path.
func tells(document, path string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(braces.ReplaceAllString(path, "{}")) + `([^\w/{-]|$)`).MatchString(document)
}

// Some document names each environment variable that the program reads.
func TestVariablesAreDocumented(t *testing.T) {
	told := handbooks(t) + text(t, "CONTRIBUTING.md")
	names := stringsOf(t, regexp.MustCompile(`\bRAILGUARD_[A-Z0-9_]+[A-Z0-9]\b`), func(s *source) bool {
		return !strings.HasPrefix(s.room, "bench/") // The benches' variables are for developers.
	})
	require.Greater(t, len(names), 8)
	for _, name := range names {
		require.True(t, strings.Contains(told, name), "no document tells of the variable %s", name)
	}
}

// The handbook names each exit code of the program.
func TestExitCodesAreDocumented(t *testing.T) {
	handbook := text(t, "docs/OPERATING.md")
	line := regexp.MustCompile(`Exit codes: 0 done[^\n]*`).FindString(handbook)
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^\s*(?:const )?exit[A-Z]\w+ += (\d+)`).FindAllStringSubmatch(text(t, "cmd/railguard/main.go"), -1) {
		found = append(found, match[1])
		require.Regexp(t, `\b`+match[1]+` [a-z]`, line, "docs/OPERATING.md")
	}
	require.Equal(t, []string{"0", "1", "3", "4", "5", "6", "64", "70"}, found)
}
