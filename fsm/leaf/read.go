package leaf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"railguard/engine"
)

// Read reads an event into the struct of its kind, or returns a nil event if this release
// does not know the kind. An absent member stays zero. If a member has the wrong type, the
// error wraps ErrForm and names the member.
func Read(data []byte) (kind string, event any, err error) {
	members, err := splitMembers(data)
	if err != nil {
		return "", nil, err
	}
	var due string
	if err = setMember(reflect.ValueOf(&kind).Elem(), "kind", members["kind"]); err != nil {
		return "", nil, err
	}
	if kind == KindDue {
		if err = setMember(reflect.ValueOf(&due).Elem(), "type", members["type"]); err != nil {
			return "", nil, err
		}
		kind += ":" + due
	}
	of := structOf[kind]
	if of == nil {
		return kind, nil, nil
	}
	value := reflect.New(of).Elem()
	err = setMembers(value, members)
	return kind, value.Interface(), err
}

// ReadInto reads an event's members into a struct of Kinds. It ignores members that the
// struct does not have.
func ReadInto(data []byte, event any) error {
	members, err := splitMembers(data)
	if err != nil {
		return err
	}
	return setMembers(reflect.ValueOf(event).Elem(), members)
}

// splitMembers reads one JSON object. If a name stands twice the first value counts, because
// Apply's members stand before the edge's.
func splitMembers(data []byte) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("%w: an event is a JSON object", ErrForm)
	}
	members := make(map[string]json.RawMessage)
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		if text, _ := name.(string); members[text] == nil {
			members[text] = value
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something stands behind the event", ErrForm)
	}
	return members, nil
}

func setMembers(value reflect.Value, members map[string]json.RawMessage) error {
	for _, m := range membersOf[value.Type()] {
		if err := setMember(value.FieldByIndex(m.path), m.Name, members[m.Name]); err != nil {
			return err
		}
	}
	return nil
}

// setMember reads what appendValue writes. It accepts null, which an edge may write for an
// absent value.
func setMember(v reflect.Value, name string, text json.RawMessage) error {
	if text == nil || string(text) == "null" {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var err error
	switch into := v.Addr().Interface().(type) {
	case *engine.USD:
		*into, err = engine.ParseUSD(text)
	case *engine.Time:
		var said string
		if err = json.Unmarshal(text, &said); err == nil {
			*into, err = readInstant(said)
		}
	case *[32]byte:
		var digits string
		if err = json.Unmarshal(text, &digits); err == nil && len(digits) != 64 {
			err = hex.ErrLength
		}
		if err == nil {
			_, err = hex.Decode(into[:], []byte(digits))
		}
	default:
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%w: member %s: %w", ErrForm, name, err)
	}
	return nil
}

// readInstant accepts exactly what engine.Time's AppendTime writes.
func readInstant(text string) (engine.Time, error) {
	var year, month, day, hour, minute, second, thousandth int64
	if _, err := fmt.Sscanf(text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", &year, &month, &day, &hour, &minute, &second, &thousandth); err != nil {
		return 0, err
	}
	if month < 3 { // Count years from March, so that a leap day is the last day of its year.
		year, month = year-1, month+12
	}
	days := 365*year + year/4 - year/100 + year/400 + (153*month-457)/5 + day - 719_469
	at := engine.Time(days)*engine.DayLength + engine.Time((hour*60+minute)*60+second)*engine.Second + engine.Time(thousandth)*engine.Millisecond
	if string(at.AppendTime(nil)) != text {
		return 0, fmt.Errorf("%q is no time of a leaf", text)
	}
	return at, nil
}

// headMembers are in every event: Apply's head, and the id of the calling key.
var headMembers = []string{"kind", "eventId", "time", "index", "leaf", "salt", "actorKeyId"}

// Select names members that a reader shows of leaves of some kinds. It panics if none of the
// kinds has a name, which would be a bug.
func Select(kinds []string, names ...string) []string {
	known := make(map[string]bool)
	for _, name := range headMembers {
		known[name] = true
	}
	for _, kind := range kinds {
		for _, m := range MembersOf(kind) {
			known[m.Name] = true
		}
	}
	for _, name := range names {
		if !known[name] {
			panic(fmt.Sprintf("BUG: no member %s in a leaf of %v", name, kinds))
		}
	}
	return names
}
