package conformance

import (
	"net/http"
	"strings"
)

// endpoint is one of the ten paths of the specification. The sample is a path of its
// shape; ids in it name nothing.
type endpoint struct {
	method, sample string
	public         bool
}

var specifiedEndpoints = []endpoint{
	{http.MethodPost, "/v1/agents/register", false},
	{http.MethodPost, "/v1/screen", false},
	{http.MethodPost, "/v1/fleets/create", false},
	{http.MethodPost, "/v1/delegates/create", false},
	{http.MethodPost, "/v1/users/register", false},
	{http.MethodPost, "/v1/agents/agt_unknown0000/attest", false},
	{http.MethodPost, "/v1/reviews/txn_00000000", false},
	{http.MethodGet, "/v1/audit/txn_00000000", false},
	{http.MethodGet, "/v1/health", true},
	{http.MethodGet, "/v1/.well-known/jwks.json", true},
}

var transportChecks = []Check{
	{ID: "T001", Title: "no Authorization on a protected endpoint gives 401 unauthorized", Source: Literal, run: checkNoKey},
	{ID: "T002", Title: "an unknown or garbled key gives 401, never 403", Source: Literal, run: checkWrongKey},
	{ID: "T006", Title: "a wrong method on each of the ten paths gives 405 method_not_allowed", Source: Literal, run: checkMethods},
	{ID: "T007", Title: "a wrong method on a public path without key gives 405 with Allow", Source: Implied, run: checkPublicMethods},
	{ID: "T012", Title: "unknown path 404 not_found; oversized body 413 payload_too_large, compressed body 415 unsupported_encoding", Source: Ruling, run: checkUnknownAndLarge},
}

func checkNoKey(p *probe) {
	for _, e := range specifiedEndpoints {
		if e.public {
			continue
		}
		p.refused(p.call(e.method, e.sample, obj{}, anonymous), 401, "unauthorized")
	}
	p.expect(p.last.header.Get("WWW-Authenticate") != "" || p.cfg.OnlySpec, "401 without WWW-Authenticate")
}

func checkWrongKey(p *probe) {
	key := p.cfg.APIKey
	other := []byte(key)
	other[len(other)-1] ^= 1
	garbled := map[string]string{
		"unknown key":       "Bearer rg_live_0000000000000000000000000000",
		"last digit wrong":  "Bearer " + string(other),
		"one digit more":    "Bearer " + key + "x",
		"one digit less":    "Bearer " + key[:len(key)-1],
		"wrong case":        "Bearer " + swapCase(key),
		"no key":            "Bearer",
		"blank key":         "Bearer  ",
		"two words":         "Bearer " + key + " " + key,
		"comma list":        "Bearer " + key + ",x",
		"quoted":            `Bearer "` + key + `"`,
		"very long":         "Bearer " + strings.Repeat("a", 4000),
		"bytes above ASCII": "Bearer \xc3\xa9\xff",
		"empty":             "",
	}
	for what, value := range garbled {
		a := p.post("/v1/screen", obj{"token": "x", "amount": 1}, authorization(value))
		p.expect(a.status == 401 && a.code() == "unauthorized", "%s: got %d %q, want 401 unauthorized", what, a.status, a.code())
	}
}

func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, text)
}

// Methods of the 405 matrix. HEAD and OPTIONS are left to X-HTTP-5: many servers
// answer HEAD wherever they answer GET.
var matrixMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func checkMethods(p *probe) {
	for _, e := range specifiedEndpoints {
		for _, method := range matrixMethods {
			if method != e.method {
				p.refused(p.call(method, e.sample, nil), 405, "method_not_allowed")
			}
		}
	}
}

func checkPublicMethods(p *probe) {
	for _, e := range specifiedEndpoints {
		if !e.public {
			continue
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			a := p.call(method, e.sample, nil, anonymous)
			p.refused(a, 405, "method_not_allowed")
			p.expect(strings.Contains(a.header.Get("Allow"), "GET"), "%s %s: Allow is %q, want GET in it", method, e.sample, a.header.Get("Allow"))
		}
	}
	a := p.call("PUT", "/v1/screen", nil)
	p.expect(strings.Contains(a.header.Get("Allow"), "POST"), "PUT /v1/screen: Allow is %q, want POST in it", a.header.Get("Allow"))
}

func checkUnknownAndLarge(p *probe) {
	for _, path := range []string{"/v1/nothing", "/v1", "/v1/", "/v2/screen", "/v1/agents/agt_x/nothing", "/v1/screen/x/y"} {
		a := p.post(path, obj{})
		p.refused(a, 404, "not_found")
		p.expect(a.jsonErr == nil && len(a.raw) > 0, "%s: the body must be JSON and not empty", path)
	}
	filler := strings.Repeat("a", 300<<10)
	p.refused(p.post("/v1/screen", obj{"token": filler, "amount": 1}), 413, "payload_too_large")
	p.refused(p.post("/v1/agents/register", obj{"agentName": filler}), 413, "payload_too_large")
	p.refused(p.post("/v1/screen", obj{"token": filler[:66<<10], "amount": 1}), 413, "payload_too_large")
	p.refused(p.post("/v1/screen", obj{"token": "t", "amount": 1}, header("Content-Encoding", "gzip")), 415, "unsupported_encoding")
	a := p.post("/v1/screen", obj{"token": filler[:60<<10], "amount": 1})
	p.expect(a.status == 200, "a screening body of 60 KiB: status %d, want 200", a.status)
	a = p.post("/v1/agents/register", obj{"agentName": filler[:200<<10]})
	p.expect(a.status == 422, "a registration body of 200 KiB with too long a name: status %d, want 422", a.status)
}
