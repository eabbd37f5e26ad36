package client

import "encoding/json"

// The verdicts. Pay only on VerdictProceed.
const (
	VerdictProceed = "PROCEED"
	VerdictReview  = "REVIEW"
	VerdictBlock   = "BLOCK"
	VerdictUnknown = "UNKNOWN"
)

// The dispositions of a REVIEW.
const (
	DispositionApproved = "APPROVED"
	DispositionRejected = "REJECTED"
	DispositionEscalate = "ESCALATE_SAR"
)

// SpendPolicy limits what an agent may pay. A list that is nil says nothing; one that is empty allows nothing.
type SpendPolicy struct {
	MaxSingleTxUSDC       *USD     `json:"maxSingleTxUSDC,omitempty"`
	DailyLimitUSDC        *USD     `json:"dailyLimitUSDC,omitempty"`
	AllowedChains         []string `json:"allowedChains,omitzero"`
	AllowedRails          []string `json:"allowedRails,omitzero"`
	CounterpartyScreening string   `json:"counterpartyScreening,omitempty"`
	NoMixerProtocols      *bool    `json:"noMixerProtocols,omitempty"`
}

// Agent is the request of Register. Name, type, operator and purpose are required.
type Agent struct {
	AgentName         string          `json:"agentName"`
	AgentType         string          `json:"agentType"` // autonomous or supervised.
	OperatorLegalName string          `json:"operatorLegalName"`
	OperatorID        string          `json:"operatorId,omitempty"` // Which operator of this name; "new": another one.
	Purpose           string          `json:"purpose"`
	SpendPolicy       *SpendPolicy    `json:"spendPolicy,omitempty"`
	UnderlyingModel   string          `json:"underlyingModel,omitempty"`
	AgentFramework    string          `json:"agentFramework,omitempty"`
	OperatorWallet    string          `json:"operatorWallet,omitempty"`
	OperatorEIN       string          `json:"operatorEIN,omitempty"`
	FleetID           string          `json:"fleetId,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	PublicKey         json.RawMessage `json:"publicKey,omitempty"`  // A JWK, Ed25519 or P-256: the agent's own key, for SignProof.
	Possession        string          `json:"possession,omitempty"` // Whether calls must prove it: off, review, required.
	Rules
	IdempotencyKey string `json:"-"` // "" draws one.
}

// Rules are further bounds of an agent: docs/API.md has their members. A list that is empty allows nothing.
type Rules struct {
	OperatingHours           json.RawMessage `json:"operatingHours,omitempty"`
	Velocity                 json.RawMessage `json:"velocity,omitempty"`
	AllowedCounterpartyTypes []string        `json:"allowedCounterpartyTypes,omitzero"`
	Whitelist                json.RawMessage `json:"whitelist,omitempty"`
}

// Delegate is the request of Client.Delegate: a child that may do no more than its parent.
type Delegate struct {
	AgentName         string          `json:"agentName"`
	ParentAgentID     string          `json:"parentAgentId,omitempty"`
	ParentToken       string          `json:"parentToken,omitempty"`
	AgentType         string          `json:"agentType,omitempty"`
	OperatorLegalName string          `json:"operatorLegalName,omitempty"` // The parent's, if it is told.
	Purpose           string          `json:"purpose,omitempty"`
	ExpiresAt         string          `json:"expiresAt,omitempty"`
	SpendPolicy       *SpendPolicy    `json:"spendPolicy,omitempty"`
	UnderlyingModel   string          `json:"underlyingModel,omitempty"`
	AgentFramework    string          `json:"agentFramework,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	PublicKey         json.RawMessage `json:"publicKey,omitempty"` // It inherits none.
	Possession        string          `json:"possession,omitempty"`
	Rules
	IdempotencyKey string `json:"-"`
}

// SimilarOperator is another operator whose legal name is alike.
type SimilarOperator struct {
	OperatorID        string `json:"operatorId"`
	OperatorLegalName string `json:"operatorLegalName"`
}

