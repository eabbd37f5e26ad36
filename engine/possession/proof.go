package possession

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
)

const (
	// Type is the typ of every proof. No credential and no permit has it (RFC 8725, 3.11).
	Type = "railguard-proof+jwt"
	// BytesMax is how long a proof may be.
	BytesMax = 2048

	// IDLeast and IDMost bound the characters of a jti.
	IDLeast = 16
	IDMost  = 64
)

// The acts that a proof can be for. A proof to confirm a payment names it: ActConfirm.
const (
	ActScreen = "screen"
	ActDryRun = "dry_run"
	ActX402   = "x402"
)

// ActConfirm returns the act of confirming a payment.
func ActConfirm(txnID string) string { return "confirm:" + txnID }

// Claims is what a proof says.
type Claims struct {
	Audience string // The public URL of the service, as in the iss of its permits.
	Act      string
	IssuedAt engine.Time // Whole seconds are signed.
	ID       string
	Request  [32]byte // Canonicaliser.RequestHash.
}

// Want is what a proof must be for.
type Want struct {
	Window
	Key      *Key // Of the credential; never nil.
	Audience string
	Act      string
	Request  [32]byte
}

// VerifyJWS judges a proof: form, algorithm, key, then service, act and request, then time. Its
// errors are *Error; "" is Missing.
func VerifyJWS(raw string, want *Want) (*Proof, error) {
	if raw == "" {
		return nil, refuse(Missing, "there is none")
	}
	payload, err := openJWS(raw, want.Key)
	if err != nil {
		return nil, err
	}
	claims, request, err := readClaims(payload)
	if err != nil {
		return nil, err
	}
	switch {
	case claims.Audience != want.Audience:
		return nil, refuse(Audience, "it is for another service")
	case claims.Act != want.Act:
		return nil, refuse(Action, "it is for another act")
	case request != base64.RawURLEncoding.EncodeToString(want.Request[:]):
		return nil, refuse(Request, "it is for another request")
	}
	if err := want.check(claims.IssuedAt); err != nil {
		return nil, err
	}
	return &Proof{Form: FormJWS, ID: claims.ID, IssuedAt: claims.IssuedAt, Digest: sha256.Sum256([]byte(raw))}, nil
}

// openJWS judges header and signature, and returns the payload.
func openJWS(raw string, key *Key) ([]byte, error) {
	if len(raw) > BytesMax {
		return nil, refuse(Malformed, "it is longer than %d bytes", BytesMax)
	}
	header, rest, _ := strings.Cut(raw, ".")
	alg, refusal := readHeader(header)
	if refusal != nil {
		return nil, refusal
	}
	encoded, encodedSignature, _ := strings.Cut(rest, ".")
	payload, objection := jws.DecodeSegment(encoded)
	signature, another := jws.DecodeSegment(encodedSignature)
	if objection != nil || another != nil {
		return nil, refuse(Malformed, "it is not a compact JWS")
	}
	fits := alg == key.Algorithm()
	signed := key.signed([]byte(raw[:len(header)+1+len(encoded)]), signature)
	switch {
	case signed && !fits:
		return nil, refuse(Algorithm, "alg is not that of the credential's key")
	case !fits:
		return nil, refuse(WrongKey, "it was made with a key of another kind")
	case !signed:
		return nil, refuse(Signature, "the credential's key did not sign it")
	}
	return payload, nil
}

// usualHeaders are the headers that all clients write, as they stand in a JWS, and their alg.
var usualHeaders = map[string]string{encodedHeader("ES256"): "ES256", encodedHeader("EdDSA"): "EdDSA"}

