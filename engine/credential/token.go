package credential

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"railguard/engine"
)

// The reasons why a token is not good. Each is a sub-reason of R1, see State.
var (
	ErrMalformed = errors.New("malformed token")
	ErrSignature = errors.New("bad signature")
	ErrKey       = errors.New("unknown signing key")
	ErrIssuer    = errors.New("unknown issuer")
	ErrType      = errors.New("wrong type of token")
)

// State returns the sub-reason of R1 for an error of this package.
func State(err error) engine.TokenState {
	switch {
	case err == nil:
		return engine.TokenGood
	case errors.Is(err, ErrSignature):
		return engine.TokenSignature
	case errors.Is(err, ErrKey):
		return engine.TokenUnknownKey
	case errors.Is(err, ErrIssuer):
		return engine.TokenUnknownIssuer
	case errors.Is(err, ErrType):
		return engine.TokenWrongType
	}
	return engine.TokenMalformed
}

const (
	algorithm     = "ES256" // The only one accepted (RFC 8725, 3.1). The key decides it, never the header.
	tokenType     = "JWT"
	signatureSize = 64 // R then S, 32 bytes each (RFC 7518, 3.4). A DER signature is refused.
	kidMax        = 32
)

// prefixes are the schemes before a token (specification 5).
var prefixes = [...]string{"Bearer", "VerifiableCredential", "ProofPack", "JWT"}

// StripPrefix takes the scheme off a token field: none or one of the four, in
// any case, with spaces around (statement T051). Two schemes, another word, or a
// scheme with nothing behind it are not a token. The token itself is not judged.
func StripPrefix(field string) (token string, ok bool) {
	first, rest := nextWord(field)
	second, rest := nextWord(rest)
	if third, _ := nextWord(rest); third != "" || first == "" {
		return "", false
	}
	if second == "" {
		return first, !isPrefix(first)
	}
	return second, isPrefix(first) && !isPrefix(second)
}

// nextWord cuts the first run of characters that are not spaces.
func nextWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " ")
	if end := strings.IndexByte(text, ' '); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

func isPrefix(word string) bool {
	for _, prefix := range prefixes {
		if strings.EqualFold(word, prefix) {
			return true
		}
	}
	return false
}

// Token is a token of the right form: three segments of canonical base64url, a header with
// exactly ES256, JWT and a kid, and 64 bytes of signature. Trust none of its content before
// KeySet.Verify.
type Token struct {
	KeyID   string
	raw     string
	payload []byte
}

// Parse judges the form of a token whose scheme has been removed. Its errors are all
// ErrMalformed (or ErrKey for a kid that no key of ours can have).
func Parse(raw string) (Token, error) {
	if len(raw) > engine.TokenMax {
		return Token{}, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, engine.TokenMax)
	}
	header, rest, found := strings.Cut(raw, ".")
	payload, signature, foundSecond := strings.Cut(rest, ".")
	if !found || !foundSecond {
		return Token{}, fmt.Errorf("%w: not three segments", ErrMalformed)
	}
	headerJSON, err := decodeSegment(header)
	if err != nil {
		return Token{}, err
	}
	payloadJSON, err := decodeSegment(payload)
	if err != nil {
		return Token{}, err
	}
	mac, err := decodeSegment(signature)
	if err != nil {
		return Token{}, err
	}
	if len(mac) != signatureSize {
		return Token{}, fmt.Errorf("%w: signature of %d bytes", ErrMalformed, len(mac))
	}
	keyID, err := readHeader(headerJSON)
	if err != nil {
		return Token{}, err
	}
	return Token{KeyID: keyID, raw: raw, payload: payloadJSON}, nil
}

// decodeSegment decodes canonical base64url. It checks the alphabet first, because the
// library's decoder skips CR and LF even when it is strict. Strict refuses extra bits after the
// last byte. With both checks only one text decodes to the same bytes.
func decodeSegment(segment string) ([]byte, error) {
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

// readHeader accepts exactly alg, kid and typ. Any other member (crit, b64, jku, jwk, x5u, x5c,
// zip, cty) would instruct the verifier, and we take no instructions from a token.
func readHeader(document []byte) (keyID string, err error) {
	header, err := readObject(document)
	if err != nil {
		return "", err
	}
	for i := range header.members {
		switch name := header.members[i].name; name {
		case "alg", "kid", "typ":
		default:
			return "", fmt.Errorf("%w: header has %q", ErrMalformed, name)
		}
	}
	if header.stringMember("alg") != algorithm || header.stringMember("typ") != tokenType {
		return "", fmt.Errorf("%w: header is not %s and %s", ErrMalformed, algorithm, tokenType)
	}
	keyID = header.stringMember("kid")
	if !validKeyID(keyID) {
		return "", fmt.Errorf("%w: kid", ErrKey)
	}
	return keyID, nil
}

// validKeyID reports whether a kid matches ^[a-z0-9-]{1,32}$. A kid is looked up among our
// keys; it is never a path, a query or an address.
func validKeyID(kid string) bool {
	if len(kid) == 0 || len(kid) > kidMax {
		return false
	}
	for i := 0; i < len(kid); i++ {
		if c := kid[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
