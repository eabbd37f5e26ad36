package fsm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// partFields maps each struct to the part that owns its fields.
var partFields = map[string]string{
	"core": "core", "coreTables": "core",
	"calendar": "calendar", "calendarTables": "calendar",
	"registry": "registry", "registryTables": "registry",
	"ledger": "ledger", "ledgerTables": "ledger",
	"desk": "desk", "deskTables": "desk",
	"rulebook": "rulebook", "rulebookTables": "rulebook",
	"keys": "keys", "keyTables": "keys",
}

// settingsOwners names the part that owns each field of the settings.
var settingsOwners = map[string]string{
	"Index": "core", "Format": "core", "Genesis": "core", "Lineage": "core", "Epochs": "core", "Removed": "core", "ClockOffset": "core", "Passkeys": "core", "LeapUntil": "core",
	"Policy": "rulebook", "Cleared": "rulebook", "ClearedLast": "rulebook", "Matcher": "rulebook", "List": "rulebook", "ListSynced": "rulebook",
	"ListVersion": "rulebook", "Staged": "rulebook", "History": "rulebook", "Retro": "rulebook",
	"Keys": "keys", "SigningKeys": "keys", "Backups": "core", "InHand": "desk", "LogLines": "keys", "Webhooks": "keys", "WebhookNext": "keys",
}

// mayWriteAll lists functions that may write fields of several parts, with the reasons.
var mayWriteAll = map[string]string{
	"New":                   "it makes the parts",
	"restorer.readMeta":     "the first row of a snapshot holds what is in no table",
	"restorer.readSettings": "a restored Machine begins with these settings",
}

// mutating are the methods that change their receiver.
var mutating = []string{"Append", "Edit", "DropBack", "DropFront", "Release", "Freeze", "Turn", "dropTo", "skipTo", "startAt", "add", "drop", "settle"}

// partLaw is the type-checked package and the writes found in it.
type partLaw struct {
	set    *token.FileSet
	info   *types.Info
	owners map[types.Object]string
	writes map[string]int // By part.
}

// TestPartsOwnTheirFields: only a part's own methods write its fields and its fields of the
// settings.
func TestPartsOwnTheirFields(t *testing.T) {
	law := &partLaw{set: token.NewFileSet(), owners: map[types.Object]string{}, writes: map[string]int{}}
	law.info = &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(law.set, path, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	checker := types.Config{Importer: law, Error: func(error) {}}
	checked, _ := checker.Check("fsm", law.set, files, law.info)
	law.findOwners(t, checked.Scope())
	for _, file := range files {
		for _, declaration := range file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && function.Body != nil {
				law.look(t, function)
			}
		}
	}
	for place, part := range partOrder {
		require.Greater(t, law.writes[part], 5, "the law no longer sees who writes fields of the %s", part)
		law.holdOrder(t, checked.Scope(), place)
	}
}

// partOrder lists the parts so that each one points only to those before it. It uses a later
// part through an interface.
var partOrder = []string{"core", "calendar", "registry", "ledger", "desk", "rulebook", "keys"}

func (law *partLaw) holdOrder(t *testing.T, scope *types.Scope, place int) {
	for field := range scope.Lookup(partOrder[place]).Type().Underlying().(*types.Struct).Fields() {
		if pointer, is := field.Type().(*types.Pointer); is {
			if named, is := pointer.Elem().(*types.Named); is {
				require.NotContains(t, partOrder[place:], named.Obj().Name(), "the %s knows a part that comes after it", partOrder[place])
			}
		}
	}
}

// Import implements types.Importer. Other packages are empty: none of their names is known.
func (law *partLaw) Import(name string) (*types.Package, error) {
	foreign := types.NewPackage(name, path.Base(name))
	foreign.MarkComplete()
	return foreign, nil
}

func (law *partLaw) findOwners(t *testing.T, scope *types.Scope) {
	fields := func(name string) *types.Struct {
		found := scope.Lookup(name)
		require.NotNil(t, found, name)
		return found.Type().Underlying().(*types.Struct)
	}
	for name, part := range partFields {
		for field := range fields(name).Fields() {
			law.owners[field] = part
		}
	}
	for field := range fields("Settings").Fields() {
		require.NotEmpty(t, settingsOwners[field.Name()], "no part owns Settings.%s", field.Name())
		law.owners[field] = settingsOwners[field.Name()]
	}
}

// look finds the fields that a function writes.
func (law *partLaw) look(t *testing.T, function *ast.FuncDecl) {
	name, actor := function.Name.Name, ""
	if function.Recv != nil {
		if star, is := function.Recv.List[0].Type.(*ast.StarExpr); is {
			if receiver, is := star.X.(*ast.Ident); is {
				name, actor = receiver.Name+"."+name, partFields[receiver.Name]
			}
		}
	}
	if mayWriteAll[name] != "" {
		return
	}
	wrote := func(place ast.Expr) {
		if field := law.field(place); field != nil {
			law.writes[law.owners[field]]++
			require.Equal(t, law.owners[field], actor, "%s: %s writes %s, which is the %s's",
				law.set.Position(place.Pos()), name, field.Name(), law.owners[field])
		}
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			for _, place := range n.Lhs {
				wrote(place)
			}
		case *ast.IncDecStmt:
			wrote(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				wrote(n.X)
			}
		case *ast.CallExpr:
			if called, is := n.Fun.(*ast.Ident); is && called.Name == "delete" {
				wrote(n.Args[0])
			}
			if method, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains(mutating, method.Sel.Name) {
				wrote(method.X)
			}
		}
		return true
	})
}

// field returns the owned field that an expression is, or is a part of, or nil. What a
// pointer points to is not part of the field that holds the pointer.
func (law *partLaw) field(place ast.Expr) types.Object {
	for {
		switch p := place.(type) {
		case *ast.ParenExpr:
			place = p.X
		case *ast.IndexExpr:
			place = p.X
		case *ast.SelectorExpr:
			selection := law.info.Selections[p]
			if selection == nil {
				return nil
			}
			if field := selection.Obj(); law.owners[field] != "" {
				return field
			}
			if _, pointer := law.info.Types[p.X].Type.(*types.Pointer); pointer {
				return nil
			}
			place = p.X
		default:
			return nil
		}
	}
}
