package x402

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode"
)

// A payment is read once, and the forwarded body is written from what was read: so the
// facilitator behind cannot read another payment than the one that was judged.

const (
	depthMax  = 32
	valuesMax = 4096
)

var (
	errJSON  = errors.New("not one JSON object")
	errTwice = errors.New("a member stands twice in one object, letter case aside")
	errLarge = errors.New("nested too deeply, or of too many values")
)

// object is a JSON object as it was read.
type object map[string]any

// reader reads one document.
type reader struct {
	decoder *json.Decoder
	values  int
}

// readObject reads one JSON object with nothing after it. errTwice is a separate error,
// since such a body is JSON; but parsers that ignore the case of letters would read another
// member of it.
func readObject(data []byte) (object, error) {
	r := &reader{decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	value, err := r.readValue(0)
	if err != nil {
		return nil, err
	}
	top, ok := value.(object)
	if !ok {
		return nil, errJSON
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	return top, nil
}

func (r *reader) readValue(depth int) (any, error) {
	if r.values++; r.values > valuesMax || depth > depthMax {
		return nil, errLarge
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, errJSON
	}
	switch token {
	case json.Delim('{'):
		return r.readMembers(depth)
	case json.Delim('['):
		list := []any{}
		for r.decoder.More() {
			item, err := r.readValue(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, r.closeContainer()
	}
	return token, nil
}

func (r *reader) readMembers(depth int) (any, error) {
	members, folded := object{}, map[string]bool{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errJSON
		}
		value, err := r.readValue(depth + 1)
		if err != nil {
			return nil, err
		}
		if folded[foldCase(name)] {
			return nil, errTwice
		}
		folded[foldCase(name)], members[name] = true, value
	}
	return members, r.closeContainer()
}

func (r *reader) closeContainer() error {
	if _, err := r.decoder.Token(); err != nil {
		return errJSON
	}
	return nil
}

// foldCase maps all names that differ only in the case of letters to one name. It replaces
// each letter by the smallest of those that differ from it in case alone, which include the
// long s and the Kelvin sign.
func foldCase(name string) string {
	folded := make([]rune, 0, len(name))
	for _, letter := range name {
		least := letter
		for next := unicode.SimpleFold(letter); next != letter; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		folded = append(folded, least)
	}
	return string(folded)
}

// object returns an inner object, nil if there is none.
func (o object) object(name string) object {
	inner, _ := o[name].(object)
	return inner
}

// text returns a member that is a string, "" if there is none.
func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

// wholeNumber returns a member that is a whole number of at most nine digits, -1 if there is
// none.
func (o object) wholeNumber(name string) int {
	number, _ := o[name].(json.Number)
	n := 0
	for _, digit := range number {
		if digit < '0' || digit > '9' {
			return -1
		}
		n = n*10 + int(digit-'0')
	}
	if number == "" || len(number) > 9 {
		return -1
	}
	return n
}

// encodeObject writes the object without spaces, its members in the order of their names.
func (o object) encodeObject() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(o); err != nil {
		panic("BUG: an object that was read: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
