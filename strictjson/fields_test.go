package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

func readFields(t *testing.T, body string) Fields {
	t.Helper()
	d := new(Document)
	require.NoError(t, d.Read([]byte(body), engine.BodyValuesMax))
	return d.Fields()
}

// TestFieldReaders: each reader accepts some values and reports a given error for the others.
func TestFieldReaders(t *testing.T) {
	oneOf := func(f *Fields) any { return f.OneOf("x", "a", "b") }
	integer := func(f *Fields) any { n, _ := f.Integer("x", 1, 9); return n }
	flag := func(f *Fields) any { value, given := f.Flag("x"); return fmt.Sprint(value, given) }
	amount := func(f *Fields) any {
		amount, literal := f.RequiredUSD("x")
		return fmt.Sprintf("%d %s", int64(amount), literal)
	}
	texts := func(f *Fields) any { values, given := f.Texts("x", 2, 3); return fmt.Sprint(values, given) }
	instant := func(f *Fields) any { at, ok := f.Instant("x"); return fmt.Sprint(int64(at), ok) }
	for _, c := range []struct {
		body string
		read func(*Fields) any
		want any
		code string
		said string // The member of the first finding.
	}{
		{`{"x":"abc"}`, func(f *Fields) any { return f.RequiredText("x", 3) }, "abc", "", ""},
		{`{"x":"abcd"}`, func(f *Fields) any { return f.RequiredText("x", 3) }, "", "invalid_field", "x must have at most 3 bytes"},
		{`{"x":7}`, func(f *Fields) any { return f.RequiredText("x", 3) }, "", "invalid_field", "x must be a string"},
		{`{"x":null}`, func(f *Fields) any { return f.RequiredText("x", 3) }, "", "missing_field", "x is required"},
		{`{"x":" \t"}`, func(f *Fields) any { return f.RequiredName("x") }, " \t", "invalid_field", "x must not be blank"},
		{`{"x":"` + strings.Repeat("é", engine.NameRunesMax) + `"}`, func(f *Fields) any { return len(f.Name("x")) }, 2 * engine.NameRunesMax, "", ""},
		{`{"x":"` + strings.Repeat("é", engine.NameRunesMax+1) + `"}`, func(f *Fields) any { return f.Name("x") }, "", "invalid_field", fmt.Sprintf("x must have at most %d characters", engine.NameRunesMax)},
		{`{}`, oneOf, "", "", ""},
		{`{"x":"b"}`, oneOf, "b", "", ""},
		{`{"x":"B"}`, oneOf, "", "invalid_field", "x must be one of a, b"},
		{`{"x":1}`, oneOf, "", "invalid_field", "x must be one of a, b"},
		{`{}`, func(f *Fields) any { return f.RequiredOneOf("x", "a") }, "", "missing_field", "x is required"},
		{`{"x":"a"}`, func(f *Fields) any { return f.RequiredOneOf("x", "a") }, "a", "", ""},
		{`{"x":1}`, integer, int64(1), "", ""},
		{`{"x":9}`, integer, int64(9), "", ""},
		{`{"x":10}`, integer, int64(0), "invalid_field", "x must be a whole number from 1 to 9"},
		{`{"x":0}`, integer, int64(0), "invalid_field", "x must be a whole number from 1 to 9"},
		{`{"x":1.0}`, integer, int64(0), "invalid_field", "x must be a whole number from 1 to 9"},
		{`{"x":"1"}`, integer, int64(0), "invalid_field", "x must be a whole number from 1 to 9"},
		{`{}`, integer, int64(0), "", ""},
		{`{"x":true}`, flag, "true true", "", ""},
		{`{"x":false}`, flag, "false true", "", ""},
		{`{}`, flag, "false false", "", ""},
		{`{"x":1}`, flag, "false false", "invalid_field", "x must be true or false"},
		{`{"x":1.50}`, amount, "1500000 1.50", "", ""},
		{`{}`, amount, fmt.Sprintf("%d ", int64(engine.NoLimit)), "missing_field", "x is required"},
		{`{"x":"1"}`, amount, fmt.Sprintf("%d ", int64(engine.NoLimit)), "invalid_field", "x must be a number >= 0"},
		{`{"x":["a","bcd"]}`, texts, "[a bcd] true", "", ""},
		{`{"x":[]}`, texts, "[] true", "", ""},
		{`{}`, texts, "[] false", "", ""},
		{`{"x":"a"}`, texts, "[] true", "invalid_field", "x must be a list of strings"},
		{`{"x":["a","b","c"]}`, texts, "[] true", "invalid_field", "x must have at most 2 items"},
		{`{"x":["a","bcde"]}`, texts, "[a] true", "invalid_field", "x[1] must be a string of at most 3 bytes"},
		{`{"x":"1970-01-01T00:00:00.000000001Z"}`, instant, "1 true", "", ""},
		{`{"x":"1970-01-02"}`, instant, "86400000000000 true", "", ""},
		{`{"x":"1969-12-31"}`, instant, "0 false", "invalid_field", "x must be an ISO 8601 time"},
		{`{"x":"2262-01-01"}`, instant, "0 false", "invalid_field", "x must be an ISO 8601 time"},
		{`{"x":""}`, instant, "0 false", "invalid_field", "x must be an ISO 8601 time"},
		{`{}`, instant, "0 false", "", ""},
	} {
		f := readFields(t, c.body)
		require.Equal(t, c.want, c.read(&f), c.body)
		err := f.Err()
		if c.code == "" {
			require.NoError(t, err, c.body)
			continue
		}
		var invalid *InvalidBody
		require.True(t, errors.As(err, &invalid), c.body)
		require.Equal(t, [2]string{c.code, c.said}, [2]string{invalid.Code, invalid.Error()}, c.body)
	}
}

