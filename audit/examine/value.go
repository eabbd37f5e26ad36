package examine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Readable parts are compared by value: a file may be indented, have its members in another
// order or escape texts differently without a change of meaning.

// SameValue reports whether two JSON texts have the same value. It compares numbers as exact
// decimals, without rounding.
func SameValue(a, b []byte) bool {
	left, err := parseValue(a)
	if err != nil {
		return false
	}
	right, err := parseValue(b)
	return err == nil && equalValues(left, right)
}

// holdsValues reports whether an object has every member of another object with the same
// value. It may have more members.
func holdsValues(whole, part []byte) bool {
	left, err := parseValue(whole)
	if err != nil {
		return false
	}
	right, err := parseValue(part)
	if err != nil {
		return false
	}
	all, isObject := left.(map[string]any)
	some, alsoObject := right.(map[string]any)
	if !isObject || !alsoObject {
		return false
	}
	for name, value := range some {
		if is, there := all[name]; !there || !equalValues(is, value) {
			return false
		}
	}
	return true
}

var errValue = errors.New("not one JSON value with every name once")

// parseValue reads exactly one JSON value: objects as maps without repeated names, numbers
// as their literals.
func parseValue(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errValue
	}
	return value, nil
}

func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errValue, err)
	}
	switch token {
	case json.Delim('{'):
		return readObject(decoder)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}

func readObject(decoder *json.Decoder) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		if _, twice := object[text]; twice {
			return nil, errValue
		}
		if object[text], err = readValue(decoder); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return object, err
}

func equalValues(a, b any) bool {
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok || len(left) != len(right) {
			return false
		}
		for name, value := range left {
			if other, there := right[name]; !there || !equalValues(value, other) {
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
			if !equalValues(left[i], right[i]) {
				return false
			}
		}
		return true
	case json.Number:
		right, ok := b.(json.Number)
		return ok && exactDecimal(string(left)) == exactDecimal(string(right))
	}
	return a == b
}

// exactDecimal returns a canonical form of a number: sign, digits without zeros at their ends,
// and a power of ten. A literal with an absurdly large power is returned as it is.
func exactDecimal(literal string) string {
	mantissa, power := strings.ToLower(literal), int64(0)
	if at := strings.IndexByte(mantissa, 'e'); at >= 0 {
		var err error
		if power, err = strconv.ParseInt(mantissa[at+1:], 10, 32); err != nil {
			return literal
		}
		mantissa = mantissa[:at]
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	power -= int64(len(fraction))
	digits = strings.TrimLeft(whole+fraction, "0")
	power += int64(len(digits) - len(strings.TrimRight(digits, "0")))
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return "0"
	}
	if negative {
		digits = "-" + digits
	}
	return digits + "e" + strconv.FormatInt(power, 10)
}

// splitObjects is a bufio.SplitFunc. A token is one JSON object, over any number of lines; in
// other text it is one line.
func splitObjects(data []byte, atEOF bool) (advance int, token []byte, err error) {
	start := 0
	for start < len(data) && strings.IndexByte(" \t\r\n", data[start]) >= 0 {
		start++
	}
	if start == len(data) {
		return start, nil, nil
	}
	end := objectEnd(data[start:])
	if data[start] != '{' {
		end = bytes.IndexByte(data[start:], '\n')
	}
	switch {
	case end >= 0:
		return start + end, data[start : start+end], nil
	case atEOF:
		return len(data), data[start:], nil
	}
	return start, nil, nil
}

// objectEnd returns the length of the object at the beginning of data; -1 if it does not end
// there.
func objectEnd(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
