package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// obj is a JSON object to send. Amounts go in as json.Number, so that the literal
// on the wire is the literal in the check.
type obj map[string]any

// list is a JSON array to send.
type list []any

// decodeTree reads exactly one JSON value, numbers kept as their literals.
func decodeTree(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return tree, nil
}

// at walks a dotted path ("credential.@context.0") through a decoded value.
// The empty path is the value itself.
func at(tree any, path string) (any, bool) {
	if path == "" {
		return tree, true
	}
	for _, step := range strings.Split(path, ".") {
		switch node := tree.(type) {
		case map[string]any:
			next, ok := node[step]
			if !ok {
				return nil, false
			}
			tree = next
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(node) {
				return nil, false
			}
			tree = node[index]
		default:
			return nil, false
		}
	}
	return tree, true
}

// plain converts a value that a check wrote (obj, list, int) into the form of a decoded value.
func plain(value any) any {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("BUG: not JSON: %v", err)
	}
	tree, err := decodeTree(raw)
	if err != nil {
		return fmt.Sprintf("BUG: not JSON: %v", err)
	}
	return tree
}

// sameTree compares two decoded values; numbers are equal when their values are.
func sameTree(a, b any) bool {
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok || len(left) != len(right) {
			return false
		}
		for name, value := range left {
			other, there := right[name]
			if !there || !sameTree(value, other) {
				return false
			}
		}
		return true
	case []any:
		right, ok := b.([]any)
		if !ok || len(left) != len(right) {
			return false
		}
		for i := range left {
			if !sameTree(left[i], right[i]) {
				return false
			}
		}
		return true
	case json.Number:
		right, ok := b.(json.Number)
		return ok && sameNumber(string(left), string(right))
	}
	return a == b
}

// sameNumber compares two literals by value, exactly. Literals whose exponent would
// make them enormous are compared as text.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	left, okLeft := rational(a)
	right, okRight := rational(b)
	return okLeft && okRight && left.Cmp(right) == 0
}

// rational reads a number literal exactly.
func rational(literal string) (*big.Rat, bool) {
	if at := strings.IndexAny(literal, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(literal[at+1:])
		if err != nil || exponent > 64 || exponent < -64 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(literal)
}

// show prints a decoded value shortly, for failure texts.
func show(tree any) string {
	raw, err := json.Marshal(tree)
	if err != nil {
		return fmt.Sprint(tree)
	}
	return cut(string(raw), 200)
}

// cut shortens a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// names lists the member names of a decoded object, sorted.
func names(tree any) []string {
	object, _ := tree.(map[string]any)
	out := make([]string, 0, len(object))
	for name := range object {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// kind names the JSON type of a decoded value.
func kind(tree any) string {
	switch tree.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "unknown"
}
