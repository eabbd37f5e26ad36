package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
)

const (
	testIssuer = "did:kya:railguard"
	testKid    = "cc-v1"
	testIssued = engine.Time(1_774_150_408_589) * engine.Millisecond // 2026-03-22T03:33:28.589Z
)

// rfcKey is the P-256 key of RFC 6979, A.2.5.
func rfcKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	return keyOf(t, "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
}

func keyOf(t testing.TB, scalar string) *ecdsa.PrivateKey {
	t.Helper()
	raw, err := hex.DecodeString(scalar)
	require.NoError(t, err)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	require.NoError(t, err)
	return key
}

func pointOf(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	point, err := jws.PublicPoint(&key.PublicKey)
	require.NoError(t, err)
	return point
}

func testKeys(t testing.TB) *KeySet {
	t.Helper()
	keys, err := NewKeySet(testIssuer, []jws.PublicKey{{ID: testKid, Point: pointOf(t, rfcKey(t))}})
	require.NoError(t, err)
	return keys
}

func agentCredential() *Credential {
	return &Credential{
		Kind: KindAgent, ID: "urn:uuid:0190a1b2-0000-8000-8000-000000000001", Issuer: testIssuer,
		ContextURL: "https://node1.example/contexts/kya/v1", IssuedAt: testIssued, ExpiresAt: testIssued + engine.AgentValidity,
		Subject: "agt_8f3k2m7q7txx", Name: "Zoë's <Agent> & Co \u2028\t\"x\"", AgentType: "autonomous", OperatorLegalName: "Ács Kft",
		SpendPolicy: []byte(`{ "maxSingleTxUSDC" : 500.10, "allowedChains":["SOL","ETH"], "note":"a < b" }`),
		ScreenedAt:  testIssued,
	}
}

func delegateCredential() *Credential {
	c := agentCredential()
	c.Kind, c.ParentID, c.RootID, c.Depth, c.Chain = KindDelegate, "agt_parent", "agt_root", 2, []string{"agt_root", "agt_parent"}
	return c
}

func userCredential() *Credential {
	return &Credential{
		Kind: KindUser, ID: "urn:uuid:0190a1b2-0000-8000-8000-000000000002", Issuer: testIssuer,
		ContextURL: "https://node1.example/contexts/kya/v1", IssuedAt: testIssued, ExpiresAt: testIssued + engine.UserValidity,
		Subject: "usr_8f3k2m7q7txx", Name: "Ada Lovelace", AgentType: "supervised", Agents: []string{"agt_8f3k2m7q7txx"},
		Matched: true, ScreenedAt: testIssued,
	}
}

func TestMintAndVerify(t *testing.T) {
	keys := testKeys(t)
	for _, c := range []*Credential{agentCredential(), delegateCredential(), userCredential()} {
		t.Run(c.Kind.String(), func(t *testing.T) {
			require.NoError(t, c.Check())
			token, document, err := Mint(c, rfcKey(t), testKid)
			require.NoError(t, err)
			again, documentAgain, err := Mint(c, rfcKey(t), testKid)
			require.NoError(t, err)
			require.Equal(t, token, again, "a token is a pure function of content and key")
			require.Equal(t, document, documentAgain)

			claims, err := keys.Open(token)
			require.NoError(t, err)
			second := testIssued - testIssued%engine.Second
			require.Equal(t, Claims{
				Kind: c.Kind, Subject: c.Subject, CredentialID: c.ID, Issuer: testIssuer, KeyID: testKid,
				IssuedAt: second, NotBefore: second, Expires: c.ExpiresAt - c.ExpiresAt%engine.Second,
			}, claims)

			payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
			require.NoError(t, err)
			var body struct{ VC json.RawMessage }
			require.NoError(t, json.Unmarshal(payload, &body))
			require.Equal(t, string(document), string(body.VC), "T032: vc is the credential, byte for byte")
		})
	}
}

