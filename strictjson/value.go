package strictjson

import (
	"bytes"

	"github.com/valyala/fastjson"
)

// AppendValue writes a parsed value as JSON. fastjson's own MarshalTo quotes strings as Go does
// (\x00, \U0001f600), which is not JSON, so AppendQuoted writes strings and names. Numbers keep
// the literal that was parsed.
func AppendValue(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return AppendQuoted(dst, string(v.GetStringBytes()))
	case fastjson.TypeObject:
		object, _ := v.Object()
		return appendObject(dst, object)
	case fastjson.TypeArray:
		items, _ := v.Array()
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, item)
		}
		return append(dst, ']')
	}
	return v.MarshalTo(dst) // MarshalTo is right for numbers, true, false and null.
}

// AppendCompact writes a JSON text as AppendValue writes the parsed value. It copies words,
// numbers and plain strings, which most texts are, without parsing them. It returns ErrSyntax
// if the text is not JSON.
func AppendCompact(dst, text []byte) ([]byte, error) {
	if isPlain(text) {
		return append(dst, text...), nil
	}
	parser := compactParsers.Get()
	defer compactParsers.Put(parser)
	v, err := parser.ParseBytes(text)
	if err != nil {
		return dst, ErrSyntax
	}
	return AppendValue(dst, v), nil
}

// ReadText returns the text of a JSON string, and "" for any other value.
func ReadText(text []byte) string {
	if len(text) < 2 || text[0] != '"' {
		return ""
	}
	if isPlain(text) {
		return string(text[1 : len(text)-1])
	}
	parser := compactParsers.Get()
	defer compactParsers.Put(parser)
	v, err := parser.ParseBytes(text)
	if err != nil {
		return ""
	}
	return string(v.GetStringBytes())
}

var compactParsers fastjson.ParserPool

// isPlain reports whether AppendValue would write a JSON text unchanged. It recognises words,
// numbers and strings.
func isPlain(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '"':
		return isPlainString(text)
	case 't':
		return string(text) == "true"
	case 'f':
		return string(text) == "false"
	case 'n':
		return string(text) == "null"
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return isPlainNumber(text)
		}
	}
	return true
}

// isPlainNumber reports whether text is a number with an optional sign and point, as amounts
// are.
func isPlainNumber(text []byte) bool {
	if text[0] == '-' {
		text = text[1:]
	}
	whole, part, found := bytes.Cut(text, []byte{'.'})
	return allDigits(whole) && (!found || allDigits(part))
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

// isPlainString reports whether text is a string of printable ASCII without characters that
// AppendQuoted escapes.
func isPlainString(text []byte) bool {
	last := len(text) - 1
	if last == 0 || text[last] != '"' {
		return false
	}
	for _, c := range text[1:last] {
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

// appendObject writes a parsed object as compact JSON.
func appendObject(dst []byte, object *fastjson.Object) []byte {
	dst = append(dst, '{')
	first := true
	object.Visit(func(key []byte, v *fastjson.Value) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(AppendQuoted(dst, string(key)), ':')
		dst = AppendValue(dst, v)
	})
	return append(dst, '}')
}
