package httpapi

import "github.com/valyala/fastjson"

// appendValue writes a parsed value as JSON. fastjson's own MarshalTo quotes
// strings the Go way (\x00, \U0001f600), which is not JSON, so strings and names
// are written by appendQuoted; numbers stay the literal that was parsed.
func appendValue(dst []byte, v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return appendQuoted(dst, string(v.GetStringBytes()))
	case fastjson.TypeObject:
		object, _ := v.Object()
		dst = append(dst, '{')
		first := true
		object.Visit(func(key []byte, inner *fastjson.Value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendQuoted(dst, string(key)), ':')
			dst = appendValue(dst, inner)
		})
		return append(dst, '}')
	case fastjson.TypeArray:
		items, _ := v.Array()
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	}
	return v.MarshalTo(dst) // Numbers, true, false, null.
}
