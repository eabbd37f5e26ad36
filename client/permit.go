package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// PermitReason says why a permit is not good. It is the error of VerifyPermit, perhaps wrapped:
// use errors.Is or errors.As.
type PermitReason string

// The reasons, in the order in which they are judged. The first that holds is returned.
const (
	PermitMalformed PermitReason = "malformed" // Not three segments, not a JSON object, a member twice, exp, iat or jti missing.
	PermitAlgorithm PermitReason = "algorithm"
	PermitType      PermitReason = "type"
	PermitKey       PermitReason = "key" // Of another kind, not published, or of a sandbox.
	PermitSignature PermitReason = "signature"
	PermitIssuer    PermitReason = "issuer"
	PermitAudience  PermitReason = "audience"
	PermitExpired   PermitReason = "expired"
	PermitEarly     PermitReason = "early"
	PermitLifetime  PermitReason = "lifetime"
	PermitVerdict   PermitReason = "verdict"
	PermitPayment   PermitReason = "payment" // For another payment than yours.
	PermitList      PermitReason = "list"    // Judged with a list that is too old.
	PermitUsed      PermitReason = "used"
)

func (r PermitReason) Error() string { return string(r) }

// PermitCheck says what a permit must be. Keys, Issuer, Audience and one of Pay and Paying are
// required.
type PermitCheck struct {
	Keys     PermitKeySource // A *JWKS, or NewPermitKeys.
	Issuer   string          // The public URL of the guard that you trust.
	Audience string          // You, as the permit's author names you.
	Now      time.Time       // Zero means time.Now().

	Pay    *PayStatement // What you are about to let happen, never what the permit says.
	Paying *Paying       // In place of Pay; the statement is built with the permit's jti.

	MaxListAge time.Duration // Zero means the permit's own bound alone.
	FirstUse   FirstUse      // nil: nobody remembers that the permit was used. FirstUses is one.
	Sandbox    bool          // Whether permits of a sandbox are good too.
}

// FirstUse remembers an id until a time, and reports whether it is new. An error is no permission.
type FirstUse func(ctx context.Context, id string, until time.Time) (first bool, err error)

// PermitClaims are the content of a good permit.
type PermitClaims struct {
	Issuer     string
	Subject    string // The agent.
	Audience   string
	ID         string // The txnId, the same in every permit of a payment.
	IssuedAt   int64  // Unix seconds, as is Expires.
	Expires    int64
	Verdict    string
	PayHash    string
	ListAge    int64           // Seconds since the sanctions list was last confirmed, when the permit was made.
	Thumbprint string          // RFC 7638, of the agent's key; "": it has none.
	Payload    json.RawMessage // All claims.
}

const (
	permitMax      = 4096 // Bytes.
	permitType     = "railguard-permit+jwt"
	permitAhead    = 60  // Seconds by which iat may be ahead of this clock.
	permitLifetime = 300 // Seconds.
	permitKept     = 60  // Seconds behind exp for which a used id is remembered.
)

var (
	permitKeyID = regexp.MustCompile(`^(sandbox-)?pm-v[0-9]+$`)
	ownKeys     = []string{"jwk", "jku", "x5c", "x5t", "x5t#S256", "x5u"}
)

// VerifyPermit checks a permit: form, key, signature (ES256 only), issuer, audience, time, verdict,
// your payment, the list's age, and first use at last. It returns a PermitReason, or another error
// if it cannot tell: keys or first use cannot be read, or the check itself is incomplete. After any
// error do not let the payment happen.
func VerifyPermit(ctx context.Context, permit string, check *PermitCheck) (*PermitClaims, error) {
	if err := check.complete(); err != nil {
		return nil, err
	}
	payload, err := check.open(ctx, permit)
	if err != nil {
		return nil, err
	}
	claims, members, err := readPermit(payload)
	if err != nil {
		return nil, err
	}
	if err := check.judge(claims, members); err != nil {
		return nil, err
	}
	if check.FirstUse == nil {
		return claims, nil
	}
	first, err := check.FirstUse(ctx, claims.ID, time.Unix(claims.Expires+permitKept, 0))
	if err != nil {
		return nil, fmt.Errorf("railguard: first use: %w", err)
	}
	if !first {
		return nil, PermitUsed
	}
	return claims, nil
}

// complete reports what the caller forgot. It does not depend on the permit.
func (c *PermitCheck) complete() error {
	if c.Keys == nil || c.Issuer == "" || c.Audience == "" {
		return errors.New("railguard: a permit cannot be checked without keys, issuer and audience")
	}
	if (c.Pay == nil) == (c.Paying == nil) {
		return errors.New("railguard: a permit is checked against either Pay or Paying")
	}
	if c.Paying != nil {
		_, err := c.Paying.Statement("")
		return err
	}
	return nil
}

