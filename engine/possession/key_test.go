package possession

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testKeys returns the keys of a named agent, of both kinds.
func testKeys(t testing.TB, name string) (edwards ed25519.PrivateKey, p256 *ecdsa.PrivateKey) {
	secret := sha256.Sum256([]byte(name))
	p256, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	require.NoError(t, err)
	return ed25519.NewKeyFromSeed(secret[:]), p256
}

// both returns both keys of an agent.
func both(t testing.TB, name string) map[string]crypto.Signer {
	edwards, p256 := testKeys(t, name)
	return map[string]crypto.Signer{"EdDSA": edwards, "ES256": p256}
}

func publicKey(t testing.TB, private crypto.Signer) *Key {
	key, err := KeyFrom(private.Public())
	require.NoError(t, err)
	return key
}

func TestKeyHasOneForm(t *testing.T) {
	for alg, private := range both(t, "agent A") {
		key := publicKey(t, private)
		require.Equal(t, alg, key.Algorithm())
		document := key.AppendJWK(nil)
		again, err := ReadJWK(document)
		require.NoError(t, err)
		require.Equal(t, key, again)
		form := key.AppendForm(nil)
		stored, err := OpenKey(form)
		require.NoError(t, err)
		require.Equal(t, key, stored)
		form[1]++
		require.Equal(t, document, stored.AppendJWK(nil), "a key does not share its bytes")

		for _, extra := range []string{
			`"use":"sig"`, `"alg":"` + alg + `"`, `"kid":"mine"`, `"ext":true,"key_ops":["verify"]`,
		} {
			again, err = ReadJWK(slices.Concat(document[:len(document)-1], []byte(","+extra+"}")))
			require.NoError(t, err, extra)
			require.Equal(t, document, again.AppendJWK(nil), "only the point is kept")
		}
	}
	edwards, p256 := testKeys(t, "agent A")
	require.Regexp(t, `^\{"kty":"OKP","crv":"Ed25519","x":"[A-Za-z0-9_-]{43}"\}$`, string(publicKey(t, edwards).AppendJWK(nil)))
	require.Regexp(t, `^\{"kty":"EC","crv":"P-256","x":"[A-Za-z0-9_-]{43}","y":"[A-Za-z0-9_-]{43}"\}$`, string(publicKey(t, p256).AppendJWK(nil)))
	require.Len(t, publicKey(t, edwards).AppendForm(nil), 33)
	require.Len(t, publicKey(t, p256).AppendForm(nil), FormMax)
	known, err := ReadJWK([]byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","alg":"Ed25519"}`))
	require.NoError(t, err)
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", known.Thumbprint(), "RFC 8037, A.3")
}

func TestKeysToRefuse(t *testing.T) {
	const (
		p256    = `"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"`
		edwards = `"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"`
	)
	for _, c := range []struct {
		document string
		fault    Fault
	}{
		{``, FaultForm},
		{`[]`, FaultForm},
		{`{` + edwards + `}{}`, FaultForm},
		{`{` + edwards + `,"kty":"OKP"}`, FaultForm}, // Two of one name.
		{`{}`, FaultKind},
		{`{"KTY":"EC"}`, FaultKind},
		{`{"kty":7}`, FaultKind},
		{`{"kty":"RSA","n":"AQAB","e":"AQAB"}`, FaultKind},
		{`{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}`, FaultKind},
		{`{"kty":"RSA","d":""}`, FaultPrivate}, // A secret is the worst that is wrong.
		{`{"kty":"oct","k":"AAAA"}`, FaultPrivate},
		{`{"kty":"AKP","priv":"AAAA"}`, FaultPrivate},
		{`{` + edwards + `,"d":null}`, FaultPrivate},
		{`{` + p256 + `,"d":"870M"}`, FaultPrivate},
		{`{"kty":"EC","crv":"P-384","x":"AAAA","y":"AAAA"}`, FaultCurve},
		{`{"kty":"EC","crv":"Ed25519","x":"AAAA","y":"AAAA"}`, FaultCurve},
		{`{"kty":"OKP","crv":"X25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`, FaultCurve},
		{`{"kty":"OKP","crv":"Ed448","x":"AA"}`, FaultCurve},
		{`{` + p256 + `,"x5u":"https://example.org/"}`, FaultMember},
		{`{` + p256 + `,"x5c":[]}`, FaultMember},
		{`{` + p256 + `,"secret":"AA"}`, FaultMember},
		{`{` + p256 + `,"D":"AA"}`, FaultMember},
		{`{` + edwards + `,"y":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`, FaultMember},
		{`{` + p256 + `,"use":"enc"}`, FaultUse},
		{`{` + p256 + `,"use":null}`, FaultUse},
		{`{` + p256 + `,"key_ops":["sign"]}`, FaultUse},
		{`{` + p256 + `,"key_ops":["verify","sign"]}`, FaultUse},
		{`{` + p256 + `,"key_ops":"verify"}`, FaultUse},
		{`{` + p256 + `,"key_ops":[{}]}`, FaultUse},
		{`{` + p256 + `,"alg":"EdDSA"}`, FaultAlgorithm},
		{`{` + edwards + `,"alg":"ES256"}`, FaultAlgorithm},
		{`{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}`, FaultForm},
		{`{"kty":"OKP","crv":"Ed25519","x":7}`, FaultForm},
		{`{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs="}`, FaultForm},
		{`{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs"}`, FaultForm},
		{`{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bt"}`, FaultForm}, // A bit behind the last byte.
		{`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`, FaultLength},
		{`{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("A", 44) + `"}`, FaultLength},
		{`{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A", 42) + `","y":"` + strings.Repeat("A", 44) + `"}`, FaultLength}, // 31 and 33 bytes.
		{`{"kty":"EC","crv":"P-256","x":"AQ","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}`, FaultLength},
		{`{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A", 43) + `","y":"` + strings.Repeat("A", 43) + `"}`, FaultPoint},
		{`{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("_", 42) + `8","y":"` + strings.Repeat("_", 42) + `8"}`, FaultPoint}, // Beyond the prime.
		{`{"kty":"OKP","crv":"Ed25519","x":"Ag` + strings.Repeat("A", 41) + `"}`, FaultPoint},                                    // y = 2.
		{`{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("A", 43) + `"}`, FaultOrder},
	} {
		_, err := ReadJWK([]byte(c.document))
		require.Equal(t, c.fault, faultOf(err), "%s: %v", c.document, err)
		require.NotContains(t, err.Error(), "870M", "no secret is quoted")
	}
	for _, form := range [][]byte{nil, {}, {1}, {2}, make([]byte, 33), make([]byte, 65), append([]byte{2}, make([]byte, 64)...), append([]byte{1}, make([]byte, 32)...)} {
		_, err := OpenKey(form)
		require.Equal(t, FaultLength, faultOf(err), "%x", form)
	}
	_, err := KeyOf(nil)
	require.Equal(t, FaultForm, faultOf(err))
	_, err = KeyFrom("text")
	require.Equal(t, FaultKind, faultOf(err))
	_, err = KeyFrom(&ecdsa.PublicKey{Curve: elliptic.P384()})
	require.Equal(t, FaultCurve, faultOf(err))
}

// double is the addition law of RFC 8032, 5.1.4 for a point and itself, of x^2 and y alone: the plain
// version of what smallOrder holds.
func double(square, y *big.Int) (*big.Int, *big.Int) {
	mod := func(n *big.Int) *big.Int { return n.Mod(n, prime) }
	ySquare := mod(new(big.Int).Mul(y, y))
	product := mod(new(big.Int).Mul(curveD, new(big.Int).Mul(square, ySquare)))
	x := new(big.Int).ModInverse(mod(new(big.Int).Add(one, product)), prime)
	below := new(big.Int).ModInverse(mod(new(big.Int).Sub(one, product)), prime)
	four := new(big.Int).Mul(big.NewInt(4), new(big.Int).Mul(square, ySquare))
	return mod(new(big.Int).Mul(four, new(big.Int).Mul(x, x))), mod(new(big.Int).Mul(new(big.Int).Add(ySquare, square), below))
}

func TestSmallOrder(t *testing.T) {
	require.Equal(t, "52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3", curveD.Text(16))
	seen := map[string]bool{}
	for _, y := range smallOrder {
		seen[y.Text(16)] = true
		square := new(big.Int).Mul(y, y)
		below := new(big.Int).Add(new(big.Int).Mul(curveD, square), one)
		square.Sub(square, one).Mul(square, below.ModInverse(below, prime)).Mod(square, prime)
		at := y
		for range 3 {
			square, at = double(square, at)
		}
		require.Equal(t, one.Text(16), at.Text(16), "eight times it is the neutral point")
		for _, sign := range []byte{0, 0x80} {
			form := make([]byte, 33)
			y.FillBytes(form[1:])
			slices.Reverse(form[1:])
			form[0] = byte(Ed25519)
			form[32] |= sign
			_, err := OpenKey(form)
			require.Equal(t, FaultOrder, faultOf(err), "%x", form)
		}
	}
	require.Len(t, seen, 5)
	// The same points, and others, in forms with y beyond the prime.
	for low := 0xed; low <= 0xff; low++ {
		form, err := hex.DecodeString(fmt.Sprintf("02%02x%sff", low, strings.Repeat("ff", 30)))
		require.NoError(t, err)
		_, err = OpenKey(form)
		require.Equal(t, FaultPoint, faultOf(err), "%x", form)
		form[32] = 0x7f
		_, err = OpenKey(form)
		require.Equal(t, FaultPoint, faultOf(err), "%x", form)
	}
	// Why: for the neutral point one signature is good for everything.
	neutral := append([]byte{1}, make([]byte, 31)...)
	require.True(t, ed25519.Verify(neutral, []byte("any payment"), append(slices.Clone(neutral), make([]byte, 32)...)))
}

// TestPointsOfTheCurve: half of all y are on the curve, and the standard library can use exactly those.
func TestPointsOfTheCurve(t *testing.T) {
	on := 0
	for i := range 256 {
		y := sha256.Sum256(fmt.Appendf(nil, "point %d", i))
		y[31] &= 0x7f
		if checkEdwards(y[:]) == nil {
			on++
		}
	}
	require.InDelta(t, 128, on, 40)
	for i := range 64 {
		edwards, _ := testKeys(t, fmt.Sprint("agent ", i))
		require.NoError(t, checkEdwards(edwards.Public().(ed25519.PublicKey)))
	}
	require.Equal(t, FaultPoint, faultOf(checkEdwards(mustDecode(t, "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))))
}

func mustDecode(t testing.TB, text string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	return raw
}
