package possession

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/strictjson"
)

func canonical(document, omit string) (string, error) {
	var c Canonicaliser
	out, err := c.Append(nil, []byte(document), omit, 8)
	return string(out), err
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{`{}`, `{}`},
		{` [ ] `, `[]`},
		{"\t{\n\"b\" : [ 1 , true , null , false , \"\" ] , \"a\" : { } }\r\n", `{"a":{},"b":[1,true,null,false,""]}`},
		{`{"b":{"d":1,"c":{"z":0,"y":[{"b":1,"a":2}]}},"a":2}`, `{"a":2,"b":{"c":{"y":[{"a":2,"b":1}],"z":0},"d":1}}`},
		{`"\u0061\u00FC\/\"\\\b\f\n\r\t\u000b\u007f\u2028\ud83d\ude00<&>"`, "\"aü/\\\"\\\\\\b\\f\\n\\r\\t\\u000b\x7f\u2028😀<&>\""},
		{`{"\u0061":1,"A":2}`, `{"A":2,"a":1}`},
		{`{"é":1,"è":2,"éa":3,"\ud83d\ude01":4,"😀":5}`, `{"è":2,"é":1,"éa":3,"😀":5,"😁":4}`}, // They differ in the last byte.
		{`{"":1,"\u0000":2}`, `{"":1,"\u0000":2}`},
		// RFC 8785, 3.2.3.
		{
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{"{\"\ue000\":2,\"😀\":1,\"a\ue000\":4,\"a😀\":3,\"a\ud7fe\":5}", "{\"a\ud7fe\":5,\"a😀\":3,\"a\ue000\":4,\"😀\":1,\"\ue000\":2}"},
		{`{"proof":1}`, `{"proof":1}`},
	} {
		got, err := canonical(c.document, "")
		require.NoError(t, err, c.document)
		require.Equal(t, c.want, got)
		again, err := canonical(got, "")
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
}

func TestOmitsOneMember(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{`{}`, `{}`},
		{`{"proof":"x"}`, `{}`},
		{`{"pr\u006fof":"x"}`, `{}`},
		{`{"proof":"x","a":1}`, `{"a":1}`},
		{`{"b":1,"proof":"x","a":{"proof":"kept"}}`, `{"a":{"proof":"kept"},"b":1}`},
		{`{"a":1,"Proof":2,"proof":3}`, `{"Proof":2,"a":1}`},
	} {
		got, err := canonical(c.document, ProofMember)
		require.NoError(t, err, c.document)
		require.Equal(t, c.want, got)
	}
}

func TestHasNoCanonicalForm(t *testing.T) {
	for document, want := range map[string]error{
		``: errTop, `[]`: errTop, `"a"`: errTop, `1`: errTop, // A request is an object.
		`{`: errSyntax, `{}x`: errSyntax, `{} {}`: errSyntax, "\ufeff{}": errTop, `{"a"}`: errSyntax, `{"a":}`: errSyntax, `{a:1}`: errSyntax,
		`{"a":1,}`: errSyntax, `{"a":[1,]}`: errSyntax, `{"a":[1 2]}`: errSyntax, `{"a":1 "b":2}`: errSyntax, `{,}`: errSyntax,
		`{"a":tru}`: errSyntax, `{"a":NaN}`: errSyntax, `{"a":01}`: errSyntax, `{"a":1.}`: errSyntax, `{"a":.5}`: errSyntax, `{"a":-}`: errSyntax,
		`{"a":+1}`: errSyntax, `{"a":1e}`: errSyntax, `{"a":1e+}`: errSyntax, `{"a":--1}`: errSyntax, `{"a":0x1}`: errSyntax, `{"a":1`: errSyntax,
		`{"a":"`: errSyntax, "{\"a\":\"\n\"}": errSyntax, `{"a":"\x"}`: errSyntax, `{"a":"\`: errSyntax, `{"a":"\u12`: errSyntax,
		`{"a":"\u12g4"}`: errSyntax, `{"a":"\ud800`: errText, "{\"a\":\"\\n\n\"}": errSyntax,
		`{"a":"\ud800"}`: errText, `{"a":"\udc00\ud800"}`: errText, `{"a":"\ud800\ud800"}`: errText, `{"a":"\ud800\n"}`: errText,
		"{\"a\":\"\xff\"}": errText, "{\"a\":\"\\n\xed\xa0\x80\"}": errText, "{\"\xff\":1}": errText,
		`{"a":1,"a":1}`: errDuplicate, `{"b":1,"a":1,"b":2}`: errDuplicate, `{"a":1,"\u0061":1}`: errDuplicate, `{"proof":1,"proof":1}`: errDuplicate,
		`{"x":{"proof":1,"proof":1}}`:          errDuplicate,
		`{"a":[[[[[[[[1]]]]]]]]}`:              errDepth,
		`{"a":1234567890123456}`:               ErrNumber,
		`{"proof":1,"a":[0.1234567890123456]}`: ErrNumber,
	} {
		out, err := canonical(document, ProofMember)
		require.Equal(t, want, err, document)
		require.Empty(t, out)
		require.True(t, err == ErrNumber || errors.Is(err, ErrDocument))
	}
	_, err := canonical(`{"a":[[[[[[[1]]]]]]]}`, ProofMember)
	require.NoError(t, err)
	_, err = canonical(`[]`, "")
	require.NoError(t, err)
	var c Canonicaliser
	_, err = c.RequestHash([]byte(`{}`), 0)
	require.Equal(t, errDepth, err)
	_, err = c.RequestHash([]byte(strings.Repeat(`{"a":`, 100_000)), 32)
	require.Equal(t, errDepth, err)
}

func TestNumbers(t *testing.T) {
	for literal, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0e5": "0", "0e999999999999999999": "0", "0.000e-9": "0", "1": "1", "-1": "-1", "1.0": "1", "10": "10", "1e0": "1", "1E+2": "100",
		"25.5": "25.5", "25.500000000000000000": "25.5", "123456789.123456": "123456789.123456", "999999999.999999": "999999999.999999", "0.1": "0.1",
		"1e12": "1000000000000", "1e20": "100000000000000000000", "1e21": "1e+21", "123e20": "1.23e+22", "0.000001": "0.000001", "0.0000001": "1e-7",
		"0.000000123": "1.23e-7", "123456789012345e10": "1.23456789012345e+24", "123456789012345": "123456789012345", "100000000000000000000": "100000000000000000000",
		"1000000000000000000000000": "1e+24", "0.00001e5": "1", "10000e-4": "1", "-12.50e1": "-125", "1e299": "1e+299", "1e-301": "1e-301",
	} {
		got, err := canonical(literal, "")
		require.NoError(t, err, literal)
		require.Equal(t, want, got, literal)
		value, err := strconv.ParseFloat(literal, 64)
		require.NoError(t, err)
		require.Equal(t, ecmascript(value), got, literal)
	}
	for _, literal := range []string{
		"9999999999.999999", "0.1234567890123456", "1234567890123456", "1.000000000000001", "1000000000000001", "1e300", "1e400", "-1e400", "1e-302", "1e-400", "1e999999999999999999", "5e-324",
	} {
		_, err := canonical(literal, "")
		require.Equal(t, ErrNumber, err, literal)
	}
}

