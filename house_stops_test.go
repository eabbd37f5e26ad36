package railguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// enders are the functions with which a node ends itself. Their argument is the reason, which the
// last line of the log names.
var enders = []string{"endProcess", "haltReplica", "yieldNow", "giveUp", "fatal"}

// stopOf returns the first literal of an expression, as far as the first verb of a format.
func stopOf(expression ast.Expr) (reason string) {
	ast.Inspect(expression, func(node ast.Node) bool {
		if literal, is := node.(*ast.BasicLit); is && literal.Kind == token.STRING && reason == "" {
			reason, _ = strconv.Unquote(literal.Value)
		}
		return reason == ""
	})
	return reason
}

// stops returns the reasons for which a node ends itself, by the place where they are made.
func stops(t *testing.T) map[string]string {
	reasons := map[string]string{}
	for _, room := range []string{"cluster", "cluster/datadir"} {
		files, err := filepath.Glob(room + "/*.go")
		require.NoError(t, err)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			places := token.NewFileSet()
			file, err := parser.ParseFile(places, path, nil, 0)
			require.NoError(t, err)
			for _, declaration := range file.Decls {
				function, is := declaration.(*ast.FuncDecl)
				if !is {
					continue
				}
				takes := slices.Contains(enders, function.Name.Name)
				ends := false
				ast.Inspect(function, func(node ast.Node) bool {
					call, is := node.(*ast.CallExpr)
					if !is || len(call.Args) != 1 {
						return true
					}
					name := ""
					switch called := call.Fun.(type) {
					case *ast.SelectorExpr:
						name = called.Sel.Name
					case *ast.Ident:
						name = called.Name
					}
					if !slices.Contains(enders, name) {
						return true
					}
					ends = true
					if reason := stopOf(call.Args[0]); reason != "" {
						reasons[places.Position(call.Pos()).String()] = reason
					}
					return true
				})
				if ends && !takes { // The reason was made before, and given a name.
					ast.Inspect(function, func(node ast.Node) bool {
						assign, is := node.(*ast.AssignStmt)
						if name, simple := assignedName(assign, is); simple && (name == "reason" || name == "why") {
							if reason := stopOf(assign.Rhs[0]); reason != "" {
								reasons[places.Position(assign.Pos()).String()] = reason
							}
						}
						return true
					})
				}
			}
		}
	}
	return reasons
}

func assignedName(assign *ast.AssignStmt, is bool) (name string, simple bool) {
	if !is || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return "", false
	}
	target, simple := assign.Lhs[0].(*ast.Ident)
	if !simple {
		return "", false
	}
	return target.Name, true
}

var quoted = regexp.MustCompile("`([^`]+)`")

// quotes reports whether a row quotes a reason: its parts stand there in their order. What a reason
// fills in is not compared.
func quotes(parts []string, reason string) bool {
	found := 0
	for _, part := range parts {
		part = strings.TrimSpace(part)
		at := strings.Index(reason, part)
		switch {
		case part == "" || part == ":":
		case at >= 0:
			reason, found = reason[at+len(part):], found+1
		case !strings.Contains(reason, "%"):
			return false
		}
	}
	return found > 0
}

// TestEveryStopHasARow: whatever reason a node gives for its end stands in the table of the
// operator's handbook, as it is printed.
func TestEveryStopHasARow(t *testing.T) {
	var rows [][]string // What a row quotes, cut where it leaves something out.
	for _, row := range stopRows(t) {
		for _, quote := range row {
			rows = append(rows, strings.Split(quote, "..."))
		}
	}
	reasons := stops(t)
	require.Greater(t, len(reasons), 15)
	for place, reason := range reasons {
		if !slices.ContainsFunc(rows, func(parts []string) bool { return quotes(parts, reason) }) {
			t.Errorf("%s ends a node with %q, of which docs/OPERATING.md has no row", place, reason)
		}
	}
}
