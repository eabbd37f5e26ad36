package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

var flagTokens = flag.Bool("tokens", false, "make client/testdata/tokens.json anew, from the token and the keys of a server that stand in it")

// tokenBook is client/testdata/tokens.json: tokens, and the expected result of each.
type tokenBook struct {
	Keys   client.JWKS `json:"jwks"` // The server's, then the test's own.
	Issuer string      `json:"issuer"`
	Cases  []tokenCase `json:"cases"` // The first is the server's, as it was issued.
}

type tokenCase struct {
	Name  string `json:"name"`
	Token string `json:"token"`
	Now   int64  `json:"now"`
	Want  string `json:"want"` // The subject, or the error's code.
}

const randomTokens = 40 // Signatures drawn anew for each run, half of them spoilt.

// readTokens reads the book and adds signatures that are new each time.
func readTokens(t *testing.T) tokenBook {
	var book tokenBook
	readTestdata(t, "tokens.json", &book)
	if *flagTokens {
		book = makeTokens(t, &book)
		raw, err := json.MarshalIndent(book, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(home, "testdata", "tokens.json"), append(raw, '\n'), 0o644))
	}
	require.Greater(t, len(book.Cases), 25)
	key := newSigner(t, "cc-random")
	book.Keys.Keys = append(book.Keys.Keys, key.public())
	for i := range randomTokens {
		token := key.sign(header("cc-random"), key.payload(nil))
		one := tokenCase{Name: fmt.Sprint("random ", i), Token: token, Now: validAt, Want: "agt_test"}
		if i%2 == 1 {
			at := strings.LastIndexByte(token, '.') + 1
			raw, err := base64.RawURLEncoding.DecodeString(token[at:])
			require.NoError(t, err)
			raw[i%len(raw)] ^= 1 << (i % 8)
			one.Token, one.Want = token[:at]+segment(raw), "bad_signature"
		}
		book.Cases = append(book.Cases, one)
	}
	return book
}

const (
	validFrom = 1_795_000_000
	validAt   = 1_795_000_100
	validTo   = 1_802_862_400
)

type signer struct {
	t   *testing.T
	kid string
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T, kid string) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &signer{t, kid, key}
}

func segment(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func header(kid string) string { return `{"alg":"ES256","kid":"` + kid + `","typ":"JWT"}` }

func (s *signer) public() client.JWK {
	point, err := s.key.PublicKey.Bytes()
	require.NoError(s.t, err)
	return client.JWK{KeyType: "EC", Curve: "P-256", Algorithm: "ES256", Use: "sig", KeyID: s.kid, X: segment(point[1:33]), Y: segment(point[33:])}
}

// payload returns a good set of claims with some of them changed. A claim that changes to nil is
// left out.
func (s *signer) payload(change map[string]any) string {
	claims := map[string]any{
		"iss": "did:kya:railguard", "sub": "agt_test", "jti": "urn:uuid:1", "iat": validFrom, "nbf": validFrom, "exp": validTo,
		"vc": map[string]any{"issuer": "did:kya:railguard"},
	}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	raw, err := json.Marshal(claims)
	require.NoError(s.t, err)
	return string(raw)
}

func (s *signer) sign(header, payload string) string {
	input := segment([]byte(header)) + "." + segment([]byte(payload))
	digest := sha256.Sum256([]byte(input))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	require.NoError(s.t, err)
	return input + "." + segment(append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...))
}

// spoil changes the signature's two numbers.
func spoil(t *testing.T, token string, change func(r, s *big.Int) []byte) string {
	at := strings.LastIndexByte(token, '.') + 1
	raw, err := base64.RawURLEncoding.DecodeString(token[at:])
	require.NoError(t, err)
	return token[:at] + segment(change(new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:])))
}

