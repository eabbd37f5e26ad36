package strictjson

import (
	"bytes"
	"unicode/utf8"

	"railguard/engine"
)

// Spans reads the members of a body whose values are all plain (a screening call's)
// from where the gate found them: nothing is parsed a second time. It is Fields for
// such bodies: null counts as absent, what is wrong is collected, strings are copied.
type Spans struct {
	gate  *Gate
	found Fields // Of no object: for what is wrong.
}

// Check is Read without a parser: the members can be read as Spans alone.
func (d *Document) Check(data []byte, values int) error {
	d.object = nil
	err := d.gate.Check(data, values)
	d.swollen = d.swollen || values-d.gate.values > valuesKept || len(data) > bytesKept
	return err
}

// Spans reads the members from the start: what an earlier reading found is forgotten.
func (d *Document) Spans() Spans {
	d.findings = findings{}
	return Spans{gate: &d.gate, found: Fields{findings: &d.findings}}
}

// Has reports whether the member stands there at all, null included.
func (s *Spans) Has(name string) bool { return s.gate.Raw(name) != nil }

// Given reports whether the member stands there and is not null.
func (s *Spans) Given(name string) bool { return s.raw(name) != nil }

// raw is a member as it was sent, nil when it is absent or null.
func (s *Spans) raw(name string) []byte {
	raw := s.gate.Raw(name)
	if len(raw) > 0 && raw[0] == 'n' {
		return nil
	}
	return raw
}

// Text reads an optional string of at most max bytes; "" when absent.
func (s *Spans) Text(name string, max int) string {
	text, ok := s.text(name)
	if ok && len(text) > max {
		s.found.tooLong(name, max, " bytes")
		return ""
	}
	return text
}

// Name reads an optional name: at most engine.NameRunesMax characters.
func (s *Spans) Name(name string) string {
	text, ok := s.text(name)
	if ok && utf8.RuneCountInString(text) > engine.NameRunesMax {
		s.found.tooLong(name, engine.NameRunesMax, " characters")
		return ""
	}
	return text
}

// text is a member's string; not ok when it is absent or no string, which is noted.
func (s *Spans) text(name string) (string, bool) {
	raw := s.raw(name)
	if raw == nil {
		return "", false
	}
	if raw[0] != '"' {
		s.found.Invalid(name, "must be a string")
		return "", false
	}
	return unquoted(raw), true
}

// String is a member's string; not ok when it is absent or no string.
func (s *Spans) String(name string) (text string, ok bool) {
	if raw := s.raw(name); len(raw) > 0 && raw[0] == '"' {
		return unquoted(raw), true
	}
	return "", false
}

// Loose is a member's string without the white space around it, nothing for anything
// else. The bytes are the body's own where it has no escapes.
func (s *Spans) Loose(name string) []byte {
	raw := s.raw(name)
	if len(raw) == 0 || raw[0] != '"' {
		return nil
	}
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside, _ = unescape(nil, inside)
	}
	return bytes.TrimSpace(inside)
}

// Invalid records what is wrong with a member.
func (s *Spans) Invalid(name, message string) { s.found.Invalid(name, message) }

// Err returns what was found, nil when nothing was.
func (s *Spans) Err() error { return s.found.Err() }

// unquoted is the text of a string literal that the gate accepted.
func unquoted(literal []byte) string {
	inside := literal[1 : len(literal)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	text, _ := unescape(nil, inside)
	return string(text)
}

// Strangers returns the members that shape does not have, at most FindingsMax of
// them, in the order in which they were sent. What members hold is not looked at.
func (s *Spans) Strangers(shape Shape) []Stranger {
	var found []Stranger
	for i := range s.gate.top {
		member := &s.gate.top[i]
		name := s.gate.data[member.nameStart:member.nameEnd]
		if member.escaped {
			name, _ = unescape(nil, name)
		}
		if _, known := shape[string(name)]; known {
			continue
		}
		if len(found) == FindingsMax {
			break
		}
		text := string(name)
		found = append(found, Stranger{Param: shown(text), Near: shape.near(text)})
	}
	return found
}
