package engine

import "railguard/ofac"

// Request is a screening request, parsed at the edge. Strings are as sent.
type Request struct {
	Amount     USD
	AmountText string // The amount as it was sent.
	Chain      string
	Rail       string
	Wallet     string // cpWallet
	Name       string // cpName
	Type       string // cpType
	Protocol   string
	Model      string // underlyingModel (alias model); "" when not given.
	TravelRule string // travelRuleRef

	// Elsewhere holds the wallets in members that are meant for something else, each behind a
	// blank. They are looked up like cpWallet. ElsewhereMore: there are more than it holds.
	Elsewhere     string
	ElsewhereMore bool

	Payer       string                 // payerWallet
	Wallets     [WalletsMax]RoleWallet // wallets; the first WalletCount.
	WalletCount int

	// What else the call says of the counterparty, and of where the payment comes from.
	Country         string                     // cpCountry
	Region          string                     // cpRegion
	Address         string                     // cpAddress
	Origin          string                     // originCountry
	Memo            string                     // memo: a text that travels with the payment.
	Reference       string                     // paymentRef
	Identifiers     [IdentifiersMax]Identifier // cpIdentifiers; the first IdentifierCount.
	IdentifierCount int
}

// TokenState is the result of checking a credential without looking at any state.
type TokenState uint8

// The token states. Every one but TokenGood gives R1, with its own sub-reason.
const (
	TokenGood TokenState = iota
	TokenMalformed
	TokenSignature
	TokenUnknownKey
	TokenUnknownIssuer
	TokenUnknownAgent
	TokenWrongType
	TokenProofKey     // The proof is not one by the credential's key; this and the next two at every level of Possession.
	TokenProofRequest // It is for another request, act or service.
	TokenProofTime    // It is too old, or from the future.
	TokenProofMissing // There is none, and one is required.
)

// Facts is the input that cannot change. The edge judges it by the static rules. Chain[0] is
// the agent itself, then come its parent and so on to the root.
type Facts struct {
	Token   TokenState
	Proven  bool // The call proved that it has the private key of its credential.
	Request *Request
	Now     Time // Published log time; a judgement that depends on it lowers ValidUntil.
	Policy  *Policy
	List    *ofac.Index

	Chain      [DepthMax + 1]*AgentProfile
	ChainSize  int  // 0: no agent.
	ChainBad   bool // Broken, cyclic or too deep: R23.
	Fleet      *FleetProfile
	Operator   *OperatorProfile // Of the agent itself.
	OperatorID string           // Its id, as exemptions name it; "" without one.
	User       *UserProfile     // The user credential in the call, nil without one.
	UserOnly   bool             // The call carries a user credential and no agent.

	// Cleared pairs (decision 44, "Cleared pairs"): for each name, the uids of listed entries
	// that a reviewer cleared. They silence only R21. ClearedUntil is when the first of those
	// clearings lapses (0: never).
	OperatorCleared []uint32
	UserCleared     []uint32
	PartyCleared    []uint32
	ClearedUntil    Time

	// RecordedWhitelist says that a whitelist was in force, according to the record of the call.
	// Profiles in the log omit whitelists.
	RecordedWhitelist bool

	// The list's answers, filled in by Looker.Look.
	OperatorWallet ofac.WalletMatch // First listed wallet of the chain.
	OperatorLevel  uint8            // Index in Chain of the party with that wallet.
	PartyWallet    ofac.WalletMatch
	PayerWallet    ofac.WalletMatch             // Of payerWallet.
	OtherWallets   [WalletsMax]ofac.WalletMatch // Of the request's Wallets.
	OtherListed    uint8                        // Bit i: OtherWallets[i] is listed.
	OperatorListed bool
	PartyListed    bool
	PayerListed    bool
	OperatorName   ofac.Result
	UserName       ofac.Result
	PartyName      ofac.Result
	Identified     []Identified     // Identifiers of the call that listed parties have, and those in the memo.
	identifiers    []readIdentifier // Of the request's Identifiers.
	texts          *textFindings    // nil: no text was searched.
	PartyFilter    uint64           // FilterKey of the counterparty's normalised name; 0 without a name, or if normalising leaves nothing.

	Places Places // Of the countries and regions of the payment.

	// ValidUntil is when the static judgement lapses because a whitelist entry or a cleared
	// pair expires; 0 is never. Apply refuses the record after that.
	ValidUntil Time
}

// OfClearings tells whether cleared pairs had or could have had a say in the judgement. It may
// be asked after Looker.Look.
func (f *Facts) OfClearings() bool {
	return f.OperatorName.Clearable || f.UserName.Clearable || f.PartyName.Clearable ||
		len(f.OperatorCleared) > 0 || len(f.UserCleared) > 0 || len(f.PartyCleared) > 0
}

// AgentSlot returns the agent of the call, 0 without one.
func (f *Facts) AgentSlot() AgentSlot {
	if f.ChainSize == 0 {
		return 0
	}
	return f.Chain[0].Slot
}

// Level is one link of the delegation chain as the live rules see it.
type Level struct {
	Row        *AgentRow
	Profile    *AgentProfile
	KeyRevoked bool // For an ancestor: the key that signed its credential was revoked. For the agent's own token see Moment.KeyRevoked.
}

// Moment is the input that can change. Apply judges it by the live rules.
type Moment struct {
	Now     Time
	Amount  USD
	Counted bool // The counters hold the amount already: the payment is judged again.
	Policy  *Policy

	Levels     [DepthMax + 1]Level // The agent itself first.
	LevelCount int
	Operator   *OperatorRow
	Owner      *Spend    // What the agent's own operator spent and holds; nil without an agent.
	OwnerLimit *USD      // That operator's own limit; nil: the policy's.
	Fleet      *FleetRow // nil without a fleet.
	FleetLimit USD
	FleetHours *Hours
	FleetPace  *Velocity

	Version    uint16 // Credential version that the token claims.
	Expires    Time   // The token's own expiry.
	KeyRevoked bool   // The kid that signed the token was revoked (decision 56).

	User        *UserRow // nil without a user credential.
	UserCurrent uint16   // The user's current credential version.
	UserVersion uint16
	UserExpires Time

	Minute       uint32 // Calls screened in the sliding minute, this call included.
	PerHour      uint32
	DayMeanX100  uint32 // Mean per minute over the trailing 24 h, times 100; 0 without 24 h of history.
	Root         *Pace  // What the root agent and all its delegates had screened, for a delegate's call; else nil.
	AgentNear    Near   // R25: payments of the root agent and its delegates near limits, this one included; zero for any other amount.
	OperatorNear Near
	Structuring  uint8 // Calls in the amount band of R25 within its window, this one included.
	Duplicate    bool  // The payment reference was used before.
	ListStale    bool  // The list is older than ofac.maxAge.
	ListOld      bool  // Nobody confirmed it for as long as ofac.reviewAge.
}
