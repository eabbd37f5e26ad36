package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

var permitChecks = []Check{
	{ID: "P02", Title: "a permit verifies with a stock library and the published keys alone, and says what it is for; an altered one is refused", Source: Ruling, run: checkPermit},
	{ID: "P03", Title: "a replayed call gets the same permit, to the byte, from every node", Source: Ruling, run: checkPermitReplay},
	{ID: "P06", Title: "pay_hash is the hash of the payment that was told, in RFC 8785's form", Source: Ruling, run: checkPayHash},
	{ID: "P08", Title: "a credential is no permit, a permit is no credential, and neither kind's keys verify the other", Source: Ruling, run: checkPermitKinds},
}

const (
	permitType     = "railguard-permit+jwt"
	permitLifetime = 120 * time.Second // If the call does not say otherwise.
	permitMax      = 4096              // Bytes.
)

var permitKeyShape = regexp.MustCompile(`^(sandbox-)?pm-v[0-9]+$`)

// permitted makes a screening call that asks for a permit, and returns its answer and the permit.
func (p *probe) permitted(g agent, amount string, extra ...obj) (*answer, string) {
	a := p.screen(g, amount, append([]obj{{"permit": obj{}}}, extra...)...)
	p.must(p.proceeds(a), "no PROCEED, so no permit")
	text := p.str(a, "permit")
	p.ledger.remember(text)
	return a, text
}

// keysOf returns the published keys for permits, or those for credentials.
func (p *probe) keysOf(permits bool) *jose.JSONWebKeySet {
	keys := &jose.JSONWebKeySet{}
	for _, key := range p.jwks(0).Keys {
		if permitKeyShape.MatchString(key.KeyID) == permits {
			keys.Keys = append(keys.Keys, key)
		}
	}
	p.must(len(keys.Keys) > 0, "the key set has no such key (for permits: %v)", permits)
	return keys
}

func checkPermit(p *probe) {
	g, keys := p.register(), p.keysOf(true)
	p.expect(!permitKeyShape.MatchString(p.jwks(0).Keys[0].KeyID), "the first key of the set is one for permits: clients take the first for credentials")
	a, text := p.permitted(g, "25.00", obj{"cpWallet": cleanWallet()})
	parts := p.token(text)
	p.expect(len(text) <= permitMax, "the permit has %d bytes", len(text))
	p.expect(len(parts.header) == 3 && parts.header["alg"] == "ES256" && parts.header["typ"] == permitType, "the header is %s, want exactly alg, kid, typ", show(parts.header))
	kid, _ := parts.header["kid"].(string)
	p.expect(permitKeyShape.MatchString(kid) && len(keys.Key(kid)) == 1, "kid %q is no published one for permits", kid)
	_, err := stockVerify(text, keys)
	p.expect(err == nil, "a stock library refuses the permit: %v", err)
	issued, expires := p.instant(parts.claims, "iat"), p.instant(parts.claims, "exp")
	p.expect(expires.Sub(issued) == permitLifetime, "it lasts %v, want %v", expires.Sub(issued), permitLifetime)
	p.expect(expires.Equal(p.utc(a, "permitExpiresAt")), "exp %v is not permitExpiresAt", expires)
	p.expect(issued.Equal(p.utc(a, "screenedAt").Truncate(time.Second)), "iat %v is not screenedAt", issued)
	issuer, _ := parts.claims["iss"].(string)
	p.expect(strings.Contains(issuer, "://"), "iss is %q, want the public address", issuer)
	for name, want := range map[string]any{"sub": g.id, "aud": issuer, "jti": a.text("txnId"), "verdict": "PROCEED"} {
		p.expect(parts.claims[name] == want, "%s is %s, want %s", name, show(parts.claims[name]), show(want))
	}
	record := p.success(p.get("/v1/audit/" + a.text("txnId")))
	said, _ := at(any(parts.claims), "log.hash")
	p.expect(said == base64url(hashBytes(p.str(record, "leafHash"))), "log.hash is %s, the record's leafHash %s", show(said), record.text("leafHash"))
	_, err = stockVerify(parts.withSignature(flipped(parts.signature)), keys)
	p.expect(err != nil, "BUG: the stock library accepts a flipped signature")
	_, err = stockVerify(parts.protected+"."+parts.withClaim("pay.amount", "2500")+"."+base64url(parts.signature), keys)
	p.expect(err != nil, "BUG: the stock library accepts another amount")
}

func checkPermitReplay(p *probe) {
	g := p.register()
	for i := range p.cfg.BaseURLs {
		key := newKey()
		body := g.payment("1", obj{"cpName": cleanCounterparty, "permit": obj{"ttlSeconds": 300, "aud": "https://shop.example.test"}})
		first := p.screenBody(body, key, node(i))
		text := p.str(first, "permit")
		p.ledger.remember(text)
		p.expect(p.token(text).claims["aud"] == "https://shop.example.test", "aud is not the one that was asked for")
		for j := range p.cfg.BaseURLs {
			again := p.screenBody(body, key, node(j))
			p.replays(first, again)
			p.expect(again.text("permit") == text, "node %d gives another permit for the call that node %d judged", j, i)
		}
	}
}

