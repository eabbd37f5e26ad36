package leaf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"railguard/engine"
)

// An event's leaf is a head that Apply writes (kind, ids, time, place, salt), the members
// of the kind's struct in the order of its fields, and what the edge sent. The structs of
// events.go are the one place that names these members.

// member is one field of an event's struct.
type member struct {
	name     string
	optional bool // Left out where it is zero.
	path     []int
}

// membersOf holds, for each kind of Events, its struct's type and members.
var membersOf = func() map[string]shape {
	all := make(map[string]shape, len(Events))
	for _, kind := range Events {
		of := reflect.TypeOf(kind.Event)
		all[kind.Name] = shape{of, listMembers(of, nil)}
	}
	return all
}()

type shape struct {
	of      reflect.Type
	members []member
}

// listMembers lists the fields of a struct; those of an embedded one stand in its place.
func listMembers(of reflect.Type, path []int) (members []member) {
	for i := range of.NumField() {
		field, at := of.Field(i), append(append([]int(nil), path...), i)
		if field.Anonymous {
			members = append(members, listMembers(field.Type, at)...)
			continue
		}
		name, option, _ := strings.Cut(field.Tag.Get("leaf"), ",")
		if name == "" {
			panic("BUG: a member of a leaf without a name: " + of.Name() + "." + field.Name)
		}
		members = append(members, member{name, option == "omitempty", at})
	}
	return members
}

// MembersOf names the members that Apply writes of a kind, in their order; nil for a kind
// without a struct.
func MembersOf(kind string) (names []string) {
	for _, m := range membersOf[kind].members {
		names = append(names, m.name)
	}
	return names
}

// AppendEvent writes the members of an event of a kind behind its head. It panics for a
// struct that is not the kind's, which is our mistake.
func AppendEvent(dst []byte, kind string, event any) []byte {
	shape, value := membersOf[kind], reflect.ValueOf(event)
	if shape.of == nil || shape.of != value.Type() {
		panic(fmt.Sprintf("BUG: a leaf of kind %s from a %T", kind, event))
	}
	for i := range shape.members {
		m := &shape.members[i]
		if v := value.FieldByIndex(m.path); !m.optional || !v.IsZero() {
			dst = append(append(append(dst, ',', '"'), m.name...), '"', ':')
			dst = appendValue(dst, v)
		}
	}
	return dst
}

func appendValue(dst []byte, v reflect.Value) []byte {
	switch value := v.Interface().(type) {
	case engine.USD:
		return engine.AppendUSD(dst, value)
	case engine.Time:
		return append(value.AppendTime(append(dst, '"')), '"')
	case [32]byte:
		return AppendHex(dst, value[:])
	case []string:
		dst = append(dst, '[')
		for i, text := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendQuoted(dst, text)
		}
		return append(dst, ']')
	}
	switch v.Kind() {
	case reflect.Pointer: // A member that may be left out, and whose zero says something.
		return appendValue(dst, v.Elem())
	case reflect.String:
		return AppendQuoted(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10)
	}
	panic("BUG: no form in a leaf for a " + v.Type().String())
}

const hexDigits = "0123456789abcdef"

// AppendHex writes bytes as a text of digits.
func AppendHex(dst, data []byte) []byte {
	dst = append(dst, '"')
	for _, v := range data {
		dst = append(dst, hexDigits[v>>4], hexDigits[v&15])
	}
	return append(dst, '"')
}

// AppendQuoted writes a text that may hold anything valid UTF-8 can: JSON string escapes
// for quotes, backslashes and control characters, nothing else.
func AppendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