func TestHeaderBytes(t *testing.T) {
	token, _, err := Mint(agentCredential(), rfcKey(t), testKid)
	require.NoError(t, err)
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	require.NoError(t, err)
	require.Equal(t, `{"alg":"ES256","kid":"cc-v1","typ":"JWT"}`, string(header))
}

// TestDocument pins the bytes: for an idempotent replay, any later release must mint the same
// token again.
func TestDocument(t *testing.T) {
	require.Equal(t, `{"@context":["https://www.w3.org/2018/credentials/v1","https://node1.example/contexts/kya/v1"],`+
		`"id":"urn:uuid:0190a1b2-0000-8000-8000-000000000001","type":["VerifiableCredential","KYAAgentCredential"],`+
		`"issuer":"did:kya:railguard","issuanceDate":"2026-03-22T03:33:28.000Z","expirationDate":"2026-06-21T03:33:28.000Z",`+
		`"credentialSubject":{"agentId":"agt_8f3k2m7q7txx","agentName":"Zoë's <Agent> & Co `+"\u2028"+`\t\"x\"","agentType":"autonomous",`+
		`"operatorLegalName":"Ács Kft","spendPolicy":{"maxSingleTxUSDC":500.10,"allowedChains":["SOL","ETH"],"note":"a < b"},`+
		`"complianceAttestation":{"ofacAtIssuance":"CLEAR","screenedAt":"2026-03-22T03:33:28.589Z","credentialStatus":"ACTIVE"}}}`,
		string(agentCredential().AppendJSON(nil)))
	delegate := string(delegateCredential().AppendJSON(nil))
	require.Contains(t, delegate, `"type":["VerifiableCredential","KYAAgentCredential","KYADelegateCredential"]`)
	require.Contains(t, delegate, `"delegation":{"parentAgentId":"agt_parent","rootAgentId":"agt_root","depth":2,"chain":["agt_root","agt_parent"]}}}`)
	user := string(userCredential().AppendJSON(nil))
	require.Contains(t, user, `"type":["VerifiableCredential","KYAUserCredential"]`)
	require.Contains(t, user, `"credentialSubject":{"userId":"usr_8f3k2m7q7txx","legalName":"Ada Lovelace","agentType":"supervised","agentIds":["agt_8f3k2m7q7txx"],`+
		`"complianceAttestation":{"ofacAtIssuance":"MATCH"`)
	require.NotContains(t, user, "spendPolicy")
	absent := agentCredential()
	absent.SpendPolicy = nil
	require.Contains(t, string(absent.AppendJSON(nil)), `"spendPolicy":{},`)
}

// TestTokenBytes pins a whole token, signature included.
func TestTokenBytes(t *testing.T) {
	token, _, err := Mint(userCredential(), rfcKey(t), testKid)
	require.NoError(t, err)
	require.Equal(t, "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNjLXYxIiwidHlwIjoiSldUIn0", strings.Split(token, ".")[0])
	require.Equal(t, "Tr5jFWvZc7HR47zlcnon1xdpP11JzUDhPO-1cvZe6ZXEN6FIIuK3pHcRWgOO9VpYi6pfPYChZ6l_xqzbsoCHrw", strings.Split(token, ".")[2])
}

// TestRFC6979 is the vectors of RFC 6979, A.2.5: no randomness enters a signature.
func TestRFC6979(t *testing.T) {
	vectors := map[string]string{
		"sample": "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
		"test":   "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083",
	}
	for message, want := range vectors {
		got, err := jws.SignBytes([]byte(message), rfcKey(t))
		require.NoError(t, err)
		require.Equal(t, want, strings.ToUpper(hex.EncodeToString(got)), message)
	}
}

