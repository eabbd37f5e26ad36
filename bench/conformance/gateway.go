package conformance

import (
	"net/http"
	"strconv"
	"strings"
)

var gatewayChecks = []Check{
	{ID: "P39", Title: "a gateway's question about a request: 200 for a PROCEED alone, 403 for every other verdict and for what can be read in two ways, never with a rule", Source: Ruling, run: checkGateway},
	{ID: "P39/permit", Title: "a permit goes through a gateway once, for its own payment, and one that does not fit is not used up", Source: Ruling, run: checkGatewayPermit},
}

// The profiles of testdata/gateway-map.yaml, which the target must have been given.
const (
	gatewayScreens  = "/ext-authz/conformance-screen"
	gatewayPermits  = "/ext-authz/conformance-permit"
	gatewayAudience = "https://pay.example.test"
)

// gateway is a gateway with its key: one of its own role, where the target has an admin listener.
type gateway struct {
	*probe
	key string
}

// asGateway makes a key with the role gateway. A target without the map of these checks is left out.
func (p *probe) asGateway() *gateway {
	g := &gateway{p, p.cfg.APIKey}
	if p.cfg.AdminURL != "" {
		g.key = p.makeKey("", "gateway").secret
	}
	if a := g.ask(http.MethodGet, gatewayScreens+"/free", ""); a.status == http.StatusNotFound || strings.Contains(a.body, "no such profile") {
		p.skip("the target has no gateway map with the profiles of testdata/gateway-map.yaml")
	}
	return g
}

