package conformance

import (
	"strings"
)

var errorChecks = []Check{
	{ID: "T008", Title: "malformed JSON to screen gives 400 invalid_json", Source: Literal, run: checkMalformed},
	{ID: "T017", Title: "hostile input never gives a 500, a stack or a dead node", Source: Literal, run: checkHostile},
}

// malformedBodies are not JSON objects, each in its own way.
var malformedBodies = map[string]string{
	"empty":               "",
	"blank":               " \n",
	"truncated object":    `{"token":"x","amount":1`,
	"truncated string":    `{"token":"x`,
	"trailing garbage":    `{"token":"x","amount":1} true`,
	"second object":       `{"token":"x","amount":1}{}`,
	"trailing comma":      `{"token":"x","amount":1,}`,
	"single quotes":       `{'token':'x','amount':1}`,
	"bare names":          `{token:"x",amount:1}`,
	"comment":             `{"token":"x",/* c */"amount":1}`,
	"array":               `[{"token":"x","amount":1}]`,
	"string":              `"token"`,
	"null":                `null`,
	"number":              `5`,
	"true":                `true`,
	"NaN":                 `{"token":"x","amount":NaN}`,
	"Infinity":            `{"token":"x","amount":Infinity}`,
	"leading zero":        `{"token":"x","amount":01}`,
	"plus sign":           `{"token":"x","amount":+1}`,
	"hex":                 `{"token":"x","amount":0x10}`,
	"point without digit": `{"token":"x","amount":1.}`,
	"raw control char":    "{\"token\":\"a\nb\",\"amount\":1}",
	"bad escape":          `{"token":"\x41","amount":1}`,
	"invalid UTF-8":       "{\"token\":\"\xff\xfe\",\"amount\":1}",
	"overlong UTF-8":      "{\"token\":\"\xc0\xaf\",\"amount\":1}",
	"not JSON":            `token=x&amount=1`,
	"XML":                 `<token>x</token>`,
}

func checkMalformed(p *probe) {
	for what, body := range malformedBodies {
		a := p.post("/v1/screen", []byte(body))
		p.expect(a.status == 400 && a.code() == "invalid_json", "%s: got %d %q, want 400 invalid_json", what, a.status, a.code())
	}
}

// hostilePaths are ids that no server should trip over.
var hostilePaths = []string{
	"/v1/audit/txn_%00%00%00%00%00%00%00%00", "/v1/audit/txn_%ff%fe%fd%fc%fb%fa%f9%f8", "/v1/audit/..%2f..%2fetc",
	"/v1/audit/txn_zzzzzzzz", "/v1/audit/txn_99999999", "/v1/audit/%2e%2e", "/v1/audit/" + "txn_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"/v1/agents/agt_%00", "/v1/agents/agt_zzzzzzzzzzzz", "/v1/fleets/flt_zzzzzzzz", "/v1/users/usr_%f0%9f%92%a9",
	"/v1/audit?from=x&to=%00&limit=-1&cursor=%ff", "/v1/queue?limit=99999999999999999999&cursor=a",
}

func checkHostile(p *probe) {
	bodies := []string{
		`{"token":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `,"amount":1}`,
		`{"token":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat("}", 5000) + `,"amount":1}`,
		`{"token":"x","amount":1e999999999}`,
		`{"token":"x","amount":` + strings.Repeat("9", 5000) + `}`,
		`{"token":"x","amount":0.` + strings.Repeat("0", 5000) + `1}`,
		`{"token":"` + strings.Repeat(".", 5000) + `","amount":1}`,
		`{"token":"\u0000","amount":1,"cpName":"\u0000\u202e","cpWallet":"\u0000"}`,
		`{"token":"x","amount":1,"chain":{"a":1},"rail":[1],"cpName":7,"cpWallet":true}`,
		`{"token":"x","amount":1,"cpName":"` + strings.Repeat("é", 3000) + `"}`,
	}
	for _, path := range []string{"/v1/screen", "/v1/agents/register", "/v1/fleets/create", "/v1/delegates/create", "/v1/users/register", "/v1/reviews/txn_00000000"} {
		for _, body := range bodies {
			a := p.post(path, literal(body))
			p.expect(a.status < 500, "POST %s %s: status %d", path, cut(body, 60), a.status)
			p.expect(!stackShape.Match(a.raw), "POST %s %s leaks a stack", path, cut(body, 60))
		}
	}
	for _, path := range hostilePaths {
		a := p.get(path)
		p.expect(a.status < 500, "GET %s: status %d", path, a.status)
	}
	p.str(p.status(p.get("/v1/health"), 200), "status")
}