// TestStockLibrary verifies a credential as an outsider would: with the JWKS and a JOSE
// library, without our code (statements T021 to T023).
func TestStockLibrary(t *testing.T) {
	token, _, err := Mint(agentCredential(), rfcKey(t), testKid)
	require.NoError(t, err)
	var published jose.JSONWebKeySet
	require.NoError(t, json.Unmarshal(jws.AppendJWKS(nil, testKeys(t).Keys()), &published))
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(t, err)
	found := published.Key(signed.Signatures[0].Header.KeyID)
	require.Len(t, found, 1)
	require.True(t, found[0].IsPublic())
	require.Equal(t, "sig", found[0].Use)
	require.Equal(t, "ES256", found[0].Algorithm)
	payload, err := signed.Verify(found[0].Key)
	require.NoError(t, err)
	require.Contains(t, string(payload), `"sub":"agt_8f3k2m7q7txx"`)
}

func TestJWKS(t *testing.T) {
	point := pointOf(t, rfcKey(t))
	other := pointOf(t, keyOf(t, strings.Repeat("0", 63)+"7"))
	keys := []jws.PublicKey{{ID: "cc-v2", Point: other, State: jws.KeyActive}, {ID: "cc-v1", Point: point, State: jws.KeyActive}, {ID: "cc-v0", Point: other, State: jws.KeyRevoked}, {ID: "cc-old", Point: other, State: jws.KeyActive}}
	one, err := NewKeySet(testIssuer, keys)
	require.NoError(t, err)
	slices.Reverse(keys)
	two, err := NewKeySet(testIssuer, keys)
	require.NoError(t, err)
	require.Equal(t, jws.AppendJWKS(nil, one.Keys()), jws.AppendJWKS(nil, two.Keys()), "the order of the input does not matter")
	text := string(jws.AppendJWKS(nil, one.Keys()))
	require.True(t, strings.HasPrefix(text, `{"keys":[{"kty":"EC","crv":"P-256","use":"sig","alg":"ES256","kid":"cc-old","x":"`), text)
	require.Contains(t, text, `"kid":"cc-v1","x":"YP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Y","y":"eQP-EAi4vJmkGunpVii8ZPLxsgwtfp9Rd6PClNRGIpk"}`)
	require.NotContains(t, text, "cc-v0", "a revoked key is not published")
	require.NotContains(t, text, `"d"`)
	none, err := NewKeySet(testIssuer, nil)
	require.NoError(t, err)
	require.Equal(t, `{"keys":[]}`, string(jws.AppendJWKS(nil, none.Keys())))
}

// TestLeadingZeros looks for keys whose X or Y begins with a zero byte (one in 128 does): the
// coordinate's text still has 43 characters.
func TestLeadingZeros(t *testing.T) {
	var found [2]bool
	for scalar := int64(1); scalar < 5000 && !(found[0] && found[1]); scalar++ {
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), big.NewInt(scalar).FillBytes(make([]byte, 32)))
		require.NoError(t, err)
		point := pointOf(t, key)
		for half := range 2 {
			if point[half*32] != 0 {
				continue
			}
			found[half] = true
			keys, err := NewKeySet(testIssuer, []jws.PublicKey{{ID: testKid, Point: point}})
			require.NoError(t, err)
			var published struct{ Keys []struct{ X, Y string } }
			require.NoError(t, json.Unmarshal(jws.AppendJWKS(nil, keys.Keys()), &published))
			require.Len(t, published.Keys[0].X, 43)
			require.Len(t, published.Keys[0].Y, 43)
			token, _, err := Mint(agentCredential(), key, testKid)
			require.NoError(t, err)
			_, err = keys.Open(token)
			require.NoError(t, err)
		}
	}
	require.True(t, found[0] && found[1])
}

