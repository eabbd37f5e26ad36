package leaf

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
)

// An event's leaf has a head that Apply writes (kind, ids, time, position, salt), the members
// of the kind's struct in the order of its fields, and the edge's members. Only the structs
// of events.go and events_parties.go name the members.

// Member is one field of an event's struct.
type Member struct {
	Name  string
	Doc   string // The note on it in docs/FORMATS.md; may be "".
	Edge  bool   // It comes from the edge; Apply does not write it.
	Place int    // Its place in the data of an event; 0: not in it.

	optional bool // Omitted if it is zero.
	path     []int
}

// membersOf are the members of every struct of Kinds.
var membersOf = func() map[reflect.Type][]Member {
	all := map[reflect.Type][]Member{reflect.TypeFor[RetroSuspension](): listMembers(reflect.TypeFor[RetroSuspension](), nil)}
	for _, kind := range Kinds {
		if of := reflect.TypeOf(kind.Members); of != nil {
			all[of] = listMembers(of, nil)
		}
	}
	return all
}()

// structOf is the struct of each kind that has one.
var structOf = func() map[string]reflect.Type {
	all := make(map[string]reflect.Type, len(Kinds))
	for _, kind := range Kinds {
		if of := reflect.TypeOf(kind.Members); of != nil {
			all[kind.Name] = of
		}
	}
	return all
}()

// listMembers lists the fields of a struct. The fields of an embedded struct take its place.
func listMembers(of reflect.Type, path []int) (members []Member) {
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
		place, _ := strconv.Atoi(field.Tag.Get("event"))
		members = append(members, Member{name, field.Tag.Get("doc"), option == "edge", place, option == "omitempty", at})
	}
	return members
}

// MembersOf lists the members of a kind in the order of its struct, or nil if it has none.
// The caller must not change them.
func MembersOf(kind string) []Member { return membersOf[structOf[kind]] }

// EventMembers names the members that the data of a kind's events shows, in order.
func EventMembers(kind string) (names []string) {
	var shown []Member
	for _, m := range MembersOf(kind) {
		if m.Place != 0 {
			shown = append(shown, m)
		}
	}
	slices.SortFunc(shown, func(a, b Member) int { return a.Place - b.Place })
	for _, m := range shown {
		names = append(names, m.Name)
	}
	return names
}

// Head begins the leaf of every event.
type Head struct {
	Kind    string
	EventID string
	Time    engine.Time
	Index   uint64 // The raft index of the entry.
	Leaf    uint64 // The leaf's own index.
	Salt    [SaltSize]byte
}

// AppendHead begins a leaf.
func AppendHead(dst []byte, h *Head) []byte {
	dst = append(append(append(dst, `{"kind":"`...), h.Kind...), `","eventId":"`...)
	dst = append(append(dst, h.EventID...), `","time":"`...)
	dst = append(h.Time.AppendTime(dst), `","index":`...)
	dst = append(strconv.AppendUint(dst, h.Index, 10), `,"leaf":`...)
	dst = append(strconv.AppendUint(dst, h.Leaf, 10), `,"salt":`...)
	return AppendHex(dst, h.Salt[:])
}

// AppendEvent writes the members of an event after its head. It panics if the struct is not
// the kind's, which would be a bug.
func AppendEvent(dst []byte, kind string, event any) []byte {
	if structOf[kind] != reflect.TypeOf(event) {
		panic(fmt.Sprintf("BUG: a leaf of kind %s from a %T", kind, event))
	}
	return AppendMembers(dst, event)
}

// MayBe reports whether a leaf of a kind may be written from this struct: either it is the
// kind's struct, or this release does not know the kind.
func MayBe(kind string, event any) bool {
	of, known := structOf[kind]
	return !known || of == reflect.TypeOf(event)
}

// AppendDue writes a due event after the head of a leaf of KindDue.
func AppendDue(dst []byte, due Due, event any) []byte {
	dst = AppendQuoted(append(dst, `,"type":`...), due.String())
	return AppendEvent(dst, dueKinds[due], event)
}

// AppendMembers writes the members of a struct, each with a comma before it.
func AppendMembers(dst []byte, event any) []byte {
	value := reflect.ValueOf(event)
	members, known := membersOf[value.Type()]
	if !known {
		panic(fmt.Sprintf("BUG: a leaf from a %T", event))
	}
	for i := range members {
		m := &members[i]
		if m.Edge {
			continue
		}
		if v := value.FieldByIndex(m.path); !m.optional || !v.IsZero() {
			dst = append(append(append(dst, ',', '"'), m.Name...), '"', ':')
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
	}
	switch v.Kind() {
	case reflect.Slice:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, v.Index(i))
		}
		return append(dst, ']')
	case reflect.Pointer: // An optional member whose zero value is written if it is set.
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

// AppendHex writes bytes as a quoted text of hexadecimal digits.
func AppendHex(dst, data []byte) []byte {
	dst = append(dst, '"')
	for _, v := range data {
		dst = append(dst, hexDigits[v>>4], hexDigits[v&15])
	}
	return append(dst, '"')
}

// AppendQuoted writes a text, which may be any valid UTF-8, as a JSON string. It escapes only
// quotes, backslashes and control characters.
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
