package description

type Error struct {
	_                struct{}      `doc:"What every refused call is answered with. Behind docs stand members of single codes: the state that stands in the way."`
	Error            ErrorCode     `json:"error"`
	Code             ErrorCode     `json:"code"`
	Message          string        `json:"message"`
	Param            string        `json:"param,omitempty"`
	Details          []ErrorDetail `json:"details,omitempty"`
	RequestID        string        `json:"requestId"`
	TxnID            *string       `json:"txnId"`
	Docs             string        `json:"docs"`
	RequiredRole     string        `json:"requiredRole,omitempty"`
	LookID           string        `json:"lookId,omitempty" doc:"of second_look_in_hand, as is leaseExpiresAt"`
	LeaseExpiresAt   Time          `json:"leaseExpiresAt,omitempty"`
	DidYouMean       string        `json:"didYouMean,omitempty"`
	CredentialStatus string        `json:"credentialStatus,omitempty"`
	Table            string        `json:"table,omitempty"`
	CurrentVersion   int64         `json:"currentVersion,omitempty"`
	AgentID          string        `json:"agentId,omitempty"`
	FleetID          string        `json:"fleetId,omitempty"`
	CaseID           string        `json:"caseId,omitempty"`
	WebhookID        string        `json:"webhookId,omitempty"`
	Disposition      string        `json:"disposition,omitempty"`
	ReviewedAt       Time          `json:"reviewedAt,omitempty"`
	State            string        `json:"state,omitempty"`
	RedeemedAt       Time          `json:"redeemedAt,omitempty"`
	AcknowledgedAt   Time          `json:"acknowledgedAt,omitempty"`
	AcknowledgedBy   string        `json:"acknowledgedBy,omitempty"`
	Statement        string        `json:"statement,omitempty" doc:"Of passkey_required: what is to be signed."`
	Challenge        string        `json:"challenge,omitempty" doc:"What the authenticator signs for it, base64url."`
	Passkeys         []string      `json:"passkeys,omitempty" doc:"The caller's passkeys that count."`
	Reason           string        `json:"reason,omitempty"`
	ReviewedBy       string        `json:"reviewedBy,omitempty"`
	SAREscalated     bool          `json:"sarEscalated,omitempty"`
}

type Problem struct {
	_ struct{} `doc:"RFC 9457, for Accept: application/problem+json, with the members of Error besides."`
	Error
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int64  `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
}

type UnknownMember struct {
	Code  string `json:"code" enum:"unknown_field"`
	Param string `json:"param"`
}

// PlaceRead is a country or region that a member of a call names.
type PlaceRead struct {
	Member    string `json:"member" doc:"The member that names it: cpCountry, cpIdentifiers[0].value."`
	Read      string `json:"read,omitempty" doc:"ISO 3166 code; not there: it cannot be read."`
	Outcome   string `json:"outcome" enum:"blocked reviewed doubtful unread exempt"`
	Exemption string `json:"exemption,omitempty" doc:"The exemption of the policy that let it pass."`
	Licence   string `json:"licence,omitempty"`
}

type CallWarning struct {
	Code     string `json:"code" enum:"unknown_field amount_rounded"`
	Param    string `json:"param"`
	JudgedAs Number `json:"judgedAs,omitempty" doc:"of amount_rounded: an amount with more than six decimals is judged and counted rounded up"`
}

type ProtectedResource struct {
	Resource               string `json:"resource" format:"uri"`
	ResourceName           any    `json:"resource_name" schema:"{\"const\": \"Railguard\"}"`
	ScopesSupported        []any  `json:"scopes_supported" each:"{\"const\": \"screen\"}"`
	BearerMethodsSupported []any  `json:"bearer_methods_supported" each:"{\"const\": \"header\"}"`
	ResourceDocumentation  string `json:"resource_documentation" format:"uri"`
}

type NewEntry struct {
	Wallet    *string `json:"wallet,omitempty" length:"-FieldMax"`
	Name      *string `json:"name,omitempty" length:"-NameRunesMax"`
	Label     *string `json:"label,omitempty" length:"-FieldMax"`
	ExpiresAt *string `json:"expiresAt,omitempty" length:"10-256" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}"`
	AddedBy   *string `json:"addedBy,omitempty" length:"-FieldMax"`
}

