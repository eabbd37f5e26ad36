package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
	"railguard/ofac/sample"
)

const testPublicURL = "https://pay.example.com"

// permitKeys returns the published keys for permits, as a verifier reads them.
func (n *testNode) permitKeys() *jws.KeySet {
	n.t.Helper()
	var published struct {
		Keys []struct{ Kid, X, Y string }
	}
	require.NoError(n.t, json.Unmarshal(n.do("", "GET", "/v1/.well-known/jwks.json", "").Body.Bytes(), &published))
	require.False(n.t, permit.IsKeyID(published.Keys[0].Kid), "clients take the first key for credentials")
	var public []jws.PublicKey
	for _, key := range published.Keys {
		if permit.IsKeyID(key.Kid) {
			x, err := base64.RawURLEncoding.DecodeString(key.X)
			require.NoError(n.t, err)
			y, err := base64.RawURLEncoding.DecodeString(key.Y)
			require.NoError(n.t, err)
			public = append(public, jws.PublicKey{ID: key.Kid, Point: append(x, y...)})
		}
	}
	set, err := jws.NewKeySet(public)
	require.NoError(n.t, err)
	return set
}

func (n *testNode) verifyPermit(token, audience string, pay *permit.Pay) (*permit.Claims, error) {
	return permit.Verify(token, &permit.Want{Keys: n.permitKeys(), Issuer: testPublicURL, Audience: audience, Now: n.LogTime(), Pay: func(string) *permit.Pay { return pay }})
}

const permittedPayment = `"amount":25.00,"chain":"base","rail":"usdc","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","payerWallet":"0x857B06519E91E3A54538791BDBB0E22373E36B66","paymentRef":"inv-2026-0007"`

// TestPermitComesWithAProceed (statements P02, P03, P06): the answer has a permit that a stock
// verifier accepts, for the payment that was judged. A replay, also on a node that restarted and
// after another list came in force, has the same bytes.
func TestPermitComesWithAProceed(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	body := `{"token":"` + token + `",` + permittedPayment + `,"permit":{"ttlSeconds":60,"aud":"https://shop.example"}}`
	first := answer(t, n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", "k1"), 200)
	token1 := textOf(first, "permit")
	require.NotEmpty(t, token1)
	pay := &permit.Pay{
		Amount: 25 * engine.Dollar, Chain: "BASE", Rail: "USDC", Payee: "0x209693bc6afc0c5328ba36faf03c514ef312287c",
		Payer: "0x857b06519e91e3a54538791bdbb0e22373e36b66", Ref: "inv-2026-0007",
	}
	claims, err := n.verifyPermit(token1, "https://shop.example", pay)
	require.NoError(t, err)
	require.Equal(t, textOf(first, "txnId"), claims.TxnID)
	require.Equal(t, textOf(first, "agentId"), claims.Subject)
	require.Equal(t, 60*engine.Second, claims.Expires-claims.IssuedAt)
	require.Equal(t, claims.Expires.String(), textOf(first, "permitExpiresAt"))
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+claims.TxnID, ""), 200)
	raw, err := base64.StdEncoding.DecodeString(textOf(record, "leafHash"))
	require.NoError(t, err)
	require.Equal(t, base64.RawURLEncoding.EncodeToString(raw), claims.LeafHash)
	require.Equal(t, "pay.example.com/cl_test", claims.Origin)
	require.Equal(t, 60, record.GetInt("permitSeconds"))
	require.Equal(t, "OFAC", textOf(record, "permitTerms", "lists", "0", "id"))
	require.NotContains(t, record.String(), token1, "no permit is stored")

	entities := sample.Entities()
	n.activate(entities[:len(entities)-1], sample.Meta())
	answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"for":"permit"}`), 201)
	n.reopen(nil)
	again := answer(t, n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", "k1"), 200)
	require.Equal(t, token1, textOf(again, "permit"), "the same bytes after a list sync, a rotation and a restart")
	unasked := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Acme"}`), 200)
	require.Nil(t, unasked.Get("permit"), "nothing is signed unasked")
	require.Nil(t, unasked.Get("hold"))
	batch := answer(t, n.batch(`{"token":"`+token+`","amount":2,"cpName":"Acme Ltd","permit":{},"idempotencyKey":"b1"}`), 200)
	_, err = n.verifyPermit(textOf(batch, "results", "0", "permit"), testPublicURL, nil)
	require.NoError(t, err, "without aud it is for this service; in a batch it is the same")
}

