package edge

import (
	"crypto"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/engine/permit"
	"railguard/engine/possession"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac/identifier"
	"railguard/strictjson"
)

// A permit says to others that a payment was judged PROCEED and may be made once, for minutes. A
// call asks for it. What it says is in the record, so any node signs the same bytes again, also
// after the list or the policy has changed; nothing of it is stored.

// permitAsked is what a call asks for.
type permitAsked struct {
	seconds  uint32 // 0: no permit.
	audience string // "": as the policy says, or else this service itself.
	terms    *permitTerms
}

// readPermit reads the member permit of a call; false means that it is not valid.
func readPermit(raw []byte) (permitAsked, bool) {
	if raw == nil || string(raw) == "null" {
		return permitAsked{}, true // Most calls: apart from the rest, which allocates.
	}
	return readPermitMembers(raw)
}

func readPermitMembers(raw []byte) (asked permitAsked, ok bool) {
	var members map[string]json.RawMessage // Not decoded into a struct, which would accept its members in any letter case.
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return permitAsked{}, false
	}
	asked.seconds = uint32(permit.LifetimeUsual / engine.Second)
	for name, value := range members {
		var err error
		switch name {
		case "ttlSeconds":
			err = json.Unmarshal(value, &asked.seconds)
		case "aud":
			asked.audience = strictjson.ReadText(value)
			ok := asked.audience != "" && utf8.RuneCountInString(asked.audience) <= permit.AudienceMax
			if !ok {
				return permitAsked{}, false
			}
		default:
			return permitAsked{}, false
		}
		if err != nil {
			return permitAsked{}, false
		}
	}
	lasts := engine.Time(asked.seconds) * engine.Second
	return asked, lasts >= permit.LifetimeLeast && lasts <= permit.LifetimeMost
}

// checkPermit refuses a call whose permit would permit a payment to anybody, or that nobody could
// sign. It is not judged then.
func (j *Judge) checkPermit(settings *fsm.Settings) error {
	s := &j.screen
	if s.permit.seconds == 0 {
		return nil
	}
	r := &s.request
	if strings.TrimSpace(r.Wallet) == "" && engine.PayeeName(r.Name) == "" && r.IdentifierCount == 0 {
		return &Refusal{Code: "invalid_field", Param: "permit", BadRequest: true,
			Message: "needs a payee: cpWallet, cpName or cpIdentifiers. A permit without one would permit a payment to anybody",
		}
	}
	key := settings.ActiveKeyFor(wire.ForPermits, j.LogTime())
	if key == nil {
		return Conflict("format_not_ready", "this cluster has no key for permits yet: an admin makes one with `railguard signing-key rotate --for permit`", nil)
	}
	if _, err := j.Terms.Signer(key.KID); err != nil { // The node said why when it opened its keys.
		return Refuse("overloaded", "this node cannot unseal the key for permits: ask another node")
	}
	s.permit.terms = newPermitTerms(settings, s.permit.audience)
	s.permit.terms.X402 = s.x402
	x := &leafjson.Screen{Screen: leaf.Screen{ // The longest that the log can make of it.
		At: j.LogTime(), Rules: settings.Rules().Number, Leaf: math.MaxUint32, PolicyVersion: math.MaxUint32, ListVersion: math.MaxUint32,
		Evidence: leaf.Evidence{Amount: r.Amount, PermitSeconds: s.permit.seconds, HoldUntil: math.MaxInt64, ListAge: engine.DayLength * 10_000},
	}}
	trial := permitOf(settings.Genesis, settings.LogLines, x, r, s.permit.terms)
	trial.Thumbprint, trial.Proof = longestThumbprint, possession.FormMessage // The credential is not opened yet.
	if trial.Subject = j.Terms.AgentID(1); trial.Check() != nil {
		return &Refusal{Code: "invalid_field", Param: "permit", BadRequest: true,
			Message: "the payment's members and aud are together longer than a permit may be (4096 bytes)",
		}
	}
	return nil
}

// longestThumbprint is as long as that of every key.
var longestThumbprint = strings.Repeat("A", 43)

// permitTerms is what a record keeps of the lists and the policy for its permit.
type permitTerms struct {
	Audience string       `json:"aud"`
	AgeMost  int64        `json:"maxAge"` // Seconds.
	Lists    []permitList `json:"lists"`
	X402     *x402Terms   `json:"x402"` // Of every payment that the facilitator asks about, with a permit or without.
}

// x402Terms are what the facilitator tells of a payment beside the members of every call.
type x402Terms struct {
	Asset string `json:"asset"` // CAIP-19.
	Units string `json:"units"`
	Nonce string `json:"nonce"`

	Review string `json:"review"` // The review whose leave the payment is to take (txnId); "": any, or none. It is not recorded.
}

