package strictjson

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"railguard/engine"
)

// The validator. Every body passes this one-pass check before fastjson reads it. fastjson is
// lenient: it accepts leading zeros, control characters and lone surrogates, and takes the
// first of two equal names. Its own validator is quadratic in nesting. This one checks RFC 8259
// strictly. In addition it demands an object at the top, valid UTF-8, no lone surrogate, no
// name twice in one object at any depth, nothing after the value, and bounded depth, members
// and values (a value of two bytes costs its parser a hundred).

var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrTop       = errors.New("the body must be one JSON object")
	ErrDuplicate = errors.New("a member name stands twice in one object")
	ErrDepth     = errors.New("nested too deeply")
	ErrMembers   = errors.New("too many members in one object")
	ErrValues    = errors.New("too many values")
	ErrText      = errors.New("a string is not valid Unicode")
	ErrTrailing  = errors.New("bytes after the object")
)

// span is one member of the top object: the positions of its name (without quotes) and its
// value in the body.
type span struct {
	nameStart, nameEnd   int
	valueStart, valueEnd int
	escaped              bool // The name holds a backslash.
}

// Validator checks one body. It is reused, together with its slices.
type Validator struct {
	data    []byte
	at      int
	depth   int
	values  int // How many more values are allowed.
	top     []span
	names   [][]byte // Unescaped names of the objects now open, innermost last.
	scratch []byte
}

// linearNames is how many names of one object are compared one by one. A larger object
// gets a map, so that the check stays linear.
const linearNames = 24

// Check returns an error unless data is one acceptable JSON object of at most so many values.
// It leaves the spans of the object's members in g.top. Objects and lists count as values,
// except the object at the top.
func (g *Validator) Check(data []byte, values int) error {
	g.startBody(data, values+1)
	g.skipSpace()
	if g.at >= len(data) {
		return ErrSyntax
	}
	if data[g.at] != '{' {
		if err := g.checkValue(); err != nil {
			return err
		}
		return ErrTop
	}
	if err := g.checkValue(); err != nil {
		return err
	}
	return g.checkEnd()
}

// startBody prepares the validator for a body.
func (g *Validator) startBody(data []byte, values int) {
	g.data, g.at, g.depth, g.values = data, 0, 0, values
	g.top, g.names, g.scratch = g.top[:0], g.names[:0], g.scratch[:0]
}

// checkEnd returns an error if anything but white space is left.
func (g *Validator) checkEnd() error {
	if g.skipSpace(); g.at != len(g.data) {
		return ErrTrailing
	}
	return nil
}

// Raw returns the bytes of a member of the top object as sent, nil when absent.
func (g *Validator) Raw(name string) []byte {
	for i := range g.top {
		s := &g.top[i]
		if s.escaped {
			text, _ := appendUnescaped(nil, g.data[s.nameStart:s.nameEnd])
			if string(text) != name {
				continue
			}
		} else if string(g.data[s.nameStart:s.nameEnd]) != name {
			continue
		}
		return g.data[s.valueStart:s.valueEnd]
	}
	return nil
}

func (g *Validator) skipSpace() {
	for g.at < len(g.data) {
		switch g.data[g.at] {
		case ' ', '\t', '\n', '\r':
			g.at++
		default:
			return
		}
	}
}

func (g *Validator) checkValue() error {
	if g.at >= len(g.data) {
		return ErrSyntax
	}
	if g.values--; g.values < 0 {
		return ErrValues
	}
	switch c := g.data[g.at]; {
	case c == '{':
		return g.checkObject()
	case c == '[':
		return g.checkArray()
	case c == '"':
		_, _, _, err := g.scanText()
		return err
	case c == 't':
		return g.checkWord("true")
	case c == 'f':
		return g.checkWord("false")
	case c == 'n':
		return g.checkWord("null")
	default:
		return g.checkNumber()
	}
}

func (g *Validator) checkWord(word string) error {
	if len(g.data)-g.at < len(word) || string(g.data[g.at:g.at+len(word)]) != word {
		return ErrSyntax
	}
	g.at += len(word)
	return nil
}

func (g *Validator) checkNumber() error {
	if g.nextByte() == '-' {
		g.at++
	}
	if g.nextByte() == '0' {
		g.at++
	} else if !g.skipDigits() {
		return ErrSyntax
	}
	if g.nextByte() == '.' {
		g.at++
		if !g.skipDigits() {
			return ErrSyntax
		}
	}
	if c := g.nextByte(); c == 'e' || c == 'E' {
		g.at++
		if c := g.nextByte(); c == '+' || c == '-' {
			g.at++
		}
		if !g.skipDigits() {
			return ErrSyntax
		}
	}
	return nil
}

func (g *Validator) nextByte() byte {
	if g.at < len(g.data) {
		return g.data[g.at]
	}
	return 0
}

func (g *Validator) skipDigits() bool {
	start := g.at
	for g.at < len(g.data) && g.data[g.at] >= '0' && g.data[g.at] <= '9' {
		g.at++
	}
	return g.at > start
}

func (g *Validator) checkArray() error {
	if g.depth++; g.depth > engine.JSONDepthMax {
		return ErrDepth
	}
	g.at++
	g.skipSpace()
	if g.nextByte() == ']' {
		g.at++
		g.depth--
		return nil
	}
	for {
		g.skipSpace()
		if err := g.checkValue(); err != nil {
			return err
		}
		g.skipSpace()
		switch g.nextByte() {
		case ',':
			g.at++
		case ']':
			g.at++
			g.depth--
			return nil
		default:
			return ErrSyntax
		}
	}
}

