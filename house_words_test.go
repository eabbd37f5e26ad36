package railguard

import (
	"go/types"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// word is one entry of the vocabulary: what the word means, and the types that may use it. An
// entry of types is a prefix of package.Type, so "fsm" covers every type of fsm and of the
// packages below it.
type word struct {
	means string
	types []string
}

// vocabulary holds words that used to have several meanings, and their replacements.
var vocabulary = map[string]word{
	"birth":     {"the day on which a party was born", []string{"ofac"}},
	"book":      {"a counter on which an amount is booked", []string{"engine.Spend"}},
	"catalog":   {"the table of a store's segments and tails", []string{"audit.catalog"}},
	"desk":      {"the part of the Machine that knows what officers do", []string{"fsm.desk"}},
	"frame":     {"bytes behind their length and checksum", []string{"audit.frame"}},
	"gate":      {"a lock whose waiters can be called away", []string{"cluster.gate"}},
	"guest":     {"who calls the API from inside the process", []string{"httpapi/guest", "httpapi/mcp", "httpapi/x402", "httpapi/description.GuestError", "cmd/railguard.guestFlags"}},
	"lane":      {"places for dear work that callers take in turns", []string{"httpapi/lanes.Lane"}},
	"line":      {"a text up to its end of line", []string{"audit/note.lineSigner", "audit/examine.LineError", "strictjson.Members"}},
	"page":      {"rows that are copied on first write", []string{"fsm", "cluster.page"}},
	"room":      {"a folder of Go code with one job, and its routes", []string{"httpapi"}},
	"shelf":     {"the small documents of a node on its disk", []string{"cluster/datadir.Shelf"}},
	"standing":  {"which entries may have changed a status list", []string{"fsm.standing"}},
	"tail":      {"leaves that are not sealed yet", []string{"audit.tail", "audit.TailReport"}},
	"validator": {"the one-pass check of JSON", []string{"strictjson.Validator"}},
	"worker":    {"what sends to one webhook", []string{"webhooks.worker"}},
}

// TestWordsMeanOneThing: a type with a word of the table in its name, and a variable, field
// or parameter with that name, must be of a type that the word allows.
func TestWordsMeanOneThing(t *testing.T) {
	house := typedProduct(t)
	seen := map[string]bool{}
	for room := range house.sources {
		for _, object := range house.info[room].Defs {
			switch object := object.(type) {
			case *types.TypeName:
				if _, parameter := object.Type().(*types.TypeParam); parameter {
					continue
				}
				for _, part := range wordsOf(object.Name()) {
					requireWord(t, house, part, qualifiedName(object), object, seen)
				}
			case *types.Var:
				if named := nameOfType(object.Type()); named != "" {
					requireWord(t, house, strings.ToLower(object.Name()), named, object, seen)
				}
			}
		}
	}
	require.Len(t, seen, len(vocabulary), "a word that names nothing any more leaves the table: %v", seen)
}

// requireWord checks that a name with a word of the table has one of the word's types.
func requireWord(t *testing.T, house *typed, name, kind string, object types.Object, seen map[string]bool) {
	for _, candidate := range []string{name, strings.TrimSuffix(name, "s"), strings.TrimSuffix(name, "ves") + "f"} {
		w, declared := vocabulary[candidate]
		if !declared {
			continue
		}
		seen[candidate] = true
		for _, allowed := range w.types {
			if rest, found := strings.CutPrefix(kind, allowed); found && (rest == "" || rest == "s" || !unicode.IsLower(rune(rest[0]))) {
				return
			}
		}
		t.Errorf("%s: %s is a %s, but here %q is %s: take another word", house.set.Position(object.Pos()), object.Name(), kind, candidate, w.means)
		return
	}
}

// wordsOf splits a name in camel case into words of lower case.
func wordsOf(name string) (parts []string) {
	start := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || unicode.IsUpper(rune(name[i])) && !unicode.IsUpper(rune(name[i-1])) {
			parts = append(parts, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return parts
}

// nameOfType returns package.Type of the repository's type that a type consists of; "" if it
// is another one.
func nameOfType(kind types.Type) string {
	switch kind := kind.(type) {
	case *types.Pointer:
		return nameOfType(kind.Elem())
	case *types.Slice:
		return nameOfType(kind.Elem())
	case *types.Array:
		return nameOfType(kind.Elem())
	case *types.Map:
		return nameOfType(kind.Elem())
	case *types.Chan:
		return nameOfType(kind.Elem())
	case *types.Named:
		return qualifiedName(kind.Obj())
	}
	return ""
}

// qualifiedName returns package.Type of a type in the repository; "" for any other.
func qualifiedName(declared *types.TypeName) string {
	if declared.Pkg() == nil || !strings.HasPrefix(declared.Pkg().Path(), module+"/") {
		return ""
	}
	return strings.TrimPrefix(declared.Pkg().Path(), module+"/") + "." + declared.Name()
}
