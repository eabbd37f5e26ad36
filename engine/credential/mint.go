package credential

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/possession"
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
	Key               *possession.Key // The agent's own key; nil: it has none.

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
)

// headerSize and signatureTextSize bound the parts of a token other than its payload: the header,
// two dots and the 64 bytes of the signature, all in base64url.
const (
	headerSize        = 120
	signatureTextSize = 88
)

// Check reports whether a credential can be minted; it is called before anything is registered.
// It returns ErrTooLarge beyond engine.TokenMax, and jws.ErrContent for text that is not UTF-8 or a
// policy that our verifier would not read back.
func (c *Credential) Check() error {
	payload := c.claimSet(c.AppendJSON(nil))
	if base64.RawURLEncoding.EncodedLen(len(payload))+headerSize+signatureTextSize > engine.TokenMax {
		return ErrTooLarge
	}
	if _, err := jws.ReadObject(payload); err != nil {
		return fmt.Errorf("%w: %w", jws.ErrContent, err)
	}
	return nil
}

// Mint returns the token of a credential, and the credential as the answer shows it: exactly
// the bytes of the token's vc member. Equal input gives equal bytes.
func Mint(c *Credential, key crypto.Signer, kid string) (token string, document []byte, err error) {
	document = c.AppendJSON(nil)
	payload := c.claimSet(document)
	if _, err := jws.ReadObject(payload); err != nil {
		return "", nil, fmt.Errorf("%w: %w", jws.ErrContent, err)
	}
	token, err = jws.Sign(payload, key, kid, tokenType)
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
	dst = jws.AppendQuoted(dst, c.Issuer)
	dst = append(dst, `,"sub":`...)
	dst = jws.AppendQuoted(dst, c.Subject)
	dst = append(dst, `,"jti":`...)
	dst = jws.AppendQuoted(dst, c.ID)
	issued, expires := int64(c.IssuedAt/engine.Second), int64(c.ExpiresAt/engine.Second)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), issued, 10)
	dst = strconv.AppendInt(append(dst, `,"nbf":`...), issued, 10)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), expires, 10)
	if c.StatusURL != "" { // Token Status List: the token has this claim, the credential in vc does not.
		dst = strconv.AppendUint(append(dst, `,"status":{"status_list":{"idx":`...), uint64(c.StatusIndex), 10)
		dst = append(jws.AppendQuoted(append(dst, `,"uri":`...), c.StatusURL), `}}`...)
	}
	if c.Key != nil { // RFC 7800. Like status it is no part of the credential in vc.
		dst = append(c.Key.AppendJWK(append(dst, `,"cnf":{"jwk":`...)), '}')
	}
	dst = append(dst, `,"vc":`...)
	return append(append(dst, document...), '}')
}

// AppendJSON appends the credential (specification 2.1, decision 34), members
// in fixed order.
func (c *Credential) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"@context":["`+w3cContext+`",`...)
	dst = jws.AppendQuoted(dst, c.ContextURL)
	dst = append(dst, `],"id":`...)
	dst = jws.AppendQuoted(dst, c.ID)
	dst = append(dst, `,"type":`...)
	dst = appendList(dst, c.Kind.typeList())
	dst = append(dst, `,"issuer":`...)
	dst = jws.AppendQuoted(dst, c.Issuer)
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
	dst = jws.AppendQuoted(dst, c.Subject)
	dst = append(dst, nameMember...)
	dst = jws.AppendQuoted(dst, c.Name)
	dst = append(dst, `,"agentType":`...)
	dst = jws.AppendQuoted(dst, c.AgentType)
	if c.Kind != KindUser || c.OperatorLegalName != "" {
		dst = append(dst, `,"operatorLegalName":`...)
		dst = jws.AppendQuoted(dst, c.OperatorLegalName)
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
		dst = jws.AppendQuoted(dst, c.ParentID)
		dst = append(dst, `,"rootAgentId":`...)
		dst = jws.AppendQuoted(dst, c.RootID)
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
		dst = jws.AppendQuoted(dst, text)
	}
	return append(dst, ']')
}
