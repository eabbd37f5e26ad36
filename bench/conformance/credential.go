package conformance

import (
	"fmt"
	"regexp"
	"time"
)

var credentialChecks = []Check{
	{ID: "T020", Title: "agentId begins with agt_ and is unique", Source: Literal, run: checkAgentID},
	{ID: "T021", Title: "the token is a three-part JWS, alg ES256, kid in the JWKS", Source: Literal, run: checkTokenHeader},
	{ID: "T022", Title: "the signature is raw R||S and verifies with a stock library and the JWKS alone", Source: Literal, run: checkSignature},
	{ID: "T023", Title: "the JWKS key has exactly the published form, 32-byte coordinates, no private part", Source: Literal, run: checkJWK},
	{ID: "T024", Title: "the JWKS is identical on every node, and tokens verify across nodes", Source: Implied, Needs: NeedTwoNodes, run: checkJWKSNodes},
	{ID: "T024/restart", Title: "tokens verify and screen after a restart", Source: Implied, Needs: NeedRestart, run: checkJWKSRestart},
	{ID: "T028", Title: "expirationDate is 91 days after issuance and equals the JWT's exp", Source: Literal, run: checkExpiration},
	{ID: "T030", Title: "the spend policy is echoed value by value, nothing invented", Source: Literal, run: checkPolicyEcho},
	{ID: "T032", Title: "vc inside the JWT equals the returned credential", Source: Implied, run: checkVC},
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

func contains(items []any, want any) bool {
	for _, item := range items {
		if item == want {
			return true
		}
	}
	return false
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
		if what == "no member" { // No policy was sent, so an empty one and none are both right.
			got, there := g.answer.at("credential.credentialSubject.spendPolicy")
			p.expect(!there || got == nil || sameTree(got, want), "an empty policy came back as %s", show(got))
			continue
		}
		p.same(g.answer, "credential.credentialSubject.spendPolicy", want)
		inToken, _ := at(p.token(g.token).claims, "vc.credentialSubject.spendPolicy")
		p.expect(sameTree(inToken, want), "%s: the token's policy is %s, want %s", what, show(inToken), text)
	}
}

func checkVC(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars("10.5"), "allowedChains": list{"BASE"}}))
	inToken, there := p.token(g.token).claims["vc"]
	p.must(there, "the token has no vc claim")
	returned := p.field(g.answer, "credential")
	p.expect(kind(returned) == "object" && sameTree(inToken, returned), "vc %s differs from credential %s", show(inToken), show(returned))
}

func checkIssuanceScreening(p *probe) {
	for what, alter := range map[string]change{
		"wallet": p.walletOf(p.listedWallet()),
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
