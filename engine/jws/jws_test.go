package jws_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
)

const bytesMax = 4096

func testKey(t testing.TB, text string) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte(text))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	require.NoError(t, err)
	return key
}

func publicKey(t testing.TB, kid, text string) jws.PublicKey {
	t.Helper()
	point, err := jws.PublicPoint(&testKey(t, text).PublicKey)
	require.NoError(t, err)
	return jws.PublicKey{ID: kid, Point: point}
}

// TestSignedTokensVerify: a token verifies by the key of its kid alone, and equal input gives equal
// bytes.
func TestSignedTokensVerify(t *testing.T) {
	token, err := jws.Sign([]byte(`{"a":"b"}`), testKey(t, "one"), "k-1", "JWT")
	require.NoError(t, err)
	again, err := jws.Sign([]byte(`{"a":"b"}`), testKey(t, "one"), "k-1", "JWT")
	require.NoError(t, err)
	require.Equal(t, token, again)
	keys, err := jws.NewKeySet([]jws.PublicKey{publicKey(t, "k-2", "two"), publicKey(t, "k-1", "one")})
	require.NoError(t, err)
	parsed, err := jws.Parse(token, bytesMax)
	require.NoError(t, err)
	require.Equal(t, "k-1", parsed.Header.TextOf("kid"))
	require.Equal(t, `{"a":"b"}`, string(parsed.Payload))
	key, err := keys.Verify(&parsed, "k-1")
	require.NoError(t, err)
	require.Equal(t, "k-1", key.ID)
	_, err = keys.Verify(&parsed, "k-2")
	require.ErrorIs(t, err, jws.ErrSignature)
	_, err = keys.Verify(&parsed, "k-3")
	require.ErrorIs(t, err, jws.ErrKey)
	parsed.Payload = []byte(`{"a":"c"}`)
	_, err = keys.Verify(&parsed, "k-1")
	require.ErrorIs(t, err, jws.ErrMalformed, "the payload that is used is the one that was signed")
	parsed.Signature = parsed.Signature[1:]
	_, err = keys.Verify(&parsed, "k-1")
	require.ErrorIs(t, err, jws.ErrSignature)
}

func TestSignRefuses(t *testing.T) {
	other, err := ecdsa.ParseRawPrivateKey(elliptic.P384(), append(make([]byte, 47), 5))
	require.NoError(t, err)
	for _, test := range []struct {
		payload, kid string
		key          crypto.Signer
		want         error
	}{
		{`{}`, "k", other, jws.ErrCurve}, {`{}`, "k", nil, jws.ErrCurve}, {`{}`, "K", testKey(t, "one"), jws.ErrKey},
		{`{}`, strings.Repeat("k", jws.KeyIDMax+1), testKey(t, "one"), jws.ErrKey}, {"\xff", "k", testKey(t, "one"), jws.ErrContent},
	} {
		_, err := jws.Sign([]byte(test.payload), test.key, test.kid, "JWT")
		require.ErrorIs(t, err, test.want)
	}
}

// elsewhere is a key that another program or device has.
type elsewhere struct {
	crypto.Signer
	spoil func(signature []byte) []byte
}

func (e elsewhere) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	signature, err := e.Signer.Sign(random, digest, options)
	return e.spoil(signature), err
}

// TestKeysElsewhere: a key behind crypto.Signer signs as the key itself does, and what is no signature is none.
func TestKeysElsewhere(t *testing.T) {
	key := testKey(t, "one")
	want, err := jws.Sign([]byte(`{}`), key, "k", "JWT")
	require.NoError(t, err)
	got, err := jws.Sign([]byte(`{}`), elsewhere{key, func(s []byte) []byte { return s }}, "k", "JWT")
	require.NoError(t, err)
	require.Equal(t, want, got)
	for name, spoil := range map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil }, "cut": func(s []byte) []byte { return s[:len(s)-1] }, "more": func(s []byte) []byte { return append(s, 0) },
		"zero": func([]byte) []byte { return []byte{0x30, 6, 2, 1, 0, 2, 1, 0} }, "negative": func([]byte) []byte { return []byte{0x30, 6, 2, 1, 0x80, 2, 1, 1} },
		"long": func([]byte) []byte { return append(append([]byte{0x30, 39, 2, 34, 1}, make([]byte, 33)...), 2, 1, 1) },
	} {
		_, err := jws.Sign([]byte(`{}`), elsewhere{key, spoil}, "k", "JWT")
		require.Error(t, err, name)
	}
}

