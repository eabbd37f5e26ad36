package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// The reasons why a token is not good.
var (
	ErrTokenMalformed = errors.New("malformed")
	ErrTokenKey       = errors.New("unknown_key")
	ErrTokenSignature = errors.New("bad_signature")
	ErrTokenIssuer    = errors.New("wrong_issuer")
	ErrTokenExpired   = errors.New("expired")
	ErrTokenEarly     = errors.New("not_yet_valid")
)

// JWKS is a published set of keys.
type JWKS struct {
	Keys []JWK `json:"keys"`
}

// JWK is one P-256 key.
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
	KeyID     string `json:"kid"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// Claims are the content of a good token. They do not say whether the agent is suspended or
// revoked. Ask a Verifier, which reads the list that they name, or Screen.
type Claims struct {
	Issuer       string          `json:"iss"`
	Subject      string          `json:"sub"` // agt_… or usr_…
	CredentialID string          `json:"jti"`
	IssuedAt     int64           `json:"iat"` // Unix seconds, as in the two fields below.
	NotBefore    int64           `json:"nbf"`
	Expires      int64           `json:"exp"`
	Credential   json.RawMessage `json:"vc"`

	Status *StatusReference `json:"status"` // nil: the credential names no list.
}

const (
	tokenMax     = 8192
	coordinate   = 32 // Bytes of a coordinate, and of each half of a signature.
	clockLeeway  = 5  // Seconds by which a token may begin in the future, because clocks differ.
	headerAlg    = "ES256"
	headerType   = "JWT"
	headerFields = 3
)

var tokenBase64 = base64.RawURLEncoding.Strict()

// VerifyToken checks a credential without a server: form, key, signature (ES256 only), issuer
// (such as did:kya:railguard) and time. It returns the errors above.
func VerifyToken(token string, keys *JWKS, issuer string, now time.Time) (*Claims, error) {
	payload, err := openToken(token, tokenMax, headerType, keys)
	if err != nil {
		return nil, err
	}
	claims := new(Claims)
	if err := json.Unmarshal(payload, claims); err != nil || !claims.whole() {
		return nil, fmt.Errorf("%w: claims", ErrTokenMalformed)
	}
	switch seconds := now.Unix(); {
	case claims.Issuer != issuer:
		return nil, ErrTokenIssuer
	case seconds >= claims.Expires:
		return nil, ErrTokenExpired
	case seconds+clockLeeway < claims.NotBefore:
		return nil, ErrTokenEarly
	}
	return claims, nil
}

// openToken checks form, key and signature of a token of one type, and returns its payload.
func openToken(token string, most int, typ string, keys *JWKS) (payload []byte, err error) {
	parts := strings.Split(token, ".")
	if len(token) > most || len(parts) != 3 || strings.ContainsAny(token, "\r\n") {
		return nil, fmt.Errorf("%w: not three segments", ErrTokenMalformed)
	}
	var raw [3][]byte
	for i := range parts {
		decoded, err := tokenBase64.DecodeString(parts[i])
		if err != nil {
			return nil, fmt.Errorf("%w: not base64url", ErrTokenMalformed)
		}
		raw[i] = decoded
	}
	keyID, err := readHeader(raw[0], typ)
	if err != nil {
		return nil, err
	}
	key, err := keys.find(keyID)
	if err != nil {
		return nil, err
	}
	if len(raw[2]) != 2*coordinate {
		return nil, fmt.Errorf("%w: signature of %d bytes", ErrTokenMalformed, len(raw[2]))
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(raw[2][:coordinate]), new(big.Int).SetBytes(raw[2][coordinate:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return nil, ErrTokenSignature
	}
	return raw[1], nil
}

func (c *Claims) whole() bool {
	return c.Subject != "" && c.Issuer != "" && c.IssuedAt != 0 && c.NotBefore != 0 && c.Expires != 0 && len(c.Credential) > 0 && c.Credential[0] == '{'
}

// readHeader accepts exactly alg, typ and kid. Others, such as crit, jwk and jku, would tell a
// verifier what to do.
func readHeader(raw []byte, typ string) (keyID string, err error) {
	var fields map[string]string
	if json.Unmarshal(raw, &fields) != nil || len(fields) != headerFields || fields["alg"] != headerAlg || fields["typ"] != typ || fields["kid"] == "" {
		return "", fmt.Errorf("%w: header", ErrTokenMalformed)
	}
	return fields["kid"], nil
}

func (k *JWKS) find(keyID string) (*ecdsa.PublicKey, error) {
	for i := range k.Keys {
		key := &k.Keys[i]
		if key.KeyID != keyID || key.KeyType != "EC" || key.Curve != "P-256" {
			continue
		}
		x, errX := tokenBase64.DecodeString(key.X)
		y, errY := tokenBase64.DecodeString(key.Y)
		if errX != nil || errY != nil || len(x) != coordinate || len(y) != coordinate {
			break
		}
		public := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if _, err := public.ECDH(); err != nil { // The key is not a point of the curve.
			break
		}
		return public, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrTokenKey, keyID)
}
