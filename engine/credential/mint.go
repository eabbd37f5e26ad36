package credential

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"

	"railguard/engine"
)

// Credential is the content of a credential: plain data, ids as texts.
type Credential struct {
	Kind       Kind
	ID         string // urn:uuid:…, the jti.
	Issuer     string // did:kya:…
	ContextURL string // Address of the KYA context document.
	IssuedAt   engine.Time
	ExpiresAt  engine.Time
	Subject    string // agt_… or usr_…

	Name              string // agentName or legalName.
	AgentType         string // autonomous or supervised.
	OperatorLegalName string // May be empty for a user.
	SpendPolicy       []byte // JSON as sent; empty: none. Not for users.
	Agents            []string
	Matched           bool // ofacAtIssuance is MATCH.
	ScreenedAt        engine.Time

	// Where the credential's status is published; "": nowhere.
	StatusURL   string
	StatusIndex uint32

	// Set for a delegate only.
	ParentID string
	RootID   string
	Depth    int
	Chain    []string // Ancestors, root first.
}

const w3cContext = "https://www.w3.org/2018/credentials/v1"

// The reasons why a credential cannot be minted.
var (
	ErrTooLarge = errors.New("the credential is larger than a token may be")
	ErrContent  = errors.New("the credential's content cannot be signed")
	errKeyCurve = errors.New("not a P-256 key")
)

// headerSize and signatureTextSize bound the parts of a token other than its payload: the header,
// two dots and the 64 bytes of the signature, all in base64url.
const (
	headerSize        = 120
	signatureTextSize = 88
)

// Check reports whether a credential can be minted; it is called before anything is registered.
// It returns ErrTooLarge beyond engine.TokenMax, and ErrContent for text that is not UTF-8 or a
// policy that our verifier would not read back.
func (c *Credential) Check() error {
	payload := c.claimSet(c.AppendJSON(nil))
	if base64.RawURLEncoding.EncodedLen(len(payload))+headerSize+signatureTextSize > engine.TokenMax {
		return ErrTooLarge
	}
	if _, err := readObject(payload); err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	return nil
}

// Mint returns the token of a credential, and the credential as the answer shows it: exactly
// the bytes of the token's vc member. Equal input gives equal bytes.
func Mint(c *Credential, key *ecdsa.PrivateKey, kid string) (token string, document []byte, err error) {
	document = c.AppendJSON(nil)
	payload := c.claimSet(document)
	if _, err := readObject(payload); err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	token, err = signToken(payload, key, kid, tokenType)
	if err != nil {
		return "", nil, err
	}
	if len(token) > engine.TokenMax {
		return "", nil, ErrTooLarge
	}
	return token, document, nil
}

// wholeSecond rounds down to the second: the claims are whole seconds
// (RFC 7519 NumericDate), and the credential must say the same.
func wholeSecond(t engine.Time) engine.Time { return t - t%engine.Second }

// claimSet returns the claims in the JWT form of VC Data Model 1.1: the registered claims, and
// the whole credential as vc.
func (c *Credential) claimSet(document []byte) []byte {
	dst := append(make([]byte, 0, len(document)+512), `{"iss":`...)
	dst = appendQuoted(dst, c.Issuer)
	dst = append(dst, `,"sub":`...)
	dst = appendQuoted(dst, c.Subject)
	dst = append(dst, `,"jti":`...)
	dst = appendQuoted(dst, c.ID)
	issued, expires := int64(c.IssuedAt/engine.Second), int64(c.ExpiresAt/engine.Second)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), issued, 10)
	dst = strconv.AppendInt(append(dst, `,"nbf":`...), issued, 10)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), expires, 10)
	if c.StatusURL != "" { // Token Status List: the token has this claim, the credential in vc does not.
		dst = strconv.AppendUint(append(dst, `,"status":{"status_list":{"idx":`...), uint64(c.StatusIndex), 10)
		dst = append(appendQuoted(append(dst, `,"uri":`...), c.StatusURL), `}}`...)
	}
	dst = append(dst, `,"vc":`...)
	return append(append(dst, document...), '}')
}

// AppendJSON appends the credential (specification 2.1, decision 34), members
// in fixed order.
func (c *Credential) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"@context":["`+w3cContext+`",`...)
	dst = appendQuoted(dst, c.ContextURL)
	dst = append(dst, `],"id":`...)
	dst = appendQuoted(dst, c.ID)
	dst = append(dst, `,"type":`...)
	dst = appendList(dst, c.Kind.typeList())
	dst = append(dst, `,"issuer":`...)
	dst = appendQuoted(dst, c.Issuer)
	dst = append(dst, `,"issuanceDate":"`...)
	dst = wholeSecond(c.IssuedAt).AppendTime(dst)
	dst = append(dst, `","expirationDate":"`...)
	dst = wholeSecond(c.ExpiresAt).AppendTime(dst)
	dst = append(dst, `","credentialSubject":`...)
	return append(c.appendSubject(dst), '}')
}

