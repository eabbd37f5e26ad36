package client

import (
	"bytes"
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// strictDepth is how deep a strict document may be nested.
const strictDepth = 16

// surrogate finds the escape of half of a character. What a lone half means differs between
// readers, and no permit needs one.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// strictObject reads a JSON object in which no member stands twice, at any depth. Names are told
// apart by their case, which encoding/json does not do when it fills a struct. Numbers stay as they
// were written.
func strictObject(raw []byte) (map[string]any, bool) {
	if !utf8.Valid(raw) || !json.Valid(raw) || surrogate.Match(raw) {
		return nil, false
	}
	reader := json.NewDecoder(bytes.NewReader(raw))
	reader.UseNumber()
	value, ok := strictValue(reader, strictDepth)
	object, isObject := value.(map[string]any)
	return object, ok && isObject
}

// strictValue reads the next value of a document that is known to be JSON.
func strictValue(reader *json.Decoder, depth int) (any, bool) {
	token, err := reader.Token()
	if err != nil {
		return nil, false
	}
	open, nested := token.(json.Delim)
	if !nested {
		return token, true
	}
	if depth == 0 {
		return nil, false
	}
	if open == '[' {
		list := []any{}
		for reader.More() {
			value, ok := strictValue(reader, depth-1)
			if !ok {
				return nil, false
			}
			list = append(list, value)
		}
		_, err := reader.Token()
		return list, err == nil
	}
	object := map[string]any{}
	for reader.More() {
		name, err := reader.Token()
		text, isText := name.(string)
		if _, twice := object[text]; err != nil || !isText || twice {
			return nil, false
		}
		value, ok := strictValue(reader, depth-1)
		if !ok {
			return nil, false
		}
		object[text] = value
	}
	_, err = reader.Token()
	return object, err == nil
}

var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)

// whole returns a number that is written as a whole one, not negative.
func whole(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok || !wholeNumber.MatchString(string(number)) {
		return 0, false
	}
	read, err := number.Int64()
	return read, err == nil
}