type WhitelistSummary struct {
	Mode       string   `json:"mode" enum:"enforce off"`
	Kinds      []string `json:"kinds" each:"{\"enum\": [\"wallet\", \"name\"]}"`
	Version    int64    `json:"version"`
	EntryCount int64    `json:"entryCount"`
}

type BatchPayment struct {
	_ struct{} `free:"as ScreeningCall"`
	ScreeningCall
	IdempotencyKey *string `json:"idempotencyKey,omitempty" pattern:"^[!-~]{1,255}$" doc:"As the header Idempotency-Key of POST /v1/screen."`
}

type Hold struct {
	State     string `json:"state"`
	Amount    Number `json:"amount"`
	ExpiresAt Time   `json:"expiresAt"`
}

type Fact struct {
	Kind  string `json:"kind"`
	Label string `json:"label"`
	Value string `json:"value"`
}

type Party struct {
	UID      string   `json:"uid"`
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	List     string   `json:"list"`
	EntryID  string   `json:"entryId,omitempty" doc:"its id on a list beside OFAC's"`
	Programs []string `json:"programs"`
	Aliases  []Alias  `json:"aliases,omitempty" doc:"its other names, the strong ones first; 60 at most"`
	Facts    []Fact   `json:"facts"`
	Context  []string `json:"context,omitempty"`
}

type Alias struct {
	Name string `json:"name"`
	Weak bool   `json:"weak,omitempty" doc:"the list calls it weak: alone it is no hit"`
}

type PartyMatch struct {
	Wallet   string   `json:"wallet,omitempty"`
	Party    string   `json:"party"`
	List     string   `json:"list"`
	UID      string   `json:"uid"`
	Type     string   `json:"type,omitempty"`
	Name     string   `json:"name"`
	Alias    string   `json:"alias,omitempty"`
	Quality  string   `json:"quality,omitempty"`
	Form     string   `json:"form,omitempty"`
	Score    Number   `json:"score,omitempty"`
	Strict   Number   `json:"strict,omitempty"`
	Outcome  string   `json:"outcome"`
	Programs []string `json:"programs,omitempty"`
	Ticker   string   `json:"ticker,omitempty"`
	Document string   `json:"document,omitempty"`

	Compared []ComparedFact `json:"compared,omitempty" doc:"Each fact that the call and the list both give of the counterparty."`

	Identifier        string `json:"identifier,omitempty" doc:"The number or address of the listed party, as published."`
	IdentifierType    string `json:"identifierType,omitempty" doc:"What the list has it as; other: of no known type."`
	IdentifierLabel   string `json:"identifierLabel,omitempty" doc:"What the publisher calls it."`
	IdentifierCountry string `json:"identifierCountry,omitempty"`
	ReadAs            string `json:"readAs,omitempty" doc:"What the call's identifier was read as."`
	Member            string `json:"member,omitempty" doc:"The member of the call that hit."`

	Cleared   bool   `json:"cleared,omitempty"`
	ClearedID string `json:"clearedId,omitempty" doc:"The cleared pair that silenced the match, or that does not hold in this call."`
	Clearing  string `json:"clearing,omitempty" doc:"Why the cleared pair does not hold."`
	Why       string `json:"why,omitempty"`
}

type ComparedFact struct {
	What   string `json:"what" doc:"date of birth, country or address"`
	Asked  string `json:"asked"`
	Listed string `json:"listed" doc:"the value that agrees, else the nearest ones"`
	Agrees bool   `json:"agrees"`
}

type LadderStep struct {
	Rule    RuleCode `json:"rule"`
	Number  int64    `json:"number"`
	Verdict Verdict  `json:"verdict"`
	Outcome string   `json:"outcome"`
	Trigger string   `json:"trigger"`
	Values  Free     `json:"values,omitempty" free:"what each rule looked at has members of its own"`
	Reason  string   `json:"reason,omitempty"`
}

