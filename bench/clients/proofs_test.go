package clients

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/engine"
	"railguard/engine/possession"
)

const (
	proofAudience = "https://guard.example.org"
	proofKey      = "rgc_0123456789abcdef"
	proofAt       = 1_795_437_000
)

// proofCase is one request to prove, and whether that can be done.
type proofCase struct {
	act, request string
	good         bool
}

var proofCases = []proofCase{
	{"screen", `{"token":"eyJ.eyJ.AA","amount":25.50,"chain":"BASE","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","hold":{"ttlSeconds":600}}`, true},
	{"screen", `{"cpName":"Müller & Söhne <GmbH> – Ω 😀\u2028\u007f","paymentRef":"a/\"b\"\\c\b\f\n\r\t\u0001","amount":1000,"token":"t"}`, true},
	{"dry_run", "{\"metadata\":{\"\ue000\":1,\"😀\":2,\"b\":[1,null,true,{\"z\":0,\"y\":\"\"}],\"é\":3,\"è\":4,\"1\":5,\"\\r\":6},\"amount\":0.1}", true},
	{"confirm:txn_7Kq2mZ9a", `{"proof":"is left out","token":"t","permit":{"ttlSeconds":60}}`, true},
	{"x402", `{"accepted":{"scheme":"exact","maxTimeoutSeconds":60},"payload":{"n":[0,-1,0.000001,123456789.123456]}}`, true},
	{"screen", `{}`, true},
	{"screen", `{"amount":999999999.999999}`, true},
	{"screen", `{"amount":1000000000000}`, true},
	{"screen", `{"amount":0.000001}`, true},
	{"screen", `{"amount":9999999999.999999}`, false},
	{"screen", `{"amount":1234567890.123456}`, false},
}

// proofJob is what the programs of other languages are given.
type proofJob struct {
	Alg       string            `json:"alg"`
	JWK       map[string]string `json:"jwk"`
	Signature []byte            `json:"signature"` // Of Go's client, as libraries give it.
	Request   string            `json:"request"`
	Audience  string            `json:"audience"`
	Key       string            `json:"key"`
	Act       string            `json:"act"`
	At        int64             `json:"at"`
}

func proofKeys(t *testing.T) map[string]crypto.Signer {
	seed := sha256.Sum256([]byte("an agent that proves"))
	p256, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	require.NoError(t, err)
	return map[string]crypto.Signer{"EdDSA": ed25519.NewKeyFromSeed(seed[:]), "ES256": p256}
}

// makeProof is a proof of Go's client, verified as the service does.
func makeProof(t *testing.T, key crypto.Signer, one *proofCase) string {
	raw, err := client.SignProof(key, json.RawMessage(one.request), client.ProofOf{Act: one.act, Audience: proofAudience, ID: proofKey, IssuedAt: time.Unix(proofAt, 0)})
	if !one.good {
		require.ErrorIs(t, err, client.ErrProofNumber)
		return ""
	}
	require.NoError(t, err, one.request)
	verifyProof(t, key, one, raw)
	return raw
}

func verifyProof(t *testing.T, key crypto.Signer, one *proofCase, raw string) {
	public, err := possession.KeyFrom(key.Public())
	require.NoError(t, err)
	var canonicaliser possession.Canonicaliser
	hash, err := canonicaliser.RequestHash([]byte(one.request), engine.JSONDepthMax)
	require.NoError(t, err)
	proof, err := possession.VerifyJWS(raw, &possession.Want{
		Window: possession.Window{Now: proofAt * engine.Second}, Key: public, Audience: proofAudience, Act: one.act, Request: hash,
	})
	require.NoError(t, err, one.request)
	require.Equal(t, proofKey, proof.ID)
}

