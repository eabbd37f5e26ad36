package strictjson

import (
	"slices"
	"strings"
	"unicode"

	"github.com/valyala/fastjson"
)

// Shape says which members an object may have. It maps a member to the shape of its value, or
// of every object in its list. nil means that the members below are not checked.
type Shape map[string]Shape

// Names returns a shape with these members, whose values are not checked.
func Names(names ...string) Shape { return Shape(nil).With(names...) }

// With returns the shape with further members whose values are not checked.
func (s Shape) With(names ...string) Shape {
	wider := make(Shape, len(s)+len(names))
	for name, inner := range s {
		wider[name] = inner
	}
	for _, name := range names {
		wider[name] = nil
	}
	return wider
}

// WithNested returns the shape with one more member, whose value has the shape inner.
func (s Shape) WithNested(name string, inner Shape) Shape {
	wider := s.With(name)
	wider[name] = inner
	return wider
}

// UnknownMember is a member that a shape does not have.
type UnknownMember struct {
	Param string // Its path, with at most unknownNameBytes of its own name.
	Near  string // The member of the shape that it seems to misspell; "" if there is none.
}

// unknownNameBytes is how much of an unknown member's name is shown.
const unknownNameBytes = 128

// UnknownMembers returns the members of the document that shape does not have, at most
// FindingsMax of them, in the order in which they were sent.
func (d *Document) UnknownMembers(shape Shape) []UnknownMember {
	if d.object == nil {
		return nil
	}
	return appendUnknown(nil, "", d.object, shape)
}

func appendUnknown(found []UnknownMember, path string, object *fastjson.Object, shape Shape) []UnknownMember {
	object.Visit(func(key []byte, v *fastjson.Value) {
		if len(found) >= FindingsMax {
			return
		}
		inner, known := shape[string(key)]
		if !known {
			name := string(key)
			found = append(found, UnknownMember{Param: path + shortenName(name), Near: shape.nearestMember(name)})
			return
		}
		if inner != nil {
			found = appendUnknownBelow(found, path+string(key), v, inner)
		}
	})
	return found
}

func appendUnknownBelow(found []UnknownMember, path string, v *fastjson.Value, shape Shape) []UnknownMember {
	switch v.Type() {
	case fastjson.TypeObject:
		object, _ := v.Object()
		return appendUnknown(found, path+".", object, shape)
	case fastjson.TypeArray:
		items, _ := v.Array()
		for i, item := range items {
			if item.Type() == fastjson.TypeObject && len(found) < FindingsMax {
				found = appendUnknownBelow(found, elementPath(path, i), item, shape)
			}
		}
	}
	return found
}

// shortenName cuts a long name between two runes.
func shortenName(name string) string {
	if len(name) <= unknownNameBytes {
		return name
	}
	return strings.ToValidUTF8(name[:unknownNameBytes], "")
}

// nearestMember returns the member that name seems to misspell, "" if there is none. Two names
// are near if they differ only in letter case, _ and -, or, if the member has nearLetters or
// more, in one letter.
func (s Shape) nearestMember(name string) string {
	if len(name) > unknownNameBytes {
		return ""
	}
	given := foldName(name)
	best := ""
	for known := range s {
		want := foldName(known)
		if slices.Equal(given, want) {
			return known
		}
		if len(want) >= nearLetters && oneEdit(given, want) && (best == "" || known < best) {
			best = known
		}
	}
	return best
}

const nearLetters = 5

func foldName(name string) []rune {
	runes := make([]rune, 0, len(name))
	for _, r := range name {
		if r != '_' && r != '-' {
			runes = append(runes, unicode.ToLower(r))
		}
	}
	return runes
}

// oneEdit reports whether a and b differ by one letter that was inserted, deleted, replaced
// or swapped with its neighbour.
func oneEdit(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	at := 0
	for at < len(a) && a[at] == b[at] {
		at++
	}
	if len(a) < len(b) {
		return slices.Equal(a[at:], b[at+1:])
	}
	if at == len(a) {
		return false // They are the same.
	}
	if slices.Equal(a[at+1:], b[at+1:]) {
		return true
	}
	return at+1 < len(a) && a[at] == b[at+1] && a[at+1] == b[at] && slices.Equal(a[at+2:], b[at+2:])
}

// CheckShape returns an error if the document has members that shape does not have.
func (d *Document) CheckShape(shape Shape) error {
	found := d.UnknownMembers(shape)
	if len(found) == 0 {
		return nil
	}
	e := &InvalidBody{Code: "unknown_field", Findings: make([]Finding, len(found))}
	for i := range found {
		e.Findings[i] = found[i].Finding()
	}
	return e
}

// Finding returns the unknown member as a finding of its body.
func (s *UnknownMember) Finding() Finding {
	f := Finding{Param: s.Param, Message: "is not a known member"}
	if s.Near != "" {
		f.Message += ": did you mean " + s.Near + "?"
		f.Extra.Text("didYouMean", s.Near)
	}
	return f
}
