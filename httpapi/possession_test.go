package httpapi

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/fsm/wire"
)

// agentKey and agentKeyEC are private keys of test agents.
func agentKey(seed string) crypto.Signer {
	hash := [32]byte{}
	copy(hash[:], seed+strings.Repeat("-", 32))
	return ed25519.NewKeyFromSeed(hash[:])
}

func agentKeyEC(seed string) *ecdsa.PrivateKey {
	hash := [32]byte{}
	copy(hash[:], seed+strings.Repeat("-", 32))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), hash[:])
	if err != nil {
		panic("BUG: a key of the tests: " + err.Error())
	}
	return key
}

func jwkOf(t testing.TB, key crypto.Signer) string {
	t.Helper()
	public, err := possession.KeyFrom(key.Public())
	require.NoError(t, err)
	return string(public.AppendJWK(nil))
}

// proving returns the body with its proof.
func (n *testNode) proving(key crypto.Signer, act, id, body string) string {
	n.t.Helper()
	return n.provingAt(key, act, id, body, n.LogTime())
}

func (n *testNode) provingAt(key crypto.Signer, act, id, body string, at engine.Time) string {
	n.t.Helper()
	hash, err := new(possession.Canonicaliser).RequestHash([]byte(body), engine.JSONDepthMax)
	require.NoError(n.t, err)
	proof, err := possession.Sign(&possession.Claims{Audience: testPublicURL, Act: act, IssuedAt: at, ID: id, Request: hash}, key)
	require.NoError(n.t, err)
	return strings.TrimSuffix(body, "}") + `,"proof":"` + proof + `"}`
}

// keyed registers an agent with a key and returns its id and token.
func (n *testNode) keyed(key crypto.Signer, extra string) (id, token string) {
	n.t.Helper()
	return n.registered(`,"publicKey":` + jwkOf(n.t, key) + extra)
}

func (n *testNode) setPolicy(policy string) {
	n.t.Helper()
	answer(n.t, n.do("policy", "PUT", "/v1/policy", `{"policy":`+policy+`,"reason":"test"}`), 200)
}

func (n *testNode) screenedBy(role, body string, headers ...string) *fastjson.Value {
	n.t.Helper()
	return answer(n.t, n.do(role, "POST", "/v1/screen", body, headers...), 200)
}

const provenPayment = `"amount":25.5,"chain":"BASE","rail":"USDC","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}`

