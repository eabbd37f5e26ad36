package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
)

func readBatch(b *Batch, body string) error { return b.Read([]byte(body), "payments", 4, 40, 150) }

// An error of one item does not affect the others as long as the body is JSON.
func TestBatchItemsStandAlone(t *testing.T) {
	for name, c := range map[string]struct {
		item string
		want error
	}{
		"object":              {`{"a":1}`, nil},
		"empty object":        {`{}`, nil},
		"number":              {`1`, ErrTop},
		"list":                {`[{"a":1}]`, ErrTop},
		"duplicate":           {`{"a":1,"a":{"b":[1,{}]}}`, ErrDuplicate},
		"duplicate by escape": {`{"a":1,"\u0061":2}`, ErrDuplicate},
		"lone surrogate":      {`{"a":"\ud800","b":"\\\"]"}`, ErrText},
		"surrogate in a name": {`{"\udc00":"}"}`, ErrText},
		"no Unicode":          {"{\"a\":\"\xff\",\"b\":[]}", ErrText},
		"deepest":             {nest(engine.JSONDepthMax), nil},
		"too deep":            {`{"a":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`, ErrDepth},
		"most values":         {`{"a":[` + strings.Repeat("1,", 38) + `2]}`, nil},
		"one value more":      {`{"a":[` + strings.Repeat("1,", 39) + `2]}`, ErrValues},
		"values of all kinds": {`{"a":[` + strings.Repeat(`true,false,null,"",{},[],-1.5e3,`, 6) + `9]}`, ErrValues},
	} {
		t.Run(name, func(t *testing.T) {
			var b Batch
			body := `{"payments": [ {"x":"1"} ,` + c.item + ` , {"y":[2]} ] , "z":1}`
			require.NoError(t, readBatch(&b, body))
			require.Equal(t, 3, b.Count())
			_, err := b.Item(1)
			require.Equal(t, c.want, err)
			require.Equal(t, c.item, string(b.Bytes(1)))
			for i, name := range []string{0: "x", 2: "y"} {
				if name == "" {
					continue
				}
				d, err := b.Item(i)
				require.NoError(t, err)
				s := d.Spans()
				require.True(t, s.Has(name))
				require.False(t, s.Has("a"))
			}
			require.Equal(t, []UnknownMember{{Param: "z"}}, b.UnknownMembers(Names("payments")))
		})
	}
}

// Nesting beyond the bound is skipped without recursion, to its end.
func TestBatchDeepItem(t *testing.T) {
	var b Batch
	deep := `{"a":` + strings.Repeat(`[{"b":`, 100_000) + `1` + strings.Repeat(`}]`, 100_000) + `}`
	body := []byte(`{"payments":[` + deep + `,{"x":1}]}`)
	require.NoError(t, b.Read(body, "payments", 4, 100, 1_000_000))
	_, err := b.Item(0)
	require.Equal(t, ErrDepth, err)
	require.Equal(t, deep, string(b.Bytes(0)))
	_, err = b.Item(1)
	require.NoError(t, err)
	b.Reset()
	require.Zero(t, cap(b.open), "room for such a body is not kept")
}

func TestBatchBody(t *testing.T) {
	for name, c := range map[string]struct {
		body        string
		want        error
		given, list bool
		count       int
	}{
		"empty":              {`{"payments":[]}`, nil, true, true, 0},
		"absent":             {` { } `, nil, false, false, 0},
		"no list":            {`{"payments":{"a":1}}`, nil, true, false, 0},
		"most":               {`{"payments":[{},{},{},{}]}`, nil, true, true, 4},
		"more":               {`{"payments":[{},{},{},{},{},{},{}]}`, nil, true, true, 5},
		"top list":           {`[{"payments":[]}]`, ErrTop, false, false, 0},
		"nothing":            {``, ErrSyntax, false, false, 0},
		"twice":              {`{"payments":[],"payments":[{}]}`, ErrDuplicate, true, true, 0},
		"twice by escape":    {`{"payments":[],"pay\u006dents":[{}]}`, ErrDuplicate, true, true, 0},
		"trailing":           {`{"payments":[{}]} x`, ErrTrailing, true, true, 1},
		"comma":              {`{"payments":[{},]}`, ErrSyntax, true, true, 1},
		"no JSON in an item": {`{"payments":[{"a":01},{}]}`, ErrSyntax, true, true, 0},
		"no JSON further on": {`{"payments":[{"a":1,"a":[1,,2]},{}]}`, ErrSyntax, true, true, 0},
		"wrong bracket":      {`{"payments":[{"a":1,"a":[1}]},{}]}`, ErrSyntax, true, true, 0},
		"open":               {`{"payments":[{"a":1,"a":[1`, ErrSyntax, true, true, 0},
		"bad escape":         {`{"payments":[{"a":1,"a":"\x"}]}`, ErrSyntax, true, true, 0},
		"control character":  {"{\"payments\":[{\"a\":\"\xff\x01\"}]}", ErrSyntax, true, true, 0},
		"too many values":    {`{"payments":[` + strings.Repeat(`{"a":[`+strings.Repeat("1,", 38)+`2]},`, 4) + `{}]}`, ErrValues, true, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var b Batch
			for range 2 { // The second reading keeps nothing of the first.
				require.Equal(t, c.want, readBatch(&b, c.body))
				require.Equal(t, c.given, b.HasMember())
				require.Equal(t, c.list, b.IsList())
				require.Equal(t, c.count, b.Count())
				b.Reset()
			}
		})
	}
}

