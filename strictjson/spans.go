package strictjson

import (
	"bytes"
	"unicode/utf8"

	"railguard/engine"
)

// Spans reads the members of a body whose values are all plain, such as a screening call's. It
// reads them where the validator found them, without parsing them again. Like Fields it treats
// null as absent, collects errors, and copies strings.
type Spans struct {
	validator *Validator
	found     Fields // It has no object; it only collects findings.
}

// Check is Read without a parser. Afterwards the members can be read only as Spans.
func (d *Document) Check(data []byte, values int) error {
	d.object = nil
	err := d.validator.Check(data, values)
	d.oversized = d.oversized || values-d.validator.values > valuesKept || len(data) > bytesKept
	return err
}

// Spans returns a reader of the members. It drops the findings of an earlier reader.
func (d *Document) Spans() Spans {
	d.findings = findings{}
	return Spans{validator: &d.validator, found: Fields{findings: &d.findings}}
}

// Has reports whether the object has the member, even as null.
func (s *Spans) Has(name string) bool { return s.validator.Raw(name) != nil }

// Given reports whether the object has the member and it is not null.
func (s *Spans) Given(name string) bool { return s.rawValue(name) != nil }

// rawValue returns a member as it was sent, nil when it is absent or null.
func (s *Spans) rawValue(name string) []byte {
	raw := s.validator.Raw(name)
	if len(raw) > 0 && raw[0] == 'n' {
		return nil
	}
	return raw
}

// Text reads an optional string of at most max bytes; "" when absent.
func (s *Spans) Text(name string, max int) string {
	text, ok := s.readText(name)
	if ok && len(text) > max {
		s.found.tooLong(name, max, " bytes")
		return ""
	}
	return text
}

// Name reads an optional name: at most engine.NameRunesMax characters.
func (s *Spans) Name(name string) string {
	text, ok := s.readText(name)
	if ok && utf8.RuneCountInString(text) > engine.NameRunesMax {
		s.found.tooLong(name, engine.NameRunesMax, " characters")
		return ""
	}
	return text
}

// readText returns a member's string. ok is false if the member is absent or no string; if it
// is no string, readText records a finding.
func (s *Spans) readText(name string) (string, bool) {
	raw := s.rawValue(name)
	if raw == nil {
		return "", false
	}
	if raw[0] != '"' {
		s.found.Invalid(name, "must be a string")
		return "", false
	}
	return unquoteText(raw), true
}

// String returns a member's string. ok is false if the member is absent or no string.
func (s *Spans) String(name string) (text string, ok bool) {
	if raw := s.rawValue(name); len(raw) > 0 && raw[0] == '"' {
		return unquoteText(raw), true
	}
	return "", false
}

// TrimmedText returns a member's string without white space around it, and nil for any other
// value. If the string has no escapes, the result shares the body's memory.
func (s *Spans) TrimmedText(name string) []byte {
	raw := s.rawValue(name)
	if len(raw) == 0 || raw[0] != '"' {
		return nil
	}
	inside := raw[1 : len(raw)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside, _ = appendUnescaped(nil, inside)
	}
	return bytes.TrimSpace(inside)
}

// Invalid records what is wrong with a member.
func (s *Spans) Invalid(name, message string) { s.found.Invalid(name, message) }

// Report adds the errors that a reader of package engine found.
func (s *Spans) Report(wrong []engine.FieldError) { s.found.Report(wrong) }

// Err returns the findings as an error, nil if there are none.
func (s *Spans) Err() error { return s.found.Err() }

// unquoteText returns the text of a string literal that the validator accepted.
func unquoteText(literal []byte) string {
	inside := literal[1 : len(literal)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	text, _ := appendUnescaped(nil, inside)
	return string(text)
}

// UnknownMembers returns the members that shape does not have, at most FindingsMax of
// them, in the order in which they were sent. It does not look at their values.
func (s *Spans) UnknownMembers(shape Shape) []UnknownMember {
	var found []UnknownMember
	for i := range s.validator.top {
		member := &s.validator.top[i]
		name := s.validator.data[member.nameStart:member.nameEnd]
		if member.escaped {
			name, _ = appendUnescaped(nil, name)
		}
		if _, known := shape[string(name)]; known {
			continue
		}
		if len(found) == FindingsMax {
			break
		}
		text := string(name)
		found = append(found, UnknownMember{Param: shortenName(text), Near: shape.nearestMember(text)})
	}
	return found
}
