package feed

import (
	"bytes"
	"unicode/utf8"
)

// byteClass classifies the bytes of a document for the scanner's inner loops.
type byteClass uint8

const (
	classPlain   byteClass = iota
	classBlank             // Space, tab, carriage return, line feed.
	classMarkup            // '&' and '<'.
	classControl           // Not allowed in XML 1.0.
	classWide              // First or further byte of a non-ASCII rune.
)

// These bits say where a byte may stand in an element or attribute name. The published
// schemas use ASCII names only.
const (
	nameByteBit  = 1 << 0
	nameStartBit = 1 << 1
)

// referenceBytesMax bounds a reference; "&#x0010FFFF;" is the longest sensible one.
const referenceBytesMax = 12

var classOf, nameBits = byteTables()

func byteTables() (class [256]byteClass, name [256]uint8) {
	for i := range class {
		b := byte(i)
		switch {
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			class[i] = classBlank
		case b < ' ':
			class[i] = classControl
		case b == '&' || b == '<':
			class[i] = classMarkup
		case b >= utf8.RuneSelf:
			class[i] = classWide
		}
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == ':'
		if letter {
			name[i] = nameByteBit | nameStartBit
		}
		if b >= '0' && b <= '9' || b == '-' || b == '.' {
			name[i] = nameByteBit
		}
	}
	return class, name
}

// takeText checks a run of character data between two tags and stores it when the current
// reader collects text.
func (s *scanner) takeText(b []byte) bool {
	blank := 0
	for blank < len(b) && classOf[b[blank]] == classBlank {
		blank++
	}
	if blank == len(b) {
		if s.mode == textCollect {
			return s.collectText(b)
		}
		return true
	}
	if len(s.marks) == 0 {
		return s.outsideText(b[blank:])
	}
	if s.mode == textBlank {
		return s.keepFailuref(ReasonSchema, "text %s where elements were expected", quoteShort(b[blank:]))
	}
	if !s.validText(b[blank:], true) {
		return false
	}
	if s.mode != textCollect {
		return true
	}
	if bytes.IndexByte(b, '&') < 0 {
		return s.collectText(b)
	}
	text, ok := s.appendUnescaped(s.text, b)
	s.text = text
	return ok && s.collectText(nil)
}

// takeLiteral is takeText for the inside of a CDATA section.
func (s *scanner) takeLiteral(b []byte) bool {
	switch {
	case len(s.marks) == 0:
		return s.outsideText(b)
	case s.mode == textBlank:
		return s.keepFailuref(ReasonSchema, "a CDATA section where elements were expected")
	case !s.validText(b, false):
		return false
	case s.mode == textCollect:
		return s.collectText(b)
	}
	return true
}

func (s *scanner) outsideText(b []byte) bool {
	if s.rootSeen {
		return s.keepFailuref(ReasonMalformed, "text %s after the end of the document", quoteShort(b))
	}
	return s.keepFailuref(ReasonRoot, "the file begins with %s: an XML document was expected", quoteShort(b))
}

func (s *scanner) collectText(b []byte) bool {
	if len(s.text)+len(b) > FieldBytesMax {
		return s.keepFailuref(ReasonTooLarge, "a field longer than %d bytes", FieldBytesMax)
	}
	s.text = append(s.text, b...)
	return true
}

// validText checks that text is UTF-8 without control characters. With references set it
// also checks that every '&' begins a reference that is allowed.
func (s *scanner) validText(b []byte, references bool) bool {
	wide := false
	for i := 0; i < len(b); i++ {
		switch classOf[b[i]] {
		case classControl:
			return s.keepFailuref(ReasonEncoding, "control character 0x%02x in the text: UTF-8 text was expected", b[i])
		case classWide:
			wide = true
		case classMarkup:
			if !references || b[i] != '&' {
				continue
			}
			if _, n := s.readReference(b[i:]); n == 0 {
				return false
			}
		}
	}
	if wide && !validUTF8(b) {
		return s.keepFailuref(ReasonEncoding, "bytes that are not UTF-8 in %s", quoteShort(b))
	}
	return true
}

// validUTF8 also refuses the two noncharacters that XML excludes.
func validUTF8(b []byte) bool {
	return utf8.Valid(b) && !bytes.Contains(b, []byte("\uFFFE")) && !bytes.Contains(b, []byte("\uFFFF"))
}

// appendUnescaped appends b to dst with its references replaced.
func (s *scanner) appendUnescaped(dst, b []byte) ([]byte, bool) {
	for {
		at := bytes.IndexByte(b, '&')
		if at < 0 {
			return append(dst, b...), true
		}
		dst = append(dst, b[:at]...)
		r, n := s.readReference(b[at:])
		if n == 0 {
			return dst, false
		}
		dst = utf8.AppendRune(dst, r)
		b = b[at+n:]
	}
}

// readReference reads one of the five predefined entities or a character reference
// at the start of b and returns its length, 0 with a failure otherwise.
func (s *scanner) readReference(b []byte) (rune, int) {
	end := bytes.IndexByte(b[:min(len(b), referenceBytesMax)], ';')
	if end < 2 {
		s.keepFailuref(ReasonMalformed, "an '&' that begins no reference: %s", quoteShort(b[:min(len(b), referenceBytesMax)]))
		return 0, 0
	}
	name := b[1:end]
	if name[0] == '#' {
		if r, ok := characterReference(name[1:]); ok {
			return r, end + 1
		}
		s.keepFailuref(ReasonMalformed, "character reference %s", quoteShort(b[:end+1]))
		return 0, 0
	}
	switch string(name) {
	case "amp":
		return '&', end + 1
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	}
	s.keepFailuref(ReasonEntity, "entity reference %s: only the five predefined ones may stand here", quoteShort(b[:end+1]))
	return 0, 0
}