func encodedHeader(alg string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"` + alg + `","typ":"` + Type + `"}`))
}

// readHeader returns the alg. The header has exactly alg and typ: any other member would instruct the
// verifier, above all a key.
func readHeader(segment string) (alg string, refusal *Error) {
	if alg := usualHeaders[segment]; alg != "" {
		return alg, nil
	}
	document, err := jws.DecodeSegment(segment)
	if err != nil {
		return "", refuse(Malformed, "it is not a compact JWS")
	}
	header, err := jws.ReadObject(document)
	if err != nil {
		return "", refuse(Malformed, "the header is not one JSON object")
	}
	alg = header.TextOf("alg")
	switch {
	case header.TextOf("typ") != Type:
		return "", refuse(Malformed, "typ is not %s", Type)
	case alg != "ES256" && alg != "EdDSA":
		return "", refuse(Algorithm, "alg is neither ES256 nor EdDSA")
	case header.Member("jwk") != nil:
		return "", refuse(WrongKey, "it brings a key: the credential's alone counts")
	case len(header.Members) != 2:
		return "", refuse(Malformed, "the header has members beside alg and typ")
	}
	return alg, nil
}

// readClaims reads exactly the five claims. The hash of the request stays a text.
func readClaims(payload []byte) (claims Claims, request string, err error) {
	body, objection := jws.ReadObject(payload)
	if objection != nil {
		return Claims{}, "", refuse(Malformed, "the content is not one JSON object")
	}
	claims = Claims{Audience: body.TextOf("aud"), Act: body.TextOf("act"), ID: body.TextOf("jti")}
	request = body.TextOf("rqh")
	made, sound := wholeSeconds(body.Member("iat"))
	claims.IssuedAt = made
	switch {
	case len(body.Members) != 5 || claims.Audience == "" || claims.Act == "" || request == "":
		return Claims{}, "", refuse(Malformed, "the claims are not aud, act, iat, jti and rqh")
	case !sound:
		return Claims{}, "", refuse(Malformed, "iat is not a whole number of seconds")
	case !ValidID(claims.ID):
		return Claims{}, "", refuse(Malformed, "jti must be %d to %d of A-Z, a-z, 0-9, - and _", IDLeast, IDMost)
	}
	return claims, request, nil
}

// wholeSeconds reads a time: no sign, fraction or exponent.
func wholeSeconds(value *jws.Value) (engine.Time, bool) {
	if value == nil || value.Kind != '0' {
		return 0, false
	}
	seconds, err := strconv.ParseUint(value.Text, 10, 64)
	return engine.Time(seconds) * engine.Second, err == nil && seconds < secondsMax
}

// ValidID reports whether a jti matches ^[A-Za-z0-9_-]{16,64}$.
func ValidID(id string) bool {
	if len(id) < IDLeast || len(id) > IDMost {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Sign makes a proof, as an agent would: for tests, benches and tools. Equal input gives equal bytes.
// The key is an ed25519.PrivateKey or an *ecdsa.PrivateKey on P-256. Errors: *KeyError.
func Sign(claims *Claims, key crypto.Signer) (string, error) {
	public, err := KeyFrom(key.Public())
	if err != nil {
		return "", err
	}
	payload := jws.AppendQuoted([]byte(`{"aud":`), claims.Audience)
	payload = jws.AppendQuoted(append(payload, `,"act":`...), claims.Act)
	payload = strconv.AppendInt(append(payload, `,"iat":`...), int64(claims.IssuedAt/engine.Second), 10)
	payload = jws.AppendQuoted(append(payload, `,"jti":`...), claims.ID)
	payload = base64.RawURLEncoding.AppendEncode(append(payload, `,"rqh":"`...), claims.Request[:])
	payload = append(payload, `"}`...)
	token := append([]byte(encodedHeader(public.Algorithm())), '.')
	token = base64.RawURLEncoding.AppendEncode(token, payload)
	signature, err := sign(token, key)
	if err != nil {
		return "", err
	}
	return string(base64.RawURLEncoding.AppendEncode(append(token, '.'), signature)), nil
}

// sign makes the 64 bytes of a signature, without randomness.
func sign(input []byte, key crypto.Signer) ([]byte, error) {
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return ed25519.Sign(key, input), nil
	case *ecdsa.PrivateKey:
		return jws.SignBytes(input, key)
	}
	return nil, &KeyError{FaultKind, "it is of no kind that agents have"}
}