// FuzzBatch: a body is accepted exactly if it is JSON with a list. An item is good exactly if
// it would be good alone, with the same members.
func FuzzBatch(f *testing.F) {
	f.Add(`{"a":1,"a":2}`, `{"b":"\ud800"}`)
	f.Add(`{"a":{"b":[1,2]}}`, `[1]`)
	f.Add("{\"a\":\"\xff\"}", `{"c":null}`)
	f.Add(`]},{`, `{}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		var b Batch
		body := `{"payments":[` + first + `,` + second + `]}`
		err := b.Read([]byte(body), "payments", 16, engine.ScreenValuesMax, engine.BodyValuesMax)
		if err != nil {
			if errors.Is(err, ErrSyntax) {
				require.False(t, json.Valid([]byte(body)), "%q", body)
			}
			return
		}
		require.True(t, json.Valid([]byte(body)), "%q", body)
		for i := range b.Count() {
			d, err := b.Item(i)
			var alone Document
			require.Equal(t, alone.Check(b.Bytes(i), engine.ScreenValuesMax), err, "%q", b.Bytes(i))
			if err != nil {
				continue
			}
			require.Len(t, d.validator.top, len(alone.validator.top))
			for _, member := range alone.validator.top {
				name := string(alone.validator.data[member.nameStart:member.nameEnd])
				require.Equal(t, alone.Raw(name), d.Raw(name))
			}
		}
	})
}

// FuzzLines: a line is read as a body of its own, whatever stands in the others.
func FuzzLines(f *testing.F) {
	f.Add("{\"a\":1,\"a\":2}\n\n{\"b\":\"\\ud800\"}\r\n [1]x\n{\"c\":[{}]} \n{\"d\":")
	f.Fuzz(func(t *testing.T, body string) {
		var b Batch
		b.ReadLines([]byte(body), engine.ScreenValuesMax)
		at := 0
		for number, line := range strings.Split(body, "\n") {
			line = strings.TrimLeft(line, " \t\r")
			if line == "" {
				continue
			}
			require.Less(t, at, b.Count())
			require.Equal(t, number, b.Line(at))
			d, err := b.Item(at)
			var alone Document
			require.Equal(t, alone.Check([]byte(line), engine.ScreenValuesMax), err, "%q", line)
			if err == nil {
				require.Equal(t, strings.TrimRight(line, " \t\r"), string(b.Bytes(at)))
				require.Len(t, d.validator.top, len(alone.validator.top))
				for _, member := range alone.validator.top {
					name := string(alone.validator.data[member.nameStart:member.nameEnd])
					require.Equal(t, alone.Raw(name), d.Raw(name))
				}
			}
			at++
		}
		require.Equal(t, at, b.Count())
	})
}

// FuzzSpans: Spans read the same from a body as the parser does.
func FuzzSpans(f *testing.F) {
	f.Add(`{"a":"x","b":null,"c":1,"d":" \u00e9 ","\u0065":"\ud83d\ude00"}`)
	f.Add(`{"a":"\u2028\"\\\/\b\f\n\r\t","b":{"c":"d"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var read, checked Document
		err := read.Read([]byte(body), engine.ScreenValuesMax)
		require.Equal(t, err, checked.Check([]byte(body), engine.ScreenValuesMax))
		if err != nil {
			return
		}
		fields, spans := read.Fields(), checked.Spans()
		read.object.Visit(func(key []byte, v *fastjson.Value) {
			name := string(key)
			require.True(t, spans.Has(name), "%q", name)
			require.Equal(t, fields.Get(name) != nil, spans.Given(name))
			require.Equal(t, fields.Text(name, 64), spans.Text(name, 64), "%q", name)
			require.Equal(t, fields.Name(name), spans.Name(name))
			require.Equal(t, strings.TrimSpace(string(v.GetStringBytes())), string(spans.TrimmedText(name)))
		})
		require.Equal(t, fields.Err(), spans.Err())
		shape := Names("a", "token", "amount")
		require.Equal(t, read.UnknownMembers(shape), spans.UnknownMembers(shape))
	})
}
