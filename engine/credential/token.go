package credential

import (
	"errors"
	"fmt"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
)

// The reasons why a token is not good, besides those of jws. Each is a sub-reason of R1, see State.
var (
	ErrIssuer = errors.New("unknown issuer")
	ErrType   = errors.New("wrong type of token")
)

// State returns the sub-reason of R1 for an error of this package or of jws.
func State(err error) engine.TokenState {
	switch {
	case err == nil:
		return engine.TokenGood
	case errors.Is(err, jws.ErrSignature):
		return engine.TokenSignature
	case errors.Is(err, jws.ErrKey):
		return engine.TokenUnknownKey
	case errors.Is(err, ErrIssuer):
		return engine.TokenUnknownIssuer
	case errors.Is(err, ErrType):
		return engine.TokenWrongType
	}
	return engine.TokenMalformed
}

const tokenType = "JWT"

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
	compact jws.Compact
}

// Parse judges the form of a token whose scheme has been removed. Its errors are all
// jws.ErrMalformed (or jws.ErrKey for a kid that no key of ours can have).
func Parse(raw string) (Token, error) {
	compact, err := jws.Parse(raw, engine.TokenMax)
	if err != nil {
		return Token{}, err
	}
	if len(compact.Signature) != jws.SignatureSize {
		return Token{}, fmt.Errorf("%w: signature of %d bytes", jws.ErrMalformed, len(compact.Signature))
	}
	keyID, err := readHeader(compact.Header)
	return Token{keyID, compact}, err
}

// readHeader accepts exactly alg, kid and typ. Any other member (crit, b64, jku, jwk, x5u, x5c,
// zip, cty) would instruct the verifier, and we take no instructions from a token.
func readHeader(header *jws.Value) (keyID string, err error) {
	for i := range header.Members {
		switch name := header.Members[i].Name; name {
		case "alg", "kid", "typ":
		default:
			return "", fmt.Errorf("%w: header has %q", jws.ErrMalformed, name)
		}
	}
	if header.TextOf("alg") != jws.Algorithm || header.TextOf("typ") != tokenType {
		return "", fmt.Errorf("%w: header is not %s and %s", jws.ErrMalformed, jws.Algorithm, tokenType)
	}
	keyID = header.TextOf("kid")
	if !jws.ValidKeyID(keyID) {
		return "", fmt.Errorf("%w: kid", jws.ErrKey)
	}
	return keyID, nil
}
