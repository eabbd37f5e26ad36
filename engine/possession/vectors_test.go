package possession

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/vectors"
)

type proofVectors struct {
	Now, MaxAge int64
	Audience    string
	Agents      map[string]struct {
		JWK          json.RawMessage
		JKT, Private string
	}
	Registration struct {
		Good []json.RawMessage
		Bad  []struct {
			Why       string
			PublicKey json.RawMessage
		}
	}
	Numbers []struct {
		Literal, JCS string
		Allowed      bool `json:"allowedInAProvenRequest"`
	}
	Good []struct {
		Name, Act, Key, JCS, RQH, Proof string
		Request                         json.RawMessage
	}
	Bad []struct {
		Name, Reason, Proof string
		Request             json.RawMessage
	}
}

// key returns the public and the private key of an agent of the vectors.
func (v *proofVectors) key(t *testing.T, name string) (*Key, crypto.Signer) {
	agent := v.Agents[name]
	public, err := ReadJWK(agent.JWK)
	require.NoError(t, err)
	secret, err := base64.RawURLEncoding.DecodeString(agent.Private)
	require.NoError(t, err)
	if public.Kind() == Ed25519 {
		return public, ed25519.NewKeyFromSeed(secret)
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
	require.NoError(t, err)
	return public, private
}

func (v *proofVectors) window() Window {
	return Window{Now: engine.Time(v.Now) * engine.Second, AgeMost: engine.Time(v.MaxAge) * engine.Second}
}

// TestRegistrationVectors is statement P26.
func TestRegistrationVectors(t *testing.T) {
	var v proofVectors
	vectors.Read(t, "proof.json", &v)
	for name, agent := range v.Agents {
		key, private := v.key(t, name)
		require.Equal(t, agent.JKT, key.Thumbprint(), name)
		require.JSONEq(t, string(agent.JWK), string(key.AppendJWK(nil)), name)
		of, err := KeyFrom(private.Public())
		require.NoError(t, err)
		require.Equal(t, key, of, name)
	}
	require.NotEmpty(t, v.Registration.Good)
	for _, good := range v.Registration.Good {
		_, err := ReadJWK(good)
		require.NoError(t, err, string(good))
	}
	faults := map[string]Fault{
		"a private key": FaultPrivate, "P-384": FaultCurve, "RSA": FaultKind, "a shared secret": FaultPrivate, "X25519": FaultCurve,
		"not on the curve": FaultPoint, "a short coordinate": FaultLength, "use enc": FaultUse, "alg of another curve": FaultAlgorithm,
		"Ed25519 point of order 4": FaultOrder,
	}
	require.Len(t, v.Registration.Bad, len(faults))
	for _, bad := range v.Registration.Bad {
		_, err := ReadJWK(bad.PublicKey)
		require.Equal(t, faults[bad.Why], faultOf(err), bad.Why)
	}
}

func faultOf(err error) Fault {
	if fault, ok := err.(*KeyError); ok {
		return fault.Fault
	}
	return ""
}

func reasonOf(err error) Reason {
	if refusal, ok := err.(*Error); ok {
		return refusal.Reason
	}
	return ""
}

// TestProofVectors is statement P27 for proofs in a body.
func TestProofVectors(t *testing.T) {
	var v proofVectors
	vectors.Read(t, "proof.json", &v)
	var c Canonicaliser
	for _, number := range v.Numbers {
		got, err := c.Append(nil, []byte(number.Literal), "", 1)
		if !number.Allowed {
			require.ErrorIs(t, err, ErrNumber, number.Literal)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, number.JCS, string(got))
	}
	require.NotEmpty(t, v.Good)
	for _, good := range v.Good {
		key, private := v.key(t, good.Key)
		canonical, err := c.Append(nil, good.Request, ProofMember, 8)
		require.NoError(t, err)
		require.Equal(t, good.JCS, string(canonical), good.Name)
		hash, err := c.RequestHash(withProof(good.Request, good.Proof), 8)
		require.NoError(t, err)
		require.Equal(t, good.RQH, base64.RawURLEncoding.EncodeToString(hash[:]), good.Name)
		want := Want{Window: v.window(), Key: key, Audience: v.Audience, Act: good.Act, Request: hash}
		proof, err := VerifyJWS(good.Proof, &want)
		require.NoError(t, err, good.Name)
		require.Equal(t, &Proof{FormJWS, "pay-2026-11-23-000001", want.Now, sha256.Sum256([]byte(good.Proof))}, proof)
		made, err := Sign(&Claims{Audience: v.Audience, Act: good.Act, IssuedAt: want.Now, ID: proof.ID, Request: hash}, private)
		require.NoError(t, err)
		require.Equal(t, good.Proof, made, "%s: the same claims and key give the same bytes", good.Name)
	}
	require.NotEmpty(t, v.Bad)
	key, _ := v.key(t, "agentEd")
	for _, bad := range v.Bad {
		hash, err := c.RequestHash(bad.Request, 8)
		require.NoError(t, err)
		_, err = VerifyJWS(bad.Proof, &Want{Window: v.window(), Key: key, Audience: v.Audience, Act: ActScreen, Request: hash})
		require.Equal(t, bad.Reason, string(reasonOf(err)), "%s: %v", bad.Name, err)
	}
}

// withProof puts a proof into a request, as its first member.
func withProof(request []byte, proof string) []byte {
	return append([]byte(`{"proof":"`+proof+`",`), request[1:]...)
}

type messageVectors struct {
	Now, MaxAge       int64
	Method, URL, Body string
	Headers           map[string]string
	Good, Bad         []messageVector
	Ignored           []messageVector
	Known             messageVector
}

type messageVector struct {
	Name, Key, Reason, SignatureInput, Base, Signature string
}

func (v *messageVectors) message(of *messageVector) *Message {
	rest, _ := strings.CutPrefix(v.URL, "https://")
	host, path, _ := strings.Cut(rest, "/")
	m := &Message{Method: v.Method, Scheme: "https", Authorities: []string{host}, Host: host, Path: "/" + path, Body: []byte(v.Body)}
	m.Header = func(name string) []string {
		switch name {
		case "signature-input":
			return []string{of.SignatureInput}
		case "signature":
			return []string{of.Signature}
		}
		if value, ok := v.Headers[name]; ok {
			return []string{value}
		}
		return nil
	}
	return m
}

// TestMessageVectors is statement P27 for signatures of HTTP messages, and P31.
func TestMessageVectors(t *testing.T) {
	var agents proofVectors
	vectors.Read(t, "proof.json", &agents)
	var v messageVectors
	vectors.Read(t, "httpsig.json", &v)
	require.NotEmpty(t, v.Good)
	for i := range v.Good {
		good := &v.Good[i]
		key, private := agents.key(t, good.Key)
		m := v.message(good)
		proof, err := VerifyMessage(m, key, agents.window())
		require.NoError(t, err, good.Name)
		require.Equal(t, v.Headers["idempotency-key"], proof.ID)
		require.Equal(t, agents.window().Now, proof.IssuedAt)
		requireBase(t, m, good, private)
	}
	require.NotEmpty(t, v.Bad)
	key, private := agents.key(t, "agentEd")
	for i := range v.Bad {
		bad := &v.Bad[i]
		m := v.message(bad)
		if bad.Reason == string(Audience) { // It was sent to the service that it was signed for.
			m.Host = "guard.example.net"
		}
		_, err := VerifyMessage(m, key, agents.window())
		require.Equal(t, bad.Reason, string(reasonOf(err)), "%s: %v", bad.Name, err)
	}
	require.NotEmpty(t, v.Ignored)
	for i := range v.Ignored {
		_, err := VerifyMessage(v.message(&v.Ignored[i]), key, agents.window())
		require.Equal(t, Missing, reasonOf(err), v.Ignored[i].Name)
	}
	known := &Message{Method: "POST", Scheme: "https", Authorities: []string{"example.com"}, Path: "/foo", Header: headers(
		"date", "Tue, 20 Apr 2021 02:07:55 GMT", "content-type", "application/json", "content-length", "18",
	)}
	requireBase(t, known, &v.Known, private)
}

// requireBase holds the signature base, and for Ed25519 the signature, against a vector.
func requireBase(t *testing.T, m *Message, vector *messageVector, private crypto.Signer) {
	inputs, err := readInputs(vector.SignatureInput)
	require.NoError(t, err)
	base, refusal := m.appendBase(nil, &inputs[0], m.Authorities[0])
	require.Nil(t, refusal)
	require.Equal(t, vector.Base, string(base), vector.Name)
	signature, err := readBytes(vector.Signature, inputs[0].label)
	require.NoError(t, err)
	made, err := sign(base, private)
	require.NoError(t, err)
	require.Equal(t, signature, made, vector.Name)
}

// headers makes a Message's Header of names and lines.
func headers(pairs ...string) func(string) []string {
	return func(name string) (lines []string) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				lines = append(lines, pairs[i+1])
			}
		}
		return lines
	}
}
