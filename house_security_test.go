package railguard

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
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
	// ASVS 5.0: how many requirements each section of a chapter has.
	for chapter, sections := range map[int][]int{
		1: {2, 10, 12, 3, 3}, 2: {3, 3, 5, 2}, 3: {1, 3, 5, 8, 8, 1, 5}, 4: {5, 5, 2, 4}, 5: {1, 6, 3, 3}, 6: {3, 12, 8, 6, 8, 4, 2, 4},
		7: {3, 4, 2, 5, 3, 2}, 8: {4, 4, 3, 2}, 9: {3, 4}, 10: {2, 3, 5, 16, 5, 2, 3}, 11: {4, 5, 5, 4, 2, 2, 2}, 12: {5, 2, 5},
		13: {4, 6, 4, 7}, 14: {2, 8, 3}, 15: {5, 5, 7, 4}, 16: {1, 5, 4, 3, 4},
	} {
		for i, most := range sections {
			count(fmt.Sprintf("%d.%d.", chapter, i+1), most)
		}
	}
	slices.Sort(all)
	return all
}

// numbers returns the requirements that a row answers: 1.2.1-3 is 1.2.1, 1.2.2 and 1.2.3.
func numbers(t *testing.T, cell string) (all []string) {
	for _, part := range strings.Split(cell, ", ") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			all = append(all, part)
			continue
		}
		section := first[:strings.LastIndex(first, ".")+1]
		from, err := strconv.Atoi(first[len(section):])
		require.NoError(t, err)
		to, err := strconv.Atoi(last)
		require.NoError(t, err)
		for i := from; i <= to; i++ {
			all = append(all, fmt.Sprint(section, i))
		}
	}
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
	for _, row := range regexp.MustCompile(`(?m)^\| ((?:\d+\.\d+|API\d+)[\d., -]*) \|.*\| ([^|]*) \|$`).FindAllStringSubmatch(page, -1) {
		answered = append(answered, numbers(t, row[1])...)
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