func pair(r, s *big.Int) []byte {
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

// makeTokens keeps the server's token and keys and makes the rest anew.
func makeTokens(t *testing.T, old *tokenBook) tokenBook {
	key, other := newSigner(t, "cc-test"), newSigner(t, "cc-other")
	off := key.public()
	off.KeyID, off.Y = "cc-off", off.X // This is not a point of the curve.
	book := tokenBook{Issuer: "did:kya:railguard", Cases: old.Cases[:1]}
	book.Keys.Keys = []client.JWK{old.Keys.Keys[0], key.public(), off}
	add := func(name, token string, now int64, want string) {
		book.Cases = append(book.Cases, tokenCase{name, token, now, want})
	}
	server := old.Cases[0]
	add("the server's, expired", server.Token, server.Now+92*24*3600, "expired")
	add("the server's, before its time", server.Token, server.Now-24*3600, "not_yet_valid")
	add("the server's, under another kid", strings.Replace(server.Token, segment([]byte(header("cc-v1"))), segment([]byte(header("cc-test"))), 1), server.Now, "bad_signature")
	good := key.sign(header("cc-test"), key.payload(nil))
	add("good", good, validAt, "agt_test")
	add("last second", good, validTo-1, "agt_test")
	add("first second after", good, validTo, "expired")
	add("within the leeway", good, validFrom-5, "agt_test")
	add("before the leeway", good, validFrom-6, "not_yet_valid")
	add("unknown kid", other.sign(header("cc-other"), other.payload(nil)), validAt, "unknown_key")
	add("key that is no point", key.sign(header("cc-off"), key.payload(nil)), validAt, "unknown_key")
	add("signed by another", other.sign(header("cc-test"), other.payload(nil)), validAt, "bad_signature")
	add("another issuer", key.sign(header("cc-test"), key.payload(map[string]any{"iss": "did:kya:other"})), validAt, "wrong_issuer")
	order := elliptic.P256().Params().N
	zero, one := new(big.Int), big.NewInt(1)
	add("twin signature", spoil(t, good, func(r, s *big.Int) []byte { return pair(r, new(big.Int).Sub(order, s)) }), validAt, "agt_test")
	add("r is 0", spoil(t, good, func(_, s *big.Int) []byte { return pair(zero, s) }), validAt, "bad_signature")
	add("s is 0", spoil(t, good, func(r, _ *big.Int) []byte { return pair(r, zero) }), validAt, "bad_signature")
	add("both 0", spoil(t, good, func(_, _ *big.Int) []byte { return pair(zero, zero) }), validAt, "bad_signature")
	add("both 1", spoil(t, good, func(_, _ *big.Int) []byte { return pair(one, one) }), validAt, "bad_signature")
	add("r is the order", spoil(t, good, func(_, s *big.Int) []byte { return pair(order, s) }), validAt, "bad_signature")
	add("s is the order", spoil(t, good, func(r, _ *big.Int) []byte { return pair(r, order) }), validAt, "bad_signature")
	add("DER", spoil(t, good, func(r, s *big.Int) []byte {
		raw, err := asn1.Marshal([]*big.Int{r, s})
		require.NoError(t, err)
		return raw
	}), validAt, "malformed")
	add("a byte more", spoil(t, good, func(r, s *big.Int) []byte { return append(pair(r, s), 0) }), validAt, "malformed")
	add("no signature", good[:strings.LastIndexByte(good, '.')+1], validAt, "malformed")
	add("two segments", good[:strings.LastIndexByte(good, '.')], validAt, "malformed")
	add("four segments", good+".AA", validAt, "malformed")
	add("empty", "", validAt, "malformed")
	add("padding", good+"==", validAt, "malformed")
	add("line feed", good+"\n", validAt, "malformed")
	add("too long", key.sign(header("cc-test"), key.payload(map[string]any{"x": strings.Repeat("x", 8192)})), validAt, "malformed")
	for name, text := range map[string]string{
		"alg none": `{"alg":"none","kid":"cc-test","typ":"JWT"}`, "alg HS256": `{"alg":"HS256","kid":"cc-test","typ":"JWT"}`,
		"alg in lower case": `{"alg":"es256","kid":"cc-test","typ":"JWT"}`, "crit": `{"alg":"ES256","kid":"cc-test","typ":"JWT","crit":["b64"]}`,
		"no kid": `{"alg":"ES256","typ":"JWT"}`, "kid is a number": `{"alg":"ES256","kid":1,"typ":"JWT"}`,
		"header is a list": `["ES256"]`, "header is not JSON": `ES256`,
	} {
		add(name, key.sign(text, key.payload(nil)), validAt, "malformed")
	}
	for name, change := range map[string]map[string]any{
		"no subject": {"sub": nil}, "no end": {"exp": nil}, "end is text": {"exp": "1802862400"}, "end is a fraction": {"exp": 1802862400.5},
		"no credential": {"vc": nil}, "credential is text": {"vc": "x"}, "subject is a number": {"sub": 1}, "no beginning": {"nbf": nil},
	} {
		add(name, key.sign(header("cc-test"), key.payload(change)), validAt, "malformed")
	}
	return book
}
