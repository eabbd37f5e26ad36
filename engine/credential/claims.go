package credential

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"railguard/engine"
)

// Kind is the kind of a credential.
type Kind uint8

// The kinds.
const (
	KindAgent    Kind = 1
	KindDelegate Kind = 2
	KindUser     Kind = 3
)

// String returns the kind's word.
func (k Kind) String() string {
	switch k {
	case KindAgent:
		return "agent"
	case KindDelegate:
		return "delegate"
	case KindUser:
		return "user"
	}
	return "unknown"
}

// The types of a credential (specification 2.1, decision 40 and decision 41).
const (
	typeCredential = "VerifiableCredential"
	typeAgent      = "KYAAgentCredential"
	typeDelegate   = "KYADelegateCredential"
	typeUser       = "KYAUserCredential"
)

// typeList returns the type list of a kind.
func (k Kind) typeList() []string {
	switch k {
	case KindDelegate:
		return []string{typeCredential, typeAgent, typeDelegate}
	case KindUser:
		return []string{typeCredential, typeUser}
	}
	return []string{typeCredential, typeAgent}
}

// subjectMember returns the name of the member that holds the subject's id.
func (k Kind) subjectMember() string {
	if k == KindUser {
		return "userId"
	}
	return "agentId"
}

func (k Kind) subjectPrefix() string {
	if k == KindUser {
		return "usr_"
	}
	return "agt_"
}

// Claims is what a verified token says. It does not include the credential's status: only the
// log knows that.
type Claims struct {
	Kind         Kind
	Subject      string // agt_… or usr_…
	CredentialID string // jti: identity of the credential. A signature is no identity: each has a second valid form.
	Issuer       string
	IssuedAt     engine.Time
	NotBefore    engine.Time
	Expires      engine.Time
	KeyID        string
	KeyRevoked   bool // Its kid was revoked: R2.
}

// Times a claim can have, in seconds: 2020-01-01 to 2100-01-01.
const (
	secondsMin = 1_577_836_800
	secondsMax = 4_102_444_800
)

// Open parses and verifies a token.
func (k *KeySet) Open(raw string) (Claims, error) {
	token, err := Parse(raw)
	if err != nil {
		return Claims{}, err
	}
	return k.Verify(&token)
}

