package possession

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"slices"

	"railguard/engine/jws"
)

// Kind is the first byte of a stored key. It is never given to another kind.
type Kind uint8

// The kinds of keys.
const (
	P256    Kind = 1 // X then Y, 32 bytes each.
	Ed25519 Kind = 2 // The 32 bytes of RFC 8032.
)

const (
	coordinateSize = 32
	signatureSize  = 64

	// FormMax is the size of the longest stored key.
	FormMax = 1 + 2*coordinateSize
)

// Fault is why a public key is refused, as a word.
type Fault string

// The faults.
const (
	FaultForm      Fault = "form"      // Not one JSON object of texts, or not base64url.
	FaultPrivate   Fault = "private"   // It has a private or a shared secret member.
	FaultKind      Fault = "kind"      // kty is not EC or OKP.
	FaultCurve     Fault = "curve"     // crv is not the one of its kind.
	FaultMember    Fault = "member"    // It has a member that none of these keys has.
	FaultUse       Fault = "use"       // use or key_ops is for something else than verifying.
	FaultAlgorithm Fault = "algorithm" // alg is not that of the key.
	FaultLength    Fault = "length"
	FaultPoint     Fault = "point" // It is not a point of the curve.
	FaultOrder     Fault = "order" // A point of small order: anybody can sign for it.
)

// KeyError says why a public key is refused. It quotes nothing of it: a private key may have been
// sent.
type KeyError struct {
	Fault Fault
	Said  string
}

func (e *KeyError) Error() string { return "public key: " + string(e.Fault) + ": " + e.Said }

// Key is an agent's public key. It is immutable.
type Key struct {
	form       []byte
	public     *ecdsa.PublicKey // Only of a P256.
	thumbprint string
}

// secretMembers are those of private and of shared keys (RFC 7518, 6.2.2, 6.3.2 and 6.4.1; RFC 8037).
var secretMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"}

// publicMembers are those that a key may have. ext and key_ops are what browsers export. Any other
// is refused and not ignored: it could be a secret under another name.
var publicMembers = []string{"kty", "crv", "x", "y", "use", "key_ops", "alg", "kid", "ext"}

// ReadJWK reads a public key as it is registered (RFC 7517). Its errors are *KeyError.
func ReadJWK(document []byte) (*Key, error) {
	value, err := jws.ReadObject(document)
	if err != nil {
		return nil, &KeyError{FaultForm, "not one JSON object"}
	}
	return KeyOf(value)
}

// KeyOf reads a public key that was read as JSON, such as the cnf.jwk of a token. Its errors are
// *KeyError.
func KeyOf(value *jws.Value) (*Key, error) {
	if value == nil || value.Kind != '{' {
		return nil, &KeyError{FaultForm, "not a JSON object"}
	}
	if err := checkMembers(value); err != nil {
		return nil, err
	}
	form, err := readForm(value)
	if err != nil {
		return nil, err
	}
	return OpenKey(form)
}

// checkMembers judges all but the numbers. Secrets come first, whatever else is wrong.
func checkMembers(value *jws.Value) *KeyError {
	for _, name := range secretMembers {
		if value.Member(name) != nil {
			return &KeyError{FaultPrivate, "it has a private member: this key is to be thrown away"}
		}
	}
	kind, curve := value.TextOf("kty"), value.TextOf("crv")
	switch {
	case kind != "EC" && kind != "OKP":
		return &KeyError{FaultKind, "kty must be EC or OKP"}
	case kind == "EC" && curve != "P-256":
		return &KeyError{FaultCurve, "crv must be P-256"}
	case kind == "OKP" && curve != "Ed25519":
		return &KeyError{FaultCurve, "crv must be Ed25519"}
	}
	for i := range value.Members {
		name := value.Members[i].Name
		if !slices.Contains(publicMembers, name) || kind == "OKP" && name == "y" {
			return &KeyError{FaultMember, "it has a member that such a key has not"}
		}
	}
	if use := value.Member("use"); use != nil && value.TextOf("use") != "sig" {
		return &KeyError{FaultUse, "use must be sig"}
	}
	if allowed := value.Member("key_ops"); allowed != nil &&
		(allowed.Kind != '[' || len(allowed.Elements) != 1 || allowed.Elements[0].Kind != '"' || allowed.Elements[0].Text != "verify") {
		return &KeyError{FaultUse, "key_ops must be verify alone"}
	}
	alg := value.TextOf("alg")
	if value.Member("alg") != nil && (kind == "EC" && alg != "ES256" || kind == "OKP" && alg != "EdDSA" && alg != "Ed25519") {
		return &KeyError{FaultAlgorithm, "alg is not that of the key"}
	}
	return nil
}