type RecordedRequest struct {
	Amount          Number  `json:"amount"`
	Chain           *string `json:"chain"`
	CpWallet        *string `json:"cpWallet"`
	CpName          *string `json:"cpName"`
	Rail            *string `json:"rail"`
	CpType          *string `json:"cpType,omitempty"`
	Protocol        *string `json:"protocol,omitempty"`
	UnderlyingModel *string `json:"underlyingModel,omitempty"`
	Model           *string `json:"model,omitempty"`
	TravelRuleRef   *string `json:"travelRuleRef,omitempty"`
	PayerWallet     *string `json:"payerWallet,omitempty" doc:"The wallet that pays."`
	Wallets         []struct {
		Role    string `json:"role"`
		Address string `json:"address"`
	} `json:"wallets,omitempty"`
	CpCountry     *string `json:"cpCountry,omitempty" doc:"As sent; what it was read as is in places."`
	CpDateOfBirth *string `json:"cpDateOfBirth,omitempty" doc:"*** where personal data is hidden."`
	CpAddress     *string `json:"cpAddress,omitempty" doc:"*** where personal data is hidden."`
	CpRegion      *string `json:"cpRegion,omitempty" doc:"As sent; what it was read as is in places."`
	OriginCountry *string `json:"originCountry,omitempty" doc:"As sent; what it was read as is in places."`
	Memo          *string `json:"memo,omitempty" doc:"*** where personal data is hidden."`
	CpIdentifiers any     `json:"cpIdentifiers,omitempty" doc:"A list of type, value and country; *** where personal data is hidden."`
	PaymentRef    *string `json:"paymentRef,omitempty"`
	Hold          *struct {
		TtlSeconds int64 `json:"ttlSeconds"`
	} `json:"hold,omitempty"`
	Permit *struct {
		TtlSeconds int64  `json:"ttlSeconds,omitempty"`
		Aud        string `json:"aud,omitempty"`
	} `json:"permit,omitempty"`
}

// PermitTerms is what a record keeps for the permit that its call asked for.
type PermitTerms struct {
	Aud    string `json:"aud,omitempty" doc:"As are maxAge and lists, of a call that asked for a permit."`
	MaxAge int64  `json:"maxAge,omitempty" doc:"The policy's ofac.reviewAge, in seconds."`
	Lists  []struct {
		ID   string `json:"id"`
		AsOf string `json:"asOf,omitempty" doc:"The day of its publication."`
	} `json:"lists,omitempty"`
	X402 X402Terms `json:"x402,omitempty"`
}

type X402Terms struct {
	_     struct{} `doc:"Of a payment that our x402 facilitator asked about."`
	Asset string   `json:"asset" doc:"CAIP-19."`
	Units string   `json:"units"`
	Nonce string   `json:"nonce" doc:"Of the authorization, or the hash of the transaction that the payer signed."`
}

// ProofSeen is what a record keeps of an agent's key and of the proof of it.
type ProofSeen struct {
	Jkt     string `json:"jkt,omitempty" doc:"The key's thumbprint (RFC 7638)."`
	Form    string `json:"form,omitempty" enum:"jws httpsig" doc:"Of a good proof."`
	Sha256  string `json:"sha256,omitempty" doc:"Of the proof."`
	Refused string `json:"refused,omitempty" doc:"Why the proof is not good."`
}

type ProfileLeaf struct {
	Leaf     int64  `json:"leaf"`
	LeafHash string `json:"leafHash"`
}

type Comment struct {
	EventID    string  `json:"eventId"`
	Time       Time    `json:"time"`
	Comment    string  `json:"comment"`
	Actor      *string `json:"actor"`
	ActorKeyID string  `json:"actorKeyId"`
}

