package conformance

import (
	"fmt"
	"sort"
	"strings"
)

var jsonChecks = []Check{
	{ID: "X-JSON-1", Title: "bodies that are not strict JSON are 400 invalid_json", Source: Ruling, run: checkMustRefuse},
	{ID: "X-JSON-2", Title: "odd but valid JSON is taken", Source: Implied, run: checkMustAccept},
	{ID: "X-JSON-3", Title: "depth 32, 256 values in a screening body and 1,024 members pass, more is 400 invalid_json", Source: Ruling, run: checkJSONBounds},
	{ID: "X-JSON-5", Title: "all write endpoints are as strict as screen", Source: Ruling, run: checkStrictEverywhere},
	{ID: "X-JSON-7", Title: "text is echoed as sent: Unicode, controls, surrogate pairs", Source: Implied, run: checkTextEcho},
}

// badValues are texts that no JSON parser may take as a value. Each is tried as the value of a
// member that nobody reads, so that only the parser can refuse it.
var badValues = map[string]string{
	"nothing": ``, "comma": `,`, "colon": `:`, "two values": `1 2`, "bare word": `yes`, "True": `True`, "nul": `nul`, "undefined": `undefined`,
	"minus": `-`, "minus blank": `- 1`, "plus": `+1`, "double minus": `--1`, "leading zero": `012`, "minus leading zero": `-012`,
	"point first": `.5`, "point last": `5.`, "point exponent": `1.e1`, "exponent empty": `1e`, "exponent sign": `1e+`, "exponent point": `1e1.5`,
	"hex": `0x1`, "octal": `0o7`, "underscore": `1_000`, "thousands": `1,000`, "infinity": `Infinity`, "minus infinity": `-Infinity`, "NaN": `NaN`,
	"full-width digit": "\uff11", "suffix": `1f`, "bigint": `1n`,
	"single quoted": `'x'`, "open string": `"x`, "raw newline": "\"a\nb\"", "raw tab": "\"a\tb\"", "raw NUL": "\"a\x00b\"", "raw DEL before quote missing": "\"a\x7f",
	"escape x": `"\x41"`, "escape quote": `"\'"`, "escape a": `"\a"`, "escape 0": `"\0"`, "escape short": `"\u12"`, "escape not hex": `"\u12G4"`,
	"escape capital U": `"\U0041"`, "escape newline": "\"\\\n\"", "escape at the end": `"\`,
	"lone high surrogate": `"\ud800"`, "lone low surrogate": `"\udc00"`, "surrogates reversed": `"\udc00\ud800"`, "half a pair": `"\ud800x"`,
	"invalid UTF-8": "\"\xff\"", "overlong": "\"\xc0\x80\"", "surrogate in UTF-8": "\"\xed\xa0\x80\"", "above Unicode": "\"\xf4\x90\x80\x80\"", "cut sequence": "\"\xe2\x82\"",
	"UTF-8 outside a string": "\u00e9", "form feed": "\f1", "vertical tab": "\v1", "no-break space": "\u00a01", "BOM inside": "\ufeff1",
	"open array": `[1`, "array comma": `[1,]`, "array double comma": `[1,,2]`, "array first comma": `[,1]`, "array no comma": `[1 2]`, "array colon": `[1:2]`, "array star": `[*]`, "array closed twice": `[1]]`, "array closed wrong": `[1}`,
	"open object": `{"a":1`, "object comma": `{"a":1,}`, "object no colon": `{"a" 1}`, "object equals": `{"a"=1}`, "object bare name": `{a:1}`, "object number name": `{1:1}`, "object no value": `{"a":}`, "object double colon": `{"a"::1}`, "object single quote": `{'a':1}`, "object of values": `{"a"}`, "object two commas": `{"a":1,,"b":2}`, "object null name": `{null:1}`,
	"line comment": "1 // x\n", "block comment": `1 /* x */`, "hash comment": "1 # x\n", "semicolon": `1;`,
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func checkMustRefuse(p *probe) {
	g := p.register()
	for _, what := range sortedKeys(badValues) {
		body := fmt.Sprintf(`{"token":%q,"amount":1,"extra":%s}`, g.token, badValues[what])
		a := p.post("/v1/screen", []byte(body))
		p.expect(a.status == 400 && a.code() == "invalid_json", "%s: got %d %q %s, want 400 invalid_json", what, a.status, a.code(), a.text("verdict"))
	}
	whole := fmt.Sprintf(`{"token":%q,"amount":1}`, g.token)
	around := map[string]string{
		"BOM in front": "\ufeff" + whole, "NUL behind": whole + "\x00", "brace behind": whole + "}", "comma behind": whole + ",",
		"letter behind": whole + "x", "comment behind": whole + "//", "no-break space behind": whole + "\u00a0", "form feed in front": "\f" + whole,
		"UTF-16": utf16(whole), "in an array": "[" + whole + "]", "as a string": fmt.Sprintf("%q", whole), "twice": whole + whole, "two lines": whole + "\n" + whole,
		"half": whole[:len(whole)/2], "no braces": strings.Trim(whole, "{}"),
	}
	for _, what := range sortedKeys(around) {
		a := p.post("/v1/screen", []byte(around[what]))
		p.expect(a.status == 400 && a.code() == "invalid_json", "%s: got %d %q %s, want 400 invalid_json", what, a.status, a.code(), a.text("verdict"))
	}
}

// utf16 encodes ASCII text as little-endian UTF-16 with a byte order mark.
func utf16(text string) string {
	out := []byte{0xff, 0xfe}
	for _, c := range []byte(text) {
		out = append(out, c, 0)
	}
	return string(out)
}

func checkMustAccept(p *probe) {
	g := p.register()
	good := map[string]string{
		"blanks everywhere": "\r\n\t { \"token\" : %q ,\n\"amount\"\t:\r1 } \n",
		"members reversed":  `{"amount":1,"token":%q}`,
		"unknown members":   `{"token":%q,"amount":1,"x":null,"y":[],"z":{"a":[{}]},"":0}`,
		"escaped name":      `{"\u0074oken":%q,"amoun\u0074":1}`,
		"escaped solidus":   `{"token":%q,"amount":1,"x":"\/\b\f\n\r\t\"\\"}`,
		"surrogate pair":    `{"token":%q,"amount":1,"x":"\ud83d\ude00","y":"😀"}`,
		"noncharacters":     `{"token":%q,"amount":1,"x":"\uffff\ufdd0\u0000","y":"` + "\u2028\u2029\x7f" + `"}`,
		"numbers":           `{"token":%q,"amount":1,"x":[0,-0,1e5,1E-5,-1.5e+3,0.0,123456789012345678901234567890]}`,
		"literals":          `{"token":%q,"amount":1,"x":[true,false,null]}`,
		"long number":       `{"token":%q,"amount":1,"x":0.` + strings.Repeat("3", 2000) + `}`,
		"long string":       `{"token":%q,"amount":1,"x":"` + strings.Repeat("ü", 10000) + `"}`,
		"like-named":        `{"token":%q,"amount":1,"tokenOfThanks":"x","amountInWords":"many"}`,
	}
	for _, what := range sortedKeys(good) {
		a := p.post("/v1/screen", literal(fmt.Sprintf(good[what], g.token)))
		p.expect(a.status == 200 && a.text("verdict") == "PROCEED", "%s: got %d %q %s, want 200 PROCEED", what, a.status, a.code(), a.text("verdict"))
	}
}

func checkJSONBounds(p *probe) {
	g := p.register()
	nested := func(depth int) string { // The object of the body is the first level.
		return fmt.Sprintf(`{"token":%q,"amount":1,"x":%s%s}`, g.token, strings.Repeat("[", depth-1), strings.Repeat("]", depth-1))
	}
	a := p.post("/v1/screen", literal(nested(31)))
	p.expect(a.status == 200, "depth 31: status %d, want 200", a.status)
	a = p.post("/v1/screen", literal(nested(34)))
	p.expect(a.status == 400 && a.code() == "invalid_json", "depth 34: got %d %q, want 400 invalid_json", a.status, a.code())
	wide := func(members int) string { // token and amount are two of the members.
		var b strings.Builder
		for i := range members - 2 {
			fmt.Fprintf(&b, `,"m%d":0`, i)
		}
		return fmt.Sprintf(`{"token":%q,"amount":1%s}`, g.token, b.String())
	}
	a = p.post("/v1/screen", literal(wide(250)))
	p.expect(a.status == 200, "250 values: status %d, want 200", a.status)
	a = p.post("/v1/screen", literal(wide(260)))
	p.expect(a.status == 400 && a.code() == "invalid_json", "260 values: got %d %q, want 400 invalid_json", a.status, a.code())
	metadata := func(members int) literal {
		var b strings.Builder
		for i := range members {
			fmt.Fprintf(&b, `,"m%d":0`, i)
		}
		return literal(`{"x":{` + b.String()[1:] + `}}`)
	}
	p.refused(p.post("/v1/fleets/create", metadata(1026)), 400, "invalid_json")
	p.refused(p.post("/v1/fleets/create", metadata(1020)), 422, "unknown_field")
}

func checkStrictEverywhere(p *probe) {
	g := p.register(autonomous)
	_, txn := p.review()
	paths := []string{
		"/v1/agents/register", "/v1/fleets/create", "/v1/delegates/create", "/v1/users/register", "/v1/agents/" + g.id + "/attest", "/v1/reviews/" + txn,
		"/v1/agents/" + g.id + "/suspend", "/v1/agents/" + g.id + "/reissue", "/v1/agents/" + g.id + "/model",
	}
	for _, path := range paths {
		for _, body := range []string{``, `{`, `[]`, `null`, `"x"`, `{"a":1,}`, `{"a":1}{}`, `{"a":1,"a":1}`, "{\"a\":\"\xff\"}", `{"a":01}`} {
			if body == "" && strings.HasSuffix(path, "/reissue") {
				continue // All its members are optional, so an empty body may stand for an empty object.
			}
			p.refused(p.post(path, []byte(body)), 400, "invalid_json")
		}
	}
	p.same(p.success(p.get("/v1/agents/"+g.id)), "credentialStatus", "ACTIVE")
	p.disposition(txn, "APPROVED")
}

func checkTextEcho(p *probe) {
	g := p.register()
	for _, text := range []string{
		"Ångström & Søn <script>alert(1)</script>", "a\u0000b", "tab\tnew\nline\r", "\u202eright to left", "zero\u200bwidth", "😀 𝔸𝕔𝕞𝕖",
		"  outer blanks  ", "'; DROP TABLE agents; --", "=cmd|' /C calc'!A0", "%s%n%d ${jndi:ldap://x} {{7*7}}", "\u0085\u2028", "e\u0301 vs \u00e9",
	} {
		a := p.post("/v1/screen", g.payment("1", obj{"cpName": text}))
		if a.status == 400 { // Control characters may be refused, but not changed.
			p.expect(a.code() == "invalid_field", "cpName %q: code %q, want invalid_field", text, a.code())
			continue
		}
		p.same(p.record(p.str(p.status(a, 200), "txnId")), "_request.cpName", text)
	}
}
