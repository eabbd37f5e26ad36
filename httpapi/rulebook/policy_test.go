package rulebook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/strictjson"
)

// FuzzPolicyYAML: accepted YAML becomes JSON that the strict reader accepts too.
func FuzzPolicyYAML(f *testing.F) {
	for _, seed := range []string{
		"rules:\n  R17: off\n", "a: 2026-12-25\nb: [1, 0x10, .5, 1_000, 1e3, ~, yes, !!str 5]\n", "a: &x 1\nb: *x\n", "<<: {a: 1}\n",
		"a: 1\na: 2\n", "---\na: 1\n---\nb: 2\n", "{a: {b: {c: [[[[1]]]]}}}", "? [a]\n: 1\n", "a: \"\\ud800\"\n", "5", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		converted, err := jsonFromYAML(text)
		if err != nil {
			return
		}
		var g strictjson.Validator
		wrapped := append(append([]byte(`{"x":`), converted...), '}')
		if err := g.Check(wrapped, engine.BodyValuesMax); err != nil && err != strictjson.ErrDepth && err != strictjson.ErrMembers {
			t.Fatalf("%q became %q: %v", text, converted, err)
		}
	})
}

func TestYAML(t *testing.T) {
	cases := []struct{ name, yaml, json, wrong string }{
		{"block", "rules:\n  R17: off\n  R9: shadow\nvelocity: {maxPerMinute: 5}\n", `{"rules":{"R17":"off","R9":"shadow"},"velocity":{"maxPerMinute":5}}`, ""},
		{"a date is text", "holidays: [2026-12-25]\n", `{"holidays":["2026-12-25"]}`, ""},
		{"a quoted number is text", "a: \"5\"\n", `{"a":"5"}`, ""},
		{"numbers keep their digits", "a: 5000.10\nb: 0.30\nc: 1e3\n", `{"a":5000.10,"b":0.30,"c":1e3}`, ""},
		{"null and booleans", "a: null\nb: true\nc: ~\n", `{"a":null,"b":true,"c":null}`, ""},
		{"off is a word", "a: off\nb: no\n", `{"a":"off","b":"no"}`, ""},
		{"double key", "a: 1\na: 2\n", "", "stands twice"},
		{"alias", "a: &x {b: 1}\nc: *x\n", "", "aliases"},
		{"merge", "a: &x {b: 1}\n<<: *x\n", "", "plain text"},
		{"two documents", "a: 1\n---\nb: 2\n", "", "one document"},
		{"number as key", "5: a\n", "", "plain text"},
		{"hexadecimal", "a: 0x10\n", "", "decimal number"},
		{"infinity", "a: .inf\n", "", "decimal number"},
		{"tag", "a: !!binary aGk=\n", "", "tag"},
		{"nothing", "", "", "EOF"},
		{"too deep", strings.Repeat("[", engine.JSONDepthMax+1) + strings.Repeat("]", engine.JSONDepthMax+1), "", "deeply"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			converted, err := jsonFromYAML([]byte(c.yaml))
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.json, string(converted))
		})
	}
}
