package permit

import (
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
)

const (
	// Type is the typ of every permit. No credential and no proof has it (RFC 8725, 3.11).
	Type = "railguard-permit+jwt"
	// BytesMax is how long a permit may be.
	BytesMax = 4096
	// AudienceMax is how many characters an audience may have.
	AudienceMax = 256

	// LifetimeLeast, LifetimeUsual and LifetimeMost bound how long a permit is good.
	LifetimeLeast = 60 * engine.Second
	LifetimeUsual = 120 * engine.Second
	LifetimeMost  = 300 * engine.Second

	// HoldBeyond is for how long after a permit's end its payment stays held.
	HoldBeyond = 60 * engine.Second
)

// KeyPrefix is what the kid of a permit's key begins with; in a sandbox SandboxPrefix stands before.
const (
	KeyPrefix     = "pm-v"
	SandboxPrefix = "sandbox-"
)

// IsKeyID reports whether a kid is that of a key for permits: (sandbox-)?pm-v[0-9]+.
func IsKeyID(kid string) bool {
	number, ours := strings.CutPrefix(strings.TrimPrefix(kid, SandboxPrefix), KeyPrefix)
	return ours && number != "" && strings.Trim(number, "0123456789") == "" && jws.ValidKeyID(kid)
}

// Permit is the content of a permit.
type Permit struct {
	Issuer   string      // The public URL of the service.
	Subject  string      // agt_…
	Audience string      // Who may act on it.
	TxnID    string      // The jti, the same in every permit of a payment.
	IssuedAt engine.Time // Whole seconds are signed.
	Expires  engine.Time
	Pay      Pay
	Others   bool // The party was looked up in lists beside OFAC's too.
	Lists    Lists
	Policy   uint64 // Version of the policy.
	Rules    string // Name of the rule set.
	Log      Log

	Thumbprint string // RFC 7638, of the agent's key; "": it has none.
	Proof      string // How the agent proved its key; "": it did not.
}

// Lists says by which lists the payment was judged.
type Lists struct {
	Version uint64
	Digest  [32]byte
	Of      []Publication
	Age     engine.Time // Since the list was last found current.
	AgeMost engine.Time // The policy's ofac.reviewAge.
}

// Publication is one list and the day of its publication.
type Publication struct {
	List string
	AsOf string // YYYY-MM-DD; "": not known.
}

// Log is where the judgement stands in the log.
type Log struct {
	Origin string
	Leaf   uint64
	Hash   [32]byte // RFC 6962 leaf hash.
}

// ErrTooLarge means a permit that would be longer than BytesMax.
var ErrTooLarge = errors.New("the permit would be longer than a permit may be")

// signatureText is the length of a signature in base64url, with the dots before and behind the payload.
const signatureText = 2 + (jws.SignatureSize*8+5)/6

// Check reports whether a permit of this content can be signed; the txnId, times and hash may be
// others then. Errors: ErrTooLarge.
func (p *Permit) Check() error {
	const header = len(`{"alg":"ES256","kid":"","typ":""}`) + len(Type) + jws.KeyIDMax
	claims := p.appendClaims(make([]byte, 0, 1024))
	if base64.RawURLEncoding.EncodedLen(header)+base64.RawURLEncoding.EncodedLen(len(claims))+signatureText > BytesMax {
		return ErrTooLarge
	}
	return nil
}

// Sign returns the permit as a compact JWS. Equal input gives equal bytes.
// Errors: ErrTooLarge, and those of jws.Sign.
func Sign(p *Permit, key crypto.Signer, kid string) (string, error) {
	token, err := jws.Sign(p.appendClaims(make([]byte, 0, 1024)), key, kid, Type)
	if err == nil && len(token) > BytesMax {
		return "", ErrTooLarge
	}
	return token, err
}

func (p *Permit) appendClaims(dst []byte) []byte {
	dst = jws.AppendQuoted(append(dst, `{"iss":`...), p.Issuer)
	dst = jws.AppendQuoted(append(dst, `,"sub":`...), p.Subject)
	dst = jws.AppendQuoted(append(dst, `,"aud":`...), p.Audience)
	dst = jws.AppendQuoted(append(dst, `,"jti":`...), p.TxnID)
	dst = appendSeconds(append(dst, `,"iat":`...), p.IssuedAt)
	dst = appendSeconds(append(dst, `,"exp":`...), p.Expires)
	pay := p.Pay.AppendJSON(nil)
	dst = append(append(dst, `,"verdict":"PROCEED","pay":`...), pay...)
	dst = append(append(append(dst, `,"pay_hash":"`...), hashOf(pay)...), `","aml":["ofac"`...)
	if p.Others {
		dst = append(dst, `,"sanc"`...)
	}
	dst = p.Lists.append(append(dst, `],"lists":`...))
	dst = strconv.AppendUint(append(dst, `,"policy":`...), p.Policy, 10)
	dst = jws.AppendQuoted(append(dst, `,"rules":`...), p.Rules)
	dst = jws.AppendQuoted(append(dst, `,"log":{"origin":`...), p.Log.Origin)
	dst = strconv.AppendUint(append(dst, `,"leaf":`...), p.Log.Leaf, 10)
	dst = base64.RawURLEncoding.AppendEncode(append(dst, `,"hash":"`...), p.Log.Hash[:])
	dst = append(dst, `"}`...)
	if p.Thumbprint != "" {
		dst = append(jws.AppendQuoted(append(dst, `,"cnf":{"jkt":`...), p.Thumbprint), '}')
		if p.Proof != "" {
			dst = jws.AppendQuoted(append(dst, `,"pop":`...), p.Proof)
		}
	}
	return append(dst, '}')
}

func (l *Lists) append(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"v":`...), l.Version, 10)
	dst = hex.AppendEncode(append(dst, `,"digest":"`...), l.Digest[:])
	dst = append(dst, `","of":[`...)
	for i, of := range l.Of {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jws.AppendQuoted(append(dst, `{"id":`...), of.List)
		if of.AsOf != "" {
			dst = jws.AppendQuoted(append(dst, `,"asOf":`...), of.AsOf)
		}
		dst = append(dst, '}')
	}
	dst = appendSeconds(append(dst, `],"age":`...), l.Age)
	return append(appendSeconds(append(dst, `,"maxAge":`...), l.AgeMost), '}')
}

func appendSeconds(dst []byte, t engine.Time) []byte {
	return strconv.AppendInt(dst, int64(t/engine.Second), 10)
}