// Verify looks up our key by the kid and checks the signature. Then it checks the content: our
// issuer, known types, and a vc member that agrees with the claims wherever both state the same
// thing (VC Data Model 1.1, 6.3.1).
// Errors: ErrKey, ErrSignature, ErrIssuer, ErrType, ErrMalformed.
func (k *KeySet) Verify(token *Token) (Claims, error) {
	key := k.findKey(token.KeyID)
	if key == nil {
		return Claims{}, fmt.Errorf("%w: %s", ErrKey, token.KeyID)
	}
	signed, err := jose.ParseSignedCompact(token.raw, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	payload, err := signed.Verify(key.public)
	if err != nil {
		return Claims{}, ErrSignature
	}
	if !bytes.Equal(payload, token.payload) {
		return Claims{}, fmt.Errorf("%w: two readings of one payload", ErrMalformed)
	}
	claims, err := k.readClaims(payload)
	if err != nil {
		return Claims{}, err
	}
	claims.KeyID, claims.KeyRevoked = key.ID, key.State == KeyRevoked
	return claims, nil
}

func (k *KeySet) readClaims(payload []byte) (Claims, error) {
	body, err := readObject(payload)
	if err != nil {
		return Claims{}, err
	}
	if err := checkNames(body); err != nil {
		return Claims{}, err
	}
	claims := Claims{Subject: body.stringMember("sub"), CredentialID: body.stringMember("jti"), Issuer: body.stringMember("iss")}
	if claims.Issuer != k.issuer {
		return Claims{}, fmt.Errorf("%w: %q", ErrIssuer, claims.Issuer)
	}
	if claims.Subject == "" || claims.CredentialID == "" {
		return Claims{}, fmt.Errorf("%w: sub or jti is missing", ErrMalformed)
	}
	for _, date := range []struct {
		name string
		into *engine.Time
	}{{"iat", &claims.IssuedAt}, {"nbf", &claims.NotBefore}, {"exp", &claims.Expires}} {
		if *date.into, err = readSeconds(body, date.name); err != nil {
			return Claims{}, err
		}
	}
	credential := body.memberValue("vc")
	if credential == nil || credential.kind != '{' {
		return Claims{}, fmt.Errorf("%w: no vc", ErrType)
	}
	if claims.Kind, err = readKind(credential.memberValue("type")); err != nil {
		return Claims{}, err
	}
	if !strings.HasPrefix(claims.Subject, claims.Kind.subjectPrefix()) {
		return Claims{}, fmt.Errorf("%w: %s credential of another subject", ErrType, claims.Kind)
	}
	return claims, claims.checkAgreement(credential)
}

// claimNames are the claims that we read. A name that differs from one in case alone is
// refused.
var claimNames = [...]string{"iss", "sub", "jti", "iat", "nbf", "exp", "vc"}

// checkNames refuses a presentation, and names that differ from ours in letter case alone.
func checkNames(body *value) error {
	for i := range body.members {
		name := body.members[i].name
		if strings.EqualFold(name, "vp") {
			return fmt.Errorf("%w: a presentation", ErrType)
		}
		for _, ours := range claimNames {
			if name != ours && strings.EqualFold(name, ours) {
				return fmt.Errorf("%w: claim %q", ErrMalformed, name)
			}
		}
	}
	return nil
}

// readSeconds reads a NumericDate that is an integer from 2020 to 2100: no
// fraction, no exponent, no string, no sign.
func readSeconds(body *value, name string) (engine.Time, error) {
	date := body.memberValue(name)
	if date == nil || date.kind != '0' {
		return 0, fmt.Errorf("%w: %s is not an integer", ErrMalformed, name)
	}
	seconds, err := strconv.ParseInt(date.text, 10, 64)
	if err != nil || seconds < secondsMin || seconds > secondsMax {
		return 0, fmt.Errorf("%w: %s is not a time from 2020 to 2100", ErrMalformed, name)
	}
	return engine.Time(seconds) * engine.Second, nil
}

// readKind finds the kind with this type list, in any order.
func readKind(list *value) (Kind, error) {
	if list == nil || list.kind != '[' {
		return 0, fmt.Errorf("%w: no list of types", ErrType)
	}
	var types []string
	for _, element := range list.elements {
		types = append(types, element.text)
	}
	slices.Sort(types)
	for kind := KindAgent; kind <= KindUser; kind++ {
		known := kind.typeList()
		slices.Sort(known)
		if slices.Equal(types, known) {
			return kind, nil
		}
	}
	return 0, fmt.Errorf("%w: %q", ErrType, types)
}

// checkAgreement checks that the vc member says what the claims say.
func (c *Claims) checkAgreement(credential *value) error {
	switch {
	case credential.stringMember("issuer") != c.Issuer:
		return fmt.Errorf("%w: vc.issuer is not iss", ErrMalformed)
	case credential.stringMember("id") != c.CredentialID:
		return fmt.Errorf("%w: vc.id is not jti", ErrMalformed)
	case credential.stringMember("issuanceDate") != c.NotBefore.String():
		return fmt.Errorf("%w: vc.issuanceDate is not nbf", ErrMalformed)
	case credential.stringMember("expirationDate") != c.Expires.String():
		return fmt.Errorf("%w: vc.expirationDate is not exp", ErrMalformed)
	case credential.memberValue("credentialSubject").stringMember(c.Kind.subjectMember()) != c.Subject:
		return fmt.Errorf("%w: vc.credentialSubject is not sub", ErrMalformed)
	}
	return nil
}
