package railguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The house rules (docs/ARCHITECTURE.md), as far as a machine can check them.

const module = "railguard"

// pureRooms lists the packages without clock, randomness, disk, network, goroutines or locks.
var pureRooms = []string{"engine", "engine/jws", "engine/permit", "engine/possession", "ofac", "ofac/list", "ofac/text", "ofac/index", "ofac/match", "ofac/families", "ofac/perfect", "ofac/place", "ofac/wallet", "ofac/identifier", "fsm", "fsm/leaf", "fsm/wire", "audit/merkle", "audit/reconcile", "audit/reconcile/formats"}

// pureBans lists packages that a pure package must not import, and what to do instead.
var pureBans = map[string]string{
	"time":         "take an engine.Time argument",
	"math/rand":    "nothing here needs randomness",
	"math/rand/v2": "nothing here needs randomness",
	"crypto/rand":  "edges draw secrets and put them into records",
	"os":           "take bytes or an io.Reader",
	"net":          "network is cluster's and httpapi's",
	"net/http":     "network is cluster's and httpapi's",
	"sync":         "one writer; readers get frozen values",
	"sync/atomic":  "publish through Effects; cluster owns the pointers",
	"log":          "return values; impure rooms log",
	"log/slog":     "return values; impure rooms log",
}

// pureExceptions lists a file's allowed import and the reason.
var pureExceptions = map[string]string{
	"engine/hours_compile.go: time": "compiles a zone's transitions at the edge; Apply only does arithmetic on them",
}

// sizeExceptions are files and functions that may be longer, each with its reason.
var sizeExceptions = map[string]string{}

const (
	fileLinesMax     = 500
	functionLinesMax = 70
)

// source is one parsed Go file of the repository.
type source struct {
	path  string // Slash-separated, relative to the root.
	room  string
	file  *ast.File
	set   *token.FileSet
	lines int
	test  bool
}

// parsed holds the sources, read once for all tests, which must not change them.
var parsed []source

func sources(t *testing.T) []source {
	if parsed != nil {
		return parsed
	}
	var all []source
	err := filepath.WalkDir(".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (strings.HasPrefix(name, ".") && p != "." || name == "testdata" || name == "bin" || name == "railguard-data") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, p, nil, parser.ParseComments)
		require.NoError(t, err)
		slashed := filepath.ToSlash(p)
		all = append(all, source{
			path: slashed, room: path.Dir(slashed), file: file, set: set,
			lines: set.File(file.Pos()).LineCount(), test: strings.HasSuffix(name, "_test.go"),
		})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	parsed = all
	return all
}

func imports(s *source) []string {
	var paths []string
	for _, spec := range s.file.Imports {
		text, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, roomOf(text))
	}
	return paths
}

func TestImportLaw(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		allowed, known := importLaw[s.room]
		require.True(t, known, "%s: room %q is not in the import law: write it in and write a decision page", s.path, s.room)
		for _, imported := range imports(&s) {
			if inner, ours := strings.CutPrefix(imported, module+"/"); ours {
				require.True(t, slices.Contains(allowed, inner) || slices.Contains(allowed, "*"), "%s imports %s: the law allows %v", s.path, inner, allowed)
				continue
			}
			if strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				requireExternal(t, &s, imported)
			}
		}
	}
}

func requireExternal(t *testing.T, s *source, imported string) {
	for prefix, rooms := range externalLaw {
		if imported == prefix || strings.HasPrefix(imported, prefix+"/") {
			require.Contains(t, rooms, s.room, "%s imports %s: only %v may", s.path, imported, rooms)
			return
		}
	}
	require.Fail(t, "unknown module", "%s imports %s: a dependency needs a line in externalLaw and in docs/decisions", s.path, imported)
}

func TestPurity(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pureRooms, s.room) {
			continue
		}
		for _, imported := range imports(&s) {
			instead, banned := pureBans[imported]
			_, excused := pureExceptions[s.path+": "+imported]
			require.True(t, !banned || excused, "%s imports %s: %s", s.path, imported, instead)
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.GoStmt:
				require.Fail(t, "goroutine", "%s: pure rooms start no goroutines", s.set.Position(n.Pos()))
			case *ast.ChanType:
				require.Fail(t, "channel", "%s: pure rooms have no channels", s.set.Position(n.Pos()))
			case *ast.Ident:
				require.False(t, n.Name == "float64" || n.Name == "float32", "%s: no floats: use integers or fixed point", s.set.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestApplyFormatsNothing: package fsm uses only fmt.Errorf, in the two files that restore a
// snapshot.
func TestApplyFormatsNothing(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.room != "fsm" {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
				if name, ok := selector.X.(*ast.Ident); ok && name.Name == "fmt" {
					require.Equal(t, "Errorf", selector.Sel.Name, "%s: Apply copies, it does not format", s.set.Position(call.Pos()))
					require.Contains(t, []string{"fsm/restore.go", "fsm/snapshot.go"}, s.path, "only restoring a snapshot makes errors")
				}
			}
			return true
		})
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if _, excused := sizeExceptions[s.path]; !excused {
			require.LessOrEqual(t, s.lines, fileLinesMax, "%s: cut the file along its jobs", s.path)
		}
		for _, declaration := range s.file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.set.Position(function.End()).Line - s.set.Position(function.Pos()).Line + 1
			if _, excused := sizeExceptions[s.path+": "+function.Name.Name]; !excused {
				require.LessOrEqual(t, lines, functionLinesMax, "%s: %s", s.path, function.Name.Name)
			}
		}
	}
}

