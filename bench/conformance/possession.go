package conformance

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

var possessionChecks = []Check{
	{ID: "P26", Title: "a registration takes an agent's public key into the token, and refuses what is none, without a word of a private one", Source: Ruling, run: checkPublicKey},
	{ID: "P27", Title: "a good proof is a PROCEED; one by another key, for another request or act, or too old is R1, whatever the setting", Source: Ruling, run: checkProofs},
	{ID: "P28", Title: "where proofs are required a stolen token is R1: alone, in a batch, as a dry run", Source: Ruling, run: checkStolenToken},
	{ID: "P29", Title: "a captured call is a replay on every node, and debits nothing", Source: Ruling, run: checkCapturedCall},
	{ID: "P30", Title: "the id of a proof with another body is 422; a proof for another act is R1, whether its id is new or was used", Source: Ruling, run: checkIDOfAProof},
	{ID: "P31", Title: "a message signature of others, such as a web bot's, is as none: beside a proof, without one, and where one is required", Source: Ruling, run: checkForeignSignature},
}

const noCredential = "R1_NO_CREDENTIAL"

// proving is an agent with a key of its own.
type proving struct {
	agent
	p        *probe
	key      ed25519.PrivateKey
	audience string
}

// jwk is the public key as it is registered.
func jwk(key ed25519.PrivateKey) obj {
	public, _ := key.Public().(ed25519.PublicKey)
	return obj{"kty": "OKP", "crv": "Ed25519", "x": base64url(public)}
}

// thumbprint is the key id of RFC 7638.
func thumbprint(key ed25519.PrivateKey) string { return hashText(canonical(jwk(key))) }

// provingAgent registers an agent with a key. The public address is the issuer of permits.
func (p *probe) provingAgent(possession string) proving {
	_, key, err := ed25519.GenerateKey(nil)
	p.must(err == nil, "BUG: no key: %v", err)
	_, permit := p.permitted(p.register(), "1", obj{"cpName": cleanCounterparty})
	audience, _ := p.token(permit).claims["iss"].(string)
	return proving{p.register(func(body obj) { body["publicKey"], body["possession"] = jwk(key), possession }), p, key, audience}
}

// newID is an id of a proof.
func newID() string { return "conformance-" + randomHex(8) }

// prove returns the body with a proof of it. A change may spoil the claims.
func (g proving) prove(body obj, act, id string, change ...func(claims obj)) obj {
	claims := obj{"aud": g.audience, "act": act, "iat": g.p.now().Unix(), "jti": id, "rqh": hashText(canonical(body))}
	for _, c := range change {
		c(claims)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		panic("BUG: claims: " + err.Error())
	}
	signed := base64url([]byte(`{"alg":"EdDSA","typ":"railguard-proof+jwt"}`)) + "." + base64url(payload)
	proven := obj{"proof": signed + "." + base64url(ed25519.Sign(g.key, []byte(signed)))}
	for name, value := range body {
		proven[name] = value
	}
	return proven
}

func checkPublicKey(p *probe) {
	g := p.provingAgent("off")
	named, _ := at(any(p.token(g.token).claims), "cnf.jwk.x")
	p.expect(named == jwk(g.key)["x"], "cnf.jwk of the token is not the key that was registered")
	private := jwk(g.key)
	private["d"] = base64url(g.key.Seed())
	for what, bad := range map[string]any{
		"a private key": private, "a point of small order": obj{"kty": "OKP", "crv": "Ed25519", "x": base64url(append([]byte{1}, make([]byte, 31)...))},
		"RSA": obj{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, "a text": "key",
		"a point off the curve": obj{"kty": "EC", "crv": "P-256", "x": base64url(make([]byte, 32)), "y": base64url(make([]byte, 32))},
	} {
		a := p.post("/v1/agents/register", p.registration(func(body obj) { body["publicKey"] = bad }))
		p.expect(a.status == 422, "%s is answered %d, want 422", what, a.status)
		p.expect(!strings.Contains(string(a.raw), base64url(g.key.Seed())), "the answer repeats the private key")
	}
}

func checkProofs(p *probe) {
	for _, setting := range []string{"off", "required"} {
		g := p.provingAgent(setting)
		body, other := g.payment("25", obj{"cpName": cleanCounterparty}), g.payment("26", obj{"cpName": cleanCounterparty})
		count := 0
		id := func() string { count++; return fmt.Sprintf("conformance-%s-%s-%d", g.id, setting, count) }
		p.proceeds(p.screenBody(g.prove(body, "screen", id())))
		for what, claim := range map[string]func(obj){
			"another act":      func(claims obj) { claims["act"] = "dry_run" },
			"another service":  func(claims obj) { claims["aud"] = "https://elsewhere.example" },
			"another request":  func(claims obj) { claims["rqh"] = hashText(canonical(other)) },
			"of yesterday":     func(claims obj) { claims["iat"] = p.now().Add(-24 * time.Hour).Unix() },
			"of tomorrow":      func(claims obj) { claims["iat"] = p.now().Add(24 * time.Hour).Unix() },
			"a jti of 3 signs": func(claims obj) { claims["jti"] = "abc" },
		} {
			a := p.screenBody(g.prove(body, "screen", id(), claim))
			p.expect(a.text("rule") == noCredential, "a proof for %s: %s %s, want %s", what, a.text("verdict"), a.text("rule"), noCredential)
		}
		thief := proving{g.agent, p, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), g.audience}
		p.verdict(p.screenBody(thief.prove(body, "screen", id())), "UNKNOWN", noCredential)
	}
}