// TestGoodAndBadKeys (statement P26): good keys stand in the token, bad ones are refused and change nothing.
func TestGoodAndBadKeys(t *testing.T) {
	n := newTestNode(t)
	for name, key := range map[string]crypto.Signer{"Ed25519": agentKey("a"), "P-256": agentKeyEC("a")} {
		id, token := n.keyed(key, "")
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		require.NoError(t, err)
		require.Equal(t, jwkOf(t, key), string(fastjson.MustParseBytes(payload).Get("cnf", "jwk").MarshalTo(nil)), name)
		shown := answer(t, n.do("operator", "GET", "/v1/agents/"+id, ""), 200)
		require.JSONEq(t, jwkOf(t, key), shown.Get("publicKey").String())
		require.Equal(t, token, textOf(shown, "token"), "the registry mints the same bytes")
		require.Equal(t, "off", textOf(shown, "effectivePossession"))
	}
	secret := "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"
	before := n.store.Size()
	for why, jwk := range map[string]string{
		"private":     `{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","d":"` + secret + `"}`,
		"off curve":   `{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}`,
		"small order": `{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
		"RSA":         `{"kty":"RSA","n":"AQAB","e":"AQAB"}`, "a text": `"x"`, "a list": `[]`, "a number": `1`,
	} {
		r := n.do("operator", "POST", "/v1/agents/register", `{"agentName":"a","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","publicKey":`+jwk+`}`)
		require.Equal(t, 422, r.Code, why)
		require.Contains(t, r.Body.String(), `"param":"publicKey"`)
		require.NotContains(t, r.Body.String(), secret, "a private key is never repeated")
	}
	require.Equal(t, before, n.store.Size())
}

// outcomeOf reads verdict and rule, and of R1 the reason.
func outcomeOf(v *fastjson.Value) string {
	reason := textOf(v, "reason")
	for sub, words := range map[string]string{"key": "not one by the key", "request": "another request", "time": "too old", "missing": "does not prove"} {
		if strings.Contains(reason, words) {
			return textOf(v, "verdict") + " " + sub
		}
	}
	return textOf(v, "verdict")
}

// TestProofsAreJudged (statement P27): the same cases at every level; what is wrong is R1 whatever the setting.
func TestProofsAreJudged(t *testing.T) {
	n := newTestNode(t)
	for name, key := range map[string]crypto.Signer{"ed": agentKey("b"), "ec": agentKeyEC("b")} {
		_, token := n.keyed(key, "")
		_, plain := n.registered("")
		body := `{"token":"` + token + `",` + provenPayment
		for _, level := range []string{"off", "review", "required"} {
			n.setPolicy(`{"possession":{"default":"` + level + `"}}`)
			id := func(what string) string { return "id-of-" + name + "-" + level + "-" + what + "-proof" }
			missing := map[string]string{"off": "PROCEED", "review": "REVIEW missing", "required": "UNKNOWN missing"}[level]
			now := n.LogTime()
			for what, c := range map[string]struct{ body, want string }{
				"none":     {body, missing},
				"empty":    {`{"token":"` + token + `","proof":null,` + provenPayment, missing},
				"nokey":    {`{"token":"` + plain + `",` + provenPayment, missing},
				"good":     {n.proving(key, "screen", id("good"), body), "PROCEED"},
				"old":      {n.provingAt(key, "screen", id("old"), body, now-120*engine.Second-engine.Second), "UNKNOWN time"},
				"early":    {n.provingAt(key, "screen", id("early"), body, now+62*engine.Second), "UNKNOWN time"},
				"act":      {n.proving(key, "dry_run", id("act"), body), "UNKNOWN request"},
				"other":    {strings.Replace(n.proving(key, "screen", id("other"), body), "25.5", "25.6", 1), "UNKNOWN request"},
				"stranger": {n.proving(agentKey("c"), "screen", id("stranger"), body), "UNKNOWN key"},
				"words":    {strings.TrimSuffix(body, "}") + `,"proof":"x"}`, "UNKNOWN key"},
				"keyless":  {n.proving(key, "screen", id("keyless"), `{"token":"`+plain+`",`+provenPayment), "UNKNOWN key"},
			} {
				require.Equal(t, c.want, outcomeOf(n.screenedBy("screener", c.body)), "%s %s %s", name, level, what)
			}
			tried := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", n.proving(key, "dry_run", id("tried"), body)), 200)
			require.Equal(t, "PROCEED", outcomeOf(tried))
			tried = answer(t, n.do("screener", "POST", "/v1/screen/dry-run", body), 200)
			require.Equal(t, missing, outcomeOf(tried))
		}
	}
}

// TestNumbersOfAProvenRequest: canonical JSON would sign another number.
func TestNumbersOfAProvenRequest(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("d")
	_, token := n.keyed(key, "")
	before := n.store.Size()
	body := n.proving(key, "screen", "an-id-of-a-number", `{"token":"`+token+`","amount":25,"cpName":"Acme Ltd"}`)
	refused := answer(t, n.do("screener", "POST", "/v1/screen", strings.Replace(body, `"amount":25`, `"amount":9999999999.999999`, 1)), 400)
	require.Equal(t, "invalid_amount", textOf(refused, "code"))
	for _, proof := range []string{`""`, `1`, `{}`} {
		refused := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":25,"cpName":"Acme Ltd","proof":`+proof+`}`), 400)
		require.Equal(t, "invalid_field", textOf(refused, "code"), proof)
	}
	require.Equal(t, before, n.store.Size())
	require.Equal(t, "PROCEED", outcomeOf(n.screenedBy("screener", `{"token":"`+token+`","amount":9999999999.999999,"cpName":"Acme Ltd"}`)), "without a proof it is a number as any other")
}

// TestCapturedCallIsAReplay (statements P29, P30): the proof's id is the Idempotency-Key in the scope
// of the agent's operator, whoever calls.
func TestCapturedCallIsAReplay(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("e")
	id, token := n.keyed(key, `,"spendPolicy":{"dailyLimitUSDC":1000}`)
	n.addKey(wire.APIKey{ID: "key_shop", Name: "shop", Roles: wire.RoleScreener, Owner: "cal_shop"}, testSecret("shop"))
	spent := func() float64 {
		return answer(t, n.do("auditor", "GET", "/v1/agents/"+id+"/limits", ""), 200).GetFloat64("spentUSDC")
	}
	const jti = "captured-call-0000001"
	body := n.proving(key, "screen", jti, `{"token":"`+token+`",`+provenPayment)
	first := n.screenedBy("screener", body)
	require.Equal(t, "PROCEED", textOf(first, "verdict"))
	require.Equal(t, 25.5, spent())
	for what, again := range map[string]*httptest.ResponseRecorder{
		"the same key":       n.do("screener", "POST", "/v1/screen", body),
		"another key":        n.do("shop", "POST", "/v1/screen", body),
		"with the header":    n.do("shop", "POST", "/v1/screen", body, "Idempotency-Key", jti),
		"signed anew":        n.do("admin", "POST", "/v1/screen", n.provingAt(key, "screen", jti, `{"token":"`+token+`",`+provenPayment, n.LogTime()-5*engine.Second)),
		"with other spacing": n.do("shop", "POST", "/v1/screen", strings.Replace(body, ",", " , ", 1)),
	} {
		repeated := answer(t, again, 200)
		require.Equal(t, textOf(first, "txnId"), textOf(repeated, "txnId"), what)
		require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"), what)
	}
	batch := answer(t, n.batch(body, strings.Replace(body, ",", `,"idempotencyKey":"`+jti+`",`, 1)), 200)
	require.Equal(t, textOf(first, "txnId"), textOf(batch, "results", "0", "txnId"), "an item of a batch is the same call")
	require.Equal(t, "UNKNOWN", textOf(batch, "results", "1", "verdict"), "the member was not signed")
	require.Equal(t, 25.5, spent(), "nothing is debited twice")

	conflict := answer(t, n.do("shop", "POST", "/v1/screen", n.proving(key, "screen", jti, `{"token":"`+token+`","amount":1,"cpName":"Acme Ltd"}`)), 422)
	require.Equal(t, "idempotency_conflict", textOf(conflict, "code"))
	require.Equal(t, "UNKNOWN request", outcomeOf(n.screenedBy("screener", n.proving(key, "x402", jti, `{"token":"`+token+`",`+provenPayment))))
	unlike := answer(t, n.do("screener", "POST", "/v1/screen", n.proving(key, "screen", "another-id-0000001", `{"token":"`+token+`",`+provenPayment), "Idempotency-Key", "k"), 400)
	require.Equal(t, "bad_request", textOf(unlike, "code"))
	require.Equal(t, 25.5, spent())
	n.reopen(nil)
	require.Equal(t, textOf(first, "txnId"), textOf(n.screenedBy("shop", body), "txnId"))
	// A thief without the key cannot take the id away.
	const next = "the-next-call-0000002"
	sound := n.proving(key, "screen", next, `{"token":"`+token+`",`+provenPayment)
	require.Equal(t, "UNKNOWN key", outcomeOf(n.screenedBy("screener", n.proving(agentKey("thief"), "screen", next, `{"token":"`+token+`","amount":3,"cpName":"Acme Ltd"}`))))
	require.Equal(t, "PROCEED", textOf(n.screenedBy("screener", sound), "verdict"))
}

// TestItemsOfABatchAreProven: an item is signed as it stands, with its idempotencyKey if it has one.
func TestItemsOfABatchAreProven(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("f")
	_, token := n.keyed(key, `,"possession":"required"`)
	item := func(id, more string) string { return `{"token":"` + token + `"` + more + `,` + provenPayment }
	batch := answer(t, n.batch(
		n.proving(key, "screen", "first-of-the-batch", item("", "")),
		n.proving(key, "screen", "second-of-the-batch", item("", `,"idempotencyKey":"second-of-the-batch"`)),
		n.proving(key, "screen", "third-of-the-batch", item("", `,"idempotencyKey":"another"`)),
		item("", ""),
	), 200)
	require.Equal(t, "PROCEED", textOf(batch, "results", "0", "verdict"))
	require.Equal(t, "PROCEED", textOf(batch, "results", "1", "verdict"))
	require.Equal(t, 400, batch.GetInt("results", "2", "status"))
	require.Equal(t, "UNKNOWN missing", outcomeOf(batch.Get("results", "3")))
}

// TestMessageSignatures (statements P27, P31): a signature of RFC 9421 proves the key as well; a foreign one is as none.
func TestMessageSignatures(t *testing.T) {
	n := newTestNode(t)
	n.reopen(func(d *Deps) { d.Authorities = []string{"guard.internal:8443"} })
	key := agentKey("g")
	_, token := n.keyed(key, `,"possession":"required"`)
	body := `{"token":"` + token + `",` + provenPayment
	send := func(authority, host, id, body, digestOf string, by crypto.Signer) *fastjson.Value {
		t.Helper()
		now := n.LogTime()
		header := map[string][]string{"content-digest": {possession.ContentDigest([]byte(digestOf))}, "idempotency-key": {id}}
		message := &possession.Message{Method: "POST", Scheme: "https", Authorities: []string{authority}, Path: "/v1/screen", Header: func(name string) []string { return header[name] }, Body: []byte(body)}
		input, signature, err := possession.SignMessage(message, by, now, now+60*engine.Second)
		require.NoError(t, err)
		r := httptest.NewRequest("POST", "/v1/screen", strings.NewReader(body))
		r.Host = host
		for name, value := range map[string]string{
			"Authorization": "Bearer " + testSecret("screener"), "Content-Digest": header["content-digest"][0], "Idempotency-Key": id, "Signature-Input": input, "Signature": signature,
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r)
		hold(t, r, body, w)
		return answer(t, w, 200)
	}
	first := send("pay.example.com", "pay.example.com", "message-1", body, body, key)
	require.Equal(t, "PROCEED", outcomeOf(first))
	require.Equal(t, textOf(first, "txnId"), textOf(send("pay.example.com", "10.0.0.1", "message-1", body, body, key), "txnId"), "whatever Host says")
	require.Equal(t, "PROCEED", outcomeOf(send("guard.internal:8443", "evil.example", "message-2", body, body, key)))
	require.Equal(t, "UNKNOWN request", outcomeOf(send("evil.example", "evil.example", "message-3", body, body, key)))
	require.Equal(t, "UNKNOWN request", outcomeOf(send("pay.example.com", "pay.example.com", "message-4", strings.Replace(body, "25.5", "26", 1), body, key)))
	require.Equal(t, "UNKNOWN missing", outcomeOf(send("pay.example.com", "pay.example.com", "message-5", body, body, agentKey("web bot"))), "a foreign signature is none")
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(first, "txnId"), ""), 200)
	require.Equal(t, "httpsig", textOf(record, "proof", "form"))
}

