package railguard

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMembersThatAreReadAreWritten: every member that a room reads from a leaf by a literal name
// is written into leaves somewhere, by a struct of fsm/leaf, by the edge or as a shown record.
func TestMembersThatAreReadAreWritten(t *testing.T) {
	house := typedProduct(t)
	written, read := map[string]bool{"eventId": true}, map[string]token.Pos{} // The Machine gives each event its id.
	for room, files := range house.sources {
		room, info := strings.TrimPrefix(room, module+"/"), house.info[room]
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.Field:
					if node.Tag != nil && room == "fsm/leaf" {
						tag, _ := strconv.Unquote(node.Tag.Value)
						name, _, _ := strings.Cut(reflect.StructTag(tag).Get("leaf"), ",")
						written[name] = true
					}
				case *ast.BasicLit:
					if text, err := strconv.Unquote(node.Value); err == nil && room == "fsm/leafjson" {
						written[text] = true
					}
				case *ast.CallExpr:
					collectMembers(info, room, node, written, read)
				}
				return true
			})
		}
	}
	require.Greater(t, len(read), 100)
	for name, at := range read {
		if !written[name] {
			t.Errorf("%s: no leaf has a member %q", house.set.Position(at), name)
		}
	}
}

// collectMembers collects the literal names of a call that reads a leaf or that writes a member
// in the edge.
func collectMembers(info *types.Info, room string, call *ast.CallExpr, written map[string]bool, read map[string]token.Pos) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || info.Selections[method] == nil {
		return
	}
	of := nameOfType(info.Selections[method].Recv())
	for _, argument := range call.Args {
		literal, ok := argument.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		name, _ := strconv.Unquote(literal.Value)
		switch {
		case of == "edge.Leaf":
			read[name] = literal.Pos()
			if method.Sel.Name == "CopyAs" {
				return // What follows is what an answer calls it.
			}
		case of == "strictjson.Members" && strings.HasPrefix(room, "edge"):
			written[name] = true
			return // What follows is a value.
		}
	}
}
