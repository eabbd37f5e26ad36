package railguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fieldHandsMax is how many functions may touch one field of a struct: read it, write it or
// take its address. With more, nobody can say what is true of the field.
const fieldHandsMax = 48

// fieldHands lists the fields that more functions may touch, each with its limit and the
// reason.
var fieldHands = map[string]struct {
	most int
	why  string
}{
	"httpapi/border.Request.Judge": {250, "the one thing that handlers ask; what it shows of the state is immutable"},
	"edge.Judge.Terms":             {140, "immutable values that were published together, read by whoever judges"},
	"edge.Terms.Settings":          {60, "an immutable value"},
	"fsm.core.now":                 {122, "log time, set by the entry alone and read by every part"},
	"fsm.core.limits":              {116, "immutable; of the format"},
	"fsm.core.settings":            {95, "an immutable value, replaced by one function"},
	"fsm.core.ids":                 {60, "the names of what leaves tell of; replaced by one function"},
	"fsm.Settings.Genesis":         {61, "a member of an immutable value"},
	"fsm/wire.Result.Code":         {56, "a member of a plain value"},
	"engine.AgentProfile.Slot":     {55, "a member of an immutable value"},
	"fsm.Settings.List":            {53, "a member of an immutable value"},
	"fsm/wire.ListInfo.Digest":     {50, "the name of a list, of an immutable value"},
	"cluster.life.log":             {55, "the logger"},
}

// TestFieldsHaveFewHands counts the functions that touch each field of each struct of the
// product, by type information. So it does not help to turn a method into a function, or to
// move a field into an embedded struct.
func TestFieldsHaveFewHands(t *testing.T) {
	hands := countHands(t)
	require.Greater(t, len(hands), 3000, "types were found")
	for field, functions := range hands {
		allowed := fieldHandsMax
		if excused, ok := fieldHands[field]; ok {
			allowed = excused.most
			require.Greater(t, len(functions), fieldHandsMax, "%s needs no exception any more", field)
		}
		require.LessOrEqual(t, len(functions), allowed, "%d functions touch %s: give it an owner with few methods", len(functions), field)
	}
	for field := range fieldHands {
		require.Contains(t, hands, field, "the exception names a field that is not there")
	}
}

// product is the result of typedProduct, shared by the tests of this package.
var product *typed

// typedProduct type-checks all packages of the product, without tests and benches.
func typedProduct(t *testing.T) *typed {
	if product != nil {
		return product
	}
	house := &typed{set: token.NewFileSet(), sources: map[string][]*ast.File{}, packages: map[string]*types.Package{}, info: map[string]*types.Info{}}
	for _, s := range sources(t) {
		if !s.test && !strings.HasPrefix(s.room, "bench") && s.path != "engine/format_next.go" { // That file belongs to another build.
			file, err := parser.ParseFile(house.set, s.path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			house.sources[module+"/"+s.room] = append(house.sources[module+"/"+s.room], file)
		}
	}
	for room := range house.sources {
		_, err := house.Import(room)
		require.NoError(t, err)
	}
	product = house
	return house
}

// countHands maps each field, as room.Type.field, to the functions that touch it.
func countHands(t *testing.T) map[string]map[string]bool {
	house := typedProduct(t)
	hands, names := map[string]map[string]bool{}, map[*types.Var]string{}
	for room := range house.sources {
		checked := house.packages[room]
		for _, name := range checked.Scope().Names() {
			if declared, ok := checked.Scope().Lookup(name).(*types.TypeName); ok && !declared.IsAlias() {
				nameFields(names, hands, strings.TrimPrefix(room, module+"/")+"."+name, declared.Type().Underlying())
			}
		}
	}
	for room, files := range house.sources {
		for _, file := range files {
			for _, declaration := range file.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil {
					touch(house.info[room], names, hands, room, function)
				}
			}
		}
	}
	return hands
}

func nameFields(names map[*types.Var]string, hands map[string]map[string]bool, owner string, kind types.Type) {
	body, ok := kind.(*types.Struct)
	if !ok {
		return
	}
	for i := range body.NumFields() {
		field := body.Field(i)
		name := owner + "." + field.Name()
		names[field], hands[name] = name, map[string]bool{}
		if _, inner := field.Type().(*types.Struct); inner {
			nameFields(names, hands, name, field.Type())
		}
	}
}

// touch notes the fields that a function selects.
func touch(info *types.Info, names map[*types.Var]string, hands map[string]map[string]bool, room string, function *ast.FuncDecl) {
	self := room + "." + function.Name.Name
	if function.Recv != nil {
		self += " of " + types.ExprString(function.Recv.List[0].Type)
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		selection := info.Selections[selector]
		if selection == nil || selection.Kind() != types.FieldVal {
			return true
		}
		if name := names[selection.Obj().(*types.Var).Origin()]; name != "" {
			hands[name][self] = true
		}
		return true
	})
}