func (c *Credential) appendSubject(dst []byte) []byte {
	nameMember := `,"agentName":`
	if c.Kind == KindUser {
		nameMember = `,"legalName":`
	}
	dst = append(append(append(dst, `{"`...), c.Kind.subjectMember()...), `":`...)
	dst = appendQuoted(dst, c.Subject)
	dst = append(dst, nameMember...)
	dst = appendQuoted(dst, c.Name)
	dst = append(dst, `,"agentType":`...)
	dst = appendQuoted(dst, c.AgentType)
	if c.Kind != KindUser || c.OperatorLegalName != "" {
		dst = append(dst, `,"operatorLegalName":`...)
		dst = appendQuoted(dst, c.OperatorLegalName)
	}
	if c.Kind == KindUser {
		dst = append(dst, `,"agentIds":`...)
		dst = appendList(dst, c.Agents)
	} else {
		dst = append(dst, `,"spendPolicy":`...)
		dst = appendCompact(dst, c.SpendPolicy)
	}
	dst = append(dst, `,"complianceAttestation":{"ofacAtIssuance":"`...)
	if c.Matched {
		dst = append(dst, "MATCH"...)
	} else {
		dst = append(dst, "CLEAR"...)
	}
	dst = append(dst, `","screenedAt":"`...)
	dst = c.ScreenedAt.AppendTime(dst)
	dst = append(dst, `","credentialStatus":"ACTIVE"}`...)
	if c.Kind == KindDelegate {
		dst = append(dst, `,"delegation":{"parentAgentId":`...)
		dst = appendQuoted(dst, c.ParentID)
		dst = append(dst, `,"rootAgentId":`...)
		dst = appendQuoted(dst, c.RootID)
		dst = strconv.AppendInt(append(dst, `,"depth":`...), int64(c.Depth), 10)
		dst = append(dst, `,"chain":`...)
		dst = append(appendList(dst, c.Chain), '}')
	}
	return append(dst, '}')
}

// appendCompact appends JSON without the blanks between its parts. Every number and string
// keeps its literal. An empty document becomes an empty object.
func appendCompact(dst, document []byte) []byte {
	if len(document) == 0 {
		return append(dst, `{}`...)
	}
	buffer := bytes.NewBuffer(dst)
	if err := json.Compact(buffer, document); err != nil {
		return append(dst, document...) // The result is not JSON. Mint reads the payload back and refuses it.
	}
	return buffer.Bytes()
}

func appendList(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, text)
	}
	return append(dst, ']')
}

// appendQuoted appends a JSON string with the escapes that RFC 8259 demands and no others. So a
// name stays as it was sent, and no release of a library can change the bytes of a token. Bytes
// that are not UTF-8 stay too; readObject refuses them later.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// signer signs for the JOSE library with a P-256 key. The library's own signatures would
// contain randomness.
type signer struct {
	key *ecdsa.PrivateKey
	kid string
}

// Public returns the public key. The library takes the kid of the header from it.
func (s *signer) Public() *jose.JSONWebKey {
	return &jose.JSONWebKey{Key: &s.key.PublicKey, KeyID: s.kid, Algorithm: algorithm, Use: "sig"}
}

// Algs returns ES256 alone.
func (s *signer) Algs() []jose.SignatureAlgorithm { return []jose.SignatureAlgorithm{algorithm} }

// SignPayload signs deterministically (RFC 6979): crypto/ecdsa does so when it
// is given no source of randomness. The result is R then S, 32 bytes each.
func (s *signer) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	digest := sha256.Sum256(payload)
	der, err := s.key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(der, &pair); err != nil || len(rest) != 0 {
		return nil, errors.New("BUG: the library's own signature cannot be read")
	}
	signature := make([]byte, signatureSize)
	pair.R.FillBytes(signature[:coordinateSize])
	pair.S.FillBytes(signature[coordinateSize:])
	return signature, nil
}

// signToken makes a compact JWS with the header alg, kid, typ.
func signToken(payload []byte, key *ecdsa.PrivateKey, kid, typ string) (string, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return "", errKeyCurve
	}
	if !validKeyID(kid) {
		return "", fmt.Errorf("%w: %q", ErrKey, kid)
	}
	if !utf8.Valid(payload) {
		return "", ErrContent
	}
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	maker, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: &signer{key, kid}}, options)
	if err != nil {
		return "", err
	}
	signed, err := maker.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