// judgedRecord holds the members that every form of a screening record has.
type judgedRecord struct {
	Verdict            Verdict         `json:"verdict"`
	TxnID              string          `json:"txnId"`
	Rule               *RuleCode       `json:"rule"`
	Reason             string          `json:"reason"`
	AgentID            string          `json:"agentId,omitempty"`
	AgentName          string          `json:"agentName,omitempty"`
	AgentType          string          `json:"agentType,omitempty"`
	OperatorLegalName  string          `json:"operatorLegalName,omitempty"`
	OperatorID         string          `json:"operatorId,omitempty"`
	CredentialStatus   Status          `json:"credentialStatus,omitempty"`
	OFACSource         string          `json:"ofacSource"`
	ScreenedAt         Time            `json:"screenedAt"`
	Disposition        *string         `json:"disposition,omitempty"`
	Proposed           Proposed        `json:"proposed,omitempty"`
	ReviewedBy         string          `json:"reviewedBy,omitempty"`
	ReviewedAt         Time            `json:"reviewedAt,omitempty"`
	Notes              string          `json:"notes,omitempty"`
	SAREscalated       bool            `json:"sarEscalated,omitempty"`
	ReviewedByKey      string          `json:"reviewedByKey,omitempty"`
	OverLimitApproved  bool            `json:"overLimitApproved,omitempty"`
	NotHeld            bool            `json:"notHeld,omitempty" doc:"The approval found no room for a hold and counts as spent."`
	Approval           Approval        `json:"approval,omitempty" doc:"What became of an approval."`
	PayBy              Time            `json:"payBy,omitempty" doc:"When the approval ends."`
	Confirmable        bool            `json:"confirmable,omitempty" doc:"Whether a confirmation may give leave for the approved payment now. It is no leave itself."`
	ConfirmableReason  any             `json:"confirmableReason,omitempty" enum:"lapsed settled redeemed released agent_status listed blocked unknown" doc:"Why it gives none."`
	Recheck            Free            `json:"recheck,omitempty" free:"what the same payment would be today"`
	Request            RecordedRequest `json:"_request"`
	Payment            Ending          `json:"payment,omitempty"`
	LateSettlement     Ending          `json:"lateSettlement,omitempty"`
	Version            string          `json:"version"`
	KeyID              string          `json:"keyId"`
	Node               string          `json:"node"`
	Index              int64           `json:"index"`
	RuleSet            string          `json:"ruleSet"`
	PolicyVersion      int64           `json:"policyVersion"`
	ListVersion        int64           `json:"listVersion"`
	ListDigest         string          `json:"listDigest"`
	MatcherVersion     int64           `json:"matcherVersion"`
	MixerVersion       string          `json:"mixerVersion"`
	TzVersion          string          `json:"tzVersion"`
	OFACStale          bool            `json:"ofacStale,omitempty"`
	RequestHash        string          `json:"requestHash"`
	IdempotencyKeyHash string          `json:"idempotencyKeyHash,omitempty"`
	RequestID          string          `json:"requestId"`
	TraceID            string          `json:"traceId,omitempty"`
	Jti                string          `json:"jti,omitempty"`
	UserJti            string          `json:"userJti,omitempty"`
	UserID             string          `json:"userId,omitempty"`
	FleetID            string          `json:"fleetId,omitempty"`
	Chain              []string        `json:"chain,omitempty"`
	AgentSequence      int64           `json:"agentSequence,omitempty"`
	AgentPrevious      int64           `json:"agentPrevious,omitempty"`
	Hold               Hold            `json:"hold,omitempty"`
	PermitTerms        PermitTerms     `json:"permitTerms,omitempty"`
	Proof              ProofSeen       `json:"proof,omitempty" doc:"Of a credential that names the agent's key, or of a call with a proof. The proof itself is not kept."`
	PermitSeconds      int64           `json:"permitSeconds,omitempty" doc:"How long the permit of a PROCEED was good."`
	ListAgeSeconds     int64           `json:"listAgeSeconds,omitempty" doc:"Of a PROCEED with a permit: since the list was last found current."`
	Profile            ProfileLeaf     `json:"profile,omitempty"`
	UserProfile        ProfileLeaf     `json:"userProfile,omitempty"`
	Warnings           []CallWarning   `json:"warnings,omitempty"`
	WalletsElsewhere   string          `json:"walletsElsewhere,omitempty" doc:"Wallets in other texts of the call than cpWallet, with blanks between them; + behind the last one: there were more."`
	Places             []PlaceRead     `json:"places,omitempty" doc:"What was read of the countries and regions of the call, where it had a consequence."`
	PlacesVersion      string          `json:"placesVersion,omitempty" doc:"Of the tables by which places are read."`
	ListName           string          `json:"listName,omitempty" doc:"The list beside OFAC's that the reason names."`
	Triggered          []RuleCode      `json:"triggered,omitempty"`
	Shadow             []RuleCode      `json:"shadow,omitempty"`
	Matches            []PartyMatch    `json:"matches,omitempty"`
	MatchesTruncated   bool            `json:"matchesTruncated,omitempty"`
	Evidence           Free            `json:"evidence,omitempty" free:"what the rules saw, as stored: docs/FORMATS.md"`
	Parties            []Party         `json:"parties,omitempty"`
	PartiesUnavailable *string         `json:"partiesUnavailable,omitempty"`
	LeafHash           string          `json:"leafHash"`
	Comments           []Comment       `json:"comments,omitempty"`
}