// canonical returns RFC 8785's form of a statement: objects of texts and lists of texts.
func canonical(value any) []byte {
	switch value := value.(type) {
	case obj:
		var members [][]byte
		for _, name := range sortedKeys(value) {
			members = append(members, append(append(canonical(name), ':'), canonical(value[name])...))
		}
		return append(append([]byte{'{'}, bytes.Join(members, []byte(","))...), '}')
	case list:
		var items [][]byte
		for _, item := range value {
			items = append(items, canonical(item))
		}
		return append(append([]byte{'['}, bytes.Join(items, []byte(","))...), ']')
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("BUG: not encodable: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// hashText is base64url of SHA-256.
func hashText(data []byte) string {
	sum := sha256.Sum256(data)
	return base64url(sum[:])
}

// paymentsTold are payments as a call tells them, and as a permit states them.
var paymentsTold = []struct {
	amount string
	told   obj
	stated obj
	payees []string // Of a payee without a wallet: kind, LF and value of each hash.
}{
	{"25.00", obj{"chain": "base", "rail": "usdc", "cpWallet": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "payerWallet": "0x857B06519E91E3A54538791BDBB0E22373E36B66", "paymentRef": "REF"},
		obj{"amount": "25", "chain": "BASE", "rail": "USDC", "payee": "0x209693bc6afc0c5328ba36faf03c514ef312287c", "payer": "0x857b06519e91e3a54538791bdbb0e22373e36b66", "ref": "REF"}, nil},
	{"0.0000011", obj{"cpWallet": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "cpName": cleanCounterparty},
		obj{"amount": "0.000002", "payee": "0x209693bc6afc0c5328ba36faf03c514ef312287c"}, nil},
	{"1e2", obj{"cpName": "  Cafe\u0301 Marigold  "}, obj{"amount": "100"}, []string{"name\nCaf\u00e9 Marigold"}},
	{"7.5", obj{"cpName": cleanCounterparty, "cpIdentifiers": list{obj{"type": "iban", "value": "de89 3704 0044 0532 0130 00"}}}, obj{"amount": "7.5"},
		[]string{"name\n" + cleanCounterparty, "iban\nDE89370400440532013000"}},
}

func checkPayHash(p *probe) {
	g := p.register()
	for i, one := range paymentsTold {
		told, stated := obj{}, obj{"currency": "USD"}
		for name, value := range one.told {
			told[name] = value
		}
		for name, value := range one.stated {
			stated[name] = value
		}
		if told["paymentRef"] != nil { // It may be used once.
			reference := `"` + p.name("inv") + `" <&> \`
			told["paymentRef"], stated["ref"] = reference, reference
		}
		a, text := p.permitted(g, one.amount, told)
		var hashes []string
		for _, payee := range one.payees {
			hashes = append(hashes, hashText([]byte(a.text("txnId")+"\n"+payee)))
		}
		slices.Sort(hashes)
		if len(hashes) > 0 {
			ids := list{}
			for _, hash := range hashes {
				ids = append(ids, hash)
			}
			stated["payeeIds"] = ids
		}
		claims := p.token(text).claims
		p.expect(sameTree(claims["pay"], plain(stated)), "payment %d: pay is %s, want %s", i, show(claims["pay"]), show(plain(stated)))
		want := hashText(canonical(stated))
		p.expect(claims["pay_hash"] == want, "payment %d: pay_hash is %s, want %s", i, show(claims["pay_hash"]), want)
	}
}

func checkPermitKinds(p *probe) {
	g := p.register()
	_, text := p.permitted(g, "1", obj{"cpName": cleanCounterparty})
	ours, theirs := p.keysOf(true), p.keysOf(false)
	for _, key := range theirs.Keys {
		_, err := stockVerify(text, &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{renamed(key, p.token(text))}})
		p.expect(err != nil, "key %s of credentials verifies a permit", key.KeyID)
	}
	for _, key := range ours.Keys {
		_, err := stockVerify(g.token, &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{renamed(key, p.token(g.token))}})
		p.expect(err != nil, "key %s of permits verifies a credential", key.KeyID)
	}
	credential := p.token(g.token)
	kid, _ := credential.header["kid"].(string)
	p.expect(credential.header["typ"] != permitType && !permitKeyShape.MatchString(kid), "a credential has the header %s", show(credential.header))
	for _, prefix := range []string{"", "Bearer ", "JWT ", "VerifiableCredential "} {
		a := p.screenBody(obj{"token": prefix + text, "amount": 1, "cpName": cleanCounterparty, "permit": obj{}})
		p.verdict(a, "UNKNOWN", "R1_NO_CREDENTIAL")
		p.absent(a, "permit")
	}
	p.refusedAnyhow(p.post("/v1/delegates/create", obj{"parentToken": text, "agentName": p.name("Delegate")}))
}

// renamed returns a key under the kid that a token names, so that only its signature decides.
func renamed(key jose.JSONWebKey, of compactToken) jose.JSONWebKey {
	key.KeyID, _ = of.header["kid"].(string)
	return key
}
