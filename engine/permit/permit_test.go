package permit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
)

const now = 1_795_437_000 * engine.Second

// testKey returns a key whose scalar is the hash of a text: never one of a product.
func testKey(t testing.TB, text string) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte(text))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	require.NoError(t, err)
	return key
}

func keysOf(t testing.TB, keys map[string]*ecdsa.PrivateKey) *jws.KeySet {
	t.Helper()
	var public []jws.PublicKey
	for kid, key := range keys {
		point, err := jws.PublicPoint(&key.PublicKey)
		require.NoError(t, err)
		public = append(public, jws.PublicKey{ID: kid, Point: point})
	}
	set, err := jws.NewKeySet(public)
	require.NoError(t, err)
	return set
}

func samplePay() permit.Pay {
	return permit.Pay{
		Amount: 25 * engine.Dollar, Chain: "BASE", Payee: "0x209693bc6afc0c5328ba36faf03c514ef312287c",
		Payer: "0x857b06519e91e3a54538791bdbb0e22373e36b66", Rail: "USDC", Ref: "inv-2026-0007",
	}
}

func sample() *permit.Permit {
	return &permit.Permit{
		Issuer: "https://guard.example.org", Subject: "agt_8f3k2m9q7t1x", Audience: "https://pay.example.org", TxnID: "txn_7Kq2mZ9a",
		IssuedAt: now, Expires: now + permit.LifetimeUsual, Pay: samplePay(), Others: true,
		Lists: permit.Lists{
			Version: 812, Digest: [32]byte{0x5f, 0x2a}, Of: []permit.Publication{{"OFAC", "2026-11-19"}, {"UN", "2026-11-18"}},
			Age: 12_600 * engine.Second, AgeMost: 7 * engine.DayLength,
		},
		Policy: 41, Rules: "2026.1", Log: permit.Log{Origin: "guard.example.org/railguard", Leaf: 81_234, Hash: sha256.Sum256([]byte("leaf"))},
		Thumbprint: "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", Proof: "jws",
	}
}

func want(t testing.TB, key *ecdsa.PrivateKey) *permit.Want {
	return &permit.Want{
		Keys: keysOf(t, map[string]*ecdsa.PrivateKey{"pm-v1": key}), Issuer: "https://guard.example.org", Audience: "https://pay.example.org", Now: now,
	}
}

func reasonOf(err error) permit.Reason {
	if refusal := (*permit.Error)(nil); errors.As(err, &refusal) {
		return refusal.Reason
	}
	return ""
}

func TestPermitSaysItsPayment(t *testing.T) {
	key := testKey(t, "permits")
	token, err := permit.Sign(sample(), key, "pm-v1")
	require.NoError(t, err)
	again, err := permit.Sign(sample(), key, "pm-v1")
	require.NoError(t, err)
	require.Equal(t, token, again, "equal input gives equal bytes")
	pay := samplePay()
	demand := want(t, key)
	demand.Pay = func(string) *permit.Pay { return &pay }
	claims, err := permit.Verify(token, demand)
	require.NoError(t, err)
	require.Equal(t, "txn_7Kq2mZ9a", claims.TxnID)
	require.Equal(t, pay.Hash(), claims.PayHash)
	require.Equal(t, uint64(81_234), claims.Leaf)
	require.Equal(t, now+permit.LifetimeUsual, claims.Expires)
	require.Equal(t, 12_600*engine.Second, claims.ListAge)
}

