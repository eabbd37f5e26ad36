package strictjson

import (
	"slices"
	"strings"
	"unicode"

	"github.com/valyala/fastjson"
)

// Shape says which members an object may have. What stands for a member is the shape
// of the object, or of every object of the list, that it holds; nil leaves what is
// below to whoever reads it.
type Shape map[string]Shape

// Names is a shape of members that have no shape of their own.
func Names(names ...string) Shape { return Shape(nil).With(names...) }

// With is the shape with more such members.
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

// WithNested is the shape with one more member, of which the shape of what it holds is known.
func (s Shape) WithNested(name string, inner Shape) Shape {
	wider := s.With(name)
	wider[name] = inner
	return wider
}

// UnknownMember is a member that a shape does not have.
type UnknownMember struct {
	Param string // Its path; at most unknownNameBytes of its own name.
	Near  string // The member of the shape that it is a misspelling of; "": of none.
}

// unknownNameBytes is how much of a name of the caller's own making is shown.
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

// shortenName cuts a caller's name where it gets long, between two runes.
func shortenName(name string) string {
	if len(name) <= unknownNameBytes {
		return name
	}
	return strings.ToValidUTF8(name[:unknownNameBytes], "")
}

// nearestMember is the member that name misspells: the same but for letter case, _ and -, or
// one letter away where the member has nearLetters or more. "": none is near.
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

// oneEdit tells whether a becomes b by one letter put in, left out, replaced, or
// changed over with its neighbour.
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

// CheckShape is the error of a document with members that shape does not have; nil
// when there are none.
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

// Finding tells a stranger as what is wrong with a body.
func (s *UnknownMember) Finding() Finding {
	f := Finding{Param: s.Param, Message: "is not a known member"}
	if s.Near != "" {
		f.Message += ": did you mean " + s.Near + "?"
		f.Extra.Text("didYouMean", s.Near)
	}
	return f
}
