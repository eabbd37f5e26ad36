package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var credentialChecks = []Check{
	{ID: "T020", Title: "agentId begins with agt_ and is unique", Source: Literal, run: checkAgentID},
	{ID: "T021", Title: "the token is a three-part JWS, alg ES256, kid in the JWKS", Source: Literal, run: checkTokenHeader},
	{ID: "T022", Title: "the signature is raw R||S and verifies with a stock library and the JWKS alone", Source: Literal, run: checkSignature},
	{ID: "T023", Title: "the JWKS key has exactly the published form, 32-byte coordinates, no private part", Source: Literal, run: checkJWK},
	{ID: "T024", Title: "the JWKS is identical on every node, and tokens verify across nodes", Source: Implied, Needs: NeedTwoNodes, run: checkJWKSNodes},
	{ID: "T024/restart", Title: "tokens verify and screen after a restart", Source: Implied, Needs: NeedRestart, run: checkJWKSRestart},
	{ID: "T025", Title: "@context is two URLs, the first the W3C credentials v1 context", Source: Literal, run: checkContext},
	{ID: "T026", Title: "type holds VerifiableCredential and KYAAgentCredential", Source: Literal, run: checkType},
	{ID: "T027", Title: "issuer is did:kya:<name>", Source: Literal, run: checkIssuer},
	{ID: "T028", Title: "expirationDate is 91 days after issuance and equals the JWT's exp", Source: Literal, run: checkExpiration},
	{ID: "T029", Title: "the subject echoes names and type unchanged", Source: Literal, run: checkEcho},
	{ID: "T030", Title: "the spend policy is echoed value by value, nothing invented", Source: Literal, run: checkPolicyEcho},
	{ID: "T030/us", Title: "the numbers of the spend policy are echoed as the literals sent", Source: Ruling, run: checkPolicyLiterals},
	{ID: "T031", Title: "the compliance attestation is CLEAR, ACTIVE and dated", Source: Literal, run: checkCompliance},
	{ID: "T032", Title: "vc inside the JWT equals the returned credential", Source: Implied, run: checkVC},
	{ID: "T033", Title: "each required registration field is required", Source: Literal, run: checkRequired},
	{ID: "T034", Title: "an agentType outside the two is refused", Source: Literal, run: checkAgentType},
	{ID: "T035", Title: "the optional registration fields may be absent or present", Source: Literal, run: checkOptional},
	{ID: "T036", Title: "values outside the policy's enumerations are refused", Source: Literal, run: checkPolicyEnums},
	{ID: "T037", Title: "negative and non-numeric limits are refused; a limit of 0 is legal", Source: Implied, run: checkPolicyNumbers},
	{ID: "T038", Title: "operator wallet and legal name are screened at registration", Source: Literal, run: checkIssuanceScreening},
}

var agentIDShape = regexp.MustCompile(`^agt_.+`)

func checkAgentID(p *probe) {
	seen := map[string]bool{}
	for range 20 {
		g := p.register()
		p.expect(agentIDShape.MatchString(g.id), "agentId is %q", g.id)
		p.expect(!seen[g.id], "agentId %q came twice", g.id)
		seen[g.id] = true
	}
}

func checkTokenHeader(p *probe) {
	parts := p.token(p.register().token)
	p.expect(parts.header["alg"] == "ES256", "alg is %v", parts.header["alg"])
	kid, _ := parts.header["kid"].(string)
	p.must(kid != "", "no kid in the header")
	p.expect(len(p.jwks(0).Key(kid)) == 1, "the JWKS has no single key %q", kid)
}

func checkSignature(p *probe) {
	keys := p.jwks(0)
	for range 8 {
		token := p.register().token
		parts := p.token(token)
		p.expect(len(parts.signature) == 64, "the signature has %d bytes, want 64 (raw R||S)", len(parts.signature))
		_, err := stockVerify(token, keys)
		p.expect(err == nil, "a stock library refuses the token: %v", err)
		_, err = stockVerify(parts.withSignature(flipped(parts.signature)), keys)
		p.expect(err != nil, "BUG: the stock library accepts a flipped signature")
	}
}