// TestFindingsOfObjectsWithin: findings of nested objects and of lists have their path. Unknown
// members come before missing ones, and these before invalid ones.
func TestFindingsOfObjectsWithin(t *testing.T) {
	f := readFields(t, `{"inner":{"n":"x"},"list":[{"m":1},7],"odd":3,"much":[{},{},{}]}`)
	inner, ok := f.Nested("inner")
	require.True(t, ok)
	inner.Integer("n", 0, 1)
	require.True(t, f.Items("list", 2, func(item Fields) { item.RequiredText("name", 9) }))
	require.True(t, f.Items("odd", 2, nil))
	require.True(t, f.Items("much", 2, nil))
	require.False(t, f.Items("absent", 2, nil))
	_, ok = f.Nested("odd")
	require.False(t, ok)
	_, ok = f.Nested("absent")
	require.False(t, ok)
	require.True(t, f.Has("odd"))
	require.False(t, f.Has("absent"))
	var invalid *InvalidBody
	require.True(t, errors.As(f.Err(), &invalid))
	require.Equal(t, "missing_field", invalid.Code)
	require.Equal(t, "list[0].name is required", invalid.Error())
	f.Report([]engine.FieldError{{Param: "x", Message: "is not known", Unknown: true}, {Param: "y", Message: "is wrong"}})
	require.True(t, errors.As(f.Err(), &invalid))
	require.Equal(t, "unknown_field", invalid.Code)
	var said []string
	for _, finding := range invalid.Findings {
		said = append(said, finding.Param+" "+finding.Message)
	}
	require.Equal(t, []string{"x is not known", "list[0].name is required", "inner.n must be a whole number from 0 to 1", "list[1] must be an object",
		"odd must be a list", "much must have at most 2 items", "odd must be an object", "y is wrong"}, said)
}

// TestFindingsAreBounded: at most FindingsMax findings of a kind are reported.
func TestFindingsAreBounded(t *testing.T) {
	f := readFields(t, `{}`)
	for i := range FindingsMax + 5 {
		f.Missing(fmt.Sprint(i))
	}
	var invalid *InvalidBody
	require.True(t, errors.As(f.Err(), &invalid))
	require.Len(t, invalid.Findings, FindingsMax)
}

// TestDocumentsAsTheyAreKept: a document is stored without white space, and without nulls if
// they mean absence.
func TestDocumentsAsTheyAreKept(t *testing.T) {
	f := readFields(t, `{ "a" : [ 1 , {"b": null} ], "c" : null , "d":"\u00e9" }`)
	require.Equal(t, `[1,{"b":null}]`, string(f.Compact("a")))
	require.Nil(t, f.Compact("c"))
	require.Equal(t, `{"a":[1,{"b":null}],"c":null,"d":"é"}`, string(f.JSON()))
	require.Equal(t, `{"a":[1,{"b":null}],"d":"é"}`, string(f.WithoutNulls()))
}

// TestMembersAreWritten: each writer writes the one form of the API.
func TestMembersAreWritten(t *testing.T) {
	var m Members
	m.Optional("none", "")
	m.Optional("some", "s")
	m.TextOrNull("null", "")
	m.TextOrNull("text", `"`)
	m.Raw("raw", []byte(`[1]`))
	m.Raw("empty", nil)
	m.Bool("yes", true)
	m.USD("usd", 1_500_000)
	m.Limit("limit", engine.NoLimit)
	m.Limit("bound", 2*engine.Dollar)
	m.Score("score", 9312)
	m.Time("at", engine.Time(1_500_000_000))
	m.Hex("hex", []byte{0, 255})
	m.Texts("texts", []string{"a", "b"})
	m.List("list", []Members{nil, Members(`"x":1`)})
	require.Equal(t, `"some":"s","null":null,"text":"\"","raw":[1],"empty":null,"yes":true,"usd":1.5,"limit":null,"bound":2,"score":0.9312,`+
		`"at":"1970-01-01T00:00:01.500Z","hex":"00ff","texts":["a","b"],"list":[{},{"x":1}]`, string(m))
}
