package engine

// Mode says how an institution treats a REVIEW rule. R1 to R8, R14, R23 and R24 have no mode:
// BLOCK is final (decision 43, "Modes").
type Mode uint8

// The modes of a REVIEW rule.
const (
	ModeReview Mode = iota // The default.
	ModeOff
	ModeShadow // Evaluated and recorded, without effect.
	ModeBlock
)

// Policy is the institution's policy, compiled to integers and masks. The zero value is not
// usable; a new cluster has DefaultPolicy.
type Policy struct {
	Version  uint64         `cbor:"1,keyasint"`
	Document []byte         `cbor:"2,keyasint,omitempty"` // The JSON as it was sent, for GET and for people.
	Modes    [RuleBits]Mode `cbor:"3,keyasint"`           // Modes of the rules, by rule number.

	Hours             *Hours     `cbor:"10,keyasint,omitempty"`
	Velocity          Velocity   `cbor:"11,keyasint"`           // Defaults: 1,000 a minute, burst factor 20.
	AttestationAbove  USD        `cbor:"12,keyasint"`           // Default 10,000 USD; may only be lowered.
	NameReview        int32      `cbor:"13,keyasint,omitempty"` // In 1e-4; 0: the default of matching.md. May only be tightened.
	NameBlock         int32      `cbor:"14,keyasint,omitempty"`
	WeakAliases       bool       `cbor:"15,keyasint,omitempty"`
	RequireParty      PartyNeed  `cbor:"16,keyasint,omitempty"` // requireCounterparty: R20. Default crypto.
	PartyTypes        uint8      `cbor:"17,keyasint,omitempty"` // Mask of allowed counterparty types; 0: not set.
	TypeCaps          [4]USD     `cbor:"18,keyasint"`           // By PartyType; NoLimit when not set.
	ListAgeMax        Time       `cbor:"19,keyasint"`           // ofac.maxAge, default 48 h.
	ListStaleReview   bool       `cbor:"20,keyasint,omitempty"` // ofac.onStale: review.
	StructuringCount  uint8      `cbor:"21,keyasint"`           // R25: n, default 5, at most 16.
	StructuringLow    USD        `cbor:"22,keyasint"`           // R25: band, default [9,000, 10,000).
	StructuringHigh   USD        `cbor:"23,keyasint"`
	StructuringWindow Time       `cbor:"24,keyasint"`           // R25: default 24 h.
	RefuseOnMatch     bool       `cbor:"25,keyasint,omitempty"` // registration.onMatch: refuse.
	IssuanceAttests   bool       `cbor:"26,keyasint,omitempty"` // attestation.issuanceCounts.
	ReviewNotes       bool       `cbor:"27,keyasint,omitempty"` // review.requireNotes.
	FourEyes          *FourEyes  `cbor:"28,keyasint,omitempty"` // review.fourEyes.
	ReviewSLA         Time       `cbor:"29,keyasint,omitempty"` // review.sla: how long a review may wait; 0: not set.
	Whitelist         *Whitelist `cbor:"30,keyasint,omitempty"` // The institution's; kept apart from Document.
	ReferenceOff      bool       `cbor:"31,keyasint,omitempty"` // paymentRef.once: off.
	RetroSuspend      bool       `cbor:"32,keyasint,omitempty"` // retro.suspend: parties that a new list names are suspended.
	ApprovalLapse     Time       `cbor:"41,keyasint,omitempty"` // review.approvalLapse: how long an approval is good.
	SettlementSelf    bool       `cbor:"42,keyasint,omitempty"` // settlement: self. A key that screens also gives back.
	HoldsReturn       bool       `cbor:"43,keyasint,omitempty"` // holds.onExpiry: return. A hold that nobody ends returns by itself.
	UnresolvedCount   uint32     `cbor:"44,keyasint,omitempty"` // holds.alert.count: an agent's unresolved payments from which on an alert opens; 0: none.
	UnresolvedSum     USD        `cbor:"45,keyasint"`           // holds.alert.amount: their sum; NoLimit when not set.
	TwoPersons        Acts       `cbor:"46,keyasint,omitempty"` // twoPersons; default ActsDefault.
	ListReviewAge     Time       `cbor:"49,keyasint"`           // ofac.reviewAge: after so long without a confirmed list each payment is reviewed. Default 7 days.
	OperatorDaily     USD        `cbor:"47,keyasint"`           // operators.dailyLimitUSDC: of an operator that has no limit of its own; NoLimit when not set.

	Reconcile []Reconciliation `cbor:"55,keyasint,omitempty"` // reconcile: how often rails are compared with the log, at least.

	PermitAudience string     `cbor:"51,keyasint,omitempty"` // permits.audience: for whom a permit is if the call does not say; "": for the service itself.
	PermitNeed     PermitNeed `cbor:"52,keyasint,omitempty"` // permits.required: which payments are to be redeemed before they are settled. Default review.

	Possession *PossessionPolicy `cbor:"54,keyasint,omitempty"` // possession; nil: off.

	PayerOwn bool `cbor:"50,keyasint,omitempty"` // payer.mustBeOperators: review. A wallet that pays is one of the operator's.

	Jurisdictions *Jurisdictions `cbor:"48,keyasint,omitempty"` // jurisdictions; nil: the default.

	Passkeys Acts `cbor:"57,keyasint,omitempty"` // passkeys: what a person signs with a passkey; default nothing.

	SecondLook *SecondLook `cbor:"58,keyasint,omitempty"` // review.secondLook; nil: no decision is looked at again.

	OperatorCaps *OperatorCaps `cbor:"36,keyasint,omitempty"` // operators.caps; nil: none.
}