func checkJWK(p *probe) {
	a := p.status(p.get("/v1/.well-known/jwks.json", anonymous), 200)
	keys := p.array(a, "keys")
	p.must(len(keys) > 0, "no key in the set")
	for i := range keys {
		base := fmt.Sprintf("keys.%d.", i)
		p.same(a, base+"kty", "EC")
		p.same(a, base+"crv", "P-256")
		p.same(a, base+"use", "sig")
		p.same(a, base+"alg", "ES256")
		p.str(a, base+"kid")
		for _, coordinate := range []string{"x", "y"} {
			text := p.str(a, base+coordinate)
			raw, err := strictBase64(text)
			p.expect(err == nil && len(raw) == 32, "%s of key %d: %d bytes, error %v; want 32 bytes of unpadded base64url", coordinate, i, len(raw), err)
		}
		p.absent(a, base+"d")
	}
	_, err := parseJWKS(a.raw)
	p.expect(err == nil, "a stock library refuses the set: %v", err)
}

func checkJWKSNodes(p *probe) {
	first := p.status(p.get("/v1/.well-known/jwks.json", anonymous), 200)
	p.array(first, "keys")
	for i := range p.cfg.BaseURLs {
		other := p.status(p.get("/v1/.well-known/jwks.json", anonymous, node(i)), 200)
		p.expect(string(other.raw) == string(first.raw), "the JWKS of node %d differs from that of node 0", i)
		minted := p.registered(p.post("/v1/agents/register", p.registration(), node(i)))
		for j := range p.cfg.BaseURLs {
			_, err := stockVerify(minted.token, p.jwks(j))
			p.expect(err == nil, "a token of node %d does not verify with the JWKS of node %d: %v", i, j, err)
			p.proceeds(p.screenBody(minted.payment("1"), node(j)))
		}
	}
}

func checkJWKSRestart(p *probe) {
	before := p.status(p.get("/v1/.well-known/jwks.json", anonymous), 200)
	g := p.register()
	made := p.screen(g, "1")
	if err := p.cfg.Restart(p.ctx); err != nil {
		p.stop("restart of the target: %v", err)
	}
	after := p.status(p.get("/v1/.well-known/jwks.json", anonymous), 200)
	p.expect(string(before.raw) == string(after.raw), "the JWKS changed over a restart")
	_, err := stockVerify(g.token, p.jwks(0))
	p.expect(err == nil, "a token of before the restart does not verify: %v", err)
	p.proceeds(p.screen(g, "1"))
	p.same(p.success(p.get("/v1/audit/"+made.text("txnId"))), "verdict", "PROCEED")
}

func checkContext(p *probe) {
	g := p.register()
	context := p.array(g.answer, "credential.@context")
	p.must(len(context) == 2, "@context has %d members, want 2", len(context))
	p.expect(context[0] == "https://www.w3.org/2018/credentials/v1", "the first context is %v", context[0])
	second, _ := context[1].(string)
	p.expect(strings.HasPrefix(second, "http://") || strings.HasPrefix(second, "https://"), "the second context is %q, want a URL", second)
}

func checkType(p *probe) {
	types := p.array(p.register().answer, "credential.type")
	for _, want := range []string{"VerifiableCredential", "KYAAgentCredential"} {
		p.expect(contains(types, want), "type %s lacks %s", show(types), want)
	}
}

func contains(items []any, want any) bool {
	for _, item := range items {
		if item == want {
			return true
		}
	}
	return false
}

func checkIssuer(p *probe) {
	g := p.register()
	issuer := p.str(g.answer, "credential.issuer")
	p.expect(regexp.MustCompile(`^did:kya:.+`).MatchString(issuer), "issuer is %q", issuer)
}

const agentValidity = 91 * 24 * time.Hour

func checkExpiration(p *probe) {
	g := p.register()
	claims := p.token(g.token).claims
	expires := p.utc(g.answer, "credential.expirationDate")
	exp, iat := p.instant(claims, "exp"), issuedAt(p, g.answer, claims)
	p.expect(exp.Equal(expires.Truncate(time.Second)), "exp %v differs from expirationDate %v", exp, expires)
	gap := expires.Sub(iat) - agentValidity
	p.expect(gap.Abs() <= time.Second, "the credential lasts %v, want 91 days within 1 s", expires.Sub(iat))
}

