package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
)

func TestGate(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"empty object":            {`{}`, nil},
		"spaces":                  {" \t\r\n{ \"a\" : [ 1 , -0.5e+3 , true , null , \"x\" ] } \n", nil},
		"nothing":                 {``, ErrSyntax},
		"spaces only":             {`  `, ErrSyntax},
		"array":                   {`[1]`, ErrTop},
		"string":                  {`"x"`, ErrTop},
		"null":                    {`null`, ErrTop},
		"trailing":                {`{} {}`, ErrTrailing},
		"trailing comma":          {`{"a":1,}`, ErrSyntax},
		"array trailing comma":    {`{"a":[1,]}`, ErrSyntax},
		"open":                    {`{"a":1`, ErrSyntax},
		"leading zero":            {`{"a":01}`, ErrSyntax},
		"plus":                    {`{"a":+1}`, ErrSyntax},
		"bare point":              {`{"a":1.}`, ErrSyntax},
		"bare exponent":           {`{"a":1e}`, ErrSyntax},
		"NaN":                     {`{"a":NaN}`, ErrSyntax},
		"single quotes":           {`{'a':1}`, ErrSyntax},
		"control character":       {"{\"a\":\"\x01\"}", ErrSyntax},
		"unknown escape":          {`{"a":"\x"}`, ErrSyntax},
		"escapes":                 {`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, nil},
		"NUL escape":              {`{"a":"\u0000"}`, nil},
		"lone high":               {`{"a":"\ud83d"}`, ErrText},
		"lone low":                {`{"a":"\ude00"}`, ErrText},
		"high and high":           {`{"a":"\ud83d\ud83d"}`, ErrText},
		"invalid UTF-8":           {"{\"a\":\"\xff\"}", ErrText},
		"surrogate in UTF-8":      {"{\"a\":\"\xed\xa0\x80\"}", ErrText},
		"byte order mark":         {"\ufeff{}", ErrSyntax},
		"duplicate":               {`{"a":1,"a":2}`, ErrDuplicate},
		"duplicate below":         {`{"x":{"a":1,"b":{},"a":2}}`, ErrDuplicate},
		"duplicate by escape":     {`{"amount":1,"\u0061mount":2}`, ErrDuplicate},
		"same name, other object": {`{"a":{"a":{"a":1}},"b":{"a":1}}`, nil},
		"other case":              {`{"a":1,"A":2}`, nil},
		"deepest":                 {nest(engine.JSONDepthMax), nil},
		"one deeper":              {nest(engine.JSONDepthMax + 1), ErrDepth},
		"deep arrays":             {`{"a":` + strings.Repeat("[", 10_000), ErrDepth},
		"most members":            {wide(engine.JSONMembersMax), nil},
		"one member more":         {wide(engine.JSONMembersMax + 1), ErrMembers},
		"duplicate among many":    {strings.Replace(wide(900), `"m899"`, `"m0"`, 1), ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			var g Validator
			require.ErrorIs(t, g.Check([]byte(c.body), engine.BodyValuesMax), c.want)
			if c.want == nil {
				require.NoError(t, g.Check([]byte(c.body), engine.BodyValuesMax), "a gate is used again")
			}
		})
	}
}

func nest(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

func wide(members int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"m` + strconv.Itoa(i) + `":1`)
	}
	return b.String() + "}"
}

func TestGateRaw(t *testing.T) {
	var g Validator
	require.NoError(t, g.Check([]byte(`{ "amount" : 1.50e1 , "cp\u004eame":"A\u0026B", "x":{"amount":2} }`), engine.BodyValuesMax))
	require.Equal(t, "1.50e1", string(g.Raw("amount")))
	require.Equal(t, `"A\u0026B"`, string(g.Raw("cpName")))
	require.Nil(t, g.Raw("y"))
}

// The validator's cost is linear: even for the worst bodies of the largest size it ends
// quickly.
func TestGateIsLinear(t *testing.T) {
	for name, body := range map[string]string{
		"brackets": strings.Repeat("[", engine.BodyMax),
		"objects":  `{"a":[` + strings.Repeat(`{"a":1},`, engine.BodyMax/9) + `1]}`,
		"members":  `{"a":[` + strings.Repeat(wide(engine.JSONMembersMax)+",", engine.BodyMax/len(wide(engine.JSONMembersMax))) + `1]}`,
		"escapes":  `{"` + strings.Repeat(`\u0061`, engine.BodyMax/6) + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			var g Validator
			require.LessOrEqual(t, len(body), engine.BodyMax+64)
			_ = g.Check([]byte(body), engine.BodyValuesMax) // Quadratic work would exceed the test's own deadline.
		})
	}
}

// FuzzValidator compares the validator with the standard library. What the validator accepts is
// valid JSON that both parsers read alike. Valid JSON that it refuses breaks one of its
// stricter rules.
func FuzzValidator(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,2,{"b":"\u00e9"}]}`, `{"a":1,"a":2}`, `[1]`, `{"a":"\ud800"}`, `{"a":1e5}`, "{\"\xff\":1}", nest(33)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var g Validator
		err := g.Check(body, engine.BodyValuesMax)
		if err == ErrSyntax || err == ErrTrailing {
			require.False(t, json.Valid(body) && utf8.Valid(body), "refused as broken: %q", body)
			return
		}
		if err != nil {
			return
		}
		require.True(t, json.Valid(body), "%q", body)
		var theirs map[string]any
		decoder := json.NewDecoder(strings.NewReader(string(body)))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&theirs))
		ours, err := fastjson.ParseBytes(body)
		require.NoError(t, err, "%q", body)
		written := AppendValue(nil, ours)
		require.True(t, json.Valid(written), "%q", written)
		var again map[string]any
		decoder = json.NewDecoder(strings.NewReader(string(written)))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&again))
		require.Equal(t, theirs, again, "%q", body)
		for i := range g.top {
			require.True(t, json.Valid(g.data[g.top[i].valueStart:g.top[i].valueEnd]))
		}
	})
}

// FuzzQuoted: for any text, the literal is valid JSON that reads back as the text (with invalid
// UTF-8 replaced), and contains nothing that could begin markup.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{"", "a\"b\\c", "<script>", "\x00\x1f\x7f", "é\u2028\u2029😀", "\xff\xfe"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		literal := AppendQuoted(nil, text)
		var back string
		require.NoError(t, json.Unmarshal(literal, &back), "%q", literal)
		if utf8.ValidString(text) {
			require.Equal(t, text, back)
		}
		require.NotContains(t, string(literal), "<")
	})
}

func BenchmarkGate(b *testing.B) {
	data := []byte(`{"token":"` + string(bytes.Repeat([]byte("a"), 900)) + `","amount":12.50,"chain":"BASE","cpName":"Paper and Ink"}`)
	var g Validator
	b.ReportAllocs()
	for b.Loop() {
		if g.Check(data, engine.BodyValuesMax) != nil {
			b.Fatal("gate")
		}
	}
}