// TestProofs: what the clients sign, the service takes; and all write the same bytes.
func TestProofs(t *testing.T) {
	money := regexp.MustCompile(`"amount":([0-9.]+)`)
	for alg, key := range proofKeys(t) {
		var plain, texts []proofJob
		var want []string
		for i := range proofCases {
			one := &proofCases[i]
			raw := makeProof(t, key, one)
			job := proofJob{alg, privateJWK(t, key), librarySignature(t, alg, raw), one.request, proofAudience, proofKey, one.act, proofAt}
			plain = append(plain, job)
			job.Request = money.ReplaceAllString(one.request, `"amount":"$1"`)
			texts = append(texts, job)
			want = append(want, raw)
		}
		t.Run(alg+" python", func(t *testing.T) {
			var made []string
			require.NoError(t, run(t.Context(), pythonCommand(t, "prove"), plain, &made))
			require.Equal(t, want, made)
		})
		t.Run(alg+" typescript", func(t *testing.T) {
			var made []string
			require.NoError(t, run(t.Context(), nodeCommand(t, "prove"), texts, &made))
			require.Len(t, made, len(want))
			for i := range made {
				if !proofCases[i].good {
					require.Empty(t, made[i])
					continue
				}
				verifyProof(t, key, &proofCases[i], made[i])
				require.Equal(t, unsigned(want[i]), unsigned(made[i]))
			}
		})
	}
}

func unsigned(raw string) string { return raw[:strings.LastIndexByte(raw, '.')] }

// librarySignature is the signature of a proof as a library gives it: of ECDSA in DER.
func librarySignature(t *testing.T, alg, raw string) []byte {
	if raw == "" {
		return []byte{0}
	}
	signature, err := base64.RawURLEncoding.DecodeString(raw[strings.LastIndexByte(raw, '.')+1:])
	require.NoError(t, err)
	if alg == "EdDSA" {
		return signature
	}
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])})
	require.NoError(t, err)
	return der
}

func privateJWK(t *testing.T, key crypto.Signer) map[string]string {
	public, err := possession.KeyFrom(key.Public())
	require.NoError(t, err)
	var jwk map[string]string
	require.NoError(t, json.Unmarshal(public.AppendJWK(nil), &jwk))
	var secret []byte
	switch key := key.(type) {
	case ed25519.PrivateKey:
		secret = key.Seed()
	case *ecdsa.PrivateKey:
		secret, err = key.Bytes()
		require.NoError(t, err)
	}
	jwk["d"] = base64.RawURLEncoding.EncodeToString(secret)
	return jwk
}

// TestProofsOfAPayment: a proof of a payment is of what Screen sends.
func TestProofsOfAPayment(t *testing.T) {
	key := proofKeys(t)["EdDSA"]
	payment := client.Payment{Token: "t", Amount: 25_500_000, CounterpartyName: "Müller <&> Söhne"}
	raw, err := client.SignProof(key, &payment, client.ProofOf{Act: client.ActScreen, Audience: proofAudience, ID: client.NewKey(), IssuedAt: time.Unix(proofAt, 0)})
	require.NoError(t, err)
	sent, err := json.Marshal(&payment)
	require.NoError(t, err)
	again, err := client.SignProof(key, json.RawMessage(sent), client.ProofOf{Act: client.ActScreen, Audience: proofAudience, ID: proofKey})
	require.NoError(t, err)
	require.Equal(t, claimOf(t, raw, "rqh"), claimOf(t, again, "rqh"))
	for _, id := range []string{"", "short", strings.Repeat("a", 65), "0123456789abcde."} {
		_, err := client.SignProof(key, &payment, client.ProofOf{ID: id})
		require.ErrorIs(t, err, client.ErrProofID)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), nil)
	require.NoError(t, err)
	_, err = client.SignProof(p384, &payment, client.ProofOf{ID: proofKey})
	require.ErrorIs(t, err, client.ErrProofKey)
	_, err = client.SignProof(key, make(chan int), client.ProofOf{ID: proofKey})
	require.Error(t, err)
	_, err = client.SignProof(key, []int{1}, client.ProofOf{ID: proofKey})
	require.Error(t, err)
}

func claimOf(t *testing.T, raw, name string) any {
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1])
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, json.Unmarshal(payload, &claims))
	require.NotEmpty(t, claims[name])
	return claims[name]
}