// TestStolenToken (statement P28): the token without the key is worth nothing.
func TestStolenToken(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("h")
	_, token := n.keyed(key, `,"possession":"required"`)
	body := `{"token":"` + token + `",` + provenPayment
	require.Equal(t, "UNKNOWN missing", outcomeOf(n.screenedBy("screener", body)))
	require.Equal(t, "UNKNOWN missing", outcomeOf(answer(t, n.batch(body), 200).Get("results", "0")))
	require.Equal(t, "UNKNOWN key", outcomeOf(n.screenedBy("screener", n.proving(agentKey("thief"), "screen", "id-of-the-thief-1", body))))
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(n.screenedBy("screener", body), "txnId"), ""), 200)
	require.NotEmpty(t, textOf(record, "agentId"), "the signature of the token was good")
}

// TestLevelsOfPossession: the strictest of the policy, the operator's entry, the agent and its ancestors holds; what
// the institution wants, an operator's key does not take back.
func TestLevelsOfPossession(t *testing.T) {
	n := newTestNode(t)
	id, token := n.registered("")
	operator := n.operatorID("Acme Inc")
	verdict := func() string {
		return outcomeOf(n.screenedBy("screener", `{"token":"`+token+`",`+provenPayment))
	}
	require.Equal(t, "PROCEED", verdict())
	n.setPolicy(`{"possession":{"operators":{"` + operator + `":"required"}}}`)
	require.Equal(t, "UNKNOWN missing", verdict())
	n.setPolicy(`{"possession":{"operators":{"opr_7zzzzzzzzzzz":"required"}}}`)
	require.Equal(t, "PROCEED", verdict(), "another operator's")
	n.setPolicy(`{"rules":{"R22":"off"},"possession":{"default":"review"}}`)
	require.Equal(t, "REVIEW missing", verdict(), "possession is the switch, and not the mode of R22")
	n.setPolicy(`{"rules":{"R22":"block"},"possession":{"default":"review"}}`)
	require.Equal(t, "REVIEW missing", verdict())
	n.setPolicy(`{}`)
	answer(t, n.do("operator", "PATCH", "/v1/agents/"+id, `{"possession":"review"}`), 200)
	require.Equal(t, "REVIEW missing", verdict())
	weaker := answer(t, n.do("operator", "PATCH", "/v1/agents/"+id, `{"possession":null}`), 403)
	require.Equal(t, "forbidden", textOf(weaker, "code"))
	answer(t, n.do("operator", "PATCH", "/v1/agents/"+id, `{"possession":"sometimes"}`), 422)
	answer(t, n.do("policy", "PATCH", "/v1/agents/"+id, `{"possession":"off","reason":"asked for"}`), 200)
	require.Equal(t, "PROCEED", verdict())

	answer(t, n.do("operator", "PATCH", "/v1/agents/"+id, `{"possession":"required"}`), 200)
	child := `{"parentAgentId":"` + id + `","agentName":"child","agentType":"supervised"`
	refused := answer(t, n.do("operator", "POST", "/v1/delegates/create", child+`}`), 422)
	require.Equal(t, "policy_widening", textOf(refused, "code"))
	require.Equal(t, "publicKey", textOf(refused, "param"))
	key := agentKeyEC("child")
	created := answer(t, n.do("operator", "POST", "/v1/delegates/create", child+`,"publicKey":`+jwkOf(t, key)+`}`), 201)
	body := `{"token":"` + textOf(created, "token") + `",` + provenPayment
	require.Equal(t, "UNKNOWN missing", outcomeOf(n.screenedBy("screener", body)), "an ancestor wants it")
	require.Equal(t, "PROCEED", outcomeOf(n.screenedBy("screener", n.proving(key, "screen", "id-of-a-delegate-1", body))))
}