// TestOneFormOfAToken: no other text is read as the same token.
func TestOneFormOfAToken(t *testing.T) {
	token, err := jws.Sign([]byte(`{}`), testKey(t, "one"), "k", "JWT")
	require.NoError(t, err)
	parts := strings.Split(token, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, text := range map[string]string{
		"two segments": parts[0] + "." + parts[1], "four segments": token + ".", "padding": token + "=", "a line end": token + "\n",
		"an empty payload": parts[0] + ".." + parts[2], "an empty signature": parts[0] + "." + parts[1] + ".", "too long": token + strings.Repeat("A", bytesMax),
		"a header that is a list": encode(`[]`) + "." + parts[1] + "." + parts[2], "a header with two alg": encode(`{"alg":1,"alg":2}`) + "." + parts[1] + "." + parts[2],
		"stray bits": parts[0] + ".e31" + "." + parts[2],
	} {
		_, err := jws.Parse(text, bytesMax)
		require.ErrorIs(t, err, jws.ErrMalformed, name)
	}
}

func TestObjectsAreReadStrictly(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `1`, `{} {}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, "{\"a\":\"\xff\"}", `{"a":01}`, `{"a"}`,
		strings.Repeat(`{"a":`, jws.DepthMax) + `{}` + strings.Repeat(`}`, jws.DepthMax),
	} {
		_, err := jws.ReadObject([]byte(text))
		require.ErrorIs(t, err, jws.ErrMalformed, text)
	}
	object, err := jws.ReadObject([]byte(`{"text":"é","number":1.50,"list":[true,false,null],"object":{"x":"y"}}`))
	require.NoError(t, err)
	require.Equal(t, "é", object.TextOf("text"))
	require.Empty(t, object.TextOf("number"))
	require.Empty(t, object.TextOf("Text"))
	require.Equal(t, "1.50", object.Member("number").Text, "as written")
	require.Equal(t, "tfn", string([]byte{object.Member("list").Elements[0].Kind, object.Member("list").Elements[1].Kind, object.Member("list").Elements[2].Kind}))
	require.Equal(t, "y", object.Member("object").TextOf("x"))
	require.Empty(t, (*jws.Value)(nil).TextOf("x"))
}

// TestQuotedIsCanonical: RFC 8785, 3.2.2.2.
func TestQuotedIsCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"a/b <c> & \u2028": "\"a/b <c> & \u2028\"", "\b\t\n\f\r": `"\b\t\n\f\r"`, "\"\\": `"\"\\"`, "\x00\x1f\x7f": "\"\\u0000\\u001f\x7f\"",
	} {
		got := string(jws.AppendQuoted(nil, text))
		require.Equal(t, want, got)
		var back string
		require.NoError(t, json.Unmarshal([]byte(got), &back))
		require.Equal(t, text, back)
	}
}

// TestKeySets: sets stand one after the other in the published set, without what was revoked.
func TestKeySets(t *testing.T) {
	revoked := publicKey(t, "a-1", "three")
	revoked.State = jws.KeyRevoked
	one, err := jws.NewKeySet([]jws.PublicKey{publicKey(t, "b-2", "two"), publicKey(t, "b-1", "one"), revoked})
	require.NoError(t, err)
	two, err := jws.NewKeySet([]jws.PublicKey{publicKey(t, "a-9", "four")})
	require.NoError(t, err)
	var published struct {
		Keys []struct{ Kid, X, Y, Kty string }
	}
	require.NoError(t, json.Unmarshal(jws.AppendJWKS(nil, one, two), &published))
	var kids []string
	for _, key := range published.Keys {
		kids = append(kids, key.Kid)
		require.Len(t, key.X, 43)
		require.Len(t, key.Y, 43)
	}
	require.Equal(t, []string{"b-1", "b-2", "a-9"}, kids)
	require.NotNil(t, one.Find("a-1"), "what it signed still verifies")
	bad := publicKey(t, "k", "one")
	bad.Point = append([]byte(nil), bad.Point...)
	bad.Point[0] ^= 1
	for _, keys := range [][]jws.PublicKey{
		{publicKey(t, "K", "one")}, {publicKey(t, "k", "one"), publicKey(t, "k", "two")}, {{ID: "k", Point: make([]byte, 63)}}, {bad},
		make([]jws.PublicKey, engine.SigningKeysMax+1),
	} {
		_, err := jws.NewKeySet(keys)
		require.Error(t, err)
	}
	_, err = jws.PublicPoint(&ecdsa.PublicKey{Curve: elliptic.P384()})
	require.Error(t, err)
}
