package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
)

// ErrCurve means a key that is not on P-256.
var ErrCurve = errors.New("not a P-256 key")

// errSignature means that a key gave something that is no signature.
var errSignature = errors.New("the key gave no signature of P-256")

// signer signs for the JOSE library with a P-256 key, which may be anywhere: crypto.Signer is the port
// (docs/decisions/0170-keys-in-modules.md). The library's own signatures would contain randomness.
type signer struct {
	key crypto.Signer
	kid string
}

// Public returns the public key. The library takes the kid of the header from it.
func (s *signer) Public() *jose.JSONWebKey {
	return &jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Algorithm: Algorithm, Use: "sig"}
}

// Algs returns ES256 alone.
func (s *signer) Algs() []jose.SignatureAlgorithm { return []jose.SignatureAlgorithm{Algorithm} }

// SignPayload signs as SignBytes does.
func (s *signer) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	return SignBytes(payload, s.key)
}

// SignBytes signs with ES256. It gives the key no source of randomness: crypto/ecdsa signs
// deterministically then (RFC 6979). The result is R then S, 32 bytes each.
func SignBytes(input []byte, key crypto.Signer) ([]byte, error) {
	digest := sha256.Sum256(input)
	der, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &pair); err != nil || len(rest) != 0 || pair.R.Sign() <= 0 || pair.S.Sign() <= 0 || pair.R.BitLen() > 8*coordinateSize || pair.S.BitLen() > 8*coordinateSize {
		return nil, errSignature
	}
	signature := make([]byte, SignatureSize)
	pair.R.FillBytes(signature[:coordinateSize])
	pair.S.FillBytes(signature[coordinateSize:])
	return signature, nil
}

// Sign makes a compact JWS with ES256 and the header alg, kid, typ. Equal input gives equal bytes.
// Errors: ErrContent for a payload that is not UTF-8, ErrKey for a kid that no key can have.
func Sign(payload []byte, key crypto.Signer, kid, typ string) (string, error) {
	if key == nil {
		return "", ErrCurve
	}
	if public, is := key.Public().(*ecdsa.PublicKey); !is || public.Curve != elliptic.P256() {
		return "", ErrCurve
	}
	if !ValidKeyID(kid) {
		return "", fmt.Errorf("%w: %q", ErrKey, kid)
	}
	if !utf8.Valid(payload) {
		return "", ErrContent
	}
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	maker, err := jose.NewSigner(jose.SigningKey{Algorithm: Algorithm, Key: &signer{key, kid}}, options)
	if err != nil {
		return "", err
	}
	signed, err := maker.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// AppendQuoted appends a JSON string in its canonical form (RFC 8785, 3.2.2.2): the escapes that
// RFC 8259 demands and no others. So a name stays as it was sent, and no release of a library can
// change the bytes of a token. Bytes that are not UTF-8 stay too; ReadObject refuses them later.
func AppendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case shortEscapes[c] != 0:
			dst = append(dst, '\\', shortEscapes[c])
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, '"')
}

// shortEscapes are the letters of the control characters that have one.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}
