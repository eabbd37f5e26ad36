package railguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// formatFree lists the constants of engine/limits.go that Apply may name: units, and the
// sizes of arrays in rows or moments, which belong to the layout.
var formatFree = []string{"KiB", "MiB", "Millisecond", "Second", "Minute", "Hour", "DayLength", "DepthMax", "StructuringCallsMax"}

// TestApplyReadsLimitsByFormat: Apply reads a bound from engine.Limits. A bare constant could
// differ between two binaries of one format.
func TestApplyReadsLimitsByFormat(t *testing.T) {
	all := sources(t)
	limits := map[string]bool{}
	for _, s := range all {
		if s.path != "engine/limits.go" {
			continue
		}
		for _, declaration := range s.file.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						limits[name.Name] = !slices.Contains(formatFree, name.Name)
					}
				}
			}
		}
	}
	require.True(t, limits["WhitelistMax"])
	for _, s := range all {
		if s.test || s.room != "fsm" {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if room, ok := selector.X.(*ast.Ident); ok && room.Name == "engine" {
				require.False(t, limits[selector.Sel.Name], "%s: engine.%s is the edges': Apply reads engine.Limits of its format",
					s.set.Position(selector.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
}

// mapRangeExceptions lists loops over maps in pure packages whose order has no effect, by
// file and function, each with its reason.
var mapRangeExceptions = map[string]string{}

// TestPureRoomsRangeOverNoMap: the order of a map differs from run to run. Sort the
// keys and range over them.
func TestPureRoomsRangeOverNoMap(t *testing.T) {
	house := &typed{set: token.NewFileSet(), sources: map[string][]*ast.File{}, packages: map[string]*types.Package{}, info: map[string]*types.Info{}}
	paths := map[*ast.File]string{}
	for _, s := range sources(t) {
		if !s.test && s.path != "engine/format_next.go" { // That file belongs to another build.
			file, err := parser.ParseFile(house.set, s.path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			house.sources[module+"/"+s.room] = append(house.sources[module+"/"+s.room], file)
			paths[file] = s.path
		}
	}
	seen := 0
	for _, room := range append(slices.Clone(pureRooms), "ofac/judge", "ofac/sample") {
		_, err := house.Import(module + "/" + room)
		require.NoError(t, err)
		info := house.info[module+"/"+room]
		for _, file := range house.sources[module+"/"+room] {
			for _, declaration := range file.Decls {
				place := paths[file]
				if function, ok := declaration.(*ast.FuncDecl); ok {
					place += ": " + function.Name.Name
				}
				ast.Inspect(declaration, func(node ast.Node) bool {
					loop, ok := node.(*ast.RangeStmt)
					if !ok {
						return true
					}
					if walk := callName(loop.X); walk == "maps.Keys" || walk == "maps.Values" || walk == "maps.All" {
						t.Errorf("%s: %s has no order: sort it", place, walk)
					}
					kind := info.TypeOf(loop.X)
					if kind == nil || kind.Underlying() == nil {
						return true
					}
					seen++
					_, isMap := kind.Underlying().(*types.Map)
					_, excused := mapRangeExceptions[place]
					if isMap && !excused {
						t.Errorf("%s: a loop over a map: range over its sorted keys", place)
					}
					return true
				})
			}
		}
	}
	require.Greater(t, seen, 100, "types were found")
}

// callName returns "package.Function" for such a call, and otherwise "".
func callName(expression ast.Expr) string {
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return ""
	}
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		if room, ok := selector.X.(*ast.Ident); ok {
			return room.Name + "." + selector.Sel.Name
		}
	}
	return ""
}

// typed type-checks the repository's own packages. Types of other modules are missing, which
// is no problem: the maps of pure packages are their own types.
type typed struct {
	set      *token.FileSet
	sources  map[string][]*ast.File
	packages map[string]*types.Package
	info     map[string]*types.Info
}

// Import implements types.Importer.
func (h *typed) Import(name string) (*types.Package, error) {
	if known := h.packages[name]; known != nil {
		return known, nil
	}
	files := h.sources[name]
	if files == nil {
		foreign := types.NewPackage(name, path.Base(name))
		foreign.MarkComplete()
		h.packages[name] = foreign
		return foreign, nil
	}
	h.info[name] = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	checker := types.Config{Importer: h, Error: func(error) {}}
	checked, _ := checker.Check(name, h.set, files, h.info[name])
	h.packages[name] = checked
	return checked, nil
}

// onceEach lists code that only the named files may have. A second copy would drift apart;
// here that would mean two hashes of one leaf.
var onceEach = map[string]struct {
	sign  *regexp.Regexp
	files []string
}{
	"the hash of a leaf": {regexp.MustCompile(`append\(\[\]byte\{0(x00)?\}, .*\.\.\.|[lL]eafPrefix\s+=`), []string{"audit/merkle/hash.go"}},
	// The bytes of leaves and of tokens are frozen with their formats, and their packages
	// import no JSON.
	"the escapes of JSON": {regexp.MustCompile("`\\\\u00|'u', '0', '0'"), []string{"strictjson/members.go", "fsm/leaf/event.go", "engine/jws/sign.go"}},
}

// TestOnceEach: the code in onceEach is in the named files only. The benches and clients,
// which check the product, have their own.
func TestOnceEach(t *testing.T) {
	for what, once := range onceEach {
		found := 0
		for _, s := range sources(t) {
			if s.test || strings.HasPrefix(s.room, "bench/") || strings.HasPrefix(s.room, "client") {
				continue
			}
			text, err := os.ReadFile(s.path)
			require.NoError(t, err)
			if once.sign.Match(text) {
				require.Contains(t, once.files, s.path, "%s is written elsewhere already", what)
				found++
			}
		}
		require.LessOrEqual(t, found, len(once.files))
		require.Positive(t, found, "%s: the test no longer knows its sign", what)
	}
}

// plainWrites matches writes of a file that a power loss can leave empty.
var plainWrites = regexp.MustCompile(`os\.(WriteFile|Create)\(`)

// writers lists the files that may do so: what they write is an answer to a person, who can
// ask again, or belongs to a development cluster.
var writers = []string{
	"audit/bundle/make.go", "cmd/railguard/dev.go", "cmd/railguard/export.go",
	"cmd/railguard/tokenfile.go", "cmd/railguard/verbs_bundle.go",
}

// TestNodesWriteFilesThatLast: files that a node reads when it starts, such as its secret,
// are synced, renamed, and their folder synced (datadir.ReplaceFile).
func TestNodesWriteFilesThatLast(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.room, "bench/") || s.room == "cluster/porttest" || slices.Contains(writers, s.path) {
			continue
		}
		text, err := os.ReadFile(s.path)
		require.NoError(t, err)
		require.False(t, plainWrites.Match(text), "%s writes a file with datadir.ReplaceFile, or is one of writers", s.path)
	}
	for _, path := range writers {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, plainWrites.Match(text), "%s is no writer any more", path)
	}
}