func (g *Validator) checkObject() error {
	if g.depth++; g.depth > engine.JSONDepthMax {
		return ErrDepth
	}
	g.at++
	g.skipSpace()
	if g.nextByte() == '}' {
		g.at++
		g.depth--
		return nil
	}
	first := len(g.names)
	var seen map[string]struct{}
	for count := 1; ; count++ {
		if count > engine.JSONMembersMax {
			return ErrMembers
		}
		member, err := g.checkMemberName(first, &seen)
		if err != nil {
			return err
		}
		g.skipSpace()
		member.valueStart = g.at
		if err := g.checkValue(); err != nil {
			return err
		}
		if g.depth == 1 {
			member.valueEnd = g.at
			g.top = append(g.top, member)
		}
		g.skipSpace()
		switch g.nextByte() {
		case ',':
			g.at++
			g.skipSpace()
		case '}':
			g.at++
			g.depth--
			g.names = g.names[:first]
			return nil
		default:
			return ErrSyntax
		}
	}
}

// checkMemberName reads `"name" :` and refuses a name that the object has already.
func (g *Validator) checkMemberName(first int, seen *map[string]struct{}) (span, error) {
	if g.nextByte() != '"' {
		return span{}, ErrSyntax
	}
	start, end, escaped, err := g.scanText()
	if err != nil {
		return span{}, err
	}
	name := g.data[start:end]
	if escaped {
		mark := len(g.scratch)
		// If scratch grows, older names stay valid in the older array.
		if g.scratch, err = appendUnescaped(g.scratch, name); err != nil {
			return span{}, err
		}
		name = g.scratch[mark:]
	}
	if g.isDuplicate(name, first, seen) {
		return span{}, ErrDuplicate
	}
	g.names = append(g.names, name)
	g.skipSpace()
	if g.nextByte() != ':' {
		return span{}, ErrSyntax
	}
	g.at++
	return span{nameStart: start, nameEnd: end, escaped: escaped}, nil
}

func (g *Validator) isDuplicate(name []byte, first int, seen *map[string]struct{}) bool {
	names := g.names[first:]
	if len(names) < linearNames {
		for _, other := range names {
			if bytes.Equal(other, name) {
				return true
			}
		}
		return false
	}
	if *seen == nil {
		*seen = make(map[string]struct{}, 4*linearNames)
		for _, other := range names {
			(*seen)[string(other)] = struct{}{}
		}
	}
	if _, found := (*seen)[string(name)]; found {
		return true
	}
	(*seen)[string(name)] = struct{}{}
	return false
}

// scanText checks a string literal and returns where its text begins and ends.
func (g *Validator) scanText() (start, end int, escaped bool, err error) {
	g.at++
	start = g.at
	for g.at < len(g.data) {
		switch c := g.data[g.at]; {
		case c == '"':
			g.at++
			return start, g.at - 1, escaped, nil
		case c < 0x20:
			return 0, 0, false, ErrSyntax
		case c == '\\':
			escaped = true
			if err := g.checkEscape(); err != nil {
				return 0, 0, false, err
			}
		case c < utf8.RuneSelf:
			g.at++
		default:
			r, size := utf8.DecodeRune(g.data[g.at:])
			if r == utf8.RuneError && size <= 1 {
				return 0, 0, false, ErrText
			}
			g.at += size
		}
	}
	return 0, 0, false, ErrSyntax
}

func (g *Validator) checkEscape() error {
	if g.at+1 >= len(g.data) {
		return ErrSyntax
	}
	switch g.data[g.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		g.at += 2
		return nil
	case 'u':
	default:
		return ErrSyntax
	}
	unit, ok := hexUnit(g.data[g.at:])
	if !ok {
		return ErrSyntax
	}
	g.at += 6
	if unit < 0xD800 || unit > 0xDFFF {
		return nil
	}
	low, ok := hexUnit(g.data[g.at:])
	if unit > 0xDBFF || !ok || low < 0xDC00 || low > 0xDFFF {
		return ErrText
	}
	g.at += 6
	return nil
}

// hexUnit reads the UTF-16 unit of an escape \uXXXX at the start of b.
func hexUnit(b []byte) (uint32, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var unit uint32
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | uint32(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | uint32(c-'A'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// appendUnescaped appends the text inside a string literal that scanText accepted.
func appendUnescaped(dst, literal []byte) ([]byte, error) {
	for i := 0; i < len(literal); {
		c := literal[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if i+1 >= len(literal) {
			return dst, ErrSyntax
		}
		if literal[i+1] != 'u' {
			dst = append(dst, simpleEscape(literal[i+1]))
			i += 2
			continue
		}
		unit, ok := hexUnit(literal[i:])
		if !ok {
			return dst, ErrSyntax
		}
		i += 6
		if unit >= 0xD800 && unit <= 0xDBFF {
			low, ok := hexUnit(literal[i:])
			if !ok {
				return dst, ErrText
			}
			unit = 0x10000 + (unit-0xD800)<<10 + (low - 0xDC00)
			i += 6
		}
		dst = utf8.AppendRune(dst, rune(unit))
	}
	return dst, nil
}

// ReadEscapes returns a sound document, or what stands between its values, with the escapes of its
// texts read. It may be the document itself, and is no JSON any more.
func ReadEscapes(document []byte) []byte {
	if bytes.IndexByte(document, '\\') < 0 {
		return document
	}
	plain, _ := appendUnescaped(nil, document) // What the validator accepted has no wrong escape.
	return plain
}

func simpleEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
