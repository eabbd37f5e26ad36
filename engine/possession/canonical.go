package possession

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"railguard/engine/jws"
)

// The reasons why a document has no canonical form. ErrNumber stands by itself: the document is JSON,
// but canonical JSON would write another number. All others are ErrDocument.
var (
	ErrNumber   = errors.New("a number has more than 15 digits, or is out of range: canonical JSON would change it")
	ErrDocument = errors.New("no canonical form")

	errSyntax    = fmt.Errorf("%w: not JSON", ErrDocument)
	errText      = fmt.Errorf("%w: a text is not valid Unicode", ErrDocument)
	errDuplicate = fmt.Errorf("%w: two members of one name", ErrDocument)
	errDepth     = fmt.Errorf("%w: nested too deeply", ErrDocument)
	errTop       = fmt.Errorf("%w: not an object", ErrDocument)
)

// ProofMember is the member of a request that has the proof, and that the proof leaves out.
const ProofMember = "proof"

// Canonicaliser writes JSON in its canonical form (RFC 8785). It keeps its memory for the next
// document; it is for one goroutine at a time.
type Canonicaliser struct {
	document []byte
	at       int
	omit     string // Member of the top object to be left out; "": none.
	omitted  bool
	out      []byte
	sorted   []byte
	members  []canonicalMember // Of all open objects, the innermost last.
}

// canonicalMember is one member as it stands in out.
type canonicalMember struct {
	name       []byte // As it is meant, without escapes.
	start, end int
}

// bytesKept is how much memory a Canonicaliser keeps of each kind.
const bytesKept = 64 << 10

// RequestHash returns the SHA-256 of a request's canonical form without its proof: the rqh of a JWS.
// depthMax bounds the nesting, the outermost object counted. Errors: ErrNumber, ErrDocument.
func (c *Canonicaliser) RequestHash(document []byte, depthMax int) ([32]byte, error) {
	if err := c.write(document, ProofMember, depthMax); err != nil {
		return [32]byte{}, err
	}
	digest := sha256.Sum256(c.out)
	c.reset()
	return digest, nil
}

// Append appends a document's canonical form, without the member omit of its top object; "" leaves
// out none. Errors: ErrNumber, ErrDocument, with dst as it was.
func (c *Canonicaliser) Append(dst, document []byte, omit string, depthMax int) ([]byte, error) {
	if err := c.write(document, omit, depthMax); err != nil {
		return dst, err
	}
	dst = append(dst, c.out...)
	c.reset()
	return dst, nil
}

func (c *Canonicaliser) write(document []byte, omit string, depthMax int) error {
	c.document, c.omit, c.at, c.omitted = document, omit, 0, false
	c.out, c.members = c.out[:0], c.members[:0]
	err := c.writeDocument(depthMax)
	if err != nil {
		c.reset()
	}
	return err
}

func (c *Canonicaliser) writeDocument(depthMax int) error {
	if c.omit != "" && c.next() != '{' {
		return errTop
	}
	if err := c.writeValue(depthMax, true); err != nil {
		return err
	}
	if c.next(); c.at != len(c.document) {
		return errSyntax
	}
	return nil
}

// reset forgets the document, which is the caller's.
func (c *Canonicaliser) reset() {
	c.document = nil
	clear(c.members[:cap(c.members)])
	if cap(c.out) > bytesKept || cap(c.sorted) > bytesKept || cap(c.members) > bytesKept/64 {
		*c = Canonicaliser{}
	}
}