func TestNewKeySetRefuses(t *testing.T) {
	point := pointOf(t, rfcKey(t))
	off := slices.Clone(point)
	off[63] ^= 1
	tests := map[string][]jws.PublicKey{
		"no kid":             {{ID: "", Point: point}},
		"kid with a path":    {{ID: "../cc", Point: point}},
		"kid in upper case":  {{ID: "CC-v1", Point: point}},
		"kid of 33":          {{ID: strings.Repeat("a", 33), Point: point}},
		"short point":        {{ID: testKid, Point: point[:63]}},
		"point off curve":    {{ID: testKid, Point: off}},
		"point at zero":      {{ID: testKid, Point: make([]byte, 64)}},
		"one kid, two keys":  {{ID: testKid, Point: point}, {ID: testKid, Point: point, State: jws.KeyRevoked}},
		"too many":           slices.Repeat([]jws.PublicKey{{ID: testKid, Point: point}}, engine.SigningKeysMax+1),
		"compressed as X, Y": {{ID: testKid, Point: append([]byte{2}, point[:32]...)}},
	}
	for name, keys := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewKeySet(testIssuer, keys)
			require.Error(t, err)
		})
	}
	_, err := NewKeySet(testIssuer, []jws.PublicKey{{ID: strings.Repeat("a", 32), Point: point}})
	require.NoError(t, err)
	_, err = jws.PublicPoint(&ecdsa.PublicKey{Curve: elliptic.P384()})
	require.Error(t, err)
}

func TestRevokedKeyStillVerifies(t *testing.T) {
	token, _, err := Mint(agentCredential(), rfcKey(t), testKid)
	require.NoError(t, err)
	keys, err := NewKeySet(testIssuer, []jws.PublicKey{{ID: testKid, Point: pointOf(t, rfcKey(t)), State: jws.KeyRevoked}})
	require.NoError(t, err)
	claims, err := keys.Open(token)
	require.NoError(t, err)
	require.True(t, claims.KeyRevoked, "it was ours once: R2, not R1")
}

func TestMintRefuses(t *testing.T) {
	large := agentCredential()
	large.SpendPolicy = []byte(`{"note":"` + strings.Repeat("x", engine.TokenMax) + `"}`)
	require.ErrorIs(t, large.Check(), ErrTooLarge)
	_, _, err := Mint(large, rfcKey(t), testKid)
	require.ErrorIs(t, err, ErrTooLarge)

	for name, policy := range map[string]string{
		"not JSON":     `{"a":`,
		"equal names":  `{"a":1,"a":2}`,
		"deep":         `{"a":` + strings.Repeat("[", jws.DepthMax-3) + strings.Repeat("]", jws.DepthMax-3) + `}`,
		"more members": `{}},"type":{}`,
		"not UTF-8":    "{\"a\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			c := agentCredential()
			c.SpendPolicy = []byte(policy)
			require.ErrorIs(t, c.Check(), jws.ErrContent)
			_, _, err := Mint(c, rfcKey(t), testKid)
			require.ErrorIs(t, err, jws.ErrContent)
		})
	}
	deep := agentCredential()
	deep.SpendPolicy = []byte(`{"a":` + strings.Repeat("[", jws.DepthMax-4) + strings.Repeat("]", jws.DepthMax-4) + `}`)
	require.NoError(t, deep.Check(), "as deep as a token may be")

	other, err := ecdsa.ParseRawPrivateKey(elliptic.P384(), big.NewInt(5).FillBytes(make([]byte, 48)))
	require.NoError(t, err)
	_, _, err = Mint(agentCredential(), other, testKid)
	require.ErrorIs(t, err, jws.ErrCurve)
	_, _, err = Mint(agentCredential(), nil, testKid)
	require.ErrorIs(t, err, jws.ErrCurve)
	_, _, err = Mint(agentCredential(), rfcKey(t), "../x")
	require.ErrorIs(t, err, jws.ErrKey)
}

// TestCheckIsEnough: a credential that Check accepts is never too large to mint.
func TestCheckIsEnough(t *testing.T) {
	low, high := 0, engine.TokenMax
	for low+1 < high {
		middle := (low + high) / 2
		c := agentCredential()
		c.Name = strings.Repeat("n", middle)
		if c.Check() == nil {
			low = middle
		} else {
			high = middle
		}
	}
	c := agentCredential()
	c.Name = strings.Repeat("n", low)
	token, _, err := Mint(c, rfcKey(t), strings.Repeat("k", jws.KeyIDMax))
	require.NoError(t, err)
	require.Greater(t, len(token), engine.TokenMax-100, "and little is given away")
}