// readX402 reads the member x402 of a call by this service's own facilitator, which writes it.
func readX402(raw []byte) (*x402Terms, bool) {
	if raw == nil {
		return nil, true
	}
	terms := new(x402Terms)
	if json.Unmarshal(raw, terms) != nil || terms.Asset == "" || terms.Units == "" || terms.Nonce == "" {
		return nil, false
	}
	return terms, true
}

// sameButNonce tells whether two payments are of the same token and of as many units.
func (t *x402Terms) sameButNonce(other *x402Terms) bool {
	return t != nil && other != nil && t.Asset == other.Asset && t.Units == other.Units
}

type permitList struct {
	ID   string `json:"id"`
	AsOf string `json:"asOf,omitempty"`
}

// newPermitTerms returns the terms of a permit of now.
func newPermitTerms(settings *fsm.Settings, audience string) *permitTerms {
	terms := &permitTerms{Audience: audience, AgeMost: int64(settings.Policy.ListReviewAge / engine.Second)}
	if terms.Audience == "" {
		terms.Audience = settings.Policy.PermitAudience
	}
	if terms.Audience == "" {
		terms.Audience = permitIssuer(settings.Genesis)
	}
	terms.Lists = append(terms.Lists, permitList{"OFAC", dateOf(settings.List.PublishedAt)})
	for i := range settings.List.Others {
		if of := &settings.List.Others[i]; of.Further != nil {
			terms.Lists = append(terms.Lists, permitList{of.Name, dateOf(of.AsOf)})
		}
	}
	return terms
}

// namePermit writes into the record what a permit says that the record does not say otherwise.
func (s *screening) namePermit(f *leaf.Fragment) {
	terms := s.permit.terms
	if terms == nil && s.x402 == nil {
		return
	}
	var m strictjson.Members
	if terms != nil {
		m.Text("aud", terms.Audience)
		m.Int("maxAge", terms.AgeMost)
		items := make([]strictjson.Members, len(terms.Lists))
		for i, of := range terms.Lists {
			items[i].Text("id", of.ID)
			items[i].Optional("asOf", of.AsOf)
		}
		m.List("lists", items)
	}
	if s.x402 != nil {
		m.BeginObject("x402")
		m.Text("asset", s.x402.Asset)
		m.Text("units", s.x402.Units)
		m.Text("nonce", s.x402.Nonce)
		m.EndObject()
	}
	f.Set(leaf.TagPermit, append(append([]byte{'{'}, m...), '}'))
}

// toldOverX402 returns what the facilitator told of a recorded payment; nil: nothing.
func toldOverX402(x *leafjson.Screen) *x402Terms {
	raw := x.Edge.Get(leaf.TagPermit)
	if raw == nil {
		return nil
	}
	var terms permitTerms
	if json.Unmarshal(raw, &terms) != nil {
		return nil
	}
	return terms.X402
}

// dateOf returns the UTC date of an instant; "" for none.
func dateOf(t engine.Time) string {
	if t == 0 {
		return ""
	}
	date, _, _ := strings.Cut(t.String(), "T")
	return date
}

// permitIssuer is the iss of every permit: the public address, not the issuer of credentials, so
// that no library takes a credential for a permit.
func permitIssuer(genesis *wire.Genesis) string {
	return strings.TrimSuffix(genesis.PublicURL, "/")
}

// WritePermit writes the permit of a recorded call into its answer, if the call asked for one and
// got a PROCEED. A permit whose key was revoked since is left out.
func (s *signingKeys) WritePermit(m *strictjson.Members, x *leafjson.Screen) error {
	if x.PermitSeconds == 0 || x.Agent == nil {
		return nil
	}
	terms, told := new(permitTerms), toldPayment(x)
	if err := json.Unmarshal(x.Edge.Get(leaf.TagPermit), terms); err != nil {
		return err
	}
	p := permitOf(s.genesis, s.stretches, x, &told, terms)
	key, kid, err := s.permitKey(x.At)
	if key == nil || err != nil {
		return err
	}
	token, err := permit.Sign(p, key, kid)
	if err != nil {
		return err
	}
	m.Text("permit", token)
	m.Time("permitExpiresAt", p.Expires)
	return nil
}

// permitKey returns the key that signed permits at an instant; nil: it was revoked or retired since.
func (s *signingKeys) permitKey(at engine.Time) (crypto.Signer, string, error) {
	var signed *wire.SigningKey
	for _, key := range s.source {
		if key.For == wire.ForPermits && key.ActivateAt <= at && (key.RevokedAt == 0 || key.RevokedAt > at) {
			signed = key
		}
	}
	if signed == nil || signed.RevokedAt != 0 {
		return nil, "", nil
	}
	key, err := s.signer(signed.KID)
	return key, signed.KID, err
}