func checkStolenToken(p *probe) {
	g := p.provingAgent("required")
	body := g.payment("25", obj{"cpName": cleanCounterparty})
	p.verdict(p.screenBody(body), "UNKNOWN", noCredential)
	p.expect(p.success(p.post("/v1/screen/dry-run", body)).text("verdict") == "UNKNOWN", "a dry run without a proof")
	first, _ := at(p.success(p.post("/v1/screen/batch", obj{"payments": list{body}})).tree, "results.0.verdict")
	p.expect(first == "UNKNOWN", "an item of a batch without a proof: %s", show(first))
}

// counted demands what counts as spent and as held of an agent today.
func (p *probe) counted(g agent, spent, held string) {
	a := p.success(p.get("/v1/agents/" + g.id + "/limits"))
	p.same(a, "spentUSDC", dollars(spent))
	p.same(a, "heldUSDC", dollars(held))
}

func checkCapturedCall(p *probe) {
	g := p.provingAgent("off")
	call := g.prove(g.payment("25", obj{"cpName": cleanCounterparty}), "screen", newID())
	first := p.screenBody(call)
	p.must(p.proceeds(first), "no PROCEED")
	for i := range p.cfg.BaseURLs {
		p.replays(first, p.screenBody(call, node(i)))
	}
	p.counted(g.agent, "25", "0")
}

func checkIDOfAProof(p *probe) {
	g := p.provingAgent("off")
	body := g.payment("25", obj{"cpName": cleanCounterparty})
	used := newID()
	first := p.screenBody(g.prove(body, "screen", used))
	p.must(p.proceeds(first), "no PROCEED")
	other := g.prove(g.payment("26", obj{"cpName": cleanCounterparty}), "screen", used)
	confirm := confirmPath(first.text("txnId"))
	for i := range p.cfg.BaseURLs {
		p.refused(p.post("/v1/screen", other, node(i)), 422, "idempotency_conflict")
		for _, act := range []string{"dry_run", "confirm:" + first.text("txnId"), "x402"} {
			for _, id := range []string{used, newID()} {
				p.verdict(p.screenBody(g.prove(body, act, id), node(i)), "UNKNOWN", noCredential)
			}
		}
		for _, id := range []string{used, newID()} {
			tried := p.success(p.post("/v1/screen/dry-run", g.prove(body, "screen", id), node(i)))
			p.verdict(tried, "UNKNOWN", noCredential)
			p.verdict(p.status(p.post(confirm, g.prove(obj{"token": g.token}, "screen", id), node(i)), 200), "UNKNOWN", noCredential)
		}
	}
	p.replays(first, p.screenBody(g.prove(body, "screen", used)))
	p.counted(g.agent, "0", "25") // Whoever asks for a confirmation has the payment wait.
}

// botSignature signs a request's authority as a web bot does (RFC 9421, tag web-bot-auth), or more of it.
func (g proving) botSignature(key ed25519.PrivateKey, keyid string, components ...string) []option {
	host := g.audience[strings.Index(g.audience, "://")+3:]
	now, values := g.p.now().Unix(), map[string]string{"@authority": host, "@method": http.MethodPost, "@path": "/v1/screen", "signature-agent": `"https://bot.example.test"`}
	var base strings.Builder
	for _, name := range components {
		fmt.Fprintf(&base, "%q: %s\n", name, values[name])
	}
	parameters := fmt.Sprintf(`("%s");created=%d;expires=%d;keyid=%q;alg="ed25519";tag="web-bot-auth"`, strings.Join(components, `" "`), now, now+60, keyid)
	base.WriteString(`"@signature-params": ` + parameters)
	signature := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(base.String())))
	return []option{
		header("Signature-Agent", values["signature-agent"]), header("Signature-Input", "bot="+parameters), header("Signature", "bot=:"+signature+":"),
	}
}

func checkForeignSignature(p *probe) {
	_, stranger, err := ed25519.GenerateKey(nil)
	p.must(err == nil, "BUG: no key: %v", err)
	for _, setting := range []string{"off", "required"} {
		g := p.provingAgent(setting)
		body := g.payment("1", obj{"cpName": cleanCounterparty})
		without := p.screenBody(body)
		for what, signed := range map[string][]option{
			"a web bot's":                             g.botSignature(stranger, "a-key-of-a-web-bot", "@authority", "signature-agent"),
			"a web bot's of more of the request":      g.botSignature(stranger, "a-key-of-a-web-bot", "@method", "@authority", "@path"),
			"a web bot's that is none":                {header("Signature-Input", `bot=("@authority");keyid="x";tag="web-bot-auth"`), header("Signature", "bot=:AAAA:")},
			"one that cannot be read":                 {header("Signature-Input", "=;(web bot"), header("Signature", "?")},
			"one by the agent's key as its web bot's": g.botSignature(g.key, thumbprint(g.key), "@authority", "signature-agent"),
		} {
			a := p.screenBody(body, signed...)
			for _, member := range []string{"verdict", "rule", "reason"} {
				p.expect(a.text(member) == without.text(member), "with %s signature, under %s, %s is %q, without %q", what, setting, member, a.text(member), without.text(member))
			}
			p.proceeds(p.screenBody(g.prove(body, "screen", newID()), signed...))
		}
		if setting == "off" {
			p.proceeds(without)
		} else {
			p.verdict(without, "UNKNOWN", noCredential)
		}
	}
}
