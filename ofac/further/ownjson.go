package further

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// readOwnJSON reads a JSON array of objects, or objects one behind the other. The members are the
// columns; an unknown one, and one that is there twice, is refused.
func readOwnJSON(source *bufio.Reader) (Part, error) {
	decoder := json.NewDecoder(source)
	first, _ := source.Peek(1)
	array := len(first) > 0 && first[0] == '['
	if array {
		if _, err := decoder.Token(); err != nil {
			return Part{}, jsonError(0, err)
		}
	}
	var all rows
	for number := 1; ; number++ {
		if array && !decoder.More() {
			break
		}
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) && !array {
			return all.part, nil
		}
		if err != nil {
			return Part{}, jsonError(number, err)
		}
		row, err := ReadRow(number, raw)
		if err != nil {
			return Part{}, err
		}
		if err := all.add(number, &row); err != nil {
			return Part{}, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return Part{}, jsonError(0, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Part{}, refuse(0, "", "something stands behind the array")
	}
	return all.part, nil
}

func jsonError(row int, err error) error {
	return refuse(row, "", "not JSON as was expected: %v", err)
}

// ReadRow reads one entry from its JSON. number is that of the row, for the error.
func ReadRow(number int, raw []byte) (row Row, err error) {
	if len(raw) > textBytesMax {
		return row, refuse(number, "", "%d bytes, at most %d", len(raw), textBytesMax)
	}
	if !utf8.Valid(raw) {
		return row, refuse(number, "", "not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return row, refuse(number, "", "an object was expected")
	}
	var seen []string
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		switch {
		case err != nil || !ok:
			return row, refuse(number, "", "an object was expected")
		case !slices.Contains(Columns(), name):
			return row, refuse(number, cut(name, columnBytes), "it is none of %s", strings.Join(Columns(), ", "))
		case slices.Contains(seen, name):
			return row, refuse(number, name, "it is there twice")
		}
		seen = append(seen, name)
		if err := decoder.Decode(row.member(name)); err != nil {
			return row, refuse(number, name, "%v", err)
		}
	}
	return row, nil
}

// member returns where a member of a row is read to.
func (r *Row) member(name string) any {
	switch name {
	case "id":
		return &r.ID
	case "kind":
		return &r.Kind
	case "name":
		return &r.Name
	case "aliases":
		return &r.Aliases
	case "wallets":
		return &r.Wallets
	case "identifiers":
		return (*jsonIdentifiers)(&r.Identifiers)
	case "countries":
		return &r.Countries
	case "reason":
		return &r.Reason
	}
	return &r.Until
}

// jsonIdentifiers reads identifiers as calls tell them: objects of type, value and country.
type jsonIdentifiers []Identifier

// UnmarshalJSON implements json.Unmarshaler.
func (l *jsonIdentifiers) UnmarshalJSON(raw []byte) error {
	var all []struct {
		Type    string `json:"type"`
		Value   string `json:"value"`
		Country string `json:"country"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return err
	}
	for _, one := range all {
		*l = append(*l, Identifier{one.Type, one.Value, one.Country})
	}
	return nil
}