// TestPermitIsForAPayee (statements P04, P05): without a payee there is an error and no record; for
// REVIEW, BLOCK, UNKNOWN and a dry run there is no permit.
func TestPermitIsForAPayee(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":100}`)
	before := n.store.Size()
	for body, param := range map[string]string{
		`"amount":1,"permit":{}`:                                                      "permit",
		`"amount":1,"cpWallet":" ","cpName":"\t","permit":{}`:                         "permit",
		`"amount":1,"cpName":"A","permit":{"ttlSeconds":59}`:                          "permit",
		`"amount":1,"cpName":"A","permit":{"ttlSeconds":301}`:                         "permit",
		`"amount":1,"cpName":"A","permit":{"ttlSeconds":"60"}`:                        "permit",
		`"amount":1,"cpName":"A","permit":{"aud":""}`:                                 "permit",
		`"amount":1,"cpName":"A","permit":{"TTLSeconds":60}`:                          "permit",
		`"amount":1,"cpName":"A","permit":true`:                                       "permit",
		`"amount":1,"cpName":"A","permit":{"aud":"` + strings.Repeat("a", 257) + `"}`: "permit",
		`"amount":1,"cpName":"A","chain":"` + strings.Repeat(`\"`, 128) + strings.Repeat("a", 100) + `","rail":"` + strings.Repeat(`\"`, 128) + strings.Repeat("a", 100) +
			`","cpWallet":"` + strings.Repeat(`\"`, 200) + `","payerWallet":"` + strings.Repeat(`\"`, 200) + `","permit":{"aud":"` + strings.Repeat("😀", 256) + `"}`: "permit",
	} {
		refused := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`",`+body+`}`), 400)
		require.Equal(t, "invalid_field", textOf(refused, "code"), body)
		require.Contains(t, refused.String(), param)
	}
	require.Equal(t, before, n.store.Size(), "what is refused is not recorded")
	for verdict, body := range map[string]string{
		"REVIEW":  `"token":"` + token + `","amount":101,"cpName":"Acme Ltd"`,
		"BLOCK":   `"token":"` + token + `","amount":1,"cpWallet":"` + listedWallet + `"`,
		"UNKNOWN": `"token":"x","amount":1,"cpName":"Acme Ltd"`,
	} {
		got := answer(t, n.do("screener", "POST", "/v1/screen", `{`+body+`,"permit":{}}`), 200)
		require.Equal(t, verdict, textOf(got, "verdict"))
		require.Nil(t, got.Get("permit"), verdict)
		require.Nil(t, got.Get("permitExpiresAt"), verdict)
	}
	dry := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1,"cpName":"Acme Ltd","permit":{}}`), 200)
	require.Equal(t, "PROCEED", textOf(dry, "verdict"))
	require.Nil(t, dry.Get("permit"))
}

// TestPermitTellsNothingOfTheParty (statement P07): no name, address, country, identifier, memo or
// token of a hostile payment stands in its permit.
func TestPermitTellsNothingOfTheParty(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1000000}`)
	source := rand.New(rand.NewPCG(26, 1))
	const count = 400
	for i := range count {
		secret := func(what string) string { return fmt.Sprintf("%s-%08x", what, source.Uint64()) }
		words := map[string]string{
			"cpName": secret("Zebulon"), "cpAddress": secret("Lane"), "memo": secret("thanks"), "underlyingModel": secret("model"), "protocol": secret("protocol"),
			"travelRuleRef": secret("travel"), "cpDateOfBirth": "1962-11-23",
		}
		body := map[string]any{
			"token": token, "amount": 1, "chain": "WIRE", "rail": "WIRE", "permit": map[string]any{},
			"cpIdentifiers": []any{map[string]any{"type": "account", "value": secret("acct")}}, "cpCountry": "DE",
		}
		for name, word := range words {
			body[name] = word
		}
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		got := answer(t, n.do("screener", "POST", "/v1/screen", string(raw), "Idempotency-Key", fmt.Sprint(i)), 200)
		signed := textOf(got, "permit")
		if signed == "" {
			require.NotEqual(t, "PROCEED", textOf(got, "verdict"))
			continue
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(signed, ".")[1])
		require.NoError(t, err)
		for name, word := range words {
			require.NotContains(t, string(payload), word, name)
		}
		for _, never := range []string{"Zebulon", "acct-", `"DE"`, "spent", "limit", "R20", "operator", token} {
			require.NotContains(t, string(payload), never)
		}
		n.advance(181 * engine.Second) // Its hold is over, and the agent's pace is slow.
	}
}

