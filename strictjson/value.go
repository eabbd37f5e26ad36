package strictjson

import "github.com/valyala/fastjson"

// AppendValue writes a parsed value as JSON. fastjson's own MarshalTo quotes
// strings the Go way (\x00, \U0001f600), which is not JSON, so strings and names
// are written by appendQuoted; numbers stay the literal that was parsed.
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
	return v.MarshalTo(dst) // Numbers, true, false, null.
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
