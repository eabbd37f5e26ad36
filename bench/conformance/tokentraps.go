package conformance

import (
	"strings"
)

// tokenChecks present bad tokens that can be made without the target's signing key. Forged
// signatures are in T039.
var tokenChecks = []Check{
	{ID: "X-TOK-1", Title: "other spellings of the same signature bytes are UNKNOWN", Source: Ruling, run: checkTokenSpelling},
	{ID: "X-TOK-2", Title: "the high-s twin of a signature is the same credential", Source: Ruling, run: checkHighTwin},
	{ID: "X-TOK-3", Title: "tokens above 8 KiB and bombs inside a header are UNKNOWN", Source: Ruling, run: checkTokenBombs},
	{ID: "X-TOK-4", Title: "iss, sub, jti, nbf, exp agree with the credential", Source: Ruling, run: checkClaims},
	{ID: "X-TOK-5", Title: "the header is typ JWT and carries no key, URL or extension", Source: Ruling, run: checkPlainHeader},
	{ID: "X-TOK-7", Title: "a user's, a delegate's and an agent's token are not exchangeable", Source: Ruling, run: checkTokenTypes},
	{ID: "X-TOK-9", Title: "the status in the token is never believed", Source: Implied, run: checkTokenStatus},
}

func (p *probe) unknownToken(what string, token any) {
	a := p.screenBody(obj{"token": token, "amount": 1})
	p.expect(a.text("verdict") == "UNKNOWN" && a.text("rule") == "R1_NO_CREDENTIAL",
		"%s: got %s %s, want UNKNOWN R1_NO_CREDENTIAL", what, a.text("verdict"), a.text("rule"))
}

func checkTokenSpelling(p *probe) {
	g := p.register()
	parts := p.token(g.token)
	encoded := base64url(parts.signature)
	p.unknownToken("padding", g.token+"=")
	p.unknownToken("padding twice", g.token+"==")
	p.unknownToken("line end inside", parts.signingInput()+"."+encoded[:10]+"\n"+encoded[10:])
	p.unknownToken("CR LF inside", parts.signingInput()+"."+encoded[:10]+"\r\n"+encoded[10:])
	p.unknownToken("unused bits set", parts.signingInput()+"."+looseTail(encoded))
	p.unknownToken("line end in the header", parts.protected[:4]+"\n"+parts.protected[4:]+"."+parts.payload+"."+encoded)
	p.unknownToken("NUL at the end", g.token+"\x00")
	p.unknownToken("zero width space", g.token[:20]+"\u200b"+g.token[20:])
	for !strings.ContainsAny(encoded, "-_") { // Try until the text has a character that base64 and base64url spell differently.
		g = p.register()
		parts = p.token(g.token)
		encoded = base64url(parts.signature)
	}
	p.unknownToken("the other base64 alphabet", parts.signingInput()+"."+strings.NewReplacer("-", "+", "_", "/").Replace(encoded))
	p.proceeds(p.screen(g, "1"))
}

func checkHighTwin(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	parts := p.token(g.token)
	twin := agent{id: g.id, token: parts.withSignature(highTwin(parts.signature))}
	p.must(twin.token != g.token, "BUG: the twin is the same signature")
	_, err := stockVerify(twin.token, p.jwks(0))
	p.must(err == nil, "BUG: the twin does not verify: %v", err)
	p.proceeds(p.screen(g, "60"))
	p.verdict(p.screen(twin, "60"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(twin, "40"))
}

func checkTokenBombs(p *probe) {
	g := p.register()
	parts := p.token(g.token)
	p.unknownToken("9 KiB of token", g.token+strings.Repeat("A", 9<<10))
	p.unknownToken("8 KiB of dots", strings.Repeat(".", 8000))
	deep := base64url([]byte(`{"alg":"ES256","kid":"cc-v1","x":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`))
	p.unknownToken("a deep header", deep+"."+parts.payload+"."+base64url(parts.signature))
	wide := base64url([]byte(`{"alg":"ES256","kid":"` + strings.Repeat("k", 3000) + `"}`))
	p.unknownToken("a long kid", wide+"."+parts.payload+"."+base64url(parts.signature))
	p.unknownToken("header no object", base64url([]byte(`[1]`))+"."+parts.payload+"."+base64url(parts.signature))
	p.unknownToken("payload no object", parts.protected+"."+base64url([]byte(`"x"`))+"."+base64url(parts.signature))
	p.unknownToken("JSON serialisation", `{"payload":"`+parts.payload+`","protected":"`+parts.protected+`","signature":"`+base64url(parts.signature)+`"}`)
}

func checkClaims(p *probe) {
	g := p.register()
	claims := p.token(g.token).claims
	p.expect(claims["iss"] == g.answer.text("credential.issuer"), "iss is %v, issuer %q", claims["iss"], g.answer.text("credential.issuer"))
	p.expect(claims["sub"] == g.id, "sub is %v, want %s", claims["sub"], g.id)
	id := p.str(g.answer, "credential.id")
	p.expect(claims["jti"] == id, "jti is %v, want %s", claims["jti"], id)
	p.expect(strings.HasPrefix(id, "urn:uuid:"), "credential.id is %q, want urn:uuid:…", id)
	issued := p.utc(g.answer, "credential.issuanceDate")
	p.expect(p.instant(claims, "nbf").Unix() == issued.Unix(), "nbf differs from issuanceDate %v", issued)
	p.expect(p.instant(claims, "iat").Unix() == issued.Unix(), "iat differs from issuanceDate %v", issued)
	p.expect(p.instant(claims, "exp").Unix() == p.utc(g.answer, "credential.expirationDate").Unix(), "exp differs from expirationDate")
	_, presentation := claims["vp"]
	p.expect(!presentation, "the token carries a vp claim")
}

func checkPlainHeader(p *probe) {
	header := p.token(p.register().token).header
	p.expect(header["typ"] == "JWT", "typ is %v, want JWT", header["typ"])
	for _, name := range []string{"jwk", "jku", "x5u", "x5c", "x5t", "crit", "b64", "zip", "cty"} {
		_, there := header[name]
		p.expect(!there, "the header carries %s", name)
	}
}

func checkTokenTypes(p *probe) {
	g := p.register()
	user := p.success(p.post("/v1/users/register", obj{"legalName": "Marigold Testperson Quill"}))
	a := p.screenBody(obj{"token": p.str(user, "token"), "amount": 1})
	p.verdict(a, "BLOCK", "R23_CREDENTIAL_CONTEXT")
	a = p.screenBody(g.payment("1", obj{"userToken": g.token}))
	p.expect(a.text("verdict") != "PROCEED", "an agent's token as userToken: PROCEED")
	child := p.delegate(g)
	a = p.screenBody(g.payment("1", obj{"userToken": child.token}))
	p.expect(a.text("verdict") != "PROCEED", "a delegate's token as userToken: PROCEED")
	p.unknownToken("the credential as text", string(mustJSON(g.answer.tree)))
}

func checkTokenStatus(p *probe) {
	g := p.register()
	p.setStatus("agents", g.id, "suspend")
	status, _ := at(p.token(g.token).claims, "vc.credentialSubject.complianceAttestation.credentialStatus")
	p.expect(status == "ACTIVE", "the token was issued %v", status)
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
}
