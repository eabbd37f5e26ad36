package credential

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

// depthMax bounds the nesting of header and payload, the outermost object counted.
const depthMax = 8

// value is one JSON value. For numbers and strings, text has the content; numbers stay as
// written.
type value struct {
	kind     byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'.
	text     string
	members  []member
	elements []value
}

type member struct {
	name  string
	value value
}

// readObject reads one JSON object: valid UTF-8, no two equal names in any
// object, no nesting beyond depthMax, nothing behind it.
func readObject(document []byte) (*value, error) {
	if !utf8.Valid(document) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrMalformed)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	root, err := readValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more than one JSON value", ErrMalformed)
	}
	return &root, nil
}

func readValue(decoder *json.Decoder, depth int) (value, error) {
	token, err := decoder.Token()
	if err != nil {
		return value{}, fmt.Errorf("%w: not JSON", ErrMalformed)
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == depthMax {
			return value{}, fmt.Errorf("%w: nested deeper than %d", ErrMalformed, depthMax)
		}
		if token == '{' {
			return readMembers(decoder, depth+1)
		}
		return readElements(decoder, depth+1)
	case string:
		return value{kind: '"', text: token}, nil
	case json.Number:
		return value{kind: '0', text: token.String()}, nil
	case bool:
		if token {
			return value{kind: 't'}, nil
		}
		return value{kind: 'f'}, nil
	}
	return value{kind: 'n'}, nil
}

func readMembers(decoder *json.Decoder, depth int) (value, error) {
	object := value{kind: '{'}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return value{}, fmt.Errorf("%w: not JSON", ErrMalformed)
		}
		if object.memberValue(name) != nil {
			return value{}, fmt.Errorf("%w: two members %q", ErrMalformed, name)
		}
		content, err := readValue(decoder, depth)
		if err != nil {
			return value{}, err
		}
		object.members = append(object.members, member{name, content})
	}
	return object, readClosing(decoder)
}

func readElements(decoder *json.Decoder, depth int) (value, error) {
	list := value{kind: '['}
	for decoder.More() {
		element, err := readValue(decoder, depth)
		if err != nil {
			return value{}, err
		}
		list.elements = append(list.elements, element)
	}
	return list, readClosing(decoder)
}

func readClosing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("%w: not JSON", ErrMalformed)
	}
	return nil
}

// memberValue returns the value of the member with exactly this name; nil when there is none.
func (v *value) memberValue(name string) *value {
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return nil
}

// stringMember returns a string member; "" when it is missing or of another type.
func (v *value) stringMember(name string) string {
	if v == nil {
		return ""
	}
	if m := v.memberValue(name); m != nil && m.kind == '"' {
		return m.text
	}
	return ""
}