// Registration is an issued credential.
type Registration struct {
	OperatorID          string            `json:"operatorId"`
	SimilarOperators    []SimilarOperator `json:"similarOperators"` // Of a new operator.
	AgentID             string            `json:"agentId"`
	Token               string            `json:"token"`
	Credential          json.RawMessage   `json:"credential"`
	CredentialVersion   int64             `json:"credentialVersion"`
	FleetID             string            `json:"fleetId"`
	ParentAgentID       string            `json:"parentAgentId"`
	Depth               int               `json:"depth"`
	Warnings            []Warning         `json:"warnings"`
	EventID             string            `json:"eventId"`
	PublicKeyThumbprint string            `json:"publicKeyThumbprint"` // RFC 7638; "": the agent has no key.
	RootAgentID         string            `json:"rootAgentId"`
	OperatorEIN         string            `json:"operatorEIN"`
	EffectivePolicy     *SpendPolicy      `json:"effectivePolicy"` // Of a delegate: with what its ancestors leave.
	EffectiveVelocity   json.RawMessage   `json:"effectiveVelocity"`
}

// Warning names a flaw that did not stop the call.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	Rule    string `json:"rule"`
}

// CallWarning names a member of a screening call that was judged as absent, or an amount that was rounded up.
type CallWarning struct {
	Code     string `json:"code"` // unknown_field or amount_rounded.
	Param    string `json:"param"`
	JudgedAs *USD   `json:"judgedAs"` // The rounded amount.
}

// HoldRequest asks for a hold on a PROCEED, for 30 to 604,800 seconds.
type HoldRequest struct {
	TTLSeconds int `json:"ttlSeconds"`
}

// RoleWallet is a further wallet of a payment: payer, payee, intermediary or fee.
type RoleWallet struct {
	Role    string `json:"role"`
	Address string `json:"address"`
}

// Identifier is a number or an address by which the counterparty is known.
type Identifier struct {
	Type    string `json:"type"` // bic, iban, lei, tax_id, registration, national_id, passport, imo, mmsi, aircraft_tail, email, website, phone, duns or account.
	Value   string `json:"value"`
	Country string `json:"country,omitempty"` // Of whoever gave it.
}

// Payment is one proposed payment.
type Payment struct {
	Token            string       `json:"token"`
	Amount           USD          `json:"amount"`
	Chain            string       `json:"chain,omitempty"`
	Rail             string       `json:"rail,omitempty"`
	CounterpartyName string       `json:"cpName,omitempty"`
	CounterpartyType string       `json:"cpType,omitempty"`
	Wallet           string       `json:"cpWallet,omitempty"`
	PayerWallet      string       `json:"payerWallet,omitempty"`
	Wallets          []RoleWallet `json:"wallets,omitempty"`
	Country          string       `json:"cpCountry,omitempty"`
	DateOfBirth      string       `json:"cpDateOfBirth,omitempty"`
	Address          string       `json:"cpAddress,omitempty"`
	Region           string       `json:"cpRegion,omitempty"`
	OriginCountry    string       `json:"originCountry,omitempty"`
	Identifiers      []Identifier `json:"cpIdentifiers,omitempty"`
	Memo             string       `json:"memo,omitempty"`
	Protocol         string       `json:"protocol,omitempty"`
	UnderlyingModel  string       `json:"underlyingModel,omitempty"`
	Model            string       `json:"model,omitempty"` // Another word for underlyingModel.
	UserToken        string       `json:"userToken,omitempty"`
	TravelRuleRef    string       `json:"travelRuleRef,omitempty"`
	PaymentRef       string       `json:"paymentRef,omitempty"`
	Hold             *HoldRequest `json:"hold,omitempty"`
	Permit           *PermitAsked `json:"permit,omitempty"`
	Proof            string       `json:"proof,omitempty"` // SignProof of the payment, for ActScreen or ActDryRun.
	IdempotencyKey   string       `json:"-"`               // "": the one of the proof, or the client draws one; Batch writes the drawn one here.
}

// PermitAsked asks for a permit with a PROCEED. Zero members are as the service says.
type PermitAsked struct {
	TTLSeconds int    `json:"ttlSeconds,omitempty"` // 60 to 300.
	Audience   string `json:"aud,omitempty"`        // Who may act on it.
}

// Confirm is what a confirmation asks. All members may be left out.
type Confirm struct {
	Permit         *PermitAsked `json:"permit,omitempty"`
	Token          string       `json:"token,omitempty"`  // The agent's credential; "": the newest one of the registry is judged.
	Proof          string       `json:"proof,omitempty"`  // SignProof of the rest, for ActConfirm and the txnId; it needs Token.
	Redeem         bool         `json:"redeem,omitempty"` // Take the leave at once: whoever confirms makes the payment.
	IdempotencyKey string       `json:"-"`                // "": the client draws one.
}