type Record struct {
	judgedRecord
	Confirms Proposed `json:"confirms,omitempty" doc:"the proposal that the decision confirmed; to reviewer, auditor and admin"`
}

type Proposed struct {
	_           struct{}    `doc:"What one person proposed and another has to confirm (review.fourEyes)."`
	ProposalID  string      `json:"proposalId"`
	Disposition Disposition `json:"disposition"`
	By          string      `json:"by"`
	ByKey       string      `json:"byKey"`
	ProposedBy  string      `json:"proposedBy" doc:"the person of the key, or the key itself; by is only a label"`
	At          Time        `json:"at"`
	ExpiresAt   Time        `json:"expiresAt"`
	Notes       string      `json:"notes,omitempty"`
}

type Ending struct {
	_           struct{} `doc:"What became of a payment."`
	State       any      `json:"state" enum:"held redeemed settled released expired unresolved" doc:"held: it was confirmed."`
	Amount      Number   `json:"amount"`
	CountedUSDC Number   `json:"countedUSDC,omitempty" doc:"What counted for the payment until then."`
	RailRef     string   `json:"railRef,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Late        bool     `json:"late,omitempty"`
	OverLimit   bool     `json:"overLimit,omitempty"`
	NotAllowed  bool     `json:"notAllowed,omitempty"`
	Forwarded   bool     `json:"forwarded,omitempty" doc:"Our x402 facilitator sent it on and was told that it was made."`
	Unpermitted bool     `json:"unpermitted,omitempty" doc:"It had to be redeemed before it was settled (permits.required), and was not."`
	Redeemed    bool     `json:"redeemed,omitempty" doc:"Of an unresolved payment: it was redeemed."`
	Verdict     Verdict  `json:"verdict,omitempty" doc:"Of a confirmation: what the payment was then."`
	ExpiredAt   Time     `json:"expiredAt,omitempty"`
	EventID     string   `json:"eventId"`
	Time        Time     `json:"time"`
}

type Approval struct {
	State string `json:"state" enum:"open redeemed lapsed" doc:"redeemed: the leave was taken, or the payment was settled."`
	Until Time   `json:"until" doc:"When it ends."`
}

type Why struct {
	Reason *string `json:"reason,omitempty" length:"-TextMax"`
	Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
}

// The types of single values.
type (
	Time             string
	ErrorCode        string
	Verdict          string
	RuleCode         string
	Status           string
	Chain            string
	Rail             string
	CounterpartyType string
	PolicyDocument   string
	JobState         string
	SARState         string
	SanctionsState   string
	SanctionsKind    string
	AlertKind        string
	Member           string
	ClusterStatus    string
	Metadata         string
	AgentType        string
	EIN              string
	Overlap          string
	ReasonCode       string
	Possession       string
	PublicKey        string
	Disposition      string
	ServedDocument   string
	FormatNumber     string
	MatcherVersion   string
)

// scalars are the schemas of these types.
var scalars = map[string]string{
	"Time":             `{"type": "string", "format": "date-time", "description": "Log time, RFC 3339 in UTC with milliseconds.", "examples": ["2026-03-22T03:33:28.589Z"]}`,
	"ErrorCode":        `{"type": "string", "description": "Compare this word, never the message. /docs/errors says what each means. There may come more.", "x-extensible-enum": ["missing_token", "invalid_json", "missing_amount", "invalid_amount", "not_reviewable", "already_exists", "already_open", "did_not_go_ahead", "narrative_changed", "narrative_unfinished", "bad_request", "unauthorized", "forbidden", "not_found", "method_not_allowed", "settler_required", "approval_lapsed", "permit_expired", "permit_used", "already_dispositioned", "invalid_transition", "parent_not_active", "already_in_fleet", "idempotency_in_flight", "claimed_by_other", "refresh_running", "lists_staged", "matcher_not_ready", "format_not_ready", "job_running", "limit_reached", "version_mismatch", "payload_too_large", "unsupported_encoding", "invalid_field", "missing_field", "unknown_field", "invalid_disposition", "permit_invalid", "permit_mismatch", "role_not_allowed", "policy_widening", "delegation_depth_exceeded", "agent_not_autonomous", "agent_not_supervised", "operator_mismatch", "operator_sanctioned", "idempotency_conflict", "list_rejected", "rate_limited", "share_used", "headers_too_large", "internal_error", "time_not_supported", "no_quorum", "no_leader", "sanctions_data_unavailable", "overloaded", "node_away", "storage_low", "time_uncertain", "shutting_down", "outcome_unknown", "operator_ambiguous", "passkey_required", "passkey_refused", "second_look_in_hand"]}`,
	"Verdict":          `{"type": "string", "enum": ["PROCEED", "REVIEW", "BLOCK", "UNKNOWN"]}`,
	"RuleCode":         `{"type": "string", "pattern": "^R[0-9]+_[A-Z_]+$", "examples": ["R10_SINGLE_TX_LIMIT"]}`,
	"Status":           `{"type": "string", "enum": ["ACTIVE", "SUSPENDED", "REVOKED", "EXPIRED"]}`,
	"Chain":            `{"type": "string", "enum": ["ETH", "BASE", "SOL", "ACH", "WIRE", "SWIFT"]}`,
	"Rail":             `{"type": "string", "enum": ["USDC", "ACH", "WIRE", "SWIFT", "IBAN"]}`,
	"CounterpartyType": `{"type": "string", "enum": ["individual", "business", "exchange"]}`,
	"PublicKey":        `{"type": "object", "x-free": "the members of a JWK (RFC 7517): kty, crv, x, y; use, alg, kid, key_ops, ext. Private members are refused", "additionalProperties": true, "examples": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`,
	"Possession":       `{"type": ["string", "null"], "enum": ["off", "review", "required", null], "description": "Whether calls must prove the agent's key; the strictest of this, the policy and the ancestors holds. null is off."}`,
	"PolicyDocument":   `{"type": "object", "x-free": "the members of a policy document are checked by the policy compiler: docs/RULES.md", "additionalProperties": true}`,
	"JobState":         `{"type": "string", "enum": ["running", "done", "cancelled", "failed"]}`,
	"SARState":         `{"type": "string", "enum": ["DRAFT", "READY", "FILED", "CLOSED"]}`,
	"SanctionsState":   `{"type": "string", "enum": ["OPEN", "TRUE_MATCH", "NOT_THE_PARTY", "REPORTED", "CLOSED"]}`,
	"SanctionsKind":    `{"type": "string", "enum": ["rejected_transaction", "blocked_property", "processed_transaction"]}`,
	"AlertKind":        `{"type": "string", "description": "There may come more.", "x-extensible-enum": ["retro_hit", "late_settle", "over_limit", "not_allowed", "list_quarantine", "operator_listed", "list_left", "unresolved_payment", "admin_token_used", "many_dry_runs", "names_probed", "done_alone", "sanctions_report", "unpermitted", "reconciliation_fault", "second_look"]}`,
	"Member":           `{"type": "object", "additionalProperties": true, "x-free": "a node as its cluster reports it: docs/OPERATING.md", "required": ["id", "role"]}`,
	"ClusterStatus":    `{"type": "object", "additionalProperties": true, "x-free": "the state of the group as its nodes report it: docs/OPERATING.md", "required": ["clusterId", "node", "role", "term", "quorum", "nodes", "writes"]}`,
	"Metadata":         `{"type": "object", "additionalProperties": true, "x-free": "the caller's own object, kept and returned; at most 8 KiB"}`,
	"AgentType":        `{"type": "string", "enum": ["autonomous", "supervised"]}`,
	"EIN":              `{"type": ["string", "null"], "pattern": "^[0-9]{2}-?[0-9]{7}$"}`,
	"Overlap":          `{"type": ["integer", "null"], "minimum": 0, "maximum": 168}`,
	"ReasonCode":       `{"type": ["string", "null"], "enum": ["KEY_COMPROMISE", "AFFILIATION_CHANGED", "SUPERSEDED", "CESSATION", "SANCTIONS", "OTHER", null]}`,
	"Disposition":      `{"type": "string", "enum": ["APPROVED", "REJECTED", "ESCALATE_SAR"]}`,
	"ServedDocument":   `{"type": "object", "additionalProperties": true, "x-free": "an OpenAPI 3.1 document", "required": ["openapi", "info", "paths", "components"]}`,
	"FormatNumber":     `{"type": "integer", "minimum": 1, "maximum": 65535}`,
	"MatcherVersion":   `{"type": "integer", "minimum": 1, "maximum": 65535}`,
}
