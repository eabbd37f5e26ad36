package httpapi

import (
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
		"nothing":                 {``, errJSONSyntax},
		"spaces only":             {`  `, errJSONSyntax},
		"array":                   {`[1]`, errJSONTop},
		"string":                  {`"x"`, errJSONTop},
		"null":                    {`null`, errJSONTop},
		"trailing":                {`{} {}`, errJSONTrailing},
		"trailing comma":          {`{"a":1,}`, errJSONSyntax},
		"array trailing comma":    {`{"a":[1,]}`, errJSONSyntax},
		"open":                    {`{"a":1`, errJSONSyntax},
		"leading zero":            {`{"a":01}`, errJSONSyntax},
		"plus":                    {`{"a":+1}`, errJSONSyntax},
		"bare point":              {`{"a":1.}`, errJSONSyntax},
		"bare exponent":           {`{"a":1e}`, errJSONSyntax},
		"NaN":                     {`{"a":NaN}`, errJSONSyntax},
		"single quotes":           {`{'a':1}`, errJSONSyntax},
		"control character":       {"{\"a\":\"\x01\"}", errJSONSyntax},
		"unknown escape":          {`{"a":"\x"}`, errJSONSyntax},
		"escapes":                 {`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, nil},
		"NUL escape":              {`{"a":"\u0000"}`, nil},
		"lone high":               {`{"a":"\ud83d"}`, errJSONText},
		"lone low":                {`{"a":"\ude00"}`, errJSONText},
		"high and high":           {`{"a":"\ud83d\ud83d"}`, errJSONText},
		"invalid UTF-8":           {"{\"a\":\"\xff\"}", errJSONText},
		"surrogate in UTF-8":      {"{\"a\":\"\xed\xa0\x80\"}", errJSONText},
		"byte order mark":         {"\ufeff{}", errJSONSyntax},
		"duplicate":               {`{"a":1,"a":2}`, errJSONDuplicate},
		"duplicate below":         {`{"x":{"a":1,"b":{},"a":2}}`, errJSONDuplicate},
		"duplicate by escape":     {`{"amount":1,"\u0061mount":2}`, errJSONDuplicate},
		"same name, other object": {`{"a":{"a":{"a":1}},"b":{"a":1}}`, nil},
		"other case":              {`{"a":1,"A":2}`, nil},
		"deepest":                 {nest(engine.JSONDepthMax), nil},
		"one deeper":              {nest(engine.JSONDepthMax + 1), errJSONDepth},
		"deep arrays":             {`{"a":` + strings.Repeat("[", 10_000), errJSONDepth},
		"most members":            {wide(engine.JSONMembersMax), nil},
		"one member more":         {wide(engine.JSONMembersMax + 1), errJSONMembers},
		"duplicate among many":    {strings.Replace(wide(900), `"m899"`, `"m0"`, 1), errJSONDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			var g gate
			require.ErrorIs(t, g.check([]byte(c.body)), c.want)
			if c.want == nil {
				require.NoError(t, g.check([]byte(c.body)), "a gate is used again")
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
	var g gate
	require.NoError(t, g.check([]byte(`{ "amount" : 1.50e1 , "cp\u004eame":"A\u0026B", "x":{"amount":2} }`)))
	require.Equal(t, "1.50e1", string(g.raw("amount")))
	require.Equal(t, `"A\u0026B"`, string(g.raw("cpName")))
	require.Nil(t, g.raw("y"))
}

// The gate's cost is linear: the worst bodies of the largest size end at once.
func TestGateIsLinear(t *testing.T) {
	for name, body := range map[string]string{
		"brackets": strings.Repeat("[", engine.BodyMax),
		"objects":  `{"a":[` + strings.Repeat(`{"a":1},`, engine.BodyMax/9) + `1]}`,
		"members":  `{"a":[` + strings.Repeat(wide(engine.JSONMembersMax)+",", engine.BodyMax/len(wide(engine.JSONMembersMax))) + `1]}`,
		"escapes":  `{"` + strings.Repeat(`\u0061`, engine.BodyMax/6) + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			var g gate
			require.LessOrEqual(t, len(body), engine.BodyMax+64)
			_ = g.check([]byte(body)) // Quadratic work would run into the test's own deadline.
		})
	}
}

// FuzzGate compares the gate with the standard library: what it accepts is
// valid JSON that both parsers read alike, and what it refuses of valid JSON it
// refuses for one of the stricter reasons.
func FuzzGate(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,2,{"b":"\u00e9"}]}`, `{"a":1,"a":2}`, `[1]`, `{"a":"\ud800"}`, `{"a":1e5}`, "{\"\xff\":1}", nest(33)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var g gate
		err := g.check(body)
		if err == errJSONSyntax || err == errJSONTrailing {
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
		written := appendValue(nil, ours)
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

// FuzzQuoted: whatever the text, the literal is valid JSON that reads back as
// the text (invalid UTF-8 replaced), and holds nothing markup could start with.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{"", "a\"b\\c", "<script>", "\x00\x1f\x7f", "é\u2028\u2029😀", "\xff\xfe"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		literal := appendQuoted(nil, text)
		var back string
		require.NoError(t, json.Unmarshal(literal, &back), "%q", literal)
		if utf8.ValidString(text) {
			require.Equal(t, text, back)
		}
		require.NotContains(t, string(literal), "<")
	})
}

// FuzzAmount: a literal is an amount exactly when the engine says so, and what
// is echoed is the literal.
func FuzzAmount(f *testing.F) {
	n := newTestNode(f)
	for _, seed := range []string{"0", "-0", "1e12", "1e999999999", "0.0000001", "100.50", "9007199254.740993", "1E2", "-1", `"5"`, "null", "[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		n.t = t
		body := `{"token":"x","amount":` + literal + `}`
		w := n.do("screener", "POST", "/v1/screen", body)
		var g gate
		if g.check([]byte(body)) != nil {
			require.Equal(t, 400, w.Code)
			return
		}
		_, err := engine.ParseUSD(g.raw("amount"))
		if err != nil {
			require.Equal(t, 400, w.Code, "%s: %s", literal, w.Body)
			require.Contains(t, w.Body.String(), `"invalid_amount"`)
			return
		}
		if w.Code == 400 && strings.Contains(w.Body.String(), `"invalid_field"`) {
			return // The literal smuggled in another member.
		}
		require.Equal(t, 200, w.Code, "%s: %s", literal, w.Body)
		txn := member(t, w.Body.Bytes(), "txnId")
		record := n.do("auditor", "GET", "/v1/audit/"+txn, "")
		require.Equal(t, 200, record.Code)
		require.Equal(t, string(g.raw("amount")), member(t, record.Body.Bytes(), "_request.amount"))
	})
}

// FuzzScreenBody: no body breaks the service, and every answer is JSON.
func FuzzScreenBody(f *testing.F) {
	n := newTestNode(f)
	f.Add(`{"token":"x","amount":1,"cpName":"Usama","chain":"ETH","rail":"USDC","cpType":"individual"}`)
	f.Add(`{"token":{"a":1},"amount":1e-7,"cpWallet":"0x","userToken":"y"}`)
	f.Add(`{"token":"` + strings.Repeat("a", 9000) + `","amount":1}`)
	f.Fuzz(func(t *testing.T, body string) {
		n.t = t
		w := n.do("screener", "POST", "/v1/screen", body)
		require.Contains(t, []int{200, 400, 413}, w.Code, "%q: %s", body, w.Body)
		require.True(t, json.Valid(w.Body.Bytes()))
	})
}