// Confirmation is what a recorded payment is now.
type Confirmation struct {
	Verdict         string    `json:"verdict"`
	TxnID           string    `json:"txnId"`
	Rule            string    `json:"rule"` // "" on PROCEED.
	Reason          string    `json:"reason"`
	ConfirmedAt     string    `json:"confirmedAt"`
	Permit          string    `json:"permit"` // As good as money: keep it out of logs.
	PermitExpiresAt string    `json:"permitExpiresAt"`
	Payment         *Waiting  `json:"payment"`
	Approval        *Approval `json:"approval"` // Of a payment that an officer approved.
	PolicyVersion   int64     `json:"policyVersion"`
	ListVersion     int64     `json:"listVersion"`
	Index           uint64    `json:"index"`
	Triggered       []string  `json:"triggered"` // For reviewer, auditor and admin, as is Shadow.
	Shadow          []string  `json:"shadow"`
}

// Proceed reports whether the payment may be made now.
func (c *Confirmation) Proceed() bool { return c.Verdict == VerdictProceed }

// Waiting is what a confirmation leaves of a payment: held, redeemed or released.
type Waiting struct {
	State     string `json:"state"`
	Amount    USD    `json:"amount"`
	ExpiresAt string `json:"expiresAt"` // The end of its hold.
}

// Approval is what became of an approval: open, redeemed or lapsed.
type Approval struct {
	State string `json:"state"`
	Until string `json:"until"`
}

// Redeem is a permit whose leave is to be taken. Pay, if it is told, is what you are about to let
// happen: of a permit for another payment nothing is redeemed.
type Redeem struct {
	Permit         string  `json:"permit"`
	Pay            *Paying `json:"pay,omitempty"`
	IdempotencyKey string  `json:"-"` // "": the client draws one.
}

// Redemption is what became of a permit: redeemed or refused.
type Redemption struct {
	State      string `json:"state"`
	Verdict    string `json:"verdict"`
	TxnID      string `json:"txnId"`
	RedeemedAt string `json:"redeemedAt"`
	Index      uint64 `json:"index"`
}

// Taken reports whether this call took the leave, so that the payment may happen.
func (r *Redemption) Taken() bool { return r.State == "redeemed" }

// Ending is what became of a recorded payment: held (it was confirmed), redeemed, settled, released,
// expired or unresolved.
type Ending struct {
	State       string `json:"state"`
	Amount      USD    `json:"amount"`
	CountedUSDC USD    `json:"countedUSDC"`
	RailRef     string `json:"railRef"`
	Reason      string `json:"reason"`
	Late        bool   `json:"late"`
	OverLimit   bool   `json:"overLimit"`
	NotAllowed  bool   `json:"notAllowed"`
	Forwarded   bool   `json:"forwarded"`
	Unpermitted bool   `json:"unpermitted"`
	Redeemed    bool   `json:"redeemed"` // Of an unresolved one: it was redeemed.
	Verdict     string `json:"verdict"`  // Of a confirmation.
	ExpiredAt   string `json:"expiredAt"`
	EventID     string `json:"eventId"`
	Time        string `json:"time"`
}

// Hold is a held amount: held, redeemed, settled, released, expired or unresolved.
type Hold struct {
	State     string `json:"state"`
	Amount    USD    `json:"amount"`
	ExpiresAt string `json:"expiresAt"`
}

// Verdict is the decision on one payment.
type Verdict struct {
	Verdict           string        `json:"verdict"`
	TxnID             string        `json:"txnId"`
	Rule              string        `json:"rule"` // "" on PROCEED.
	Reason            string        `json:"reason"`
	AgentID           string        `json:"agentId"`
	AgentName         string        `json:"agentName"`
	OperatorLegalName string        `json:"operatorLegalName"`
	CredentialStatus  string        `json:"credentialStatus"`
	ScreenedAt        string        `json:"screenedAt"`
	Hold              *Hold         `json:"hold"`
	Permit            string        `json:"permit"` // As good as money: keep it out of logs.
	PermitExpiresAt   string        `json:"permitExpiresAt"`
	LatencyMs         float64       `json:"latencyMs"`
	RuleSet           string        `json:"ruleSet"`
	PolicyVersion     int64         `json:"policyVersion"`
	ListVersion       int64         `json:"listVersion"`
	OFACSource        string        `json:"ofacSource"`
	OFACStale         bool          `json:"ofacStale"` // The list was older than the policy likes.
	Index             uint64        `json:"index"`
	Warnings          []CallWarning `json:"warnings"`
	Triggered         []string      `json:"triggered"` // For reviewer, auditor and admin, as is Shadow.
	Shadow            []string      `json:"shadow"`
}

