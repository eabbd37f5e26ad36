package railguard

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked returns the numbers of the requirements that docs/security.md answers.
func asked() []string {
	var all []string
	count := func(prefix string, most int) {
		for i := 1; i <= most; i++ {
			all = append(all, fmt.Sprint(prefix, i))
		}
	}
	count("3.", 12) // RFC 8725, section 3.
	count("API", 10)
	for section, most := range map[string]int{
		"4.1.": 5, "4.2.": 5, "4.3.": 2, "4.4.": 4, "9.1.": 3, "9.2.": 4,
		"11.1.": 4, "11.2.": 5, "11.3.": 5, "11.4.": 4, "11.5.": 2, "11.6.": 2, "11.7.": 2,
		"16.1.": 1, "16.2.": 5, "16.3.": 4, "16.4.": 3, "16.5.": 4,
	} {
		count(section, most)
	}
	slices.Sort(all)
	return all
}

// Every requirement is answered once, by existing tests or by another reason.
func TestSecurityAnswersNameTests(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && s.test && strings.HasPrefix(function.Name.Name, "Test") {
				tests[function.Name.Name] = true
			}
		}
	}
	page := text(t, "docs/security.md")
	named := regexp.MustCompile("`(Test\\w+)`")
	for _, match := range named.FindAllStringSubmatch(page, -1) {
		require.True(t, tests[match[1]], "docs/security.md names %s, which is no test", match[1])
	}
	var answered []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+\.\d+(?:\.\d+)?|API\d+) \|.*\| ([^|]*) \|$`).FindAllStringSubmatch(page, -1) {
		answered = append(answered, row[1])
		shown := named.MatchString(row[2]) || strings.HasPrefix(row[2], "operator") || strings.HasPrefix(row[2], "not applicable") || strings.HasPrefix(row[2], "no:")
		require.True(t, shown, "docs/security.md, %s: %q names no test", row[1], row[2])
	}
	slices.Sort(answered)
	require.Equal(t, asked(), answered)
	_, model, found := strings.Cut(page, "\n## Threat model\n")
	require.True(t, found)
	model, _, _ = strings.Cut(model, "\n## ")
	rows := 0
	for _, row := range strings.Split(model, "\n") {
		if strings.HasPrefix(row, "| ") && !strings.HasPrefix(row, "| who |") {
			rows++
			require.Regexp(t, named, row, "nothing shows it")
		}
	}
	require.Greater(t, rows, 8)
}