// open checks form, header, key and signature, and returns the payload.
func (c *PermitCheck) open(ctx context.Context, permit string) ([]byte, error) {
	parts := strings.Split(permit, ".")
	if len(permit) > permitMax || len(parts) != 3 || strings.ContainsAny(permit, "\r\n") {
		return nil, fmt.Errorf("%w: not three segments", PermitMalformed)
	}
	var raw [3][]byte
	for i := range parts {
		decoded, err := tokenBase64.DecodeString(parts[i])
		if err != nil {
			return nil, fmt.Errorf("%w: not base64url", PermitMalformed)
		}
		raw[i] = decoded
	}
	keyID, err := c.readHeader(raw[0])
	if err != nil {
		return nil, err
	}
	key, err := c.Keys.permitKey(ctx, keyID)
	if errors.Is(err, ErrTokenKey) {
		return nil, fmt.Errorf("%w: %q is not published", PermitKey, keyID)
	}
	if err != nil {
		return nil, err
	}
	if len(raw[2]) != 2*coordinate {
		return nil, fmt.Errorf("%w: of %d bytes", PermitSignature, len(raw[2]))
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(raw[2][:coordinate]), new(big.Int).SetBytes(raw[2][coordinate:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return nil, PermitSignature
	}
	return raw[1], nil
}

// readHeader accepts exactly alg, kid and typ.
func (c *PermitCheck) readHeader(raw []byte) (keyID string, err error) {
	header, ok := strictObject(raw)
	if !ok {
		return "", fmt.Errorf("%w: header", PermitMalformed)
	}
	keyID, _ = header["kid"].(string)
	switch {
	case header["alg"] != headerAlg:
		return "", PermitAlgorithm
	case header["typ"] != permitType:
		return "", PermitType
	case !permitKeyID.MatchString(keyID):
		return "", fmt.Errorf("%w: not a kid of a permit key", PermitKey)
	case strings.HasPrefix(keyID, "sandbox-") && !c.Sandbox:
		return "", fmt.Errorf("%w: of a sandbox", PermitKey)
	case slices.ContainsFunc(ownKeys, func(name string) bool { _, told := header[name]; return told }):
		return "", fmt.Errorf("%w: in the header", PermitKey)
	case len(header) != headerFields:
		return "", fmt.Errorf("%w: header", PermitMalformed)
	}
	return keyID, nil
}

// readPermit reads the claims that must be there to be judged.
func readPermit(payload []byte) (*PermitClaims, map[string]any, error) {
	members, ok := strictObject(payload)
	if !ok {
		return nil, nil, fmt.Errorf("%w: claims", PermitMalformed)
	}
	claims := &PermitClaims{Payload: payload}
	for name, into := range map[string]*string{
		"iss": &claims.Issuer, "sub": &claims.Subject, "aud": &claims.Audience, "jti": &claims.ID, "verdict": &claims.Verdict, "pay_hash": &claims.PayHash,
	} {
		*into, _ = members[name].(string)
	}
	var dated, lasts bool
	claims.IssuedAt, dated = whole(members["iat"])
	claims.Expires, lasts = whole(members["exp"])
	if !dated || !lasts || claims.ID == "" {
		return nil, nil, fmt.Errorf("%w: claims", PermitMalformed)
	}
	confirmed, _ := members["cnf"].(map[string]any)
	claims.Thumbprint, _ = confirmed["jkt"].(string)
	return claims, members, nil
}

// judge checks everything but first use.
func (c *PermitCheck) judge(claims *PermitClaims, members map[string]any) error {
	now := c.Now
	if now.IsZero() {
		now = time.Now()
	}
	switch seconds := now.Unix(); {
	case claims.Issuer != c.Issuer:
		return PermitIssuer
	case claims.Audience != c.Audience:
		return PermitAudience
	case claims.Expires <= seconds:
		return PermitExpired
	case claims.IssuedAt > seconds+permitAhead:
		return PermitEarly
	case claims.Expires <= claims.IssuedAt || claims.Expires-claims.IssuedAt > permitLifetime:
		return PermitLifetime
	case claims.Verdict != VerdictProceed:
		return PermitVerdict
	}
	mine := c.Pay
	if mine == nil {
		built, err := c.Paying.Statement(claims.ID)
		if err != nil {
			return err
		}
		mine = built
	}
	theirs, _ := members["pay"].(map[string]any)
	if said, ok := hashOfMembers(theirs); !ok || said != claims.PayHash || PayHash(mine) != claims.PayHash {
		return PermitPayment
	}
	lists, _ := members["lists"].(map[string]any)
	age, aged := whole(lists["age"])
	most, bounded := whole(lists["maxAge"])
	if !aged || !bounded || age > most || c.MaxListAge > 0 && age > int64(c.MaxListAge/time.Second) {
		return PermitList
	}
	claims.ListAge = age
	return nil
}
