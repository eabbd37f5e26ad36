package possession

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// The headers of a message signature are dictionaries of RFC 8941. This reader takes those that
// signatures have: inner lists and byte sequences. It is stricter than the RFC in two ways: a name
// twice is an error and not the last one's, and numbers have one form. What it keeps of an inner list
// is its canonical text, which is what was signed.

// Bounds of the headers of message signatures.
const (
	fieldMax      = 8 << 10
	signaturesMax = 8
	componentsMax = 32
	parametersMax = 16
	nameMax       = 64
)

var errField = errors.New("not a structured field of signatures")

// item is one bare item.
type item struct {
	kind byte   // 's' text, 'i' integer, 'd' decimal, 't' token, 'b' bytes, '?' truth.
	text string // Of a text what it means, of bytes their base64.
}

// parameter is one parameter of an item or a list.
type parameter struct {
	name  string
	value item
}

// component is one covered component.
type component struct {
	name string
	bare bool // It has no parameters.
}

// signatureInput is one member of Signature-Input.
type signatureInput struct {
	label      string
	components []component
	parameters []parameter
	text       string // The inner list in its canonical form: the value of @signature-params.
}

// parameter returns the text of a parameter of a kind, "" when there is none or it is of another.
func (s *signatureInput) parameter(name string, kind byte) string {
	for i := range s.parameters {
		if s.parameters[i].name == name && s.parameters[i].value.kind == kind {
			return s.parameters[i].value.text
		}
	}
	return ""
}

// covers reports whether a component without parameters is covered.
func (s *signatureInput) covers(name string) bool {
	return slices.Contains(s.components, component{name, true})
}

// fieldReader reads one header, its lines joined.
type fieldReader struct {
	text string
	at   int
	out  []byte // Canonical text of what was read last.
}

// readInputs reads Signature-Input.
func readInputs(text string) ([]signatureInput, error) {
	var inputs []signatureInput
	err := readDictionary(text, func(r *fieldReader, label string) error {
		if slices.ContainsFunc(inputs, func(other signatureInput) bool { return other.label == label }) {
			return errField
		}
		input := signatureInput{label: label}
		if err := r.readList(&input); err != nil {
			return err
		}
		inputs = append(inputs, input)
		return nil
	})
	return inputs, err
}

// readBytes reads a dictionary and returns the bytes of one member, nil when it has none. The other
// members must be byte sequences too.
func readBytes(text, label string) (found []byte, err error) {
	var labels []string
	err = readDictionary(text, func(r *fieldReader, name string) error {
		if slices.Contains(labels, name) {
			return errField
		}
		labels = append(labels, name)
		value, err := r.readItem()
		if err != nil || value.kind != 'b' {
			return errField
		}
		if name == label {
			found, err = base64.StdEncoding.Strict().DecodeString(value.text)
		}
		return err
	})
	return found, err
}

// readDictionary reads the members of a dictionary. The callback reads a value.
func readDictionary(text string, value func(r *fieldReader, name string) error) error {
	if len(text) > fieldMax {
		return errField
	}
	r := &fieldReader{text: strings.Trim(text, " ")}
	for range signaturesMax {
		name, err := r.readName()
		if err != nil || !r.skipped('=') {
			return errField
		}
		if err := value(r, name); err != nil {
			return err
		}
		r.skipSpace(" \t")
		if r.at == len(r.text) {
			return nil
		}
		if !r.skipped(',') {
			return errField
		}
		r.skipSpace(" \t")
	}
	return errField
}