// issuedAt is the issuance of a credential: its issuanceDate, else the JWT's iat or nbf.
func issuedAt(p *probe, a *answer, claims map[string]any) time.Time {
	if a.text("credential.issuanceDate") != "" {
		return p.utc(a, "credential.issuanceDate")
	}
	if _, there := claims["iat"]; there {
		return p.instant(claims, "iat")
	}
	return p.instant(claims, "nbf")
}

func checkEcho(p *probe) {
	for _, name := range []string{"  Ünïcode “Agent” №7  x", "lower UPPER MiXeD", "日本語エージェント", `quote " slash \ / tab`} {
		operator := cleanOperator + "  " + strings.TrimSpace(name)
		body := p.registration(with("agentName", name), with("operatorLegalName", operator), autonomous)
		g := p.registered(p.post("/v1/agents/register", body))
		p.same(g.answer, "credential.credentialSubject.agentName", name)
		p.same(g.answer, "credential.credentialSubject.operatorLegalName", operator)
		p.same(g.answer, "credential.credentialSubject.agentType", "autonomous")
		p.same(g.answer, "credential.credentialSubject.agentId", g.id)
	}
}

// oddPolicies are policies whose echo a careless implementation rounds, sorts or completes.
var oddPolicies = map[string]string{
	"all members": `{"maxSingleTxUSDC":1000.50,"dailyLimitUSDC":9007199254.740993,"allowedChains":["SOL","ETH","BASE"],` +
		`"allowedRails":["USDC","ACH"],"counterpartyScreening":"OFAC+CONS","noMixerProtocols":true}`,
	"one limit":     `{"dailyLimitUSDC":0.3}`,
	"zero limits":   `{"maxSingleTxUSDC":0,"dailyLimitUSDC":0.000001}`,
	"empty list":    `{"allowedChains":[]}`,
	"switch off":    `{"noMixerProtocols":false,"counterpartyScreening":"OFAC"}`,
	"list not ABC":  `{"allowedChains":["WIRE","ACH","SWIFT"]}`,
	"no member":     `{}`,
	"whole dollars": `{"maxSingleTxUSDC":5000,"dailyLimitUSDC":50000}`,
}

func checkPolicyEcho(p *probe) {
	for what, text := range oddPolicies {
		want, err := decodeTree([]byte(text))
		p.must(err == nil, "BUG: policy %s: %v", what, err)
		g := p.register(policy(want.(map[string]any)))
		if what == "no member" { // Nothing was asked, so either an empty policy or none is an honest echo.
			got, there := g.answer.at("credential.credentialSubject.spendPolicy")
			p.expect(!there || got == nil || sameTree(got, want), "an empty policy came back as %s", show(got))
			continue
		}
		p.same(g.answer, "credential.credentialSubject.spendPolicy", want)
		inToken, _ := at(p.token(g.token).claims, "vc.credentialSubject.spendPolicy")
		p.expect(sameTree(inToken, want), "%s: the token's policy is %s, want %s", what, show(inToken), text)
	}
}

func checkPolicyLiterals(p *probe) {
	text := `{"maxSingleTxUSDC":1000.50,"dailyLimitUSDC":20000.000}`
	tree, _ := decodeTree([]byte(text))
	g := p.register(policy(tree.(map[string]any)))
	for member, want := range map[string]string{"maxSingleTxUSDC": "1000.50", "dailyLimitUSDC": "20000.000"} {
		got := p.num(g.answer, "credential.credentialSubject.spendPolicy."+member)
		p.expect(got == want, "%s is the literal %s, want %s", member, got, want)
	}
}

func checkCompliance(p *probe) {
	g := p.register(with("operatorWallet", cleanWallet()))
	base := "credential.credentialSubject.complianceAttestation."
	p.same(g.answer, base+"ofacAtIssuance", "CLEAR")
	p.same(g.answer, base+"credentialStatus", "ACTIVE")
	p.utc(g.answer, base+"screenedAt")
}

