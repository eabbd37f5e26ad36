package conformance

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"sort"
	"strings"
)

var forgeryChecks = []Check{
	{ID: "T039", Title: "forged tokens never PROCEED", Source: Implied, run: func(p *probe) { checkForged(p, false) }},
	{ID: "T039/us", Title: "forged tokens are UNKNOWN R1", Source: Ruling, run: func(p *probe) { checkForged(p, true) }},
}

// forgeries makes hostile tokens out of a good one, by name.
func (p *probe) forgeries(g, other agent) map[string]string {
	good, foreign := p.token(g.token), p.token(other.token)
	kid, _ := good.header["kid"].(string)
	forged, err := newForger()
	p.must(err == nil, "BUG: key generation: %v", err)
	sign := func(header, payload string) string {
		token, err := forged.sign(header, payload)
		p.must(err == nil, "BUG: signing: %v", err)
		return token
	}
	header := func(alg string) string { return fmt.Sprintf(`{"alg":%q,"typ":"JWT","kid":%q}`, alg, kid) }
	unsigned := func(alg string) string { return base64url([]byte(header(alg))) + "." + good.payload + "." }
	out := map[string]string{
		"alg none, no signature":          unsigned("none"),
		"alg None, no signature":          unsigned("None"),
		"alg NONE, old signature":         unsigned("NONE") + base64url(good.signature),
		"alg ES256, no signature":         unsigned("ES256"),
		"alg es256":                       unsigned("es256") + base64url(good.signature),
		"signed by a stranger, our kid":   sign(header("ES256"), good.payload),
		"signed by a stranger, no kid":    sign(`{"alg":"ES256","typ":"JWT"}`, good.payload),
		"signed by a stranger, other kid": sign(`{"alg":"ES256","typ":"JWT","kid":"cc-v999"}`, good.payload),
		"kid of another type":             sign(`{"alg":"ES256","typ":"JWT","kid":1}`, good.payload),
		"stranger's key in jwk":           sign(fmt.Sprintf(`{"alg":"ES256","typ":"JWT","jwk":%s}`, forged.publicJWK(kid)), good.payload),
		"stranger's key in jwk, our kid":  sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"jwk":%s}`, kid, forged.publicJWK(kid)), good.payload),
		"duplicate alg":                   base64url([]byte(`{"alg":"ES256","alg":"none","kid":"`+kid+`"}`)) + "." + good.payload + ".",
		"second alg in capitals":          base64url([]byte(`{"alg":"ES256","ALG":"none","kid":"`+kid+`"}`)) + "." + good.payload + ".",
		"altered agentId, old signature":  good.protected + "." + good.withClaim("sub", other.id) + "." + base64url(good.signature),
		"altered subject, old signature":  good.protected + "." + good.withClaim("vc.credentialSubject.agentId", other.id) + "." + base64url(good.signature),
		"altered policy, old signature":   good.protected + "." + good.withClaim("vc.credentialSubject.spendPolicy", obj{"dailyLimitUSDC": 1}) + "." + base64url(good.signature),
		"another token's signature":       good.withSignature(foreign.signature),
		"another token's payload":         good.protected + "." + foreign.payload + "." + base64url(good.signature),
		"empty header":                    base64url([]byte(`{}`)) + "." + good.payload + "." + base64url(good.signature),
		"header with kid alone":           base64url([]byte(`{"kid":"`+kid+`"}`)) + "." + good.payload + "." + base64url(good.signature),
		"flipped signature":               good.withSignature(flipped(good.signature)),
		"made-up agent, stranger's key":   sign(header("ES256"), base64url([]byte(`{"iss":"did:kya:railguard","sub":"agt_zzzzzzzzzzzz","exp":4102444800}`))),
		"RS256 header":                    unsigned("RS256") + base64url(make([]byte, 256)),
		"ES384 header":                    unsigned("ES384") + base64url(make([]byte, 96)),
		"kid as a path":                   signHMAC(`{"alg":"HS256","kid":"../../../dev/null"}`, good.payload, nil),
		"kid as a query":                  sign(`{"alg":"ES256","kid":"x' OR '1'='1"}`, good.payload),
		"jku to a stranger":               sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"jku":"https://example.test/jwks.json"}`, kid), good.payload),
		"x5u to a stranger":               sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"x5u":"https://example.test/cert.pem"}`, kid), good.payload),
		"x5c of a stranger":               sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"x5c":["AAAA"]}`, kid), good.payload),
		"crit":                            sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"crit":["exp"]}`, kid), good.payload),
		"b64 false":                       sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"b64":false,"crit":["b64"]}`, kid), good.payload),
		"zip":                             sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"zip":"DEF"}`, kid), good.payload),
		"nested, cty JWT":                 sign(fmt.Sprintf(`{"alg":"ES256","kid":%q,"cty":"JWT"}`, kid), base64url([]byte(g.token))),
	}
	for what, token := range p.hmacForgeries(good) {
		out[what] = token
	}
	for what, token := range signatureForgeries(good) {
		out[what] = token
	}
	return out
}

// hmacForgeries sign with the public key taken as a shared secret, in each form in
// which a confused verifier could hold it.
func (p *probe) hmacForgeries(good compactToken) map[string]string {
	kid, _ := good.header["kid"].(string)
	keys := p.jwks(0).Key(kid)
	p.must(len(keys) > 0, "the JWKS has no key %q", kid)
	der, err := x509.MarshalPKIXPublicKey(keys[0].Key)
	p.must(err == nil, "the public key: %v", err)
	text, err := keys[0].MarshalJSON()
	p.must(err == nil, "the public key: %v", err)
	header := fmt.Sprintf(`{"alg":"HS256","typ":"JWT","kid":%q}`, kid)
	return map[string]string{
		"HS256 with the key as DER":  signHMAC(header, good.payload, der),
		"HS256 with the key as PEM":  signHMAC(header, good.payload, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HS256 with the key as JWK":  signHMAC(header, good.payload, text),
		"HS256 with an empty secret": signHMAC(header, good.payload, nil),
	}
}

// signatureForgeries are signatures of a wrong form over the right bytes.
func signatureForgeries(good compactToken) map[string]string {
	sig := good.signature
	if len(sig) != 64 {
		return nil
	}
	der, _ := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])})
	zero, ones := make([]byte, 32), []byte(strings.Repeat("\xff", 32))
	join := func(parts ...[]byte) []byte {
		var out []byte
		for _, part := range parts {
			out = append(out, part...)
		}
		return out
	}
	encoded := base64url(sig)
	return map[string]string{
		"DER signature":                 good.withSignature(der),
		"r and s zero":                  good.withSignature(join(zero, zero)),
		"r zero":                        good.withSignature(join(zero, sig[32:])),
		"s zero":                        good.withSignature(join(sig[:32], zero)),
		"r and s above the order":       good.withSignature(join(ones, ones)),
		"63 bytes":                      good.withSignature(sig[:63]),
		"65 bytes":                      good.withSignature(join(sig, []byte{0})),
		"66 bytes, split in half":       good.withSignature(join([]byte{0}, sig[:32], []byte{0}, sig[32:])),
		"signature twice":               good.withSignature(join(sig, sig)),
		"signature empty":               good.withSignature(nil),
		"padded signature":              good.signingInput() + "." + encoded + "==",
		"line end in the signature":     good.signingInput() + "." + encoded[:40] + "\n" + encoded[40:],
		"carriage return in the middle": good.signingInput() + "." + encoded[:40] + "\r" + encoded[40:],
		"unused bits of the last digit": good.signingInput() + "." + looseTail(encoded),
		"blank inside the signature":    good.signingInput() + "." + encoded[:40] + " " + encoded[40:],
		"four parts":                    good.withSignature(sig) + ".",
		"five parts":                    good.withSignature(sig) + ".." + encoded,
		"two parts":                     good.signingInput(),
		"one dot less":                  good.protected + good.payload + "." + encoded,
		"dot in front":                  "." + good.withSignature(sig),
	}
}

func checkForged(p *probe, ruled bool) {
	g, other := p.register(), p.register()
	p.proceeds(p.screen(g, "1"))
	tokens := p.forgeries(g, other)
	names := make([]string, 0, len(tokens))
	for what := range tokens {
		names = append(names, what)
	}
	sort.Strings(names)
	for _, what := range names {
		a := p.screenBody(obj{"token": tokens[what], "amount": 1})
		p.expect(a.text("verdict") != "PROCEED", "%s: PROCEED", what)
		if ruled {
			p.expect(a.text("verdict") == "UNKNOWN" && a.text("rule") == "R1_NO_CREDENTIAL",
				"%s: got %s %s, want UNKNOWN R1_NO_CREDENTIAL", what, a.text("verdict"), a.text("rule"))
		}
	}
}