// TestRoomsHaveDoorPlates: the doc.go of every package says what it may import and what it
// never does.
func TestRoomsHaveDoorPlates(t *testing.T) {
	plates := map[string]string{}
	rooms := map[string]bool{}
	for _, s := range sources(t) {
		rooms[s.room] = true
		if path.Base(s.path) == "doc.go" && s.file.Doc != nil {
			plates[s.room] = s.file.Doc.Text()
		}
	}
	for room := range rooms {
		plate := plates[room]
		require.NotEmpty(t, plate, "%s: no doc.go", room)
		require.Contains(t, plate, "May import:", "%s/doc.go", room)
		require.Contains(t, plate, "Never:", "%s/doc.go", room)
		for _, vague := range []string{"util", "common", "helpers", "misc", "types"} {
			require.NotEqual(t, vague, path.Base(room), "a room is a noun with one job")
		}
	}
}

// TestEdgeKnowsNoHTTP: HTTP, batches and benches all use package edge, so it must not depend
// on the transport.
func TestEdgeKnowsNoHTTP(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if !slices.Contains([]string{"edge", "edge/events", "strictjson", "seal"}, s.room) {
			continue
		}
		found++
		for _, imported := range imports(&s) {
			require.False(t, imported == "net" || strings.HasPrefix(imported, "net/http"), "%s imports %s: give the border a value to translate", s.path, imported)
		}
	}
	require.NotZero(t, found)
}

// TestVerifyNeedsNoServer: the examiner's command must not import the server.
func TestVerifyNeedsNoServer(t *testing.T) {
	for _, s := range sources(t) {
		if s.path != "cmd/railguard/verify.go" {
			continue
		}
		for _, imported := range imports(&s) {
			if strings.HasPrefix(imported, module+"/") {
				require.Equal(t, module+"/audit/examine", imported)
			}
		}
		return
	}
	require.Fail(t, "cmd/railguard/verify.go is gone")
}

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	foreign = regexp.MustCompile(`^[a-z]+:`)
)

// TestDocumentLinksResolve checks every relative link in every Markdown file, with its
// heading, if any.
func TestDocumentLinksResolve(t *testing.T) {
	for _, path := range markdown(t) {
		prose := codeBlock.ReplaceAllString(text(t, path), "")
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			if foreign.MatchString(match[1]) {
				continue
			}
			target := path
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(match[1]))
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", path, match[1])
			if match[2] != "" && strings.HasSuffix(target, ".md") {
				require.True(t, documented(target, match[2]), "%s links to %s#%s, which is no heading", path, match[1], match[2])
			}
		}
	}
}

func markdown(t *testing.T) (paths []string) {
	err := filepath.WalkDir(".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && p != "." {
			return errorOrSkip(err)
		}
		if !entry.IsDir() && strings.HasSuffix(p, ".md") {
			paths = append(paths, p)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(paths), 80)
	return paths
}

func errorOrSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// TestDependenciesAreDecided: the decision page names every direct dependency of the product
// and of the benches.
func TestDependenciesAreDecided(t *testing.T) {
	page, err := os.ReadFile("docs/decisions/0020-dependencies.md")
	require.NoError(t, err)
	for _, requirements := range []string{"go.mod", "bench/go.mod"} {
		for _, line := range strings.Split(text(t, requirements), "\n") {
			fields := strings.Fields(line)
			if len(fields) < 2 || strings.HasSuffix(line, "// indirect") || !strings.Contains(fields[0], ".") || roomOf(fields[0]) != fields[0] {
				continue
			}
			require.Contains(t, string(page), fields[0], "docs/decisions/0020-dependencies.md must say why %s", fields[0])
		}
	}
}

// TestProductNeedsNoBench: no file of the product, including its tests, imports the benches or the
// clients, and its go.mod replaces no module.
func TestProductNeedsNoBench(t *testing.T) {
	for _, s := range sources(t) {
		if s.room == "bench" || strings.HasPrefix(s.room, "bench/") || strings.HasPrefix(s.room, "client") {
			continue
		}
		for _, imported := range imports(&s) {
			require.False(t, strings.HasPrefix(imported, module+"/bench/") || strings.HasPrefix(imported, module+"/client"), "%s imports %s, which is another module", s.path, imported)
		}
	}
	require.NotContains(t, text(t, "go.mod"), "replace")
}

// hotRows lists the structs that must not have pointers, slices, maps or strings.
var hotRows = []string{"AgentRow", "FleetRow", "OperatorRow", "UserRow", "VelocityRow", "Spend"}

func TestHotRowsArePointerFree(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if s.room != "engine" || s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || !slices.Contains(hotRows, spec.Name.Name) {
				return true
			}
			found++
			ast.Inspect(spec.Type, func(inner ast.Node) bool {
				switch n := inner.(type) {
				case *ast.StarExpr, *ast.MapType, *ast.InterfaceType, *ast.FuncType:
					require.Fail(t, "pointer", "%s: hot rows hold values only", s.set.Position(inner.Pos()))
				case *ast.ArrayType:
					require.NotNil(t, n.Len, "%s: hot rows hold no slices", s.set.Position(inner.Pos()))
				case *ast.Ident:
					require.NotEqual(t, "string", n.Name, "%s: hot rows hold no strings", s.set.Position(inner.Pos()))
				}
				return true
			})
			return false
		})
	}
	require.Equal(t, len(hotRows), found)
}