// PermitNeed says which payments are to be redeemed before they are settled. A settle of another one
// is booked, because it was made, and is marked.
type PermitNeed uint8

// The needs. The default is the zero value.
const (
	PermitOfReview PermitNeed = iota // Payments that an officer approved.
	PermitOfNone
	PermitOfAll
)

var permitNeeds = [...]string{PermitOfReview: "review", PermitOfNone: "off", PermitOfAll: "all"}

// strictness orders the needs.
func (n PermitNeed) strictness() uint8 {
	return [...]uint8{PermitOfNone: 0, PermitOfReview: 1, PermitOfAll: 2}[n]
}

// MustRedeem tells whether a payment is to be redeemed before it is settled.
func (p *Policy) MustRedeem(approved bool) bool {
	return p.PermitNeed == PermitOfAll || p.PermitNeed == PermitOfReview && approved
}

// PartyNeed says of which payments the counterparty must be told.
type PartyNeed uint8

// The needs. The default is the zero value.
const (
	PartyOfCrypto PartyNeed = iota // Of payments over ETH, BASE, SOL or by USDC: somebody, by wallet or name.
	PartyOfNone
	PartyOfAll // Of each: by wallet over a crypto chain, else by wallet or name.
)

var partyNeeds = [...]string{PartyOfCrypto: "crypto", PartyOfNone: "off", PartyOfAll: "all"}

// strictness orders the needs.
func (n PartyNeed) strictness() int {
	return [...]int{PartyOfCrypto: 1, PartyOfNone: 0, PartyOfAll: 2}[n]
}

// OperatorCaps are the highest limits that an operator's own key may give to an agent.
type OperatorCaps struct {
	MaxSingle  USD `cbor:"1,keyasint"` // NoLimit: no cap.
	DailyLimit USD `cbor:"2,keyasint"` // NoLimit: no cap.
}

// LimitOf returns what all agents of an operator may spend on a UTC day: the operator's own limit,
// and the policy's where that is nil. NoLimit: as much as they like.
func (p *Policy) LimitOf(own *USD) USD {
	if own != nil {
		return *own
	}
	return p.OperatorDaily
}

// SetsRulesOf reports whether every rule that the policy mentions is in a rule set.
func (p *Policy) SetsRulesOf(set *RuleSet) bool {
	if p.FourEyes != nil && !set.HasAll(p.FourEyes.Rules) {
		return false
	}
	if p.SecondLook != nil && !set.HasAll(p.SecondLook.Rules) {
		return false
	}
	for id, mode := range p.Modes {
		if mode != ModeReview && (mode > ModeBlock || set.Rule(RuleID(id)) == nil) {
			return false
		}
	}
	return true
}