// TestOtherPaymentIsNamed: a verifier builds its own statement, and is told what differs.
func TestOtherPaymentIsNamed(t *testing.T) {
	key := testKey(t, "permits")
	token, err := permit.Sign(sample(), key, "pm-v1")
	require.NoError(t, err)
	for param, change := range map[string]func(*permit.Pay){
		"amount": func(p *permit.Pay) { p.Amount++ },
		"chain":  func(p *permit.Pay) { p.Chain = "" },
		"payee":  func(p *permit.Pay) { p.Payee = p.Payer },
		"payer":  func(p *permit.Pay) { p.Payer = p.Payee },
		"rail":   func(p *permit.Pay) { p.Rail = "USDT" },
		"ref":    func(p *permit.Pay) { p.Ref += "x" },
		"asset":  func(p *permit.Pay) { p.Asset = "eip155:1/erc20:0x0" },
		"nonce":  func(p *permit.Pay) { p.Nonce = "1" },
		"units":  func(p *permit.Pay) { p.Units = "1" },
		"payeeIds": func(p *permit.Pay) {
			p.PayeeIDs = []string{permit.PayeeID("txn_7Kq2mZ9a", permit.KindName, "Acme")}
		},
	} {
		pay := samplePay()
		change(&pay)
		demand := want(t, key)
		demand.Pay = func(string) *permit.Pay { return &pay }
		_, err := permit.Verify(token, demand)
		refusal := (*permit.Error)(nil)
		require.ErrorAs(t, err, &refusal, param)
		require.Equal(t, permit.Payment, refusal.Reason)
		require.Equal(t, param, refusal.Param)
	}
}

func TestPermitsAreRefused(t *testing.T) {
	key, other := testKey(t, "permits"), testKey(t, "credentials")
	sign := func(change func(*permit.Permit)) string {
		p := sample()
		change(p)
		token, err := permit.Sign(p, key, "pm-v1")
		require.NoError(t, err)
		return token
	}
	good := sign(func(*permit.Permit) {})
	parts := strings.Split(good, ".")
	header := func(text string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + parts[1] + "." + parts[2]
	}
	wrongKey, err := permit.Sign(sample(), other, "pm-v1")
	require.NoError(t, err)
	underOwn, err := permit.Sign(sample(), other, "cc-v1")
	require.NoError(t, err)
	twice := signed(t, strings.Replace(payloadOf(t, good), `"policy":41`, `"policy":41,"policy":42`, 1), key)
	number := signed(t, strings.Replace(payloadOf(t, good), `"amount":"25"`, `"amount":25`, 1), key)
	hash := signed(t, strings.Replace(payloadOf(t, good), `"amount":"25"`, `"amount":"26"`, 1), key)
	extra := signed(t, strings.Replace(payloadOf(t, good), `"pay":{`, `"pay":{"aaa":"1",`, 1), key)
	block := signed(t, strings.Replace(payloadOf(t, good), `"verdict":"PROCEED"`, `"verdict":"BLOCK"`, 1), key)
	for _, test := range []struct {
		name, token string
		reason      permit.Reason
	}{
		{"two segments", parts[0] + "." + parts[1], permit.Malformed},
		{"padding", good + "==", permit.Malformed},
		{"too long", good + strings.Repeat("A", permit.BytesMax), permit.Malformed},
		{"a claim twice", twice, permit.Malformed},
		{"none", header(`{"alg":"none","kid":"pm-v1","typ":"railguard-permit+jwt"}`), permit.Algorithm},
		{"typ of a credential", header(`{"alg":"ES256","kid":"pm-v1","typ":"JWT"}`), permit.WrongType},
		{"a kid nobody published", header(`{"alg":"ES256","kid":"pm-v2","typ":"railguard-permit+jwt"}`), permit.Key},
		{"a header that instructs", header(`{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","crit":["x"]}`), permit.Malformed},
		{"another key", wrongKey, permit.Signature},
		{"the credentials' key", underOwn, permit.Key},
		{"another issuer", sign(func(p *permit.Permit) { p.Issuer = "https://elsewhere.example" }), permit.Issuer},
		{"another audience", sign(func(p *permit.Permit) { p.Audience = "https://elsewhere.example" }), permit.Audience},
		{"no audience", sign(func(p *permit.Permit) { p.Audience = "" }), permit.Audience},
		{"exp is now", sign(func(p *permit.Permit) { p.Expires = now }), permit.Expired},
		{"61 seconds early", sign(func(p *permit.Permit) { p.IssuedAt, p.Expires = now+61*engine.Second, now+80*engine.Second }), permit.Early},
		{"301 seconds", sign(func(p *permit.Permit) { p.Expires = now + 301*engine.Second }), permit.Lifetime},
		{"it ends when it begins", sign(func(p *permit.Permit) { p.IssuedAt, p.Expires = now+50*engine.Second, now+50*engine.Second }), permit.Lifetime},
		{"a BLOCK", block, permit.Verdict},
		{"a number for a text", number, permit.Payment},
		{"another hash", hash, permit.Payment},
		{"an unknown member of pay", extra, permit.Payment},
		{"an old list", sign(func(p *permit.Permit) { p.Lists.Age = p.Lists.AgeMost + engine.Second }), permit.ListAge},
	} {
		_, err := permit.Verify(test.token, want(t, key))
		require.Equal(t, test.reason, reasonOf(err), "%s: %v", test.name, err)
	}
	early := sign(func(p *permit.Permit) { p.IssuedAt, p.Expires = now+60*engine.Second, now+80*engine.Second })
	_, err = permit.Verify(early, want(t, key))
	require.NoError(t, err, "a verifier's clock may be a minute slow")
	demand := want(t, key)
	demand.ListAgeMost = 12_599 * engine.Second
	_, err = permit.Verify(good, demand)
	require.Equal(t, permit.ListAge, reasonOf(err), "a verifier may demand a newer list")
	demand.ListAgeMost = 30 * engine.DayLength
	_, err = permit.Verify(sign(func(p *permit.Permit) { p.Lists.Age = p.Lists.AgeMost + engine.Second }), demand)
	require.Equal(t, permit.ListAge, reasonOf(err), "and never an older one")
}

