package jws

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// The reasons why a token is not good.
var (
	ErrMalformed = errors.New("malformed token")
	ErrSignature = errors.New("bad signature")
	ErrKey       = errors.New("unknown signing key")
	ErrContent   = errors.New("the content cannot be signed")
)

// Algorithm is the only one that signs and verifies here (RFC 8725, 3.1). The key decides it, never
// the header.
const Algorithm = "ES256"

// SignatureSize is R then S, 32 bytes each (RFC 7518, 3.4). A DER signature is refused.
const SignatureSize = 64

// KeyIDMax is how long a kid may be.
const KeyIDMax = 32

// Compact is a token of three segments of canonical base64url. Trust none of its content before
// KeySet.Verify.
type Compact struct {
	Header    *Value
	Payload   []byte
	Signature []byte
	raw       string
}

// Parse takes a compact JWS apart (RFC 7515, 7.1). It judges the form of the three segments and that
// the header is one JSON object; which members the header may have is for the caller to say. Its
// errors are all ErrMalformed.
func Parse(raw string, bytesMax int) (Compact, error) {
	token, err := ParseHeader(raw, bytesMax)
	if err != nil {
		return Compact{}, err
	}
	return token, token.ReadRest()
}

// ParseHeader is Parse for a caller that judges the header before the rest: it leaves Payload and
// Signature to ReadRest.
func ParseHeader(raw string, bytesMax int) (Compact, error) {
	if len(raw) > bytesMax {
		return Compact{}, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, bytesMax)
	}
	if strings.Count(raw, ".") != 2 {
		return Compact{}, fmt.Errorf("%w: not three segments", ErrMalformed)
	}
	segment, _, _ := strings.Cut(raw, ".")
	document, err := DecodeSegment(segment)
	if err != nil {
		return Compact{}, err
	}
	header, err := ReadObject(document)
	return Compact{Header: header, raw: raw}, err
}

// ReadRest reads the payload and the signature.
func (c *Compact) ReadRest() (err error) {
	_, rest, _ := strings.Cut(c.raw, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	if c.Payload, err = DecodeSegment(payload); err != nil {
		return err
	}
	c.Signature, err = DecodeSegment(signature)
	return err
}

// Verify checks a token's signature with the key of a kid.
// Errors: ErrKey, ErrSignature, ErrMalformed.
func (k *KeySet) Verify(token *Compact, kid string) (*Key, error) {
	key := k.Find(kid)
	if key == nil {
		return nil, fmt.Errorf("%w: %s", ErrKey, kid)
	}
	if len(token.Signature) != SignatureSize {
		return nil, fmt.Errorf("%w of %d bytes", ErrSignature, len(token.Signature))
	}
	signed, err := jose.ParseSignedCompact(token.raw, []jose.SignatureAlgorithm{Algorithm})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	payload, err := signed.Verify(key.public)
	if err != nil {
		return nil, ErrSignature
	}
	if !bytes.Equal(payload, token.Payload) {
		return nil, fmt.Errorf("%w: two readings of one payload", ErrMalformed)
	}
	return key, nil
}

// DecodeSegment decodes canonical base64url. It checks the alphabet first, because the
// library's decoder skips CR and LF even when it is strict. Strict refuses extra bits after the
// last byte. With both checks only one text decodes to the same bytes.
func DecodeSegment(segment string) ([]byte, error) {
	if segment == "" {
		return nil, fmt.Errorf("%w: empty segment", ErrMalformed)
	}
	for i := 0; i < len(segment); i++ {
		if !isBase64URL(segment[i]) {
			return nil, fmt.Errorf("%w: not base64url", ErrMalformed)
		}
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil {
		return nil, fmt.Errorf("%w: not base64url", ErrMalformed)
	}
	return decoded, nil
}

func isBase64URL(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// ValidKeyID reports whether a kid matches ^[a-z0-9-]{1,32}$. A kid is looked up among our
// keys; it is never a path, a query or an address.
func ValidKeyID(kid string) bool {
	if len(kid) == 0 || len(kid) > KeyIDMax {
		return false
	}
	for i := 0; i < len(kid); i++ {
		if c := kid[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