// readForm reads the numbers of a key.
func readForm(value *jws.Value) ([]byte, error) {
	kind, names := Ed25519, []string{"x"}
	if value.TextOf("kty") == "EC" {
		kind, names = P256, []string{"x", "y"}
	}
	form := []byte{byte(kind)}
	for _, name := range names {
		number, err := jws.DecodeSegment(value.TextOf(name))
		if err != nil {
			return nil, &KeyError{FaultForm, name + " is not base64url"}
		}
		if len(number) != coordinateSize {
			return nil, &KeyError{FaultLength, name + " must have 32 bytes"}
		}
		form = append(form, number...)
	}
	return form, nil
}

// OpenKey opens a key's stored form. Its errors are *KeyError.
func OpenKey(form []byte) (*Key, error) {
	key := &Key{form: slices.Clone(form)}
	switch {
	case len(form) == 1+2*coordinateSize && Kind(form[0]) == P256:
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, form[1:]...))
		if err != nil {
			return nil, &KeyError{FaultPoint, "it is not a point of P-256"}
		}
		key.public = public
	case len(form) == 1+coordinateSize && Kind(form[0]) == Ed25519:
		if err := checkEdwards(form[1:]); err != nil {
			return nil, err
		}
	default:
		return nil, &KeyError{FaultLength, "it is not a stored key"}
	}
	key.thumbprint = key.hash()
	return key, nil
}

// KeyFrom returns the key of a public key of the standard library. Its errors are *KeyError.
func KeyFrom(public any) (*Key, error) {
	switch public := public.(type) {
	case ed25519.PublicKey:
		return OpenKey(append([]byte{byte(Ed25519)}, public...))
	case *ecdsa.PublicKey:
		point, err := jws.PublicPoint(public)
		if err != nil {
			return nil, &KeyError{FaultCurve, "it is not on P-256"}
		}
		return OpenKey(append([]byte{byte(P256)}, point...))
	}
	return nil, &KeyError{FaultKind, "it is of no kind that agents have"}
}

// Kind returns the key's kind.
func (k *Key) Kind() Kind { return Kind(k.form[0]) }

// AppendForm appends the stored form: the kind, then the point. Equal keys have equal forms.
func (k *Key) AppendForm(dst []byte) []byte { return append(dst, k.form...) }

// Thumbprint returns the key's base64url of SHA-256 by RFC 7638.
func (k *Key) Thumbprint() string { return k.thumbprint }

// Algorithm returns the alg of this key's proofs.
func (k *Key) Algorithm() string {
	if k.Kind() == P256 {
		return "ES256"
	}
	return "EdDSA"
}

// messageAlgorithm returns the name of the same in RFC 9421, 6.2.2.
func (k *Key) messageAlgorithm() string {
	if k.Kind() == P256 {
		return "ecdsa-p256-sha256"
	}
	return "ed25519"
}

// AppendJWK appends the key as a token's cnf has it: its public members alone, in a fixed order.
func (k *Key) AppendJWK(dst []byte) []byte {
	if k.Kind() == P256 {
		dst = append(dst, `{"kty":"EC","crv":"P-256"`...)
	} else {
		dst = append(dst, `{"kty":"OKP","crv":"Ed25519"`...)
	}
	return k.appendPoint(dst)
}

// hash returns the thumbprint: members by name (RFC 7638, 3; RFC 8037, 2).
func (k *Key) hash() string {
	canonical := make([]byte, 0, 160)
	if k.Kind() == P256 {
		canonical = append(canonical, `{"crv":"P-256","kty":"EC"`...)
	} else {
		canonical = append(canonical, `{"crv":"Ed25519","kty":"OKP"`...)
	}
	digest := sha256.Sum256(k.appendPoint(canonical))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

func (k *Key) appendPoint(dst []byte) []byte {
	dst = append(dst, `,"x":"`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, k.form[1:1+coordinateSize])
	if k.Kind() == P256 {
		dst = append(dst, `","y":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, k.form[1+coordinateSize:])
	}
	return append(dst, `"}`...)
}

// SignedASN1 reports whether a signature of this key is over the input, where an ECDSA signature has
// the form that authenticators give it: ASN.1 DER.
func (k *Key) SignedASN1(input, signature []byte) bool {
	if k.Kind() == Ed25519 {
		return k.signed(input, signature)
	}
	digest := sha256.Sum256(input)
	return ecdsa.VerifyASN1(k.public, digest[:], signature)
}

// signed reports whether a signature of this key is over the input. An ECDSA signature is R then S,
// 32 bytes each, as JWS and RFC 9421 have it.
func (k *Key) signed(input, signature []byte) bool {
	if len(signature) != signatureSize {
		return false
	}
	if k.Kind() == Ed25519 {
		return ed25519.Verify(k.form[1:], input, signature)
	}
	digest := sha256.Sum256(input)
	r, s := new(big.Int).SetBytes(signature[:coordinateSize]), new(big.Int).SetBytes(signature[coordinateSize:])
	return ecdsa.Verify(k.public, digest[:], r, s)
}