// next skips white space and returns the byte behind it, 0 at the end.
func (c *Canonicaliser) next() byte {
	for ; c.at < len(c.document); c.at++ {
		switch b := c.document[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// writeValue writes one value. depth is how many levels it may still have.
func (c *Canonicaliser) writeValue(depth int, top bool) error {
	switch b := c.next(); b {
	case '{', '[':
		if depth <= 0 {
			return errDepth
		}
		c.at++
		c.out = append(c.out, b)
		if b == '{' {
			return c.writeMembers(depth-1, top)
		}
		return c.writeElements(depth - 1)
	case '"':
		_, err := c.writeText()
		return err
	case 't':
		return c.writeWord("true")
	case 'f':
		return c.writeWord("false")
	case 'n':
		return c.writeWord("null")
	}
	number, size, err := readNumber(c.document[c.at:])
	if err != nil {
		return err
	}
	c.at += size
	c.out = number.appendTo(c.out)
	return nil
}

func (c *Canonicaliser) writeWord(word string) error {
	if !bytes.HasPrefix(c.document[c.at:], []byte(word)) {
		return errSyntax
	}
	c.at += len(word)
	c.out = append(c.out, word...)
	return nil
}

func (c *Canonicaliser) writeElements(depth int) error {
	if c.next() == ']' {
		c.at++
		c.out = append(c.out, ']')
		return nil
	}
	for {
		if err := c.writeValue(depth, false); err != nil {
			return err
		}
		b := c.next()
		c.at++
		switch b {
		case ',', ']':
			c.out = append(c.out, b)
		default:
			return errSyntax
		}
		if b == ']' {
			return nil
		}
	}
}

// writeMembers writes members in the order of the document, each with a comma behind it, and sorts
// them when all are there.
func (c *Canonicaliser) writeMembers(depth int, top bool) error {
	first, ordered := len(c.members), true
	if c.next() == '}' {
		c.at++
		c.out = append(c.out, '}')
		return nil
	}
	for {
		if err := c.writeMember(depth, top, first, &ordered); err != nil {
			return err
		}
		b := c.next()
		c.at++
		if b == '}' {
			break
		}
		if b != ',' {
			return errSyntax
		}
	}
	if !ordered {
		if err := c.sort(first); err != nil {
			return err
		}
	}
	if len(c.members) > first {
		c.out = c.out[:len(c.out)-1] // The last comma.
	}
	c.out = append(c.out, '}')
	c.members = c.members[:first]
	return nil
}

func (c *Canonicaliser) writeMember(depth int, top bool, first int, ordered *bool) error {
	if c.next() != '"' {
		return errSyntax
	}
	start := len(c.out)
	name, err := c.writeText()
	if err != nil {
		return err
	}
	if c.next() != ':' {
		return errSyntax
	}
	c.at++
	c.out = append(c.out, ':')
	if err := c.writeValue(depth, false); err != nil {
		return err
	}
	if top && c.omit != "" && string(name) == c.omit {
		if c.omitted {
			return errDuplicate
		}
		c.omitted = true
		c.out = c.out[:start]
		return nil
	}
	if last := len(c.members) - 1; last >= first {
		switch order := compareUTF16(c.members[last].name, name); {
		case order == 0:
			return errDuplicate
		case order > 0:
			*ordered = false
		}
	}
	c.members = append(c.members, canonicalMember{name, start, len(c.out)})
	c.out = append(c.out, ',')
	return nil
}

// sort puts the members from first on into the order of their names.
func (c *Canonicaliser) sort(first int) error {
	members := c.members[first:]
	begin := members[0].start
	slices.SortFunc(members, func(a, b canonicalMember) int { return compareUTF16(a.name, b.name) })
	c.sorted = c.sorted[:0]
	for i, member := range members {
		if i > 0 && bytes.Equal(member.name, members[i-1].name) {
			return errDuplicate
		}
		c.sorted = append(append(c.sorted, c.out[member.start:member.end]...), ',')
	}
	copy(c.out[begin:], c.sorted)
	return nil
}

// compareUTF16 compares two names by their UTF-16 code units (RFC 8785, 3.2.3). Bytes of UTF-8 have
// the same order but for code points beyond U+FFFF, whose first unit is a surrogate.
func compareUTF16(a, b []byte) int {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same == len(a) || same == len(b) || a[same] < utf8.RuneSelf || b[same] < utf8.RuneSelf {
		return bytes.Compare(a, b)
	}
	for same > 0 && !utf8.RuneStart(a[same]) {
		same--
	}
	ofA, _ := utf8.DecodeRune(a[same:])
	ofB, _ := utf8.DecodeRune(b[same:])
	if (ofA > 0xffff) != (ofB > 0xffff) {
		ofA, ofB = firstUnit(ofA), firstUnit(ofB)
	}
	return int(ofA - ofB)
}

func firstUnit(r rune) rune {
	if r > 0xffff {
		r, _ = utf16.EncodeRune(r)
	}
	return r
}

// writeText writes a text and returns what it means. A text without escapes is canonical as it is.
func (c *Canonicaliser) writeText() ([]byte, error) {
	c.at++
	text := c.document[c.at:]
	for i, b := range text {
		switch {
		case b == '"':
			c.at += i + 1
			if text = text[:i]; !utf8.Valid(text) {
				return nil, errText
			}
			c.out = append(append(append(c.out, '"'), text...), '"')
			return text, nil
		case b == '\\':
			return c.writeEscaped()
		case b < ' ':
			return nil, errSyntax
		}
	}
	return nil, errSyntax
}

// writeEscaped is writeText for a text with escapes, from its first byte on.
func (c *Canonicaliser) writeEscaped() ([]byte, error) {
	var meant []byte
	for c.at < len(c.document) {
		b := c.document[c.at]
		c.at++
		switch {
		case b == '"':
			if !utf8.Valid(meant) {
				return nil, errText
			}
			c.out = jws.AppendQuoted(c.out, string(meant))
			return meant, nil
		case b < ' ':
			return nil, errSyntax
		case b != '\\':
			meant = append(meant, b)
		default:
			var err error
			if meant, err = c.readEscape(meant); err != nil {
				return nil, err
			}
		}
	}
	return nil, errSyntax
}

// readEscape reads what follows a backslash. A surrogate without its other half is no text.
func (c *Canonicaliser) readEscape(meant []byte) ([]byte, error) {
	if c.at == len(c.document) {
		return nil, errSyntax
	}
	b := c.document[c.at]
	c.at++
	switch b {
	case '"', '\\', '/':
		return append(meant, b), nil
	case 'b':
		return append(meant, '\b'), nil
	case 'f':
		return append(meant, '\f'), nil
	case 'n':
		return append(meant, '\n'), nil
	case 'r':
		return append(meant, '\r'), nil
	case 't':
		return append(meant, '\t'), nil
	case 'u':
	default:
		return nil, errSyntax
	}
	unit, err := c.readUnit()
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(unit) {
		if !bytes.HasPrefix(c.document[c.at:], []byte(`\u`)) {
			return nil, errText
		}
		c.at += 2
		low, err := c.readUnit()
		if err != nil {
			return nil, err
		}
		if unit = utf16.DecodeRune(unit, low); unit == utf8.RuneError {
			return nil, errText
		}
	}
	return utf8.AppendRune(meant, unit), nil
}

// readUnit reads the four digits of an escaped UTF-16 code unit.
func (c *Canonicaliser) readUnit() (unit rune, err error) {
	if len(c.document)-c.at < 4 {
		return 0, errSyntax
	}
	for _, b := range c.document[c.at : c.at+4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, errSyntax
		}
		unit = unit<<4 | rune(b)
	}
	c.at += 4
	return unit, nil
}
