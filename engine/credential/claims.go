package credential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/possession"
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
	KeyRevoked   bool            // Its kid was revoked: R2.
	Key          *possession.Key // The agent's own key (cnf, RFC 7800); nil: it has none.
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

// KeySet is the keys of the cluster that sign credentials, and the issuer they sign for. It is
// immutable.
type KeySet struct {
	issuer string
	keys   *jws.KeySet
}

// NewKeySet makes a key set. Errors: those of jws.NewKeySet.
func NewKeySet(issuer string, keys []jws.PublicKey) (*KeySet, error) {
	set, err := jws.NewKeySet(keys)
	if err != nil {
		return nil, err
	}
	return &KeySet{issuer, set}, nil
}

// Keys returns the keys alone.
func (k *KeySet) Keys() *jws.KeySet { return k.keys }

// Verify looks up our key by the kid and checks the signature. Then it checks the content: our
// issuer, known types, and a vc member that agrees with the claims wherever both state the same
// thing (VC Data Model 1.1, 6.3.1).
// Errors: jws.ErrKey, jws.ErrSignature, ErrIssuer, ErrType, jws.ErrMalformed.
func (k *KeySet) Verify(token *Token) (Claims, error) {
	key, err := k.keys.Verify(&token.compact, token.KeyID)
	if err != nil {
		return Claims{}, err
	}
	claims, err := k.readClaims(token.compact.Payload)
	if err != nil {
		return Claims{}, err
	}
	claims.KeyID, claims.KeyRevoked = key.ID, key.State == jws.KeyRevoked
	return claims, nil
}

func (k *KeySet) readClaims(payload []byte) (Claims, error) {
	body, err := jws.ReadObject(payload)
	if err != nil {
		return Claims{}, err
	}
	if err := checkNames(body); err != nil {
		return Claims{}, err
	}
	claims := Claims{Subject: body.TextOf("sub"), CredentialID: body.TextOf("jti"), Issuer: body.TextOf("iss")}
	if claims.Issuer != k.issuer {
		return Claims{}, fmt.Errorf("%w: %q", ErrIssuer, claims.Issuer)
	}
	if claims.Subject == "" || claims.CredentialID == "" {
		return Claims{}, fmt.Errorf("%w: sub or jti is missing", jws.ErrMalformed)
	}
	for _, date := range []struct {
		name string
		into *engine.Time
	}{{"iat", &claims.IssuedAt}, {"nbf", &claims.NotBefore}, {"exp", &claims.Expires}} {
		if *date.into, err = readSeconds(body, date.name); err != nil {
			return Claims{}, err
		}
	}
	credential := body.Member("vc")
	if credential == nil || credential.Kind != '{' {
		return Claims{}, fmt.Errorf("%w: no vc", ErrType)
	}
	if claims.Kind, err = readKind(credential.Member("type")); err != nil {
		return Claims{}, err
	}
	if !strings.HasPrefix(claims.Subject, claims.Kind.subjectPrefix()) {
		return Claims{}, fmt.Errorf("%w: %s credential of another subject", ErrType, claims.Kind)
	}
	if confirmation := body.Member("cnf"); confirmation != nil {
		if claims.Key, err = readKey(confirmation); err != nil {
			return Claims{}, err
		}
	}
	return claims, claims.checkAgreement(credential)
}

// readKey reads the agent's key. Another kind of confirmation would be one that nobody asks for.
func readKey(confirmation *jws.Value) (*possession.Key, error) {
	if confirmation.Kind != '{' || len(confirmation.Members) != 1 {
		return nil, fmt.Errorf("%w: cnf has not jwk alone", jws.ErrMalformed)
	}
	key, err := possession.KeyOf(confirmation.Member("jwk"))
	if err != nil {
		return nil, fmt.Errorf("%w: cnf: %w", jws.ErrMalformed, err)
	}
	return key, nil
}

// claimNames are the claims that we read. A name that differs from one in case alone is
// refused.
var claimNames = [...]string{"iss", "sub", "jti", "iat", "nbf", "exp", "vc", "cnf"}

// checkNames refuses a presentation, and names that differ from ours in letter case alone.
func checkNames(body *jws.Value) error {
	for i := range body.Members {
		name := body.Members[i].Name
		if strings.EqualFold(name, "vp") {
			return fmt.Errorf("%w: a presentation", ErrType)
		}
		for _, ours := range claimNames {
			if name != ours && strings.EqualFold(name, ours) {
				return fmt.Errorf("%w: claim %q", jws.ErrMalformed, name)
			}
		}
	}
	return nil
}

// readSeconds reads a NumericDate that is an integer from 2020 to 2100: no
// fraction, no exponent, no string, no sign.
func readSeconds(body *jws.Value, name string) (engine.Time, error) {
	date := body.Member(name)
	if date == nil || date.Kind != '0' {
		return 0, fmt.Errorf("%w: %s is not an integer", jws.ErrMalformed, name)
	}
	seconds, err := strconv.ParseInt(date.Text, 10, 64)
	if err != nil || seconds < secondsMin || seconds > secondsMax {
		return 0, fmt.Errorf("%w: %s is not a time from 2020 to 2100", jws.ErrMalformed, name)
	}
	return engine.Time(seconds) * engine.Second, nil
}

// readKind finds the kind with this type list, in any order.
func readKind(list *jws.Value) (Kind, error) {
	if list == nil || list.Kind != '[' {
		return 0, fmt.Errorf("%w: no list of types", ErrType)
	}
	var types []string
	for _, element := range list.Elements {
		types = append(types, element.Text)
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
func (c *Claims) checkAgreement(credential *jws.Value) error {
	switch {
	case credential.TextOf("issuer") != c.Issuer:
		return fmt.Errorf("%w: vc.issuer is not iss", jws.ErrMalformed)
	case credential.TextOf("id") != c.CredentialID:
		return fmt.Errorf("%w: vc.id is not jti", jws.ErrMalformed)
	case credential.TextOf("issuanceDate") != c.NotBefore.String():
		return fmt.Errorf("%w: vc.issuanceDate is not nbf", jws.ErrMalformed)
	case credential.TextOf("expirationDate") != c.Expires.String():
		return fmt.Errorf("%w: vc.expirationDate is not exp", jws.ErrMalformed)
	case credential.Member("credentialSubject").TextOf(c.Kind.subjectMember()) != c.Subject:
		return fmt.Errorf("%w: vc.credentialSubject is not sub", jws.ErrMalformed)
	}
	return nil
}
