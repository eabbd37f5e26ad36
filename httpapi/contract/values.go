package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// value makes a value of the schema at a place. name is the member that it is for.
func (g *Generator) value(place, name string) any {
	at, said := g.contract.resolve(place)
	if options := list(said["oneOf"]); options != nil {
		return g.value(fmt.Sprintf("%s/oneOf/%d", at, g.random.IntN(len(options))), name)
	}
	if words := list(said["enum"]); words != nil {
		return pick(g, words...)
	}
	kind, _ := said["type"].(string)
	if types := list(said["type"]); types != nil {
		kind, _ = types[0].(string)
		if g.chance(10) {
			kind, _ = pick(g, types...).(string)
		}
	}
	switch kind {
	case "object":
		return g.object(at, said)
	case "array":
		return g.array(at, said, name)
	case "integer", "number":
		return g.number(said, kind)
	case "boolean":
		return g.chance(2)
	case "null":
		return nil
	}
	if known := kinds[name]; known != "" {
		return g.of(known)
	}
	if kind == "" && g.chance(3) {
		return pick[any](g, nil, 7, true, []any{}, map[string]any{})
	}
	return g.text(said)
}

func (g *Generator) object(at string, said map[string]any) any {
	all := map[string]any{}
	required := words(said["required"])
	properties := slices.Sorted(maps.Keys(object(said["properties"])))
	for _, name := range properties {
		if slices.Contains(required, name) || g.chance(4) {
			all[name] = g.value(at+"/properties/"+escape(name), name)
		}
	}
	if options := list(said["anyOf"]); options != nil {
		i := g.random.IntN(len(options))
		for _, name := range words(object(options[i])["required"]) {
			all[name] = g.value(at+"/properties/"+escape(name), name)
		}
	}
	return all
}

func (g *Generator) array(at string, said map[string]any, name string) any {
	least := number(said["minItems"], 0)
	items := make([]any, 0, 3)
	for range int(least) + g.random.IntN(3) {
		items = append(items, g.value(at+"/items", name))
	}
	if most := int(number(said["maxItems"], 1000)); len(items) > most {
		items = items[:most]
	}
	return items
}

func (g *Generator) number(said map[string]any, kind string) any {
	least, most := number(said["minimum"], 0), number(said["maximum"], 1000)
	n := pick(g, least, most, least+1, float64(int64(least+g.random.Float64()*(most-least))), 1)
	n = min(max(n, least), most)
	if kind == "number" && g.chance(3) && n < most {
		return json.Number(fmt.Sprintf("%d.%06d", int64(n), g.random.IntN(1_000_000)))
	}
	return json.Number(fmt.Sprint(int64(n)))
}

func number(value any, otherwise float64) float64 {
	literal, ok := value.(json.Number)
	if !ok {
		return otherwise
	}
	n, err := literal.Float64()
	if err != nil {
		return otherwise
	}
	return n
}

func (g *Generator) text(said map[string]any) string {
	switch said["format"] {
	case "date-time":
		return pick(g, "2026-03-22T03:33:28.589Z", "2026-12-31T23:59:59+01:00", "2026-03-21T00:00:00Z")
	case "date":
		return "2026-12-25"
	}
	pattern, _ := said["pattern"].(string)
	switch {
	case strings.HasPrefix(pattern, "^[0-2]"):
		return pick(g, "00:00", "09:30", "23:59")
	case strings.HasPrefix(pattern, "^[0-9]{4}-"):
		return pick(g, "2026-03-22T03:33:28.589Z", "2026-12-31T23:59:59+01:00", "2030-01-01", "2026-03-21T00:00:00Z")
	case strings.HasPrefix(pattern, "^[0-9]{2}-?"):
		return pick(g, "12-3456789", "123456789")
	case strings.HasPrefix(pattern, "^["):
		return pick(g, "r", "ref-1", "~"+strings.Repeat("x", 20))
	}
	return pick(g, "Acme Inc", "Paper & Co", "é", "a", "1962-11-23", "Lazarus Groupe", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96",
		"ETH", "business", "UTC", "model-1", "\"<script>", "日本語", strings.Repeat("x", 200))
}

// spoil changes one place of a value so that it is most likely invalid.
func (g *Generator) spoil(value any) any {
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 || g.chance(5) {
			v[pick(g, "zzUnknown", "amuont", "Reason", "cp_name", "")] = 1
			return v
		}
		name := pick(g, names...)
		if g.chance(4) {
			delete(v, name)
			return v
		}
		v[name] = g.spoil(v[name])
		return v
	case []any:
		if len(v) > 0 && !g.chance(3) {
			v[0] = g.spoil(v[0])
			return v
		}
		return append(v, pick[any](g, nil, 1, "zz", map[string]any{"zz": 1}))
	}
	return pick[any](g, nil, true, "", " ", strings.Repeat("y", 600), strings.Repeat("z", 9000), "\x00", json.Number("-1"), json.Number("1e13"),
		json.Number("0.0000001"), json.Number("1.5"), json.Number("123456789012345678901234567890"), []any{}, map[string]any{}, map[string]any{"a": []any{nil}}, "2026-13-45")
}