func characterReference(digits []byte) (rune, bool) {
	base := rune(10)
	if len(digits) > 0 && digits[0] == 'x' {
		base, digits = 16, digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	value := rune(0)
	for _, c := range digits {
		digit := rune(99)
		switch {
		case c >= '0' && c <= '9':
			digit = rune(c - '0')
		case c >= 'a' && c <= 'f':
			digit = rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			digit = rune(c-'A') + 10
		}
		if digit >= base || value > utf8.MaxRune {
			return 0, false
		}
		value = value*base + digit
	}
	control := value < ' ' && value != '\t' && value != '\n' && value != '\r'
	return value, !control && value != 0xFFFE && value != 0xFFFF && utf8.ValidRune(value)
}

// startTag reads "<name a='b'>" and opens the element. It returns the length of the tag, or
// 0 when its end is not in the window.
func (s *scanner) startTag(rest []byte) int {
	at := 1
	for at < len(rest) && nameBits[rest[at]]&nameByteBit != 0 {
		at++
	}
	if at == len(rest) {
		return 0
	}
	name := rest[1:at]
	if len(name) == 0 || nameBits[name[0]]&nameStartBit == 0 {
		s.keepFailuref(ReasonMalformed, "a tag that begins with %s", quoteShort(rest[:min(len(rest), 20)]))
		return 0
	}
	s.attributes, s.decoded = s.attributes[:0], s.decoded[:0]
	for {
		blankFrom := at
		for at < len(rest) && classOf[rest[at]] == classBlank {
			at++
		}
		if at+1 >= len(rest) && !(at < len(rest) && rest[at] == '>') {
			return 0
		}
		switch {
		case rest[at] == '>':
			return s.startElement(name, at+1, false)
		case rest[at] == '/':
			if rest[at+1] != '>' {
				s.keepFailuref(ReasonMalformed, "a '/' inside the tag %s", quoteShort(rest[:at+1]))
				return 0
			}
			return s.startElement(name, at+2, true)
		case at == blankFrom:
			s.keepFailuref(ReasonMalformed, "the tag %s", quoteShort(rest[:at+1]))
			return 0
		}
		n := s.attributePair(rest[at:])
		if n == 0 {
			return 0
		}
		at += n
	}
}

func (s *scanner) startElement(name []byte, length int, selfClosed bool) int {
	if bytes.IndexByte(name, ':') >= 0 {
		s.keepFailuref(ReasonRoot, "element %s with a prefix: the published files use their default namespace", quoteShort(name))
		return 0
	}
	if len(s.marks) > 0 {
		if _, ok := s.findAttribute("xmlns"); ok {
			s.keepFailuref(ReasonRoot, "element %s declares a namespace of its own", quoteShort(name))
			return 0
		}
	}
	if !s.pushElement(name) {
		return 0
	}
	s.name, s.selfClosed = name, selfClosed
	return length
}

// attributePair reads one name="value" at the start of b. It returns its length, or 0 on
// failure and when its end is not in the window.
func (s *scanner) attributePair(b []byte) int {
	at := 0
	for at < len(b) && nameBits[b[at]]&nameByteBit != 0 {
		at++
	}
	name := b[:at]
	for at < len(b) && classOf[b[at]] == classBlank {
		at++
	}
	if at == len(b) {
		return 0
	}
	if len(name) == 0 || nameBits[name[0]]&nameStartBit == 0 || b[at] != '=' {
		s.keepFailuref(ReasonMalformed, "attribute %s", quoteShort(b[:at+1]))
		return 0
	}
	at++
	for at < len(b) && classOf[b[at]] == classBlank {
		at++
	}
	if at == len(b) {
		return 0
	}
	quote := b[at]
	if quote != '"' && quote != '\'' {
		s.keepFailuref(ReasonMalformed, "attribute %s without quotes", quoteShort(name))
		return 0
	}
	length := bytes.IndexByte(b[at+1:], quote)
	if length < 0 {
		return 0
	}
	if !s.addAttribute(name, b[at+1:at+1+length]) {
		return 0
	}
	return at + 1 + length + 1
}

func (s *scanner) addAttribute(name, value []byte) bool {
	if len(s.attributes) == AttributesMax {
		return s.keepFailuref(ReasonTooLarge, "more than %d attributes in one element", AttributesMax)
	}
	if _, twice := s.findAttribute(string(name)); twice {
		return s.keepFailuref(ReasonMalformed, "attribute %s twice", quoteShort(name))
	}
	if bytes.IndexByte(value, '<') >= 0 {
		return s.keepFailuref(ReasonMalformed, "a '<' in attribute %s", quoteShort(name))
	}
	if !s.validText(value, true) {
		return false
	}
	if bytes.IndexByte(value, '&') >= 0 {
		from := len(s.decoded)
		decoded, ok := s.appendUnescaped(s.decoded, value)
		if !ok {
			return false
		}
		s.decoded = decoded
		value = decoded[from:]
	}
	s.attributes = append(s.attributes, attribute{name, value})
	return true
}
