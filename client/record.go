package client

import "encoding/json"

// Record is what is kept of a screening call: its verdict, what was decided about it, and what became of
// the payment. Members that are RawMessage have theirs in docs/API.md and docs/FORMATS.md.
type Record struct {
	Verdict
	Disposition       string    `json:"disposition"`
	Proposed          *Proposed `json:"proposed"` // A decision that waits for a second person.
	ReviewedBy        string    `json:"reviewedBy"`
	ReviewedByKey     string    `json:"reviewedByKey"`
	ReviewedAt        string    `json:"reviewedAt"`
	Notes             string    `json:"notes"`
	SAREscalated      bool      `json:"sarEscalated"`
	OverLimitApproved bool      `json:"overLimitApproved"`
	NotHeld           bool      `json:"notHeld"` // The approval found no room for a hold and counts as spent.
	Approval          *Approval `json:"approval"`
	PayBy             string    `json:"payBy"`             // When an approval ends.
	Confirmable       bool      `json:"confirmable"`       // Whether a confirmation may give leave for an approved payment. It is no leave: confirm, and pay on PROCEED.
	ConfirmableReason string    `json:"confirmableReason"` // Why it gives none.
	Confirms          *Proposed `json:"confirms"`          // The proposal that the decision confirmed.
	RuleTriggered     string    `json:"ruleTriggered"`     // Of a review's answer, as are EventID and Unchanged.
	EventID           string    `json:"eventId"`
	Unchanged         bool      `json:"unchanged"`

	Payment        *Ending `json:"payment"` // nil: nothing was said of it.
	LateSettlement *Ending `json:"lateSettlement"`

	Seen
	Basis
}

// Seen is what rules saw of a payment.
type Seen struct {
	AgentType          string          `json:"agentType"`
	OperatorID         string          `json:"operatorId"`
	FleetID            string          `json:"fleetId"`
	UserID             string          `json:"userId"`
	Chain              []string        `json:"chain"` // The agent's ancestors.
	Matches            json.RawMessage `json:"matches"`
	MatchesTruncated   bool            `json:"matchesTruncated"`
	Parties            json.RawMessage `json:"parties"`
	PartiesUnavailable string          `json:"partiesUnavailable"`
}

// Basis is how a record stands in the log, and what it was judged with.
type Basis struct {
	Version            string          `json:"version"`
	LeafHash           string          `json:"leafHash"`
	KeyID              string          `json:"keyId"`
	Node               string          `json:"node"`
	ListName           string          `json:"listName"`
	ListDigest         string          `json:"listDigest"`
	ListAgeSeconds     int64           `json:"listAgeSeconds"`
	MatcherVersion     int64           `json:"matcherVersion"`
	MixerVersion       string          `json:"mixerVersion"`
	TzVersion          string          `json:"tzVersion"`
	PlacesVersion      string          `json:"placesVersion"`
	Places             json.RawMessage `json:"places"`
	WalletsElsewhere   string          `json:"walletsElsewhere"`
	RequestHash        string          `json:"requestHash"`
	IdempotencyKeyHash string          `json:"idempotencyKeyHash"`
	RequestID          string          `json:"requestId"`
	TraceID            string          `json:"traceId"`
	Jti                string          `json:"jti"`
	UserJti            string          `json:"userJti"`
	AgentSequence      int64           `json:"agentSequence"`
	AgentPrevious      int64           `json:"agentPrevious"`
	PermitSeconds      int64           `json:"permitSeconds"`
	PermitTerms        json.RawMessage `json:"permitTerms"`
	Proof              json.RawMessage `json:"proof"`
	Profile            json.RawMessage `json:"profile"`
	UserProfile        json.RawMessage `json:"userProfile"`
	Evidence           json.RawMessage `json:"evidence"`
	Recheck            json.RawMessage `json:"recheck"` // What the same payment would be today.
	Comments           json.RawMessage `json:"comments"`
	Request            json.RawMessage `json:"_request"`
}
