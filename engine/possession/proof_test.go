package possession

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

const (
	testNow     = 1_795_437_000 * engine.Second
	testService = "https://guard.example.org"
	testID      = "pay-2026-11-23-000001"
)

// testRequest is a request as agents send them. The token has the size of a credential.
var testRequest = fmt.Appendf(nil, `{"token":"%s","amount":25.50,"chain":"BASE","rail":"USDC","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",`+
	`"payerWallet":"0x857b06519E91e3A54538791bDbb0E22373e36b66","cpName":"M\u00fcller & S\u00f6hne","paymentRef":"inv-2026-0007","hold":{"ttlSeconds":600}}`, strings.Repeat("eyJhbGci", 150))

func testClaims(t testing.TB) *Claims {
	var c Canonicaliser
	hash, err := c.RequestHash(testRequest, engine.JSONDepthMax)
	require.NoError(t, err)
	return &Claims{Audience: testService, Act: ActScreen, IssuedAt: testNow, ID: testID, Request: hash}
}

func wantOf(key *Key, claims *Claims) *Want {
	return &Want{Window: Window{Now: testNow}, Key: key, Audience: claims.Audience, Act: claims.Act, Request: claims.Request}
}

func TestProof(t *testing.T) {
	for alg, private := range both(t, "agent A") {
		claims, key := testClaims(t), publicKey(t, private)
		raw, err := Sign(claims, private)
		require.NoError(t, err)
		again, err := Sign(claims, private)
		require.NoError(t, err)
		require.Equal(t, raw, again)
		proof, err := VerifyJWS(raw, wantOf(key, claims))
		require.NoError(t, err, alg)
		require.Equal(t, &Proof{FormJWS, testID, testNow, sha256.Sum256([]byte(raw))}, proof)

		for name, c := range map[string]struct {
			change func(*Want)
			reason Reason
			sub    engine.Sub
		}{
			"another service": {func(w *Want) { w.Audience += "/" }, Audience, SubRequest},
			"another act":     {func(w *Want) { w.Act = ActConfirm("txn_1") }, Action, SubRequest},
			"another request": {func(w *Want) { w.Request[31]++ }, Request, SubRequest},
			"old":             {func(w *Want) { w.Now += AgeUsual + 1 }, Old, SubTime},
			"old, by policy":  {func(w *Want) { w.Now, w.AgeMost = w.Now+31*engine.Second, 30*engine.Second }, Old, SubTime},
			"early":           {func(w *Want) { w.Now -= EarlyMost + 1 }, Early, SubTime},
			"its last moment": {func(w *Want) { w.Now += AgeUsual }, "", 0},
			"its first":       {func(w *Want) { w.Now -= EarlyMost }, "", 0},
			"a longer policy": {func(w *Want) { w.Now, w.AgeMost = w.Now+AgeMost, AgeMost }, "", 0},
			"old and foreign": {func(w *Want) { w.Now, w.Act = w.Now+AgeMost, ActX402 }, Action, SubRequest}, // The order.
		} {
			want := wantOf(key, claims)
			c.change(want)
			_, err := VerifyJWS(raw, want)
			require.Equal(t, c.reason, reasonOf(err), "%s %s: %v", alg, name, err)
			if c.reason != "" {
				require.Equal(t, c.sub, reasonOf(err).Sub())
			}
		}
	}
}

func TestSubReasons(t *testing.T) {
	for sub, reasons := range map[engine.Sub][]Reason{
		7: {Malformed, Algorithm, WrongKey, Signature}, 8: {Component, Audience, Action, Request}, 9: {Lifetime, Old, Early, Expired}, 10: {Missing},
	} {
		for _, reason := range reasons {
			require.Equal(t, sub, reason.Sub(), "%s", reason)
		}
	}
}

// TestProofOfAnotherKey: another agent's key of each kind, and every bit of the signature.
func TestProofOfAnotherKey(t *testing.T) {
	claims := testClaims(t)
	for alg, private := range both(t, "agent A") {
		want := wantOf(publicKey(t, private), claims)
		for other, thief := range both(t, "agent B") {
			raw, err := Sign(claims, thief)
			require.NoError(t, err)
			_, err = VerifyJWS(raw, want)
			expected := Signature
			if other != alg {
				expected = WrongKey
			}
			require.Equal(t, expected, reasonOf(err), "%v", err)
			require.Equal(t, SubKey, reasonOf(err).Sub())
		}
		raw, err := Sign(claims, private)
		require.NoError(t, err)
		at := strings.LastIndexByte(raw, '.') + 1
		signature := mustDecode(t, raw[at:])
		for bit := range 8 * len(signature) {
			signature[bit/8] ^= 1 << (bit % 8)
			_, err := VerifyJWS(raw[:at]+base64.RawURLEncoding.EncodeToString(signature), want)
			require.Equal(t, Signature, reasonOf(err), "%s bit %d", alg, bit)
			signature[bit/8] ^= 1 << (bit % 8)
		}
		padded := append(append(append([]byte{}, signature[:32]...), 0), signature[32:]...) // The same numbers.
		_, err = VerifyJWS(raw[:at]+base64.RawURLEncoding.EncodeToString(padded), want)
		require.Equal(t, Signature, reasonOf(err))
		for _, size := range []int{1, 63, 65, 70, 96} {
			_, err := VerifyJWS(raw[:at]+base64.RawURLEncoding.EncodeToString(make([]byte, size)), want)
			require.Equal(t, Signature, reasonOf(err))
		}
	}
}

