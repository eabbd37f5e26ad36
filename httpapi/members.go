package httpapi

import (
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"railguard/engine"
)

// members is a growing list of JSON members without braces, `"a":1,"b":"x"`:
// the form of a leaf's fragment and of every answer. The zero value is empty.
type members []byte

func (m *members) name(name string) {
	if len(*m) > 0 {
		*m = append(*m, ',')
	}
	*m = append(*m, '"')
	*m = append(*m, name...) // Our own names: nothing to escape.
	*m = append(*m, '"', ':')
}

// text adds a string.
func (m *members) text(name, value string) {
	m.name(name)
	*m = appendQuoted(*m, value)
}

// optional adds a string unless it is empty.
func (m *members) optional(name, value string) {
	if value != "" {
		m.text(name, value)
	}
}

// textOrNull adds a string, or null when it is empty.
func (m *members) textOrNull(name, value string) {
	if value == "" {
		m.null(name)
		return
	}
	m.text(name, value)
}

// raw adds JSON as it is; an empty value adds null.
func (m *members) raw(name string, json []byte) {
	if len(json) == 0 {
		m.null(name)
		return
	}
	m.name(name)
	*m = append(*m, json...)
}

func (m *members) null(name string) {
	m.name(name)
	*m = append(*m, "null"...)
}

func (m *members) int(name string, n int64) {
	m.name(name)
	*m = strconv.AppendInt(*m, n, 10)
}

func (m *members) uint(name string, n uint64) {
	m.name(name)
	*m = strconv.AppendUint(*m, n, 10)
}

func (m *members) bool(name string, b bool) {
	m.name(name)
	*m = strconv.AppendBool(*m, b)
}

// usd adds an amount as a JSON number with as many decimals as it has.
func (m *members) usd(name string, amount engine.USD) {
	m.name(name)
	*m = engine.AppendUSD(*m, amount)
}

// time adds an instant in the one form of the API.
func (m *members) time(name string, t engine.Time) {
	m.name(name)
	*m = append(*m, '"')
	*m = t.AppendTime(*m)
	*m = append(*m, '"')
}

// hex adds bytes as lower-case hexadecimal digits.
func (m *members) hex(name string, data []byte) {
	m.name(name)
	*m = append(*m, '"')
	*m = hex.AppendEncode(*m, data)
	*m = append(*m, '"')
}

// texts adds a list of strings.
func (m *members) texts(name string, values []string) {
	m.name(name)
	*m = append(*m, '[')
	for i, value := range values {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = appendQuoted(*m, value)
	}
	*m = append(*m, ']')
}

// object adds a nested object.
func (m *members) object(name string, inner members) {
	m.name(name)
	*m = append(*m, '{')
	*m = append(*m, inner...)
	*m = append(*m, '}')
}

// list adds a list of objects.
func (m *members) list(name string, items []members) {
	m.name(name)
	*m = append(*m, '[')
	for i, item := range items {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = append(*m, '{')
		*m = append(*m, item...)
		*m = append(*m, '}')
	}
	*m = append(*m, ']')
}

// join adds members that are written already.
func (m *members) join(inner members) {
	if len(inner) == 0 {
		return
	}
	if len(*m) > 0 {
		*m = append(*m, ',')
	}
	*m = append(*m, inner...)
}

// body closes the members into one object.
func (m members) body() []byte {
	out := make([]byte, 0, len(m)+2)
	out = append(out, '{')
	out = append(out, m...)
	return append(out, '}')
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes s as a JSON string. Invalid UTF-8 becomes U+FFFD; U+2028
// and U+2029 are escaped, and so are < and >, so that no answer can be read as
// markup where a browser sniffs.
func appendQuoted(dst []byte, s string) []byte {
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
