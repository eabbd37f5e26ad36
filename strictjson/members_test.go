package strictjson

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"
)

// TestBuildIsBodyWhateverTheRoom: members that fit easily, that fit to the byte, and that do
// not fit.
func TestBuildIsBodyWhateverTheRoom(t *testing.T) {
	for length := range 40 {
		fill := func(m *Members) {
			if length > 0 {
				m.Text("name", strings.Repeat("x", length))
				m.Int("n", 7)
			}
		}
		var m Members
		fill(&m)
		for _, room := range []int{1, 2, 3, len(m), len(m) + 1, len(m) + 2, len(m) + 3, 100} {
			require.Equal(t, string(m.Body()), string(Build(max(room, 1), fill)), "length %d, room %d", length, room)
			used := bytes.Repeat([]byte("x"), room)
			require.Equal(t, string(m.Body()), string(BuildIn(used, fill)), "length %d, in room of %d", length, room)
		}
	}
}

// TestCompactIsTheParsedValue: a text that is copied equals what the parser would give, and a
// text that is no JSON is refused.
func TestCompactIsTheParsedValue(t *testing.T) {
	for _, text := range []string{
		`0`, `7`, `-7`, `12.50`, `-0.1`, `1e5`, `1.`, `.5`, `""`, `"a"`, `"a b"`, `"<"`, `">"`, `"\\"`, `"\""`, `"\u0041"`, "\"\x7f\"", "\"\x01\"", `"é"`, "\"\u2028\"", "\"\xff\"",
		`true`, `false`, `null`, `nul`, `tru`, `[]`, `[ 1 , 2 ]`, `{"a": "<"}`, ` 1 `, `"`, `"a`, `a"`, `"a""b"`, `1,2`, `-`, `--1`, ``, `{`,
	} {
		got, err := AppendCompact(nil, []byte(text))
		v, wrong := fastjson.Parse(text)
		if wrong != nil {
			require.ErrorIs(t, err, ErrSyntax, text)
			require.Empty(t, ReadText([]byte(text)))
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, string(AppendValue(nil, v)), string(got), text)
		if text[0] != ' ' {
			require.Equal(t, string(v.GetStringBytes()), ReadText([]byte(text)), text)
		}
	}
}

// TestBeginIsObject: an object that is written in place equals one that is added whole.
func TestBeginIsObject(t *testing.T) {
	var inner, want, got Members
	want.Int("a", 1)
	inner.Text("b", "{")
	inner.Object("c", nil)
	inner.Join(Members(`"d":2`))
	want.Object("o", inner)
	want.Int("e", 3)

	got.Int("a", 1)
	got.BeginObject("o")
	got.Text("b", "{")
	got.BeginObject("c")
	got.EndObject()
	got.Join(Members(`"d":2`))
	got.EndObject()
	got.Int("e", 3)
	require.Equal(t, string(want), string(got))
	require.Equal(t, `"a":1,"o":{"b":"{","c":{},"d":2},"e":3`, string(got))
}