// signed makes a JWS of any header and payload.
func signed(t testing.TB, header, payload string) (string, *Key) {
	edwards, _ := testKeys(t, "agent A")
	input := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	signature, err := sign([]byte(input), edwards)
	require.NoError(t, err)
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), publicKey(t, edwards)
}

func TestProofIsStrict(t *testing.T) {
	claims := testClaims(t)
	rqh := base64.RawURLEncoding.EncodeToString(claims.Request[:])
	header := `{"alg":"EdDSA","typ":"railguard-proof+jwt"}`
	body := func(changes ...string) string {
		text := fmt.Sprintf(`{"aud":%q,"act":"screen","iat":1795437000,"jti":%q,"rqh":%q}`, testService, testID, rqh)
		return strings.NewReplacer(changes...).Replace(text)
	}
	for _, c := range []struct {
		header, payload string
		reason          Reason
	}{
		{header, body(), ""},
		{`{ "typ":"railguard-proof+jwt", "alg":"EdDSA" }`, body(`"aud"`, `"\u0061ud"`), ""},
		{`{"alg":"EdDSA","typ":"railguard-proof+jwt","kid":"a"}`, body(), Malformed},
		{`{"alg":"EdDSA","typ":"railguard-proof+jwt","crit":["b64"],"b64":false}`, body(), Malformed},
		{`{"alg":"EdDSA","typ":"railguard-proof+jwt","jwk":{}}`, body(), WrongKey},
		{`{"alg":"EdDSA","typ":"railguard-proof+jwt","alg":"EdDSA"}`, body(), Malformed},
		{`{"alg":"EdDSA","Typ":"railguard-proof+jwt"}`, body(), Malformed},
		{`{"alg":"EdDSA","typ":"railguard-permit+jwt"}`, body(), Malformed},
		{`{"alg":"EdDSA","typ":"application/railguard-proof+jwt"}`, body(), Malformed},
		{`{"typ":"railguard-proof+jwt"}`, body(), Algorithm},
		{`{"alg":"Ed25519","typ":"railguard-proof+jwt"}`, body(), Algorithm},
		{`{"alg":"ES256","typ":"railguard-proof+jwt"}`, body(), Algorithm},
		{`{"alg":"none","typ":"railguard-proof+jwt"}`, body(), Algorithm},
		{`{"alg":["EdDSA"],"typ":"railguard-proof+jwt"}`, body(), Algorithm},
		{`[]`, body(), Malformed},
		{header, `[]`, Malformed},
		{header, `{}`, Malformed},
		{header, body(`"}`, `","exp":1}`), Malformed},
		{header, body(`"jti"`, `"jTi"`), Malformed},
		{header, body(`"jti"`, `"act":"screen","jti"`), Malformed},
		{header, body(`"act":"screen"`, `"act":["screen"]`), Malformed},
		{header, body(`"act":"screen"`, `"act":""`), Malformed},
		{header, body(`"act":"screen"`, `"act":"screen "`), Action},
		{header, body(`"`+testService+`"`, `["`+testService+`"]`), Malformed},
		{header, body(testService, "https://GUARD.example.org"), Audience},
		{header, body(`1795437000`, `"1795437000"`), Malformed},
		{header, body(`1795437000`, `1795437000.0`), Malformed},
		{header, body(`1795437000`, `1795437e3`), Malformed},
		{header, body(`1795437000`, `-1`), Malformed},
		{header, body(`1795437000`, `8589934592`), Malformed},
		{header, body(`1795437000`, `99999999999999999999`), Malformed},
		{header, body(`1795437000`, `0`), Old},
		{header, body(`1795437000`, `8589934591`), Early},
		{header, body(testID, "0123456789abcde"), Malformed},
		{header, body(testID, "0123456789abcdef"), ""},
		{header, body(testID, strings.Repeat("a", 64)), ""},
		{header, body(testID, strings.Repeat("a", 65)), Malformed},
		{header, body(testID, "0123456789abcde."), Malformed},
		{header, body(testID, "0123456789abcde\\n"), Malformed},
		{header, body(rqh, rqh+"="), Request},
		{header, body(rqh, rqh[:42]), Request},
		{header, body(`"`+rqh+`"`, `7`), Malformed},
		{header, "{\"aud\":\"\xff\"}", Malformed},
	} {
		raw, key := signed(t, c.header, c.payload)
		_, err := VerifyJWS(raw, wantOf(key, claims))
		require.Equal(t, c.reason, reasonOf(err), "%s %s: %v", c.header, c.payload, err)
	}
	good, key := signed(t, header, body())
	for raw, reason := range map[string]Reason{
		"": Missing, ".": Malformed, "..": Malformed, "...": Malformed, "a.b.c": Malformed, good + ".": Malformed, good + "=": Malformed, good + "\n": Malformed,
		" " + good: Malformed, good[:strings.LastIndexByte(good, '.')+1]: Malformed, good + strings.Repeat("A", BytesMax): Malformed, "Bearer " + good: Malformed,
		good[:strings.IndexByte(good, '.')] + ".." + good: Malformed,
	} {
		_, err := VerifyJWS(raw, wantOf(key, claims))
		require.Equal(t, reason, reasonOf(err), "%q: %v", raw, err)
	}
}

