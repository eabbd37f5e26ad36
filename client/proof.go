package client

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// The acts that a proof is for. ActConfirm names the payment.
const (
	ActScreen = "screen"
	ActDryRun = "dry_run"
	ActX402   = "x402"
)

// ActConfirm is the act of confirming a payment.
func ActConfirm(txnID string) string { return "confirm:" + txnID }

// ProofOf says what a proof is for.
type ProofOf struct {
	Act      string    // Such as ActScreen.
	Audience string    // The public URL of the service.
	ID       string    // The call's Idempotency-Key, of 16 to 64 of A-Z, a-z, 0-9, - and _; NewKey draws one.
	IssuedAt time.Time // The zero time is now. A proof is good for two minutes, unless the policy says otherwise.
}

// The reasons why no proof can be made.
var (
	ErrProofKey    = errors.New("the key is neither Ed25519 nor P-256")
	ErrProofID     = errors.New("the id of a proof has 16 to 64 of A-Z, a-z, 0-9, - and _")
	ErrProofNumber = errors.New("a number of a proven request has at most 15 digits")
)

var proofID = regexp.MustCompile(`^[A-Za-z0-9_-]{16,64}$`)

const proofDigits = 15

// SignProof makes the proof that a request is of whoever has an agent's private key. The request is
// what will be sent, such as a *Payment or a json.RawMessage. The member proof, where the result goes,
// does not count: with a Payment, set its Proof. The key is an ed25519.PrivateKey, or any crypto.Signer on P-256, in a security module too.
func SignProof(key crypto.Signer, request any, of ProofOf) (string, error) {
	alg := ""
	switch public := key.Public().(type) {
	case ed25519.PublicKey:
		alg = "EdDSA"
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P256() {
			alg = "ES256"
		}
	}
	if alg == "" {
		return "", ErrProofKey
	}
	if !proofID.MatchString(of.ID) {
		return "", ErrProofID
	}
	if of.IssuedAt.IsZero() {
		of.IssuedAt = time.Now()
	}
	canonical, err := canonicalRequest(request)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(canonical)
	claims := fmt.Sprintf(`{"aud":%s,"act":%s,"iat":%d,"jti":"%s","rqh":"%s"}`,
		quoted(of.Audience), quoted(of.Act), of.IssuedAt.Unix(), of.ID, base64.RawURLEncoding.EncodeToString(digest[:]))
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"railguard-proof+jwt"}`)) +
		"." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	signature, err := signProof(key, alg, []byte(signed))
	if err != nil {
		return "", err
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// key returns the Idempotency-Key of a payment: its own, else the one of its proof; "": it has none.
func (p *Payment) key() string { return keyOr(p.IdempotencyKey, p.Proof) }

// keyOr returns a call's own Idempotency-Key, else the one of its proof; "": it has none.
func keyOr(own, proof string) string {
	if own != "" {
		return own
	}
	parts := strings.Split(proof, ".")
	if len(parts) != 3 {
		return ""
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var said struct {
		ID string `json:"jti"`
	}
	if json.Unmarshal(claims, &said) != nil {
		return ""
	}
	return said.ID
}

// signProof signs: of ECDSA r then s, 32 bytes each, instead of the DER of Go's signers.
func signProof(key crypto.Signer, alg string, message []byte) ([]byte, error) {
	if alg == "EdDSA" {
		return key.Sign(rand.Reader, message, crypto.Hash(0))
	}
	digest := sha256.Sum256(message)
	der, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &pair); err != nil || len(rest) != 0 || pair.R.BitLen() > 8*coordinate || pair.S.BitLen() > 8*coordinate {
		return nil, errors.New("the signer's signature is not one of P-256")
	}
	signature := make([]byte, 2*coordinate)
	pair.R.FillBytes(signature[:coordinate])
	pair.S.FillBytes(signature[coordinate:])
	return signature, nil
}

// canonicalRequest is the canonical JSON (RFC 8785) of a request without its proof.
func canonicalRequest(request any) ([]byte, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || object == nil {
		return nil, errors.New("a request is a JSON object")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("a request is one JSON object")
	}
	delete(object, "proof")
	return appendCanonical(nil, object)
}

func appendCanonical(dst []byte, value any) (_ []byte, err error) {
	switch value := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, quoted(name)...), ':')
			if dst, err = appendCanonical(dst, value[name]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case []any:
		dst = append(dst, '[')
		for i, element := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendCanonical(dst, element); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case string:
		return append(dst, quoted(value)...), nil
	case json.Number:
		return appendNumber(dst, value.String())
	case bool:
		return strconv.AppendBool(dst, value), nil
	}
	return append(dst, "null"...), nil
}

// appendNumber writes a number as ECMAScript does. Up to 15 digits that changes no value.
func appendNumber(dst []byte, literal string) ([]byte, error) {
	mantissa, _, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	digits := strings.Trim(strings.Replace(mantissa, ".", "", 1), "0")
	value, err := strconv.ParseFloat(literal, 64)
	size := max(value, -value)
	if err != nil || len(digits) > proofDigits || digits != "" && (size < 1e-300 || size > 1e299) {
		return nil, ErrProofNumber
	}
	if value == 0 {
		return append(dst, '0'), nil
	}
	if size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, value, 'f', -1, 64), nil
	}
	text, exponent, _ := strings.Cut(strconv.FormatFloat(value, 'e', -1, 64), "e")
	return append(dst, text+"e"+exponent[:1]+strings.TrimLeft(exponent[1:], "0")...), nil
}

// quoted is a JSON text with the escapes of RFC 8785 alone. That of encoding/json has more.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch letter := strings.IndexRune("\"\\\b\f\n\r\t", r); {
		case letter >= 0:
			out.WriteString(`\` + `"\bfnrt`[letter:letter+1])
		case r < ' ':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
