package httpapi

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/strictjson"
)

func jwtPart(t *testing.T, part string) *fastjson.Value {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(part)
	require.NoError(t, err)
	v, err := fastjson.ParseBytes(data)
	require.NoError(t, err)
	return v
}

// Whatever YAML is taken comes out as JSON that the gate takes, too.
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
		var g strictjson.Gate
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

// Any body is answered with what the table of errors knows, never with a 500.
func FuzzRegister(f *testing.F) {
	n := newTestNode(f)
	paths := []string{
		"/v1/agents/register", "/v1/delegates/create", "/v1/users/register", "/v1/fleets/create", "/v1/whitelist/entries",
		"/v1/cleared", "/v1/operators/suspend", "/v1/policy/validate",
	}
	for i, seed := range []string{
		`{"agentName":"a","agentType":"supervised","operatorLegalName":"b","purpose":"c","spendPolicy":{"dailyLimitUSDC":1}}`,
		`{"parentAgentId":"agt_aaaaaaaaaaaa","agentName":"a","expiresAt":"2027-01-01T00:00:00Z"}`,
		`{"legalName":"a","agentIds":["agt_aaaaaaaaaaaa"]}`, `{"fleetName":"a","operatorLegalName":"b","dailyLimitUSDC":0.1}`,
		`{"wallet":"0x00000000000000000000000000000000000000aa","expiresAt":"2027-01-01"}`, `{"name":"a","uid":27307,"reason":"x"}`,
		`{"operatorLegalName":"a","reason":"b"}`, `{"rules":{"R17":"off"},"operatingHours":{"timezone":"UTC","windows":[]}}`,
	} {
		f.Add(uint8(i), seed)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		n.t = t
		w := n.do("admin", http.MethodPost, paths[int(which)%len(paths)], body)
		switch w.Code {
		case 200, 201, 400, 404, 409, 413, 422, 429:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var g strictjson.Gate
		if err := g.Check(w.Body.Bytes(), engine.BodyValuesMax); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
	})
}

func FuzzSpan(f *testing.F) {
	for _, seed := range []string{"25h", "90d", "1d12h", "d", "-1d", "1dd", "99999999999999999999d", "1.5h", "1d-1h", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if span, ok := parseSpan(text); ok && span < 0 {
			t.Fatalf("%q is %d", text, span)
		}
	})
}

func TestSpan(t *testing.T) {
	cases := []struct {
		text string
		span engine.Time
		ok   bool
	}{
		{"25h", 25 * engine.Hour, true}, {"90d", 90 * engine.DayLength, true}, {"1d12h", 36 * engine.Hour, true}, {"0d", 0, true},
		{"30m", 30 * engine.Minute, true}, {"", 0, false}, {"d", 0, false}, {"5", 0, false}, {"-1h", 0, false}, {"-1d", 0, false},
		{"1d-1h", 0, false}, {"1d1d", 0, false}, {"65536d", 0, false},
	}
	for _, c := range cases {
		span, ok := parseSpan(c.text)
		require.Equal(t, c.ok, ok, c.text)
		require.Equal(t, c.span, span, c.text)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("agents-", uint64(5), "YWdlbnRzKzox")
	f.Fuzz(func(t *testing.T, kind string, n uint64, text string) {
		if len(kind) < 100 && n != 0 {
			read, ok := parseCursor(kind, 2, writeCursor(kind, n, n/2))
			if !ok || read[0] != n || read[1] != n/2 {
				t.Fatalf("%q %d: %d %v", kind, n, read, ok)
			}
		}
		parseCursor(kind, 3, text)
	})
}

// Pages cover a table once, whatever their size and direction.
func TestPagesCoverTheTable(t *testing.T) {
	for _, ascending := range []bool{false, true} {
		for _, count := range []uint64{0, 1, 7, 8} {
			for limit := 1; limit <= 9; limit++ {
				var seen []uint64
				p := rowPage{page: page{kind: "k", limit: limit, ascending: ascending}}
				for calls := 0; ; calls++ {
					require.Less(t, calls, 20)
					next := p.scan(count, func(row uint64) bool { seen = append(seen, row); return row%2 == 1 })
					if next == "" {
						break
					}
					after, ok := parseCursor(p.cursorKind(), 1, next)
					require.True(t, ok)
					p.after = after[0]
				}
				require.Len(t, seen, int(count))
				for i, row := range seen {
					want := uint64(i) + 1
					if !ascending {
						want = count - uint64(i)
					}
					require.Equal(t, want, row)
				}
			}
		}
	}
	// A cursor from before, when the table was longer, is no trouble.
	p := rowPage{page: page{kind: "k", limit: 5}, after: 100}
	require.Empty(t, p.scan(3, func(uint64) bool { return true }))
	p.ascending = true
	require.Empty(t, p.scan(3, func(uint64) bool { t.Fatal("no such row"); return true }))
}