// TestProofIsOneText: no other text than the one that was signed is the same proof, so that its ID
// cannot be used again in another form.
func TestProofIsOneText(t *testing.T) {
	claims := testClaims(t)
	edwards, _ := testKeys(t, "agent A")
	raw, err := Sign(claims, edwards)
	require.NoError(t, err)
	want := wantOf(publicKey(t, edwards), claims)
	for at := range len(raw) {
		for _, c := range []byte("A_.=") {
			if raw[at] == c {
				continue
			}
			_, err := VerifyJWS(raw[:at]+string(c)+raw[at+1:], want)
			require.Error(t, err, "byte %d", at)
		}
	}
}

// TestErrorsTellNothing: refusals quote no proof, key or request.
func TestErrorsTellNothing(t *testing.T) {
	claims := testClaims(t)
	edwards, _ := testKeys(t, "agent A")
	raw, err := Sign(claims, edwards)
	require.NoError(t, err)
	key := publicKey(t, edwards)
	for at := 0; at < len(raw); at += 7 {
		_, err := VerifyJWS(raw[:at]+"*"+raw[at+1:], wantOf(key, claims))
		require.Error(t, err)
		require.NotContains(t, err.Error(), raw[:8])
		require.NotContains(t, err.Error(), key.Thumbprint())
		require.NotContains(t, err.Error(), testID)
	}
}

// FuzzVerifyJWS: any text gets one outcome, and only what the key signed is good.
func FuzzVerifyJWS(f *testing.F) {
	claims := testClaims(f)
	for _, private := range both(f, "agent A") {
		raw, err := Sign(claims, private)
		require.NoError(f, err)
		f.Add(raw)
		f.Add(strings.Replace(raw, "eyJ", "eyK", 1))
	}
	foreign, _ := signed(f, `{"alg":"none"}`, `{}`)
	f.Add(foreign)
	edwards, p256 := testKeys(f, "agent A")
	good := map[string]bool{}
	var wants []*Want
	for _, private := range both(f, "agent A") {
		raw, err := Sign(claims, private)
		require.NoError(f, err)
		good[raw] = true
	}
	wants = append(wants, wantOf(publicKey(f, edwards), claims), wantOf(publicKey(f, p256), claims))
	f.Fuzz(func(t *testing.T, raw string) {
		for _, want := range wants {
			proof, err := VerifyJWS(raw, want)
			require.True(t, (proof == nil) != (reasonOf(err) == ""))
			require.True(t, proof == nil || good[raw])
		}
	})
}

// FuzzReadJWK: what is read has one form, and is read from it again.
func FuzzReadJWK(f *testing.F) {
	for _, private := range both(f, "agent A") {
		f.Add(publicKey(f, private).AppendJWK(nil))
	}
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ","d":"AQ"}`))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		key, err := ReadJWK(document)
		if err != nil {
			require.NotEmpty(t, faultOf(err))
			return
		}
		again, err := ReadJWK(key.AppendJWK(nil))
		require.NoError(t, err)
		require.Equal(t, key, again)
		stored, err := OpenKey(key.AppendForm(nil))
		require.NoError(t, err)
		require.Equal(t, key, stored)
	})
}