// warned returns the warnings about keys in an answer.
func warned(v *fastjson.Value) (rules []string) {
	for _, w := range v.GetArray("warnings") {
		if textOf(w, "code") == "public_key_missing" {
			rules = append(rules, textOf(w, "rule"))
		}
	}
	return rules
}

// TestAgentsWithoutAKey: whoever is to prove a key and has none is told so where that comes about; and a key is taken
// away on purpose alone, and never where it is required.
func TestAgentsWithoutAKey(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("n")
	register := func(extra string) *fastjson.Value {
		return answer(t, n.do("operator", "POST", "/v1/agents/register", `{"agentName":"a","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"`+extra+`}`), 201)
	}
	reissue := func(id, body string, status int) *fastjson.Value {
		return answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/reissue", body), status)
	}
	for extra, want := range map[string][]string{
		"": nil, `,"possession":"off"`: nil, `,"possession":"review"`: {"R22_ATTESTATION"}, `,"possession":"required"`: {"R1_NO_CREDENTIAL"},
		`,"possession":"required","publicKey":` + jwkOf(t, key): nil,
	} {
		require.Equal(t, want, warned(register(extra)), extra)
	}
	keyed := textOf(register(`,"publicKey":`+jwkOf(t, key)), "agentId")
	bare := textOf(register(""), "agentId")
	patch := func(id, body string) *fastjson.Value {
		return answer(t, n.do("operator", "PATCH", "/v1/agents/"+id, body), 200)
	}
	require.Nil(t, warned(patch(keyed, `{"possession":"required"}`)))
	require.Equal(t, []string{"R1_NO_CREDENTIAL"}, warned(patch(bare, `{"possession":"required"}`)))
	require.Equal(t, []string{"R1_NO_CREDENTIAL"}, warned(reissue(bare, `{}`, 201)))
	require.Equal(t, []string{"R1_NO_CREDENTIAL"}, warned(reissue(bare, `{"publicKey":null}`, 201)), "nothing is taken away")
	refused := reissue(keyed, `{"publicKey":null}`, 422)
	require.Equal(t, "policy_widening", textOf(refused, "code"))
	require.Equal(t, "publicKey", textOf(refused, "param"))

	answer(t, n.do("policy", "PATCH", "/v1/agents/"+keyed, `{"possession":"off","reason":"asked for"}`), 200)
	operator := n.operatorID("Acme Inc")
	n.setPolicy(`{"possession":{"operators":{"` + operator + `":"required"}}}`)
	require.Equal(t, []string{"R1_NO_CREDENTIAL"}, warned(register("")), "the policy wants it")
	reissue(keyed, `{"publicKey":null}`, 422)
	n.setPolicy(`{}`)
	with := reissue(keyed, `{"underlyingModel":"m"}`, 201)
	require.NotEmpty(t, textOf(with, "publicKeyThumbprint"), "a key that is left out stays")
	proven := `{"token":"` + textOf(with, "token") + `",` + provenPayment
	without := reissue(keyed, `{"publicKey":null}`, 201)
	require.Empty(t, textOf(without, "publicKeyThumbprint"))
	require.Equal(t, "PROCEED", outcomeOf(n.screenedBy("screener", `{"token":"`+textOf(without, "token")+`",`+provenPayment)))
	require.Equal(t, "BLOCK", outcomeOf(n.screenedBy("screener", n.proving(key, "screen", "id-of-an-old-token-1", proven))), "older tokens end")
	require.Nil(t, answer(t, n.do("operator", "GET", "/v1/agents/"+keyed, ""), 200).Get("publicKey"))
}

