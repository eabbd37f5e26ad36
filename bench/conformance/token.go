package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// compactToken is a token in three parts, taken apart without any library, so that
// padding, alphabet and lengths are seen as they are.
type compactToken struct {
	protected, payload string // As on the wire.
	signature          []byte
	header, claims     map[string]any
}

// token takes a token apart and demands canonical base64url and two JSON objects.
func (p *probe) token(text string) compactToken {
	parts := strings.Split(text, ".")
	p.must(len(parts) == 3, "the token has %d parts, want 3", len(parts))
	out := compactToken{protected: parts[0], payload: parts[1]}
	for i, part := range parts {
		raw, err := strictBase64(part)
		p.must(err == nil, "part %d of the token: %v", i, err)
		if i == 2 {
			out.signature = raw
			continue
		}
		tree, err := decodeTree(raw)
		members, isObject := tree.(map[string]any)
		p.must(err == nil && isObject, "part %d of the token is no JSON object: %v", i, err)
		if i == 0 {
			out.header = members
		} else {
			out.claims = members
		}
	}
	return out
}

// strictBase64 decodes unpadded base64url and refuses every other spelling of the
// same bytes, line ends included, which the library's strict mode would let pass.
func strictBase64(text string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, fmt.Errorf("not canonical base64url")
	}
	return raw, nil
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func (t compactToken) signingInput() string { return t.protected + "." + t.payload }

func (t compactToken) withSignature(raw []byte) string {
	return t.signingInput() + "." + base64url(raw)
}

// instant reads a numeric date claim.
func (p *probe) instant(claims map[string]any, name string) time.Time {
	number, ok := claims[name].(json.Number)
	p.must(ok, "claim %s is %s, want a number", name, show(claims[name]))
	seconds, err := number.Int64()
	p.must(err == nil, "claim %s is %s, want whole seconds", name, number)
	return time.Unix(seconds, 0).UTC()
}

// jwks fetches the key set of a node.
func (p *probe) jwks(i int) *jose.JSONWebKeySet {
	a := p.status(p.get("/v1/.well-known/jwks.json", anonymous, node(i)), 200)
	keys, err := parseJWKS(a.raw)
	p.must(err == nil, "a stock library refuses the key set: %v", err)
	return keys
}

func parseJWKS(raw []byte) (*jose.JSONWebKeySet, error) {
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, err
	}
	if len(keys.Keys) == 0 {
		return nil, fmt.Errorf("no usable key in the set")
	}
	for _, key := range keys.Keys {
		if !key.Valid() || !key.IsPublic() {
			return nil, fmt.Errorf("key %q is not a valid public key", key.KeyID)
		}
	}
	return &keys, nil
}

// stockVerify verifies a token with nothing but a stock JOSE library and the key set.
func stockVerify(token string, keys *jose.JSONWebKeySet) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return nil, err
	}
	return signed.Verify(keys)
}

// flipped returns the signature with one bit changed.
func flipped(signature []byte) []byte {
	out := append([]byte(nil), signature...)
	if len(out) > 0 {
		out[len(out)-1] ^= 1
	}
	return out
}

// highTwin returns the other valid signature over the same bytes, (r, n-s); nil: the signature
// does not have 64 bytes.
func highTwin(signature []byte) []byte {
	if len(signature) != 64 {
		return nil
	}
	order := elliptic.P256().Params().N
	s := new(big.Int).SetBytes(signature[32:])
	out := append([]byte(nil), signature...)
	new(big.Int).Sub(order, s).FillBytes(out[32:])
	return out
}

// looseTail returns the same signature in base64 with its unused last bits set. Only a lenient
// decoder accepts that.
func looseTail(encoded string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if encoded == "" {
		return encoded
	}
	last := strings.IndexByte(alphabet, encoded[len(encoded)-1])
	return encoded[:len(encoded)-1] + string(alphabet[last|1])
}

// forger signs tokens with a key that is not the target's.
type forger struct{ key *ecdsa.PrivateKey }

func newForger() (forger, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return forger{key}, err
}

// sign makes an ES256 token of the header text and payload.
func (f forger) sign(header, payload string) (string, error) {
	input := base64url([]byte(header)) + "." + payload
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, f.key, digest[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return input + "." + base64url(signature), nil
}

// publicJWK is the forger's public key as the text of a JWK.
func (f forger) publicJWK(kid string) string {
	raw, err := json.Marshal(jose.JSONWebKey{Key: &f.key.PublicKey, KeyID: kid, Algorithm: "ES256", Use: "sig"})
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// signHMAC makes an HS256 token with any bytes as the secret.
func signHMAC(header, payload string, secret []byte) string {
	input := base64url([]byte(header)) + "." + payload
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + base64url(mac.Sum(nil))
}

// withClaim returns the payload with one claim replaced, in the form in which it is sent.
func (t compactToken) withClaim(path string, value any) string {
	raw, _ := strictBase64(t.payload)
	tree, _ := decodeTree(raw)
	steps := strings.Split(path, ".")
	node, _ := tree.(map[string]any)
	for _, step := range steps[:len(steps)-1] {
		next, ok := node[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			node[step] = next
		}
		node = next
	}
	node[steps[len(steps)-1]] = value
	return base64url(mustJSON(tree))
}

// mustJSON encodes a value that is known to be encodable.
func mustJSON(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("BUG: not encodable: " + err.Error())
	}
	return raw
}
