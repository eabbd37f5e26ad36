package engine

import "railguard/ofac"

// Request is a screening request, parsed at the edge. Strings are as sent.
type Request struct {
	Amount     USD
	AmountText string // The literal as sent.
	Chain      string
	Rail       string
	Wallet     string // cpWallet
	Name       string // cpName
	Type       string // cpType
	Protocol   string
	Model      string // underlyingModel (alias model); "" when not given.
	TravelRule string // travelRuleRef
}

// TokenState is what the edge found out about a credential without any state.
type TokenState uint8

// The token states. All but TokenGood are R1 with a sub-reason of their own.
const (
	TokenGood TokenState = iota
	TokenMalformed
	TokenSignature
	TokenUnknownKey
	TokenUnknownIssuer
	TokenUnknownAgent
	TokenWrongType
)

// Facts is what cannot change: judged at the edge, by static rules.
// Chain[0] is the agent itself, then its parent and so on to the root.
type Facts struct {
	Token   TokenState
	Request *Request
	Now     Time // Published log time; a judgement that hangs on it lowers ValidUntil.
	Policy  *Policy
	List    *ofac.Index

	Chain     [DepthMax + 1]*AgentProfile
	ChainSize int  // 0: no agent.
	ChainBad  bool // Broken, cyclic or too deep: R23.
	Fleet     *FleetProfile
	User      *UserProfile // Of the user credential in the call, nil without one.
	UserOnly  bool         // The call carries a user credential and no agent.

	// Cleared pairs (decision 44, "Cleared pairs"): uids a reviewer cleared for a name, and when
	// the first of those clearings lapses (0: never). They quieten R21 alone.
	OperatorCleared []uint32
	UserCleared     []uint32
	PartyCleared    []uint32
	ClearedUntil    Time

	// Results of looking into the list, filled in by Looker.Look.
	OperatorWallet ofac.WalletMatch // First listed wallet of the chain.
	OperatorLevel  uint8            // Whose wallet that is: an index of Chain.
	PartyWallet    ofac.WalletMatch
	OperatorListed bool
	PartyListed    bool
	OperatorName   ofac.Result
	UserName       ofac.Result
	PartyName      ofac.Result
	PartyFilter    uint64 // FilterKey of the counterparty's normalised name; 0: no name, or nothing left of it.

	// ValidUntil is when the static judgement lapses (a whitelist entry or a
	// cleared pair expires); 0 is never. Apply refuses the record after it.
	ValidUntil Time
}

// Level is one link of the delegation chain as live rules see it.
type Level struct {
	Row        *AgentRow
	Profile    *AgentProfile
	KeyRevoked bool // Of an ancestor: the key that signed its credential was revoked. The own token's is Moment.KeyRevoked.
}

// Moment is what can change: judged in the log, by live rules.
type Moment struct {
	Now    Time
	Amount USD
	Policy *Policy

	Levels     [DepthMax + 1]Level // Own level first.
	LevelCount int
	Operator   *OperatorRow
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

	Minute      uint32 // Screened in the sliding minute, this call included.
	PerHour     uint32
	DayMeanX100 uint32 // Mean per minute over the trailing 24 h, times 100; 0 without 24 h of history.
	Structuring uint8  // Calls in the band within the window, this one included.
	Duplicate   bool   // The payment reference was used before.
	ListStale   bool
}