// TestPolicyOfPossession: bad documents are refused, a weaker one is a widening.
func TestPolicyOfPossession(t *testing.T) {
	n := newTestNode(t)
	for _, bad := range []string{
		`{"default":"always"}`, `{"default":true}`, `{"operators":[]}`, `{"operators":{"acme":"required"}}`, `{"operators":{"opr_1":"x"}}`,
		`{"maxAge":"29s"}`, `{"maxAge":"301s"}`, `{"maxAge":120}`, `{"else":1}`, `1`,
	} {
		answer(t, n.do("policy", "PUT", "/v1/policy", `{"policy":{"possession":`+bad+`},"reason":"x"}`), 422)
	}
	n.setPolicy(`{"possession":{"default":"review","operators":{"opr_a":"required"},"maxAge":"1m"}}`)
	for weaker, param := range map[string]string{
		`{}`: "possession.default",
		`{"possession":{"default":"review","maxAge":"1m"}}`:                               "possession.operators.opr_a",
		`{"possession":{"default":"review","operators":{"opr_a":"required"}}}`:            "possession.maxAge",
		`{"possession":{"operators":{"opr_a":"required"},"default":"off","maxAge":"1m"}}`: "possession.default",
	} {
		refused := answer(t, n.do("policy", "PUT", "/v1/policy", weaker), 422)
		require.Contains(t, refused.String(), param)
	}
	key := agentKey("i")
	_, token := n.keyed(key, "")
	body := `{"token":"` + token + `",` + provenPayment
	require.Equal(t, "UNKNOWN time", outcomeOf(n.screenedBy("screener", n.provingAt(key, "screen", "an-id-of-61-seconds", body, n.LogTime()-62*engine.Second))))
}

