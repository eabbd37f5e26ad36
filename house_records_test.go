package railguard

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordsAreBuiltAtTheEdge: no package of httpapi builds log records. It neither makes a
// value of a type of fsm/wire by a literal or new, nor sets a field of one. Package edge and
// its subpackages build records, and test them.
func TestRecordsAreBuiltAtTheEdge(t *testing.T) {
	house := typedProduct(t)
	seen := 0
	for room, files := range house.sources {
		if !strings.HasPrefix(room, module+"/httpapi") {
			continue
		}
		info := house.info[room]
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				built := ""
				switch n := node.(type) {
				case *ast.CompositeLit:
					seen++
					built = recordName(info.TypeOf(n))
				case *ast.CallExpr:
					if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "new" && len(n.Args) == 1 {
						built = recordName(info.TypeOf(n.Args[0]))
					}
				case *ast.AssignStmt:
					for _, target := range n.Lhs {
						if field, ok := target.(*ast.SelectorExpr); ok && info.Selections[field] != nil {
							built += recordName(info.TypeOf(field.X))
						}
					}
				}
				if built != "" {
					require.Fail(t, "record", "%s builds a wire.%s: give edge a typed builder of it", house.set.Position(node.Pos()), built)
				}
				return true
			})
		}
	}
	require.Greater(t, seen, 300, "types were found")
}

// recordName returns the name of a struct of fsm/wire, and "" for any other type.
func recordName(kind types.Type) string {
	if kind == nil {
		return ""
	}
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		kind = pointer.Elem()
	}
	named, ok := types.Unalias(kind).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"/fsm/wire" {
		return ""
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return ""
	}
	return named.Obj().Name()
}
