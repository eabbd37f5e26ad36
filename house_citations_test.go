package railguard

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Comments and documents may cite only what is in this repository.

var (
	// foreignBooks matches citations of documents that are not here, or of numbers that no
	// page has.
	foreignBooks = regexp.MustCompile(`house\.md|second-look\.md|decisions\.md|reliability, |reliability\.md|models\.md|style\.md|journeys\.md|neighbours\.md` +
		`|\b[Dd]ecisions? \d+\.\d|\b[Dd]ecisions?, part|\b[Rr]ulings?,? (A-\d|\d)|\bA-\d\d\b|\bpart [A-D]\b|statement \d+[a-z]? of the plan`)

	citedDecision  = regexp.MustCompile(`\b[Dd]ecisions? (\d{1,4})((?:, (?:no\. \d+|"[^"]+"))?)`)
	citedSection   = regexp.MustCompile(`\b[Ss]pecification (\d+(?:\.\d+)?)`)
	citedStatement = regexp.MustCompile(`\b(T\d{3}a?|C\d{2})\b`)
	citedDocument  = regexp.MustCompile(`\b((?:docs/)?[\w./-]*\w\.md)\b(#[\w-]+)?`)

	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// slug returns a heading in the form of a link's anchor.
func slug(title string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// unresolved lists the citations of a text that this repository does not have.
func unresolved(comment string) (missing []string) {
	text := strings.Join(strings.Fields(comment), " ")
	for _, foreign := range foreignBooks.FindAllString(text, -1) {
		missing = append(missing, foreign+": not in this repository: cite decision N, specification N.N, statement TNNN or docs/NAME.md (what was decisions 5.10 is decision 40, A-05 is decision 30, no. 5)")
	}
	for _, cited := range citedDecision.FindAllStringSubmatch(text, -1) {
		if !decided(cited[1], strings.TrimPrefix(cited[2], ", ")) {
			missing = append(missing, cited[0])
		}
	}
	for _, cited := range citedSection.FindAllStringSubmatch(text, -1) {
		if !holds("docs/specification.md", "\n#+ "+regexp.QuoteMeta(cited[1])+" ") {
			missing = append(missing, cited[0])
		}
	}
	for _, cited := range citedStatement.FindAllStringSubmatch(text, -1) {
		if !holds("docs/statements.md", `\n\| `+cited[1]+` \|`) {
			missing = append(missing, "statement "+cited[1])
		}
	}
	for _, cited := range citedDocument.FindAllStringSubmatch(text, -1) {
		if !documented(cited[1], strings.TrimPrefix(cited[2], "#")) {
			missing = append(missing, cited[0])
		}
	}
	return missing
}

// decided tells whether a decision page with that number exists, with the cited row (no. 5)
// or heading ("Cursors"), if any.
func decided(number, within string) bool {
	value, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	pages, err := filepath.Glob(fmt.Sprintf("docs/decisions/%04d-*.md", value))
	if err != nil || len(pages) != 1 {
		return false
	}
	if row, ok := strings.CutPrefix(within, "no. "); ok {
		return holds(pages[0], `\n\| `+row+`( M)? \|`)
	}
	return within == "" || holds(pages[0], "\n#+ "+regexp.QuoteMeta(strings.Trim(within, `"`)))
}

// documented tells whether a Markdown file exists at the cited path or under docs, with the
// heading, if any.
func documented(name, anchor string) bool {
	for _, path := range []string{name, "docs/" + name, "docs/decisions/" + name} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if anchor == "" {
			return true
		}
		for _, title := range heading.FindAllStringSubmatch(string(data), -1) {
			if slug(title[1]) == anchor {
				return true
			}
		}
		return false
	}
	return false
}

// holds tells whether a document matches a pattern.
func holds(path, pattern string) bool {
	data, err := os.ReadFile(path)
	return err == nil && regexp.MustCompile(pattern).Match(append([]byte{'\n'}, data...))
}

// TestCitationsResolve follows every citation of every comment.
func TestCitationsResolve(t *testing.T) {
	var all []string
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			if s.path == "house_citations_test.go" {
				continue
			}
			for _, missing := range unresolved(commentText(group)) {
				all = append(all, s.set.Position(group.Pos()).String()+": "+missing)
			}
		}
	}
	require.Empty(t, all, "%s", strings.Join(all, "\n"))
}

var (
	codeBlock  = regexp.MustCompile("(?s)```.*?```")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
)

// TestDocumentCitationsResolve follows every citation of every document. Links are followed by TestDocumentLinksResolve.
func TestDocumentCitationsResolve(t *testing.T) {
	var all []string
	for _, path := range markdown(t) {
		prose := linkTarget.ReplaceAllString(codeBlock.ReplaceAllString(text(t, path), ""), "]")
		for _, missing := range unresolved(prose) {
			all = append(all, path+": "+missing)
		}
	}
	require.Empty(t, all, "%s", strings.Join(all, "\n"))
}

var (
	namedFile = regexp.MustCompile("`([a-z][\\w/.-]*\\.go)`")
	namedTest = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")
)

