package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
)

// forge signs any header and payload with a good key, so the token fails for its content, not
// for its signature.
func forge(t testing.TB, header, payload string, key *ecdsa.PrivateKey) string {
	t.Helper()
	input := encode(header) + "." + encode(payload)
	signature, err := jws.SignBytes([]byte(input), key)
	require.NoError(t, err)
	return input + "." + encode(string(signature))
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

const goodHeader = `{"alg":"ES256","kid":"cc-v1","typ":"JWT"}`

func goodPayload(t testing.TB) string {
	t.Helper()
	c := agentCredential()
	return string(c.claimSet(c.AppendJSON(nil)))
}

func TestForgeIsGoodByItself(t *testing.T) {
	token := forge(t, goodHeader, goodPayload(t), rfcKey(t))
	minted, _, err := Mint(agentCredential(), rfcKey(t), testKid)
	require.NoError(t, err)
	require.Equal(t, minted, token)
	_, err = testKeys(t).Open(token)
	require.NoError(t, err)
	_, err = testKeys(t).Open(forge(t, ` { "typ":"JWT", "kid":"cc-v1", "alg":"ES256" } `, goodPayload(t), rfcKey(t)))
	require.NoError(t, err, "order and blanks of the header do not matter")
}

func TestHeaderAttacks(t *testing.T) {
	tests := []struct {
		name, header string
		want         error
	}{
		{"alg none", `{"alg":"none","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"alg in lower case", `{"alg":"es256","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"alg RS256", `{"alg":"RS256","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"alg ES384", `{"alg":"ES384","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"alg missing", `{"kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"alg a list", `{"alg":["ES256"],"kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"a second alg in another case", `{"alg":"ES256","ALG":"none","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"a second alg", `{"alg":"ES256","alg":"none","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"a second alg behind an escape", `{"alg":"ES256","\u0061lg":"none","kid":"cc-v1","typ":"JWT"}`, jws.ErrMalformed},
		{"typ missing", `{"alg":"ES256","kid":"cc-v1"}`, jws.ErrMalformed},
		{"typ of VC 2.0", `{"alg":"ES256","kid":"cc-v1","typ":"vc+jwt"}`, jws.ErrMalformed},
		{"typ of an access token", `{"alg":"ES256","kid":"cc-v1","typ":"at+jwt"}`, jws.ErrMalformed},
		{"kid missing", `{"alg":"ES256","typ":"JWT"}`, jws.ErrKey},
		{"kid a path", `{"alg":"ES256","kid":"../../dev/null","typ":"JWT"}`, jws.ErrKey},
		{"kid a query", `{"alg":"ES256","kid":"x' OR '1'='1","typ":"JWT"}`, jws.ErrKey},
		{"kid in upper case", `{"alg":"ES256","kid":"CC-V1","typ":"JWT"}`, jws.ErrKey},
		{"kid of 33", `{"alg":"ES256","kid":"` + strings.Repeat("a", 33) + `","typ":"JWT"}`, jws.ErrKey},
		{"kid a number", `{"alg":"ES256","kid":1,"typ":"JWT"}`, jws.ErrKey},
		{"kid unknown", `{"alg":"ES256","kid":"cc-v2","typ":"JWT"}`, jws.ErrKey},
		{"crit", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","crit":["b64"],"b64":false}`, jws.ErrMalformed},
		{"b64", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","b64":false}`, jws.ErrMalformed},
		{"jku", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","jku":"https://evil.example/jwks"}`, jws.ErrMalformed},
		{"jwk", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","jwk":{"kty":"EC"}}`, jws.ErrMalformed},
		{"x5u", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","x5u":"https://evil.example/c"}`, jws.ErrMalformed},
		{"x5c", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","x5c":[]}`, jws.ErrMalformed},
		{"x5t", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","x5t":"AA"}`, jws.ErrMalformed},
		{"zip", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","zip":"DEF"}`, jws.ErrMalformed},
		{"cty", `{"alg":"ES256","kid":"cc-v1","typ":"JWT","cty":"JWT"}`, jws.ErrMalformed},
		{"a list", `["ES256"]`, jws.ErrMalformed},
		{"two objects", goodHeader + goodHeader, jws.ErrMalformed},
		{"not JSON", `{"alg":"ES256"`, jws.ErrMalformed},
		{"not UTF-8", "{\"alg\":\"ES256\",\"kid\":\"cc-v1\",\"typ\":\"JWT\xff\"}", jws.ErrMalformed},
		{"nested", strings.Repeat(`{"a":`, jws.DepthMax) + `{}` + strings.Repeat(`}`, jws.DepthMax), jws.ErrMalformed},
		{"empty", ``, jws.ErrMalformed},
	}
	keys := testKeys(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := keys.Open(forge(t, test.header, goodPayload(t), rfcKey(t)))
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestPayloadAttacks(t *testing.T) {
	good := goodPayload(t)
	replace := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	const subject, exp = `"sub":"agt_8f3k2m7q7txx"`, `"exp":1782012808`
	tests := []struct {
		name, payload string
		want          error
	}{
		{"another issuer in both places", strings.ReplaceAll(good, testIssuer, "did:kya:other"), ErrIssuer},
		{"iss alone", replace(`"iss":"did:kya:railguard"`, `"iss":"did:kya:other"`), ErrIssuer},
		{"iss missing", replace(`"iss":"did:kya:railguard",`, ``), ErrIssuer},
		{"iss a list", replace(`"iss":"did:kya:railguard"`, `"iss":["did:kya:railguard"]`), ErrIssuer},
		{"vc.issuer alone", replace(`"issuer":"did:kya:railguard"`, `"issuer":"did:kya:other"`), jws.ErrMalformed},
		{"sub alone", replace(subject, `"sub":"agt_someoneelse"`), jws.ErrMalformed},
		{"sub missing", replace(subject+`,`, ``), jws.ErrMalformed},
		{"subject of a user", strings.ReplaceAll(good, `agt_8f3k2m7q7txx`, `usr_8f3k2m7q7txx`), ErrType},
		{"agentId alone", replace(`"agentId":"agt_8f3k2m7q7txx"`, `"agentId":"agt_someoneelse"`), jws.ErrMalformed},
		{"agentId missing", replace(`"agentId":"agt_8f3k2m7q7txx",`, ``), jws.ErrMalformed},
		{"credentialSubject a list", replace(`"credentialSubject":{`, `"credentialSubject":[],"x":{`), jws.ErrMalformed},
		{"jti alone", replace(`"jti":"urn:uuid:0190`, `"jti":"urn:uuid:0191`), jws.ErrMalformed},
		{"jti a number", replace(`"jti":"urn:uuid:0190a1b2-0000-8000-8000-000000000001"`, `"jti":1`), jws.ErrMalformed},
		{"exp alone", replace(exp, `"exp":1782012809`), jws.ErrMalformed},
		{"exp missing", replace(exp+`,`, ``), jws.ErrMalformed},
		{"exp a string", replace(exp, `"exp":"1782012808"`), jws.ErrMalformed},
		{"exp a fraction", replace(exp, `"exp":1782012808.0`), jws.ErrMalformed},
		{"exp with an exponent", replace(exp, `"exp":1e30`), jws.ErrMalformed},
		{"exp negative", replace(exp, `"exp":-1`), jws.ErrMalformed},
		{"exp in 2101", replace(exp, `"exp":4133980800`), jws.ErrMalformed},
		{"exp beyond int64", replace(exp, `"exp":99999999999999999999`), jws.ErrMalformed},
		{"exp null", replace(exp, `"exp":null`), jws.ErrMalformed},
		{"two exp", replace(exp, exp+`,`+exp), jws.ErrMalformed},
		{"exp and Exp", replace(exp, exp+`,"Exp":4102444800`), jws.ErrMalformed},
		{"nbf missing", replace(`"nbf":1774150408,`, ``), jws.ErrMalformed},
		{"nbf in 2019", replace(`"nbf":1774150408`, `"nbf":1577836799`), jws.ErrMalformed},
		{"iat a string", replace(`"iat":1774150408`, `"iat":"now"`), jws.ErrMalformed},
		{"vc missing", replace(`"vc":`, `"x":`), ErrType},
		{"VC", replace(`"vc":`, `"VC":`), jws.ErrMalformed},
		{"vc a string", `{"iss":"did:kya:railguard","sub":"agt_x","jti":"j","iat":1774150408,"nbf":1774150408,"exp":1782012808,"vc":"x"}`, ErrType},
		{"a presentation besides", replace(`"vc":`, `"vp":{},"vc":`), ErrType},
		{"issuanceDate alone", replace(`"issuanceDate":"2026-03-22T03:33:28.000Z"`, `"issuanceDate":"2026-03-22T03:33:29.000Z"`), jws.ErrMalformed},
		{"expirationDate alone", replace(`"expirationDate":"2026`, `"expirationDate":"2027`), jws.ErrMalformed},
		{"unknown type", replace(`KYAAgentCredential`, `KYASuperCredential`), ErrType},
		{"type besides", replace(`"KYAAgentCredential"`, `"KYAAgentCredential","KYAUserCredential"`), ErrType},
		{"type twice", replace(`"KYAAgentCredential"`, `"KYAAgentCredential","KYAAgentCredential"`), ErrType},
		{"type a string", replace(`"type":["VerifiableCredential","KYAAgentCredential"]`, `"type":"KYAAgentCredential"`), ErrType},
		{"type missing", replace(`"type":["VerifiableCredential","KYAAgentCredential"],`, ``), ErrType},
		{"equal names deep inside", replace(`"maxSingleTxUSDC":500.10`, `"maxSingleTxUSDC":500.10,"maxSingleTxUSDC":1`), jws.ErrMalformed},
		{"nested too deep", replace(`"maxSingleTxUSDC":500.10`, `"a":`+strings.Repeat("[", 5)+strings.Repeat("]", 5)), jws.ErrMalformed},
		{"a list", `[]`, jws.ErrMalformed},
		{"trailing text", good + `{}`, jws.ErrMalformed},
		{"not JSON", good[:len(good)-1], jws.ErrMalformed},
		{"not UTF-8", strings.Replace(good, "Ács", "\xc1cs", 1), jws.ErrMalformed},
	}
	keys := testKeys(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := keys.Open(forge(t, goodHeader, test.payload, rfcKey(t)))
			require.ErrorIs(t, err, test.want)
		})
	}
}

func TestShapeAttacks(t *testing.T) {
	token := forge(t, goodHeader, goodPayload(t), rfcKey(t))
	parts := strings.Split(token, ".")
	header, payload, signature := parts[0], parts[1], parts[2]
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	require.NoError(t, err)
	s := new(big.Int).SetBytes(raw[32:])
	order := elliptic.P256().Params().N
	withSignature := func(bytes []byte) string {
		return header + "." + payload + "." + base64.RawURLEncoding.EncodeToString(bytes)
	}
	join := func(r, s []byte) []byte { return append(append([]byte{}, r...), s...) }
	point := pointOf(t, rfcKey(t))
	mac := hmac.New(sha256.New, point)
	hsInput := encode(`{"alg":"HS256","kid":"cc-v1","typ":"JWT"}`) + "." + payload
	mac.Write([]byte(hsInput))
	tests := []struct {
		name, token string
		want        error
	}{
		{"empty", "", jws.ErrMalformed},
		{"garbage", "garbage", jws.ErrMalformed},
		{"an API key", "rg_live_0123456789abcdefghijklmnopqr", jws.ErrMalformed},
		{"one dot", header + "." + payload, jws.ErrMalformed},
		{"three dots", token + ".", jws.ErrMalformed},
		{"five segments", header + "." + payload + "." + signature + ".a.b", jws.ErrMalformed},
		{"no header", "." + payload + "." + signature, jws.ErrMalformed},
		{"no payload", header + ".." + signature, jws.ErrMalformed},
		{"no signature", header + "." + payload + ".", jws.ErrMalformed},
		{"alg none without a signature", encode(`{"alg":"none"}`) + "." + payload + ".", jws.ErrMalformed},
		{"HS256 with the public key", hsInput + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), jws.ErrMalformed},
		{"padding", header + "." + payload + "." + signature + "==", jws.ErrMalformed},
		{"line feed in the payload", header + "." + payload[:8] + "\n" + payload[8:] + "." + signature, jws.ErrMalformed},
		{"carriage return behind", token + "\r", jws.ErrMalformed},
		{"base64 of the other alphabet", header + "." + payload[:8] + "+/" + payload[10:] + "." + signature, jws.ErrMalformed},
		{"NUL behind", token + "\x00", jws.ErrMalformed},
		{"JSON serialisation", `{"payload":"` + payload + `","signatures":[]}`, jws.ErrMalformed},
		{"trailing bits in the signature", header + "." + payload + "." + signature[:85] + string(flipTrailing(signature[85])), jws.ErrMalformed},
		{"signature of 63 bytes", withSignature(raw[:63]), jws.ErrMalformed},
		{"signature of 65 bytes", withSignature(append(raw[:64:64], 0)), jws.ErrMalformed},
		{"signature in DER", withSignature(append([]byte{0x30, 0x44, 2, 0x20}, raw...)), jws.ErrMalformed},
		{"r zero", withSignature(join(make([]byte, 32), raw[32:])), jws.ErrSignature},
		{"s zero", withSignature(join(raw[:32], make([]byte, 32))), jws.ErrSignature},
		{"both zero", withSignature(make([]byte, 64)), jws.ErrSignature},
		{"s the order", withSignature(join(raw[:32], order.Bytes())), jws.ErrSignature},
		{"r the order", withSignature(join(order.Bytes(), raw[32:])), jws.ErrSignature},
		{"s plus the order's wrap", withSignature(join(raw[:32], new(big.Int).Mod(new(big.Int).Add(s, big.NewInt(1)), order).FillBytes(make([]byte, 32)))), jws.ErrSignature},
		{"r and s exchanged", withSignature(join(raw[32:], raw[:32])), jws.ErrSignature},
		{"altered payload", header + "." + encode(strings.Replace(goodPayload(t), "500.10", "900.10", 1)) + "." + signature, jws.ErrSignature},
		{"another key under our kid", forge(t, goodHeader, goodPayload(t), keyOf(t, strings.Repeat("0", 63)+"7")), jws.ErrSignature},
		{"a byte too long", strings.Repeat("A", engine.TokenMax+1), jws.ErrMalformed},
	}
	keys := testKeys(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := keys.Open(test.token)
			require.ErrorIs(t, err, test.want)
			require.NotEqual(t, engine.TokenGood, State(err))
		})
	}
	twin := withSignature(join(raw[:32], new(big.Int).Sub(order, s).FillBytes(make([]byte, 32))))
	require.NotEqual(t, token, twin)
	first, err := keys.Open(token)
	require.NoError(t, err)
	second, err := keys.Open(twin)
	require.NoError(t, err, "JOSE allows the twin of a signature")
	require.Equal(t, first, second, "so identity is the credential id")
}

// flipTrailing changes those bits of the last character that decode to nothing.
func flipTrailing(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)^1]
}

func TestState(t *testing.T) {
	for err, want := range map[error]engine.TokenState{
		nil: engine.TokenGood, jws.ErrMalformed: engine.TokenMalformed, jws.ErrSignature: engine.TokenSignature,
		jws.ErrKey: engine.TokenUnknownKey, ErrIssuer: engine.TokenUnknownIssuer, ErrType: engine.TokenWrongType,
	} {
		require.Equal(t, want, State(err))
	}
}

func TestStripPrefix(t *testing.T) {
	tests := []struct {
		name, field, token string
		ok                 bool
	}{
		{"raw", "a.b.c", "a.b.c", true},
		{"raw with spaces", "  a.b.c ", "a.b.c", true},
		{"Bearer", "Bearer a.b.c", "a.b.c", true},
		{"VerifiableCredential", "VerifiableCredential a.b.c", "a.b.c", true},
		{"ProofPack", "ProofPack a.b.c", "a.b.c", true},
		{"JWT", "JWT a.b.c", "a.b.c", true},
		{"any case", "bEARER a.b.c", "a.b.c", true},
		{"many spaces", "  jwt    a.b.c   ", "a.b.c", true},
		{"prefix alone", "Bearer", "", false},
		{"prefix and spaces", "Bearer   ", "", false},
		{"two prefixes", "Bearer JWT a.b.c", "", false},
		{"the same prefix twice", "Bearer Bearer a.b.c", "", false},
		{"two prefixes and nothing", "Bearer JWT", "", false},
		{"another scheme", "Basic a.b.c", "", false},
		{"two tokens", "a.b.c a.b.c", "", false},
		{"prefix behind", "a.b.c Bearer", "", false},
		{"empty", "", "", false},
		{"spaces", "   ", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			token, ok := StripPrefix(test.field)
			require.Equal(t, test.ok, ok)
			if ok {
				require.Equal(t, test.token, token)
			}
		})
	}
	token, ok := StripPrefix("Bearer\ta.b.c")
	require.True(t, ok, "a tab is part of the word")
	_, err := Parse(token)
	require.ErrorIs(t, err, jws.ErrMalformed)
}

func FuzzParse(f *testing.F) {
	token := forge(f, goodHeader, goodPayload(f), rfcKey(f))
	f.Add(token)
	f.Add("a.b.c")
	f.Add(encode(`{"alg":"none"}`) + ".e30.")
	keys := testKeys(f)
	f.Fuzz(func(t *testing.T, raw string) {
		parsed, err := Parse(raw)
		if err != nil {
			require.NotEqual(t, engine.TokenGood, State(err))
			return
		}
		require.True(t, jws.ValidKeyID(parsed.KeyID))
		require.LessOrEqual(t, len(raw), engine.TokenMax)
		segments := strings.Split(raw, ".")
		require.Len(t, segments, 3)
		require.Equal(t, encode(string(parsed.compact.Payload)), segments[1], "one text only decodes to these bytes")
		if claims, err := keys.Verify(&parsed); err == nil {
			require.Equal(t, "agt_8f3k2m7q7txx", claims.Subject, "nobody but us can sign")
		}
	})
}

func FuzzStripPrefix(f *testing.F) {
	f.Add("Bearer a.b.c")
	f.Add(" JWT  ")
	f.Fuzz(func(t *testing.T, field string) {
		token, ok := StripPrefix(field)
		if !ok {
			return
		}
		require.NotEmpty(t, token)
		require.NotContains(t, token, " ")
		require.False(t, isPrefix(token))
		again, ok := StripPrefix(token)
		require.True(t, ok)
		require.Equal(t, token, again)
	})
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte(goodPayload(f)))
	keys := testKeys(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		claims, err := keys.readClaims(payload)
		if err != nil {
			return
		}
		require.Equal(t, testIssuer, claims.Issuer)
		require.NotEmpty(t, claims.CredentialID)
		require.True(t, strings.HasPrefix(claims.Subject, claims.Kind.subjectPrefix()))
		require.True(t, claims.Expires >= secondsMin*engine.Second && claims.Expires <= secondsMax*engine.Second)
	})
}