// permitOf returns the permit of a record and of what its call told of the payment. Nothing in it is
// from the present state but the names of the service and its log, which never change for a leaf.
func permitOf(genesis *wire.Genesis, stretches []*wire.LogStretch, x *leafjson.Screen, told *engine.Request, terms *permitTerms) *permit.Permit {
	whole := func(t engine.Time) engine.Time { return t - t%engine.Second }
	p := &permit.Permit{
		Issuer: permitIssuer(genesis), Subject: x.AgentID(), Audience: terms.Audience, TxnID: x.TxnID(),
		IssuedAt: whole(x.At), Policy: x.PolicyVersion, Rules: x.RuleSetName(), Others: len(terms.Lists) > 1,
		Pay:   PayOf(told, x.Amount, x.TxnID()),
		Lists: permit.Lists{Version: x.ListVersion, Digest: x.ListDigest, Age: x.ListAge, AgeMost: engine.Time(terms.AgeMost) * engine.Second},
		Log:   permit.Log{Origin: logOrigin(genesis, stretches, x.Leaf), Leaf: x.Leaf, Hash: merkle.Leaf(x.Stored())},
	}
	p.Expires = min(p.IssuedAt+engine.Time(x.PermitSeconds)*engine.Second, whole(x.HoldUntil))
	if proof := x.Proof(); proof.Thumbprint != "" {
		p.Thumbprint = proof.Thumbprint
		if proof.Good() {
			p.Proof = proof.Form
		}
	}
	if told := terms.X402; told != nil {
		p.Pay.Asset, p.Pay.Units, p.Pay.Nonce = told.Asset, told.Units, told.Nonce
	}
	for _, of := range terms.Lists {
		p.Lists.Of = append(p.Lists.Of, permit.Publication{List: of.ID, AsOf: of.AsOf})
	}
	return p
}

// toldPayment returns what a recorded call told of its payment.
func toldPayment(x *leafjson.Screen) engine.Request {
	r := engine.Request{
		Wallet: x.RequestText(leaf.TagWallet), Payer: x.RequestText(leaf.TagPayer), Name: x.RequestText(leaf.TagName),
		Chain: x.RequestText(leaf.TagChain), Rail: x.RequestText(leaf.TagRail), Reference: x.RequestText(leaf.TagPayment),
	}
	if raw := x.Edge.Get(leaf.TagWallets); raw != nil {
		_ = r.ReadWallets(raw) // It was read before the record was written.
	}
	if raw := x.Edge.Get(leaf.TagIdentifiers); raw != nil {
		_ = r.ReadIdentifiers(raw)
	}
	return r
}

// shortBIC is how many characters a bank's code without a branch has.
const shortBIC = 8

// upperASCII returns a text with its letters a to z in upper case. No other letter changes: libraries
// differ about them.
func upperASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

// PayOf returns the statement of a payment. A verifier who tells what it is about to be paid gets the
// same one.
func PayOf(r *engine.Request, amount engine.USD, txnID string) permit.Pay {
	payer := r.Payer
	for i := range r.Wallets[:r.WalletCount] {
		if w := &r.Wallets[i]; payer == "" && w.Role == engine.WalletPayer {
			payer = w.Address
		}
	}
	pay := permit.Pay{
		Amount: amount, Chain: upperASCII(r.Chain), Rail: upperASCII(r.Rail),
		Payee: engine.CanonicalWallet(r.Wallet), Payer: engine.CanonicalWallet(payer), Ref: r.Reference,
	}
	if pay.Payee != "" {
		return pay
	}
	if name := engine.PayeeName(r.Name); name != "" {
		pay.PayeeIDs = append(pay.PayeeIDs, permit.PayeeID(txnID, permit.KindName, name))
	}
	for i := range r.Identifiers[:r.IdentifierCount] {
		told := &r.Identifiers[i]
		form := told.Form()
		if told.Class == identifier.BIC && len(form) == shortBIC {
			form += "XXX" // ISO 9362: a code of eight characters is that of the head office.
		}
		pay.PayeeIDs = append(pay.PayeeIDs, permit.PayeeID(txnID, told.Class.String(), form))
	}
	slices.Sort(pay.PayeeIDs)
	return pay
}

// logOrigin returns the name of the log's line that a leaf stands in.
func logOrigin(genesis *wire.Genesis, stretches []*wire.LogStretch, index uint64) string {
	base, _, _ := strings.Cut(genesis.LogKeys, "+")
	origin := base
	for _, stretch := range stretches {
		if stretch.From > index+1 {
			break
		}
		if origin = base; stretch.Lineage != "" {
			origin += "/" + stretch.Lineage
		}
	}
	return origin
}