func checkVC(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars("10.5"), "allowedChains": list{"BASE"}}))
	inToken, there := p.token(g.token).claims["vc"]
	p.must(there, "the token has no vc claim")
	returned := p.field(g.answer, "credential")
	p.expect(kind(returned) == "object" && sameTree(inToken, returned), "vc %s differs from credential %s", show(inToken), show(returned))
}

func checkRequired(p *probe) {
	for _, name := range []string{"agentName", "agentType", "operatorLegalName", "purpose"} {
		p.refusedAnyhow(p.post("/v1/agents/register", p.registration(without(name))))
	}
	p.refusedAnyhow(p.post("/v1/agents/register", obj{}))
	p.register() // The same body with nothing left out is taken.
}

func checkAgentType(p *probe) {
	for _, value := range []any{"robot", "", "AUTONOMOUS ", "autonomous,supervised", 1, true, nil, list{"autonomous"}} {
		p.refusedAnyhow(p.post("/v1/agents/register", p.registration(with("agentType", value))))
	}
	for _, value := range []string{"autonomous", "supervised"} {
		p.register(with("agentType", value))
	}
}

func checkOptional(p *probe) {
	p.register()
	p.register(with("operatorWallet", cleanWallet()), with("operatorEIN", "12-3456789"), with("agentFramework", "none in particular"),
		with("underlyingModel", "model-a"), policy(obj{"allowedChains": list{"ETH"}, "allowedRails": list{"USDC"}}))
	p.register(with("metadata", obj{"a": 1}))
}

func checkPolicyEnums(p *probe) {
	wrong := []obj{
		{"allowedChains": list{"ETH", "DOGE"}}, {"allowedChains": list{""}}, {"allowedChains": "ETH"}, {"allowedChains": list{1}},
		{"allowedRails": list{"PAYPAL"}}, {"allowedRails": obj{"ACH": true}}, {"allowedRails": list{nil}},
		{"counterpartyScreening": "NONE"}, {"counterpartyScreening": "CONS"}, {"counterpartyScreening": true},
		{"noMixerProtocols": "yes"}, {"noMixerProtocols": 1},
	}
	for _, members := range wrong {
		a := p.post("/v1/agents/register", p.registration(policy(members)))
		if p.refusedAnyhow(a) && !p.cfg.OnlySpec {
			p.refused(a, 422, "invalid_field")
		}
	}
	p.register(policy(obj{
		"allowedChains":         list{"ETH", "BASE", "SOL", "ACH", "WIRE", "SWIFT"},
		"allowedRails":          list{"USDC", "ACH", "WIRE", "SWIFT", "IBAN"},
		"counterpartyScreening": "OFAC+CONS",
	}))
}

func checkPolicyNumbers(p *probe) {
	for _, member := range []string{"maxSingleTxUSDC", "dailyLimitUSDC"} {
		for _, value := range []any{dollars("-1"), dollars("-0.000001"), "100", true, list{1}, obj{}} {
			p.refusedAnyhow(p.post("/v1/agents/register", p.registration(policy(obj{member: value}))))
		}
		body := strings.Replace(string(mustJSON(p.registration(policy(obj{member: 7777777})))), "7777777", "NaN", 1)
		p.refusedAnyhow(p.post("/v1/agents/register", literal(body)))
		g := p.register(policy(obj{member: 0}))
		a := p.screen(g, "0.01")
		p.expect(a.text("verdict") == "REVIEW", "%s 0, amount 0.01: verdict %q, want REVIEW", member, a.text("verdict"))
		p.proceeds(p.screen(g, "0"))
	}
}

func checkIssuanceScreening(p *probe) {
	for what, alter := range map[string]change{
		"wallet": with("operatorWallet", p.listedWallet()),
		"name":   with("operatorLegalName", p.listedIndividual()),
	} {
		a := p.post("/v1/agents/register", p.registration(alter))
		if a.status >= 400 && a.status < 500 && !p.cfg.Strict {
			p.demands++ // Refusing is one of the two behaviours that the specification leaves open.
			continue
		}
		p.success(a)
		got := p.str(a, "credential.credentialSubject.complianceAttestation.ofacAtIssuance")
		p.expect(got != "CLEAR", "listed operator %s: ofacAtIssuance is CLEAR", what)
	}
}