// TestDocumentsNameFilesAndTestsThatExist: every Go file or test that a document names
// exists.
func TestDocumentsNameFilesAndTestsThatExist(t *testing.T) {
	files, functions := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		for place := s.path; ; { // A document may omit the leading folders.
			files[place] = true
			_, rest, found := strings.Cut(place, "/")
			if !found {
				break
			}
			place = rest
		}
		for _, declaration := range s.file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && s.test {
				functions[function.Name.Name] = true
			}
		}
	}
	named := 0
	for _, path := range markdown(t) {
		page := text(t, path)
		for _, file := range namedFile.FindAllStringSubmatch(page, -1) {
			named++
			require.True(t, files[file[1]], "%s names the file %s, which is not here", path, file[1])
		}
		for _, test := range namedTest.FindAllStringSubmatch(page, -1) {
			named++
			require.True(t, functions[test[1]], "%s names %s, which is no test", path, test[1])
		}
	}
	require.Greater(t, named, 300)
}

// TestDecisionsHaveStatusAndDate: each decision has a status and a date, and the index lists
// it with its title and with the decision that superseded it.
func TestDecisionsHaveStatusAndDate(t *testing.T) {
	index := text(t, "docs/decisions/README.md")
	pages, err := filepath.Glob("docs/decisions/0*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 50)
	head := regexp.MustCompile(`^# (\d{4}) (.+)\n\n\*\*Status\.\*\* (Accepted|Superseded(?: in part)? by \[\d{4}\]\([^)]+\))[^\n]*?, (\d{4}-\d\d-\d\d)\.`)
	for _, page := range pages {
		said := head.FindStringSubmatch(text(t, page))
		require.NotNil(t, said, "%s: a title, then **Status.** Accepted or Superseded by a page, then a date", page)
		name := filepath.Base(page)
		require.Equal(t, name[:4], said[1], page)
		row := fmt.Sprintf("- %s [%s](%s)", said[1], said[2], name)
		if said[3] != "Accepted" {
			row += ", " + strings.ToLower(said[3][:1]) + said[3][1:]
		}
		require.True(t, strings.Contains(index, "\n"+row+"\n"), "docs/decisions/README.md lacks: %s", row)
	}
	require.Equal(t, len(pages), strings.Count(index, "\n- 0"))
}

// commentText returns a comment's text with its spaces.
func commentText(group *ast.CommentGroup) string {
	var text strings.Builder
	for _, line := range group.List {
		text.WriteString(strings.TrimPrefix(line.Text, "//"))
		text.WriteByte('\n')
	}
	return text.String()
}

// TestForeignCitationsAreFound checks that unresolved finds bad citations and accepts good
// ones.
func TestForeignCitationsAreFound(t *testing.T) {
	for _, good := range []string{
		"R14 stands first (decision 6).", "decision 0031, \"Money\"", "decision 30, no. 5", "specification 4.7 and specification 8",
		"statement T083", "C15 again", "docs/OPERATING.md", "FORMATS.md", "docs/ARCHITECTURE.md#one-screening-call", "RFC 6962, section 2.1",
	} {
		require.Empty(t, unresolved(good), good)
	}
	for _, bad := range []string{
		"decisions 5.10", "(decisions\n5.1)", "decisions, part C", "ruling A-01", "A-05", "rulings 5.14", "house.md 10", "reliability, 2.5 no. 18",
		"limits of part C", "decision 999", "decision 0031, \"Moon\"", "decision 30, no. 99", "specification 4.77", "statement T999", "C99", "docs/NOWHERE.md",
		"docs/ARCHITECTURE.md#nowhere",
	} {
		require.NotEmpty(t, unresolved(bad), bad)
	}
}

// walked is a place in the code as ARCHITECTURE names it: file.go:Function.
var walked = regexp.MustCompile("`([a-z/_]+\\.go)(?::(\\w+))?`")

// walkFilesMax is how many files a reader of one screening call may have to read.
const walkFilesMax = 45

// TestWalkIsTrue: the files and functions in ARCHITECTURE's screening call exist, and the
// files are not too many.
func TestWalkIsTrue(t *testing.T) {
	page, err := os.ReadFile("docs/ARCHITECTURE.md")
	require.NoError(t, err)
	_, walk, found := strings.Cut(string(page), "## One screening call\n")
	require.True(t, found)
	walk, _, _ = strings.Cut(walk, "\n## ")
	functions := map[string]map[string]bool{}
	for _, s := range sources(t) {
		functions[s.path] = map[string]bool{}
		for _, declaration := range s.file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				functions[s.path][function.Name.Name] = true
			}
		}
	}
	visited := map[string]bool{}
	for _, place := range walked.FindAllStringSubmatch(walk, -1) {
		visited[place[1]] = true
		there := functions[place[1]] != nil && (place[2] == "" || functions[place[1]][place[2]])
		require.True(t, there, "docs/ARCHITECTURE.md, One screening call: %s is gone: say where it is now", place[0])
	}
	require.Greater(t, len(visited), 20)
	require.LessOrEqual(t, len(visited), walkFilesMax)
}