// Proceed reports whether the payment may be made now.
func (v *Verdict) Proceed() bool { return v.Verdict == VerdictProceed }

// DryRun is the decision that a payment would get.
type DryRun struct {
	Verdict
	DryRun       bool     `json:"dryRun"`
	NotSimulated []string `json:"notSimulated"` // Rules that a trial cannot judge.
	Seen
	Ladder json.RawMessage `json:"ladder"`
}

// BatchResult is the verdict on one payment of a batch, or why there is none.
type BatchResult struct {
	Verdict  *Verdict
	Error    *Error
	Replayed bool // The answer repeats the first one to this key.
}

// Transaction is the outcome of a payment.
type Transaction struct {
	TxnID       string `json:"txnId"`
	State       string `json:"state"`
	Amount      USD    `json:"amount"`
	CountedUSDC USD    `json:"countedUSDC"`
	Late        bool   `json:"late"`
	OverLimit   bool   `json:"overLimit"`
	NotAllowed  bool   `json:"notAllowed"`
	Forwarded   bool   `json:"forwarded"`
	Unpermitted bool   `json:"unpermitted"` // It had to be redeemed before, and was not.
	RailRef     string `json:"railRef"`
	Reason      string `json:"reason"`
	Unchanged   bool   `json:"unchanged"` // It had been said before.
	EventID     string `json:"eventId"`
	Time        string `json:"time"`
}

// Limits are what an agent may still pay today. A nil amount is no limit.
type Limits struct {
	AgentID         string `json:"agentId"`
	Date            string `json:"date"`
	DailyLimitUSDC  *USD   `json:"dailyLimitUSDC"`
	SpentUSDC       USD    `json:"spentUSDC"`
	HeldUSDC        USD    `json:"heldUSDC"`
	RemainingUSDC   *USD   `json:"remainingUSDC"`
	MaxSingleTxUSDC *USD   `json:"maxSingleTxUSDC"`
	AvailableUSDC   *USD   `json:"availableUSDC"`
	AsOfIndex       uint64 `json:"asOfIndex"`
	// What bounds the agent besides its own limits; docs/API.md has their members.
	Ancestors json.RawMessage `json:"ancestors"`
	Fleet     json.RawMessage `json:"fleet"`
	Operator  json.RawMessage `json:"operator"`
}

// Attestation is a person's approval of an autonomous agent, good for 24 hours.
type Attestation struct {
	AgentID         string `json:"agentId"`
	AttestedBy      string `json:"attestedBy"`
	Note            string `json:"note"`
	AttestationID   string `json:"attestationId"`
	AttestedAt      string `json:"attestedAt"`
	ValidUntil      string `json:"validUntil"`
	RecordExpiresAt string `json:"recordExpiresAt"`
}

// StatusChange is the result of suspend, reinstate or revoke.
type StatusChange struct {
	AgentID           string `json:"agentId"`
	UserID            string `json:"userId"` // Of a change of a user or an operator, by Call, as are the next three.
	OperatorID        string `json:"operatorId"`
	OperatorLegalName string `json:"operatorLegalName"`
	Agents            int64  `json:"agents"` // How many agents it concerns.
	PreviousStatus    string `json:"previousStatus"`
	CredentialStatus  string `json:"credentialStatus"`
	ChangedAt         string `json:"changedAt"`
	Reason            string `json:"reason"`
	ReasonCode        string `json:"reasonCode"`
	Actor             string `json:"actor"`
	EventID           string `json:"eventId"`
	Unchanged         bool   `json:"unchanged"`
}

// Health is the public state of a node.
type Health struct {
	Status          string          `json:"status"`
	Version         string          `json:"version"`
	Node            string          `json:"node"`
	Role            string          `json:"role"`
	Leader          string          `json:"leader"`
	Index           uint64          `json:"index"`
	UptimeSeconds   int64           `json:"uptimeSeconds"`
	Draining        bool            `json:"draining"`
	ReviewQueueFull bool            `json:"reviewQueueFull"`
	SigningKey      string          `json:"signingKey"`
	KV              string          `json:"kv"`
	OFAC            json.RawMessage `json:"ofac"`
	Quorum          json.RawMessage `json:"quorum"`
}