func payloadOf(t testing.TB, token string) string {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	return string(payload)
}

func signed(t testing.TB, payload string, key *ecdsa.PrivateKey) string {
	t.Helper()
	token, err := jws.Sign([]byte(payload), key, "pm-v1", permit.Type)
	require.NoError(t, err)
	return token
}

func TestKeyIDs(t *testing.T) {
	for kid, ours := range map[string]bool{
		"pm-v1": true, "pm-v12": true, "sandbox-pm-v1": true, "cc-v1": false, "pm-v": false, "pm-v1a": false, "xpm-v1": false, "sandbox-cc-v1": false,
		"sandbox-sandbox-pm-v1": false, "pm-v+1": false,
	} {
		require.Equal(t, ours, permit.IsKeyID(kid), kid)
	}
}

func TestTooLarge(t *testing.T) {
	p := sample()
	p.Pay.Ref = strings.Repeat("r", permit.BytesMax)
	_, err := permit.Sign(p, testKey(t, "permits"), "pm-v1")
	require.ErrorIs(t, err, permit.ErrTooLarge)
}

// FuzzVerify: whatever arrives, nothing is accepted but what the key signed.
func FuzzVerify(f *testing.F) {
	key := testKey(f, "permits")
	good, err := permit.Sign(sample(), key, "pm-v1")
	require.NoError(f, err)
	f.Add(good)
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Add("")
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := permit.Verify(raw, want(t, key)); err == nil {
			require.Equal(t, strings.Split(good, ".")[1], strings.Split(raw, ".")[1])
		} else {
			require.NotEmpty(t, reasonOf(err))
		}
	})
}

func BenchmarkSign(b *testing.B) {
	key, p := testKey(b, "permits"), sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := permit.Sign(p, key, "pm-v1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	key := testKey(b, "permits")
	token, err := permit.Sign(sample(), key, "pm-v1")
	require.NoError(b, err)
	demand := want(b, key)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := permit.Verify(token, demand); err != nil {
			b.Fatal(err)
		}
	}
}