// ecmascript writes a double as ECMAScript's Number::toString does: the plain version.
func ecmascript(value float64) string {
	if value == 0 {
		return "0"
	}
	if size := math.Abs(value); size < 1e21 && size >= 1e-6 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	text := strconv.FormatFloat(value, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// TestNumbersAreDoubles: what is written is what a program that knows doubles alone would write.
func TestNumbersAreDoubles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		digits := strconv.FormatUint(random.Uint64N(uint64(math.Pow10(1+random.IntN(15)))), 10)
		at := random.IntN(len(digits) + 1)
		literal := digits[:at]
		if literal == "" {
			literal = "0"
		} else if len(literal) > 1 && literal[0] == '0' {
			literal = "1" + literal[1:]
		}
		if at < len(digits) {
			literal += "." + digits[at:]
		}
		switch random.IntN(3) {
		case 0:
			literal += fmt.Sprintf("e%d", random.IntN(560)-280)
		case 1:
			literal = "-" + literal
		}
		value, err := strconv.ParseFloat(literal, 64)
		require.NoError(t, err)
		got, err := canonical(literal, "")
		require.NoError(t, err, literal)
		require.Equal(t, ecmascript(value), got, literal)
	}
}

// plain is the canonical form of what encoding/json reads: the plain version.
func plain(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return ecmascript(value)
	case string:
		return string(jws.AppendQuoted(nil, value))
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = plain(value[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var names []string
	for name := range value.(map[string]any) {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = string(jws.AppendQuoted(nil, name)) + ":" + plain(value.(map[string]any)[name])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// FuzzCanonical: what has a canonical form has that of the plain version, which is its own, and what
// is JSON and has none says why.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5e3,{"z":null,"a":"\u00fc\ud83d\ude00"}],"a":true}`, "{\"😀\":1,\"\ue000\":2}", `{"proof":"x","amount":25.50}`, `[[[[]]]]`, `"\ud800"`, `9999999999.999999`, `{"a":1,"a":2}`, `-0.0e-0`,
	} {
		f.Add([]byte(seed))
	}
	var c Canonicaliser
	f.Fuzz(func(t *testing.T, document []byte) {
		before := bytes.Clone(document)
		out, err := c.Append([]byte("x"), document, "", 16)
		require.Equal(t, before, document)
		if err != nil {
			require.Equal(t, "x", string(out))
			require.True(t, err == ErrNumber || errors.Is(err, ErrDocument))
			if err == errSyntax {
				require.False(t, json.Valid(document), "%q", document)
			}
			return
		}
		out = out[1:]
		var value any
		require.NoError(t, json.Unmarshal(document, &value), "%q", document)
		require.Equal(t, plain(value), string(out))
		again, err := c.Append(nil, out, "", 16)
		require.NoError(t, err)
		require.Equal(t, out, again)
	})
}

// FuzzCanonicalIsTheBorders: a request that the border takes has a canonical form, but for its
// numbers, and what the border refuses has none.
func FuzzCanonicalIsTheBorders(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.5e3,{"z":null,"a":"\u00fc\ud83d\ude00"}],"a":true}`, `{"a":1,"\u0061":2}`, `{"a":"\ud800"}`, `{"a":01}`, "{\"a\":\"\xff\"}", `{} `, `[]`, `{"a":1}}`, strings.Repeat(`{"a":`, 33),
	} {
		f.Add([]byte(seed))
	}
	var c Canonicaliser
	var border strictjson.Validator
	f.Fuzz(func(t *testing.T, document []byte) {
		_, err := c.RequestHash(document, engine.JSONDepthMax)
		switch refusal := border.Check(document, 1<<20); {
		case refusal == nil:
			require.True(t, err == nil || err == ErrNumber, "%q: %v", document, err)
		case refusal != strictjson.ErrMembers:
			require.Error(t, err, "%q: %v", document, refusal)
		}
	})
}