// TestOverlapOfKeys (statement P32): each token goes by its own key; another key supersedes at once, unless an overlap is told.
func TestOverlapOfKeys(t *testing.T) {
	n := newTestNode(t)
	old, next := agentKey("old"), agentKeyEC("next")
	id, first := n.keyed(old, `,"possession":"required"`)
	reissue := func(more string) string {
		return textOf(answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/reissue", `{`+more+`}`), 201), "token")
	}
	count := 0
	try := func(token string, key crypto.Signer) string {
		count++
		v := n.screenedBy("screener", n.proving(key, "screen", fmt.Sprintf("id-of-the-overlap-%d", count), `{"token":"`+token+`",`+provenPayment))
		return textOf(v, "verdict") + " " + textOf(v, "rule")
	}
	second := reissue(`"publicKey":` + jwkOf(t, next) + `,"overlapHours":1`)
	require.Equal(t, []string{"PROCEED ", "PROCEED ", "UNKNOWN R1_NO_CREDENTIAL", "UNKNOWN R1_NO_CREDENTIAL"},
		[]string{try(first, old), try(second, next), try(first, next), try(second, old)})
	third := reissue(`"publicKey":` + jwkOf(t, next)) // The same key: an ordinary renewal.
	require.Equal(t, "PROCEED ", try(second, next))
	require.Equal(t, "PROCEED ", try(third, next))
	fourth := reissue(`"publicKey":` + jwkOf(t, old))
	require.Equal(t, "BLOCK R2_CREDENTIAL_STATUS", try(third, next), "another key supersedes at once")
	require.Equal(t, "PROCEED ", try(fourth, old))
	require.Equal(t, "PROCEED ", try(reissue(""), old), "a re-issue without a key keeps it")
}

// TestProofIsNotKept: the record has the key's thumbprint, the form and the proof's hash, and can be judged again.
func TestProofIsNotKept(t *testing.T) {
	n := newTestNode(t)
	key := agentKey("j")
	_, token := n.keyed(key, "")
	body := n.proving(key, "screen", "an-id-that-is-kept-1", `{"token":"`+token+`",`+strings.TrimSuffix(provenPayment, "}")+`,"permit":{}}`)
	proof := textOf(fastjson.MustParse(body), "proof")
	proven := n.screenedBy("screener", body)
	n.setPolicy(`{"possession":{"default":"review"}}`)
	reviewed := n.screenedBy("screener", `{"token":"`+token+`",`+provenPayment)
	for _, v := range []*fastjson.Value{proven, reviewed} {
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200)
		require.NotContains(t, record.String(), proof)
		require.NotContains(t, record.Get("_request").String(), "proof")
		public, err := possession.KeyFrom(key.Public())
		require.NoError(t, err)
		require.Equal(t, public.Thumbprint(), textOf(record, "proof", "jkt"))
		again := answer(t, n.do("auditor", "POST", "/v1/audit/"+textOf(v, "txnId")+"/replay", ""), 200)
		require.True(t, again.GetBool("match"), again.String())
	}
	require.Equal(t, "REVIEW missing", outcomeOf(reviewed))
	for index := range n.store.Size() {
		data, err := n.store.Leaf(index)
		require.NoError(t, err)
		require.NotContains(t, string(data), proof)
		require.NotContains(t, string(data), proof[strings.LastIndexByte(proof, '.')+1:])
	}
	parts := strings.Split(textOf(proven, "permit"), ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var said struct {
		Cnf struct{ Jkt string }
		Pop string
	}
	require.NoError(t, json.Unmarshal(claims, &said))
	require.Equal(t, "jws", said.Pop)
	require.Equal(t, textOf(answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(proven, "txnId"), ""), 200), "proof", "jkt"), said.Cnf.Jkt)
}
