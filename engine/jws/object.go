package jws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON inside a token is read by a walk over its tokens, never into a struct:
// decoding into a struct matches names without case and takes the last of two
// equal ones, so that {"alg":"ES256","ALG":"none"} would read as none.

// DepthMax bounds the nesting of header and payload, the outermost object counted.
const DepthMax = 8

// Value is one JSON value. For numbers and strings, Text has the content; numbers stay as
// written.
type Value struct {
	Kind     byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'.
	Text     string
	Members  []Member
	Elements []Value
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// ReadObject reads one JSON object: valid UTF-8, no two equal names in any
// object, no nesting beyond DepthMax, nothing behind it.
func ReadObject(document []byte) (*Value, error) {
	if !utf8.Valid(document) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrMalformed)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	root, err := readValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if root.Kind != '{' {
		return nil, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrMalformed)
	}
	return &root, nil
}

func readValue(decoder *json.Decoder, depth int) (Value, error) {
	token, err := decoder.Token()
	if err != nil {
		return Value{}, fmt.Errorf("%w: not JSON", ErrMalformed)
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == DepthMax {
			return Value{}, fmt.Errorf("%w: nested deeper than %d", ErrMalformed, DepthMax)
		}
		if token == '{' {
			return readMembers(decoder, depth+1)
		}
		return readElements(decoder, depth+1)
	case string:
		return Value{Kind: '"', Text: token}, nil
	case json.Number:
		return Value{Kind: '0', Text: token.String()}, nil
	case bool:
		if token {
			return Value{Kind: 't'}, nil
		}
		return Value{Kind: 'f'}, nil
	}
	return Value{Kind: 'n'}, nil
}

func readMembers(decoder *json.Decoder, depth int) (Value, error) {
	object := Value{Kind: '{'}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return Value{}, fmt.Errorf("%w: not JSON", ErrMalformed)
		}
		if object.Member(name) != nil {
			return Value{}, fmt.Errorf("%w: two members %q", ErrMalformed, name)
		}
		content, err := readValue(decoder, depth)
		if err != nil {
			return Value{}, err
		}
		object.Members = append(object.Members, Member{name, content})
	}
	return object, readClosing(decoder)
}

func readElements(decoder *json.Decoder, depth int) (Value, error) {
	list := Value{Kind: '['}
	for decoder.More() {
		element, err := readValue(decoder, depth)
		if err != nil {
			return Value{}, err
		}
		list.Elements = append(list.Elements, element)
	}
	return list, readClosing(decoder)
}

func readClosing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("%w: not JSON", ErrMalformed)
	}
	return nil
}

// Member returns the value of the member with exactly this name; nil when there is none.
func (v *Value) Member(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// TextOf returns a string member; "" when it is missing or of another type.
func (v *Value) TextOf(name string) string {
	if v == nil {
		return ""
	}
	if m := v.Member(name); m != nil && m.Kind == '"' {
		return m.Text
	}
	return ""
}