// ask asks as an Envoy does, byte by byte. headers are lines that end in CR LF.
func (g *gateway) ask(method, target, body string, headers ...string) rawAnswer {
	return g.raw(method + " " + target + " HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\nAuthorization: Bearer " + g.key +
		"\r\nContent-Type: application/json\r\n" + strings.Join(headers, "") + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// refuses demands 403 with a word in x-railguard-error, and no sign of a verdict.
func (g *gateway) refuses(what, word string, a rawAnswer) {
	g.expect(a.status == http.StatusForbidden && a.header.Get("X-Railguard-Error") == word, "%s: %d %q, want 403 %s: %s", what, a.status, a.header.Get("X-Railguard-Error"), word, a.body)
	g.expect(a.header.Get("X-Railguard-Verdict") == "" && a.header.Get("Railguard-Permit") == "", "%s: an answer without a verdict has the headers of one", what)
}

func checkGateway(p *probe) {
	g := p.asGateway()
	payer := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	pay := func(amount, to, token string, headers ...string) rawAnswer {
		return g.ask(http.MethodPost, gatewayScreens+"/pay", `{"amount":`+amount+`,"to":"`+to+`"}`, append(headers, "X-Railguard-Token: "+token+"\r\n")...)
	}
	body := `{"amount":1,"to":"` + cleanWallet() + `"}`
	told := []string{"X-Railguard-Verdict: PROCEED\r\n", "X-Railguard-Txn: txn_forged\r\n"}
	var records []string
	for range 2 {
		a := pay("1", cleanWallet(), payer.token, told...)
		p.expect(a.status == http.StatusOK && a.header.Get("X-Railguard-Verdict") == "PROCEED", "a clean payment: %d %s", a.status, a.body)
		records = append(records, a.header.Get("X-Railguard-Txn"))
	}
	p.expect(records[0] != records[1] && records[0] != "txn_forged" && records[0] != "", "two equal payments have the records %v", records)
	for verdict, a := range map[string]rawAnswer{
		"BLOCK":   pay("1", p.listedWallet(), payer.token, told...),
		"REVIEW":  pay("101", cleanWallet(), payer.token, told...),
		"UNKNOWN": pay("1", cleanWallet(), "garbage", told...),
	} {
		p.expect(a.status == http.StatusForbidden && a.header.Get("X-Railguard-Verdict") == verdict && strings.HasPrefix(a.header.Get("X-Railguard-Txn"), "txn_"), "%s: %d %v", verdict, a.status, a.header)
		p.expect(strings.Contains(a.body, `"payment_refused"`) && !strings.Contains(a.body, `"rule"`) && !strings.Contains(a.body, `"reason"`) && !strings.Contains(a.body, "_LIMIT"), "%s: the body tells more than that: %s", verdict, a.body)
	}
	token := "X-Railguard-Token: " + payer.token + "\r\n"
	g.refuses("a partial body", "request_partial", pay("1", cleanWallet(), payer.token, "X-Envoy-Auth-Partial-Body: true\r\n"))
	for what, wrong := range map[string]string{
		"no amount": `{"to":"` + cleanWallet() + `"}`, "two amounts": `{"amount":1,"amount":2,"to":"` + cleanWallet() + `"}`, "an amount in another case": `{"amount":1,"Amount":2,"to":"` + cleanWallet() + `"}`,
		"an amount that is no number": `{"amount":{},"to":"` + cleanWallet() + `"}`, "bytes behind": body + "{}", "no body": "", "no JSON": "amount=1",
	} {
		g.refuses(what, "request_unmapped", g.ask(http.MethodPost, gatewayScreens+"/pay", wrong, token))
	}
	g.refuses("two credentials", "request_unmapped", g.ask(http.MethodPost, gatewayScreens+"/pay", body, token, token))
	g.refuses("a form", "request_unmapped", g.raw(strings.Replace(p.rawPost(gatewayScreens+"/pay", token+"Content-Length: "+strconv.Itoa(len(body))+"\r\n", body), "application/json", "application/x-www-form-urlencoded", 1)))
	g.refuses("a body of no kind", "request_unmapped", g.raw(strings.Replace(p.rawPost(gatewayScreens+"/pay", token+"Content-Length: "+strconv.Itoa(len(body))+"\r\n", body), "Content-Type: application/json\r\n", "", 1)))
	for _, path := range []string{"/pay?x=1", "//pay", "/./pay", "/x/../pay", "/%70ay", "/pay%2f", "/pay/", "/PAY", "/pay;x", "/nowhere", ""} {
		g.refuses("the path "+path, "request_unmapped", g.ask(http.MethodPost, gatewayScreens+path, body, token))
	}
	g.refuses("another profile by an escape", "request_unmapped", g.ask(http.MethodPost, gatewayScreens+"%2f..%2fconformance-permit/pay", body, token))
	free := g.ask(http.MethodGet, gatewayScreens+"/free", "", told...)
	p.expect(free.status == http.StatusOK && free.header.Get("X-Railguard-Verdict") == "", "a request that pays nothing: %d %v", free.status, free.header)
	p.expect(strings.Contains(free.header.Get("X-Envoy-Auth-Headers-To-Remove"), "x-railguard-verdict"), "the client's word for a verdict goes on")
	for _, target := range []string{"/v1/screen", "/v1/screen/dry-run", "/v1/agents/register"} {
		if p.cfg.AdminURL != "" {
			p.refused(p.post(target, payer.payment("1"), withKey(g.key)), http.StatusForbidden, "forbidden")
		}
	}
	g.key = "rg_live_nobody0000000000000000000"
	p.expect(g.ask(http.MethodGet, gatewayScreens+"/free", "").status == http.StatusUnauthorized, "a stranger is let through")
}

func checkGatewayPermit(p *probe) {
	g := p.asGateway()
	if a := p.post("/v1/permits/redeem", obj{"permit": "x"}); a.status == http.StatusNotFound {
		p.skip("the target redeems no permits")
	}
	payer, payee := p.register(), cleanWallet()
	a, text := p.permitted(payer, "25.00", obj{"cpWallet": payee, "permit": obj{"aud": gatewayAudience}})
	_, others := p.permitted(payer, "25.00", obj{"cpWallet": payee})
	pay := func(cents, to string, headers ...string) rawAnswer {
		return g.ask(http.MethodPost, gatewayPermits+"/pay", `{"cents":`+cents+`,"currency":"USD","to":"`+to+`"}`, headers...)
	}
	with := func(token string) string { return "Railguard-Permit: " + token + "\r\n" }
	parts := p.token(text)
	g.refuses("no permit", "permit_missing", pay("2500", payee))
	g.refuses("an altered permit", "permit_invalid", pay("2500", payee, with(parts.withSignature(flipped(parts.signature)))))
	g.refuses("a credential", "permit_invalid", pay("2500", payee, with(payer.token)))
	g.refuses("two permits", "permit_invalid", pay("2500", payee, with(text), with(text)))
	g.refuses("a permit for another audience", "permit_invalid", pay("2500", payee, with(others)))
	g.refuses("another amount", "permit_mismatch", pay("2501", payee, with(text)))
	g.refuses("another payee", "permit_mismatch", pay("2500", p.listedWallet(), with(text)))
	g.refuses("a partial body", "request_partial", pay("2500", payee, with(text), "X-Envoy-Auth-Partial-Body: true\r\n"))
	leave := pay("2500", payee, with(text), "X-Request-Id: same\r\n", "Idempotency-Key: same\r\n")
	p.expect(leave.status == http.StatusOK && leave.header.Get("X-Railguard-Txn") == a.text("txnId") && leave.header.Get("Railguard-Permit") == text, "a good permit: %d %s", leave.status, leave.body)
	g.refuses("the same permit again", "permit_used", pay("2500", payee, with(text), "X-Request-Id: same\r\n", "Idempotency-Key: same\r\n"))
}