// TestPermitKeysRotate (statements P08, P09): a new key signs from tomorrow on, or at once; the keys
// for credentials are not touched, and neither kind verifies the other's tokens.
func TestPermitKeysRotate(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	ask := func(key string) string {
		body := `{"token":"` + token + `","amount":1,"cpName":"Acme Ltd","permit":{}}`
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", body, "Idempotency-Key", key), 200), "permit")
	}
	first := ask("a")
	_, err := n.verifyPermit(token, testPublicURL, nil)
	require.ErrorContains(t, err, "type", "a credential is no permit")
	asToken := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+first+`","amount":1}`), 200)
	require.Equal(t, "UNKNOWN", textOf(asToken, "verdict"), "a permit is no credential")
	rotated := answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"for":"permit"}`), 201)
	require.Equal(t, "pm-v2", textOf(rotated, "kid"))
	require.Contains(t, ask("b")[:60], first[:60], "it signs 24 hours later")
	n.advance(engine.DayLength + engine.Second)
	n.confirmList()
	second := ask("c")
	require.NotEqual(t, first[:60], second[:60])
	claims, err := n.verifyPermit(second, testPublicURL, nil)
	require.NoError(t, err)
	require.Equal(t, "pm-v2", claims.KeyID)
	require.NotNil(t, n.permitKeys().Find("pm-v1"), "the old key stays for a day")
	n.advance(engine.DayLength + engine.Second)
	n.confirmList()
	require.Nil(t, n.permitKeys().Find("pm-v1"))
	require.Equal(t, "invalid_field", textOf(answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"for":"permit","emergency":true,"revoke":"cc-v1","reason":"x"}`), 422), "code"))
	answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"for":"permit","emergency":true,"revoke":"pm-v2","reason":"stolen"}`), 201)
	require.Nil(t, n.permitKeys().Find("pm-v2"))
	claims, err = n.verifyPermit(ask("d"), testPublicURL, nil)
	require.NoError(t, err)
	require.Equal(t, "pm-v3", claims.KeyID)
	listed := answer(t, n.doAdmin("GET", "/admin/signing-keys", ""), 200)
	require.Equal(t, "permit", textOf(listed, "data", "0", "for"))
	require.Equal(t, "PROCEED", textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "verdict"), "credentials stay good")
}

// TestPermitHoldsItsPayment: whoever has a permit may pay until its end, so its payment counts until
// somebody says what became of it.
func TestPermitHoldsItsPayment(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered(`,"spendPolicy":{"dailyLimitUSDC":25}`)
	body := `{"token":"` + token + `",` + permittedPayment + `,"permit":{}}`
	got := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
	require.Equal(t, "PROCEED", textOf(got, "verdict"))
	require.Equal(t, "held", textOf(got, "hold", "state"))
	held := func() int {
		return answer(t, n.do("screener", "GET", "/v1/agents/"+agent+"/limits", ""), 200).GetInt("heldUSDC")
	}
	require.Equal(t, 25, held())
	n.advance(181 * engine.Second)
	require.Equal(t, 25, held(), "unresolved")
	short := answer(t, n.do("screener", "POST", "/v1/screen", strings.NewReplacer("25.00", "0", "inv-2026-0007", "another", `"permit"`, `"hold":{"ttlSeconds":30},"permit"`).Replace(body)), 200)
	claims, err := n.verifyPermit(textOf(short, "permit"), testPublicURL, nil)
	require.NoError(t, err)
	require.Equal(t, 30*engine.Second, claims.Expires-claims.IssuedAt, "no permit is good longer than its hold")
}
