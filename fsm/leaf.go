package fsm

import (
	"strconv"

	"railguard/engine"
)

// Leaves are JSON written by hand: fixed text, ids, times and integers alone.
// Whatever came from an edge as text is copied at the end, never re-rendered.

// head begins the leaf of an event other than a screening call.
func (m *core) head(kind string) []byte {
	dst := make([]byte, 0, 512)
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","eventId":"`...)
	dst = append(dst, m.ids.EventID(m.size)...)
	dst = append(dst, `","time":"`...)
	dst = m.now.AppendTime(dst)
	dst = append(dst, '"')
	return m.place(dst)
}

// place writes where the leaf stands and its salt.
func (m *core) place(dst []byte) []byte {
	dst = number(dst, "index", int64(m.index))
	dst = number(dst, "leaf", int64(m.size))
	salt := m.salt()
	return hexText(dst, "salt", salt[:])
}

func name(dst []byte, member string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, member...)
	return append(dst, '"', ':')
}

func number(dst []byte, member string, n int64) []byte {
	return strconv.AppendInt(name(dst, member), n, 10)
}

// plain writes a text that needs no escaping: ids, codes, our own words.
func plain(dst []byte, member, text string) []byte {
	dst = append(name(dst, member), '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

func dollars(dst []byte, member string, amount engine.USD) []byte {
	return engine.AppendUSD(name(dst, member), amount)
}

func instant(dst []byte, member string, t engine.Time) []byte {
	dst = append(name(dst, member), '"')
	dst = t.AppendTime(dst)
	return append(dst, '"')
}

func truth(dst []byte, member string, v bool) []byte {
	return strconv.AppendBool(name(dst, member), v)
}

// quoted writes a text that may hold anything valid UTF-8 can: JSON string
// escapes for quotes, backslashes and control characters, nothing else.
func quoted(dst []byte, member, text string) []byte {
	dst = append(name(dst, member), '"')
	const hexDigits = "0123456789abcdef"
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func hexText(dst []byte, member string, data []byte) []byte {
	dst = append(name(dst, member), '"')
	const hexDigits = "0123456789abcdef"
	for _, v := range data {
		dst = append(dst, hexDigits[v>>4], hexDigits[v&15])
	}
	return append(dst, '"')
}
