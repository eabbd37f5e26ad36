package strictjson

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"railguard/engine"
)

// Members is a growing list of JSON members without braces, `"a":1,"b":"x"`. A leaf's fragment
// and every answer are built this way. The zero value is empty.
type Members []byte

// Name begins a member. The caller writes its value next.
func (m *Members) Name(name string) {
	m.separate()
	*m = append(*m, '"')
	*m = append(*m, name...) // We choose the names; they need no escapes.
	*m = append(*m, '"', ':')
}

// separate adds a comma unless the member is the first of its object. An opening brace at
// the end can only come from BeginObject.
func (m *Members) separate() {
	if n := len(*m); n > 0 && (*m)[n-1] != '{' {
		*m = append(*m, ',')
	}
}

// Text adds a string.
func (m *Members) Text(name, value string) {
	m.Name(name)
	*m = AppendQuoted(*m, value)
}

// Optional adds a string unless it is empty.
func (m *Members) Optional(name, value string) {
	if value != "" {
		m.Text(name, value)
	}
}

// TextOrNull adds a string, or null when it is empty.
func (m *Members) TextOrNull(name, value string) {
	if value == "" {
		m.Null(name)
		return
	}
	m.Text(name, value)
}

// Raw adds JSON as it is; an empty value adds null.
func (m *Members) Raw(name string, json []byte) {
	if len(json) == 0 {
		m.Null(name)
		return
	}
	m.Name(name)
	*m = append(*m, json...)
}

// Null adds null.
func (m *Members) Null(name string) {
	m.Name(name)
	*m = append(*m, "null"...)
}

// Int adds a whole number.
func (m *Members) Int(name string, n int64) {
	m.Name(name)
	*m = strconv.AppendInt(*m, n, 10)
}

// Uint adds a whole number that is not negative.
func (m *Members) Uint(name string, n uint64) {
	m.Name(name)
	*m = strconv.AppendUint(*m, n, 10)
}

// Bool adds true or false.
func (m *Members) Bool(name string, b bool) {
	m.Name(name)
	*m = strconv.AppendBool(*m, b)
}

// USD adds an amount as a JSON number with as many decimals as it has.
func (m *Members) USD(name string, amount engine.USD) {
	m.Name(name)
	*m = engine.AppendUSD(*m, amount)
}

// Limit adds an amount, or null for no limit.
func (m *Members) Limit(name string, amount engine.USD) {
	if amount == engine.NoLimit {
		m.Null(name)
		return
	}
	m.USD(name, amount)
}

// Score adds a score of 1e-4 units as a decimal: 9312 is 0.9312.
func (m *Members) Score(name string, score int32) {
	m.Raw(name, engine.AppendUSD(nil, engine.USD(score)*(engine.Dollar/10_000)))
}

// Hundredths adds a number of hundredths, which may be below 0.
func (m *Members) Hundredths(name string, value int32) {
	sign := ""
	if value < 0 {
		sign, value = "-", -value
	}
	m.Raw(name, engine.AppendUSD([]byte(sign), engine.USD(value)*(engine.Dollar/100)))
}

// Time adds an instant in the one form of the API.
func (m *Members) Time(name string, t engine.Time) {
	m.Name(name)
	*m = append(*m, '"')
	*m = t.AppendTime(*m)
	*m = append(*m, '"')
}

// Hex adds bytes as lower-case hexadecimal digits.
func (m *Members) Hex(name string, data []byte) {
	m.Name(name)
	*m = append(*m, '"')
	*m = hex.AppendEncode(*m, data)
	*m = append(*m, '"')
}

// Texts adds a list of strings.
func (m *Members) Texts(name string, values []string) {
	m.Name(name)
	*m = append(*m, '[')
	for i, value := range values {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = AppendQuoted(*m, value)
	}
	*m = append(*m, ']')
}

// Object adds a nested object.
func (m *Members) Object(name string, inner Members) {
	m.Name(name)
	*m = append(*m, '{')
	*m = append(*m, inner...)
	*m = append(*m, '}')
}

// BeginObject begins a nested object: members added until EndObject belong to it.
func (m *Members) BeginObject(name string) {
	m.Name(name)
	*m = append(*m, '{')
}

// EndObject ends the object that was begun last.
func (m *Members) EndObject() { *m = append(*m, '}') }

// List adds a list of objects.
func (m *Members) List(name string, items []Members) {
	m.Name(name)
	*m = AppendList(*m, items)
}

// AppendList writes a JSON array of objects.
func AppendList(dst []byte, items []Members) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = append(dst, item...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// Join adds all members of inner.
func (m *Members) Join(inner Members) {
	if len(inner) == 0 {
		return
	}
	m.separate()
	*m = append(*m, inner...)
}

// Body closes the members into one object.
func (m Members) Body() []byte {
	out := make([]byte, 0, len(m)+2)
	out = append(out, '{')
	out = append(out, m...)
	return append(out, '}')
}

// Build returns the object with the members that fill adds. It allocates once if the object
// has at most capacity bytes.
func Build(capacity int, fill func(m *Members)) []byte {
	return BuildIn(make([]byte, 0, capacity), fill)
}

// BuildIn is Build with the caller's buffer, which it uses if the object fits. The caller may
// pass the result as the buffer of the next call.
func BuildIn(buffer []byte, fill func(m *Members)) []byte {
	whole := append(buffer[:0], '{')
	m := Members(whole[1:1])
	fill(&m)
	if len(m)+2 > cap(whole) {
		return m.Body()
	}
	return append(whole[:1+len(m)], '}')
}

const hexDigits = "0123456789abcdef"

// AppendQuoted writes s as a JSON string. Invalid UTF-8 becomes U+FFFD. U+2028, U+2029, < and >
// are escaped, so that a browser that sniffs content never takes an answer for markup.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= 0x20 && b != '"' && b != '\\' && b != '<' && b != '>' && b != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscaped(dst, b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\ufffd"...)
		} else if r == '\u2028' || r == '\u2029' {
			dst = append(append(dst, s[start:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
		} else {
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscaped(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
}
