package permit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
)

// Reason is why a permit is refused, as a word.
type Reason string

// The reasons, in the order in which a permit is judged.
const (
	Malformed Reason = "malformed" // It is not three segments, or not JSON, or too long.
	Algorithm Reason = "algorithm" // Not ES256.
	WrongType Reason = "type"      // Another kind of token.
	Key       Reason = "key"       // No published key for permits has this kid.
	Signature Reason = "signature"
	Issuer    Reason = "issuer"
	Audience  Reason = "audience"
	Expired   Reason = "expired"
	Early     Reason = "early"    // It was issued in the future.
	Lifetime  Reason = "lifetime" // It lasts longer than a permit may.
	Verdict   Reason = "verdict"
	Payment   Reason = "payment" // It is for another payment, or its statement contradicts itself.
	ListAge   Reason = "list"    // The sanctions list was too old.
)

// Error says why a permit is refused.
type Error struct {
	Reason Reason
	Said   string
	Param  string // The member of pay that differs; "": none in particular.
}

func (e *Error) Error() string { return "permit: " + string(e.Reason) + ": " + e.Said }

func refuse(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Said: fmt.Sprintf(format, args...)}
}

// Want is what a verifier demands. A zero Audience, Pay or ListAgeMost is not demanded; the list may
// never be older than the permit itself says.
type Want struct {
	Keys        *jws.KeySet // The keys for permits alone.
	Issuer      string
	Audience    string
	Now         engine.Time
	Pay         func(txnID string) *Pay // What is about to be paid. Its PayeeIDs are salted with the txnId.
	ListAgeMost engine.Time
}

// earlyMost is how far ahead of the verifier's clock a permit may have been issued.
const earlyMost = 60 * engine.Second

// Claims is what a verified permit says.
type Claims struct {
	KeyID      string
	Issuer     string
	Subject    string
	Audience   string
	TxnID      string
	IssuedAt   engine.Time
	Expires    engine.Time
	PayHash    string
	Leaf       uint64
	LeafHash   string // base64url
	Origin     string
	ListAge    engine.Time
	Thumbprint string
	Proof      string

	listAgeMost engine.Time
	pay         *jws.Value
}

// Verify judges a permit in the order of the reasons. What it returns was signed by a key of the
// set. It keeps no list of used permits: whoever acts on one does so once for each TxnID.
func Verify(raw string, want *Want) (*Claims, error) {
	token, kid, err := readHeader(raw, want.Keys)
	if err != nil {
		return nil, err
	}
	if _, err := want.Keys.Verify(token, kid); err != nil {
		return nil, refuse(Signature, "the key %s did not sign this", kid)
	}
	body, objection := jws.ReadObject(token.Payload)
	if objection != nil {
		return nil, refuse(Malformed, "%v", objection)
	}
	claims, err := readClaims(body)
	if err != nil {
		return nil, err
	}
	claims.KeyID = kid
	if err := claims.check(body, want); err != nil {
		return nil, err
	}
	return claims, nil
}

// readHeader judges the header before anything else is read. It has exactly alg, kid and typ: any
// other member would instruct the verifier.
func readHeader(raw string, keys *jws.KeySet) (*jws.Compact, string, error) {
	token, err := jws.ParseHeader(raw, BytesMax)
	if err != nil {
		return nil, "", refuse(Malformed, "%v", err)
	}
	if token.Header.TextOf("alg") != jws.Algorithm {
		return nil, "", refuse(Algorithm, "alg is not %s", jws.Algorithm)
	}
	if token.Header.TextOf("typ") != Type {
		return nil, "", refuse(WrongType, "typ is not %s", Type)
	}
	kid := token.Header.TextOf("kid")
	if !IsKeyID(kid) || keys.Find(kid) == nil {
		return nil, "", refuse(Key, "no key for permits has this kid")
	}
	if len(token.Header.Members) != 3 {
		return nil, "", refuse(Malformed, "the header has members beside alg, kid and typ")
	}
	if err := token.ReadRest(); err != nil {
		return nil, "", refuse(Malformed, "%v", err)
	}
	return &token, kid, nil
}

func readClaims(body *jws.Value) (*Claims, error) {
	log, lists, confirmation := body.Member("log"), body.Member("lists"), body.Member("cnf")
	c := &Claims{
		Issuer: body.TextOf("iss"), Subject: body.TextOf("sub"), Audience: body.TextOf("aud"), TxnID: body.TextOf("jti"),
		PayHash: body.TextOf("pay_hash"), Origin: log.TextOf("origin"), LeafHash: log.TextOf("hash"),
		Thumbprint: confirmation.TextOf("jkt"), Proof: body.TextOf("pop"), pay: body.Member("pay"),
	}
	if c.Issuer == "" || c.Subject == "" || c.TxnID == "" {
		return nil, refuse(Malformed, "iss, sub or jti is missing")
	}
	for _, number := range []struct {
		of   *jws.Value
		name string
		into func(uint64)
	}{
		{body, "iat", func(n uint64) { c.IssuedAt = engine.Time(n) * engine.Second }},
		{body, "exp", func(n uint64) { c.Expires = engine.Time(n) * engine.Second }},
		{lists, "age", func(n uint64) { c.ListAge = engine.Time(n) * engine.Second }},
		{lists, "maxAge", func(n uint64) { c.listAgeMost = engine.Time(n) * engine.Second }},
		{log, "leaf", func(n uint64) { c.Leaf = n }},
	} {
		n, ok := wholeNumber(number.of, number.name)
		if !ok {
			return nil, refuse(Malformed, "%s is not a whole number", number.name)
		}
		number.into(n)
	}
	return c, nil
}