func (r *fieldReader) next() byte {
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *fieldReader) skipped(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

func (r *fieldReader) skipSpace(space string) {
	for r.at < len(r.text) && strings.IndexByte(space, r.text[r.at]) >= 0 {
		r.at++
	}
}

// take reads at most that many bytes of a set.
func (r *fieldReader) take(most int, in func(c byte) bool) string {
	start := r.at
	for r.at < len(r.text) && r.at-start < most && in(r.text[r.at]) {
		r.at++
	}
	return r.text[start:r.at]
}

// readName reads the name of a member or a parameter.
func (r *fieldReader) readName() (string, error) {
	c := r.next()
	if !isLower(c) && c != '*' {
		return "", errField
	}
	name := r.take(nameMax+1, func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
	if len(name) > nameMax {
		return "", errField
	}
	return name, nil
}

// readList reads an inner list of texts, and its parameters.
func (r *fieldReader) readList(input *signatureInput) error {
	if !r.skipped('(') {
		return errField
	}
	r.out = append(r.out[:0], '(')
	for {
		r.skipSpace(" ")
		if r.skipped(')') {
			break
		}
		if len(input.components) == componentsMax {
			return errField
		}
		if len(input.components) > 0 {
			r.out = append(r.out, ' ')
		}
		name, err := r.readItem()
		if err != nil || name.kind != 's' {
			return errField
		}
		parameters, err := r.readParameters()
		if err != nil {
			return err
		}
		if next := r.next(); next != ' ' && next != ')' {
			return errField
		}
		input.components = append(input.components, component{name.text, len(parameters) == 0})
	}
	r.out = append(r.out, ')')
	var err error
	input.parameters, err = r.readParameters()
	input.text = string(r.out)
	return err
}

func (r *fieldReader) readParameters() (parameters []parameter, err error) {
	for r.skipped(';') {
		if len(parameters) == parametersMax {
			return nil, errField
		}
		r.skipSpace(" ")
		name, err := r.readName()
		if err != nil || slices.ContainsFunc(parameters, func(other parameter) bool { return other.name == name }) {
			return nil, errField
		}
		r.out = append(append(r.out, ';'), name...)
		value := item{'?', "1"}
		if r.skipped('=') {
			before := len(r.out)
			r.out = append(r.out, '=')
			if value, err = r.readItem(); err != nil {
				return nil, err
			}
			if value == (item{'?', "1"}) { // True is not written.
				r.out = r.out[:before]
			}
		}
		parameters = append(parameters, parameter{name, value})
	}
	return parameters, nil
}

// readItem reads a bare item and appends its canonical text, which is the text as it stands.
func (r *fieldReader) readItem() (item, error) {
	start := r.at
	value, err := r.readBare()
	if err != nil {
		return item{}, err
	}
	r.out = append(r.out, r.text[start:r.at]...)
	return value, nil
}

func (r *fieldReader) readBare() (item, error) {
	switch c := r.next(); {
	case c == '"':
		return r.readText()
	case c == ':':
		r.at++
		text := r.take(fieldMax, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '=' })
		if !r.skipped(':') {
			return item{}, errField
		}
		return item{'b', text}, nil
	case c == '?':
		r.at++
		truth := r.take(1, func(c byte) bool { return c == '0' || c == '1' })
		if truth == "" {
			return item{}, errField
		}
		return item{'?', truth}, nil
	case isLetter(c) || c == '*':
		return item{'t', r.take(fieldMax, func(c byte) bool {
			return isLetter(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})}, nil
	}
	return r.readNumber()
}

// readNumber reads an integer of 15 digits, or a decimal of 12 and 3, in its one form.
func (r *fieldReader) readNumber() (item, error) {
	start := r.at
	r.skipped('-')
	whole := r.take(16, isDigit)
	if whole == "" || len(whole) > 15 || whole[0] == '0' && len(whole) > 1 {
		return item{}, errField
	}
	if !r.skipped('.') {
		if r.text[start:r.at] == "-0" {
			return item{}, errField
		}
		return item{'i', r.text[start:r.at]}, nil
	}
	fraction := r.take(4, isDigit)
	if len(whole) > 12 || fraction == "" || len(fraction) > 3 || len(fraction) > 1 && strings.HasSuffix(fraction, "0") {
		return item{}, errField
	}
	return item{'d', r.text[start:r.at]}, nil
}

func (r *fieldReader) readText() (item, error) {
	var meant []byte
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return item{'s', string(meant)}, nil
		case c == '\\':
			r.at++
			if c = r.next(); c != '"' && c != '\\' {
				return item{}, errField
			}
			meant = append(meant, c)
		case c < ' ' || c > '~':
			return item{}, errField
		default:
			meant = append(meant, c)
		}
	}
	return item{}, errField
}

func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isLetter(c byte) bool { return isLower(c) || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