// numberMax is above every time in seconds and every leaf that a permit can name, and below what
// overflows as a time.
const numberMax = 1 << 33

// wholeNumber reads a member that is a whole number: no sign, fraction or exponent.
func wholeNumber(of *jws.Value, name string) (uint64, bool) {
	if of == nil {
		return 0, false
	}
	member := of.Member(name)
	if member == nil || member.Kind != '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(member.Text, 10, 64)
	return n, err == nil && n < numberMax
}

// check judges the claims against what the verifier demands.
func (c *Claims) check(body *jws.Value, want *Want) error {
	switch {
	case c.Issuer != want.Issuer:
		return refuse(Issuer, "it was issued by another service")
	case c.Audience == "" || want.Audience != "" && c.Audience != want.Audience:
		return refuse(Audience, "it is for somebody else")
	case c.Expires <= want.Now:
		return refuse(Expired, "it has expired")
	case c.IssuedAt > want.Now+earlyMost:
		return refuse(Early, "it was issued in the future")
	case c.Expires <= c.IssuedAt || c.Expires-c.IssuedAt > LifetimeMost:
		return refuse(Lifetime, "it must end after it was issued, and not after %d seconds", LifetimeMost/engine.Second)
	case body.TextOf("verdict") != engine.Proceed.String():
		return refuse(Verdict, "it is not for a PROCEED")
	}
	var mine *Pay
	if want.Pay != nil {
		mine = want.Pay(c.TxnID)
	}
	if err := c.checkPay(mine); err != nil {
		return err
	}
	most := c.listAgeMost
	if want.ListAgeMost != 0 {
		most = min(most, want.ListAgeMost) // A verifier may demand more, and never less.
	}
	if c.ListAge > most {
		return refuse(ListAge, "the sanctions list had not been confirmed for too long")
	}
	return nil
}

// payNames are the members that a statement can have, in their order.
var payNames = [...]string{"amount", "asset", "chain", "currency", "nonce", "payee", "payeeIds", "payer", "rail", "ref", "units"}

// checkPay checks that the permit's statement is closed, has the hash that stands beside it, and is
// that of the payment that is about to be made.
func (c *Claims) checkPay(mine *Pay) error {
	canonical, sound := canonicalPay(c.pay)
	if !sound || hashOf(canonical) != c.PayHash {
		return refuse(Payment, "its statement of the payment contradicts itself")
	}
	if mine == nil || mine.Hash() == c.PayHash {
		return nil
	}
	differs := refuse(Payment, "it is for another payment")
	own, err := jws.ReadObject(mine.AppendJSON(nil))
	if err != nil {
		return differs
	}
	for _, name := range payNames {
		if !equalMembers(own.Member(name), c.pay.Member(name)) {
			differs.Param, differs.Said = name, "it is for another payment: "+name+" differs"
			break
		}
	}
	return differs
}

func equalMembers(a, b *jws.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Text == b.Text &&
		slices.EqualFunc(a.Elements, b.Elements, func(a, b jws.Value) bool { return a.Kind == b.Kind && a.Text == b.Text })
}

// canonicalPay returns the canonical form of a statement as it was read. It returns false for a
// member that no statement has, or one that is not of texts.
func canonicalPay(pay *jws.Value) (dst []byte, sound bool) {
	if pay == nil || pay.Kind != '{' || pay.TextOf("amount") == "" || pay.TextOf("currency") != currency {
		return nil, false
	}
	for i := range pay.Members {
		if !slices.Contains(payNames[:], pay.Members[i].Name) {
			return nil, false
		}
	}
	dst = append(dst, '{')
	for _, name := range payNames {
		member := pay.Member(name)
		if member == nil {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(jws.AppendQuoted(dst, name), ':')
		switch {
		case name != "payeeIds" && member.Kind == '"':
			dst = jws.AppendQuoted(dst, member.Text)
		case name == "payeeIds" && member.Kind == '[':
			var ids []string
			for _, id := range member.Elements {
				if id.Kind != '"' {
					return nil, false
				}
				ids = append(ids, string(jws.AppendQuoted(nil, id.Text)))
			}
			dst = append(append(append(dst, '['), strings.Join(ids, ",")...), ']')
		default:
			return nil, false
		}
	}
	return append(dst, '}'), true
}
