package description

type ErrorDetail struct {
	Param        string `json:"param,omitempty"`
	Message      string `json:"message,omitempty"`
	DidYouMean   string `json:"didYouMean,omitempty"`
	RequiredRole string `json:"requiredRole,omitempty"`
	Parent       any    `json:"parent,omitempty" doc:"What the parent's policy says there."`
	Requested    any    `json:"requested,omitempty" doc:"What was asked for."`
}

type GuestError struct {
	Error   string    `json:"error"`
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
	Param   string    `json:"param,omitempty"`
}

type X402Call struct {
	_                   struct{} `free:"The protocol's." doc:"As version 1 or 2 of the protocol has it; what is wrong with it is the reason in the answer."`
	X402Version         any      `json:"x402Version,omitempty" doc:"1 or 2."`
	PaymentPayload      Free     `json:"paymentPayload,omitempty" free:"The protocol's." doc:"extensions.railguard.info holds the agent's credential (token, and userToken); permit (true) asks for a permit, and txnId names the approved review whose leave the payment takes."`
	PaymentRequirements Free     `json:"paymentRequirements,omitempty" free:"The protocol's."`
}

type X402Screening struct {
	Railguard struct {
		Verdict       Verdict  `json:"verdict"`
		TxnID         string   `json:"txnId"`
		Rule          RuleCode `json:"rule,omitempty"`
		Reason        string   `json:"reason,omitempty"`
		HoldExpiresAt Time     `json:"holdExpiresAt,omitempty"`
		State         any      `json:"state,omitempty" schema:"{\"const\": \"unresolved\"}" doc:"Whether the payment was made is not known; it counts until a settler says what became of it."`
		Replayed      bool     `json:"replayed,omitempty" doc:"The first answer to this payment, given again: open nothing for it."`
		Permit        string   `json:"permit,omitempty" doc:"Of a verify that asked for one with info.permit; for the origin of the resource."`
		PermitExpires Time     `json:"permitExpiresAt,omitempty"`
	} `json:"railguard"`
}

type X402Verified struct {
	IsValid        bool          `json:"isValid"`
	InvalidReason  string        `json:"invalidReason,omitempty" doc:"docs/x402.md lists ours; else the protocol's, or that of the facilitator behind."`
	InvalidMessage string        `json:"invalidMessage,omitempty"`
	Payer          string        `json:"payer,omitempty"`
	Extensions     X402Screening `json:"extensions,omitempty"`
}

type X402Settled struct {
	Success      bool          `json:"success"`
	ErrorReason  string        `json:"errorReason,omitempty" doc:"As invalidReason of verify; settlement_pending: call again with the same body."`
	ErrorMessage string        `json:"errorMessage,omitempty"`
	Payer        string        `json:"payer,omitempty"`
	Transaction  string        `json:"transaction" doc:"Of the chain; \"\" where nothing was settled."`
	Network      string        `json:"network"`
	Extensions   X402Screening `json:"extensions,omitempty"`
}

type X402Supported struct {
	Kinds []struct {
		_           struct{} `free:"What the facilitator behind adds."`
		X402Version any      `json:"x402Version" schema:"{\"enum\": [1, 2]}"`
		Scheme      any      `json:"scheme" schema:"{\"const\": \"exact\"}"`
		Network     string   `json:"network"`
	} `json:"kinds" items:"-256"`
	Extensions []string `json:"extensions" schema:"{\"contains\": {\"const\": \"railguard\"}}"`
	Signers    Free     `json:"signers" free:"Those of the facilitator behind."`
}

type McpCall struct {
	Jsonrpc any      `json:"jsonrpc" schema:"{\"const\": \"2.0\"}"`
	ID      Anything `json:"id,omitempty" doc:"A text or a number (JSON-RPC 2.0)."`
	Method  string   `json:"method"`
	Params  Free     `json:"params,omitempty" free:"The protocol's."`
}

type McpAnswer struct {
	Jsonrpc any      `json:"jsonrpc" schema:"{\"const\": \"2.0\"}"`
	ID      Anything `json:"id" doc:"That of the call, or null."`
	Result  Free     `json:"result,omitempty" free:"The protocol's."`
	Error   struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	} `json:"error,omitempty"`
}

type ScreeningCall struct {
	_           struct{} `free:"specification: what is not known is judged as absent and named in warnings" doc:"Members that are not here are judged as absent and named in warnings; one that is near to a member here, or any with X-Railguard-Strict, is refused."`
	Token       any      `json:"token" doc:"The credential, bare or behind one of the words Bearer, VerifiableCredential, ProofPack, JWT. What is no valid credential gives UNKNOWN, not an error; only an absent member is one."`
	Amount      Number   `json:"amount" range:"0-1000000000000" doc:"US dollars, exact to the micro-dollar."`
	Chain       *string  `json:"chain,omitempty" length:"-FieldMax" doc:"ETH, BASE, SOL, ACH, WIRE, SWIFT in any letter case. Any other word is judged, not refused."`
	Rail        *string  `json:"rail,omitempty" length:"-FieldMax" doc:"USDC, ACH, WIRE, SWIFT, IBAN in any letter case. Any other word is judged, not refused."`
	CpWallet    *string  `json:"cpWallet,omitempty" length:"-FieldMax" doc:"The counterparty's wallet."`
	PayerWallet *string  `json:"payerWallet,omitempty" length:"-FieldMax" doc:"The wallet that pays. A listed one blocks; where the policy says so, one that is none of the operator's is reviewed."`
	Wallets     []struct {
		Role    string `json:"role" enum:"payer payee intermediary fee"`
		Address string `json:"address" length:"-FieldMax"`
	} `json:"wallets,omitempty" doc:"Further wallets of the payment, at most eight. What is listed blocks, whoever's it is."`
	CpName        *string `json:"cpName,omitempty" length:"-NameRunesMax" doc:"The counterparty's name."`
	CpType        *string `json:"cpType,omitempty" length:"-FieldMax" doc:"individual, business or exchange."`
	CpCountry     *string `json:"cpCountry,omitempty" length:"-FieldMax" doc:"The counterparty's country, by name or code (ISO 3166-1). An embargoed one blocks; a text that cannot be read is reviewed."`
	CpRegion      *string `json:"cpRegion,omitempty" length:"-FieldMax" doc:"The counterparty's region, by name or code (ISO 3166-2). An embargoed one blocks."`
	OriginCountry *string `json:"originCountry,omitempty" length:"-FieldMax" doc:"From which country the payment was asked for, by name or code. An embargoed one blocks."`
	CpDateOfBirth *string `json:"cpDateOfBirth,omitempty" length:"-FieldMax" doc:"1962-11-23, 1962-11 or 1962. Kept; changes no verdict."`
	CpAddress     *string `json:"cpAddress,omitempty" length:"-NameRunesMax" doc:"The counterparty's postal address. One that names an embargoed place is reviewed."`
	CpIdentifiers []struct {
		Type    string  `json:"type" enum:"bic iban lei tax_id registration national_id passport imo mmsi aircraft_tail email website phone duns account"`
		Value   string  `json:"value" length:"-FieldMax"`
		Country *string `json:"country,omitempty" length:"-FieldMax" doc:"Of whoever gave it."`
	} `json:"cpIdentifiers,omitempty" doc:"Numbers and addresses by which the counterparty is known, at most eight. A listed one blocks; a doubtful one, and one that is none of its type, is reviewed."`
	Memo            *string `json:"memo,omitempty" length:"-NameRunesMax" doc:"A text that travels with the payment. One that names somebody listed is reviewed, and never blocks."`
	Protocol        *string `json:"protocol,omitempty" length:"-FieldMax" doc:"Protocol or platform."`
	UnderlyingModel *string `json:"underlyingModel,omitempty" length:"-FieldMax" doc:"The agent's language model now."`
	Model           *string `json:"model,omitempty" length:"-FieldMax" doc:"Another word for underlyingModel."`
	UserToken       any     `json:"userToken,omitempty" doc:"The user's credential, with supervised agents. Anything but a string is a malformed credential."`
	TravelRuleRef   *string `json:"travelRuleRef,omitempty" length:"-FieldMax" doc:"Kept in the record."`
	Hold            *struct {
		TtlSeconds int64 `json:"ttlSeconds" range:"30-604800"`
	} `json:"hold,omitempty" doc:"A PROCEED is held for so long, a REVIEW from its approval on."`
	PaymentRef *string `json:"paymentRef,omitempty" pattern:"^[ -~]{1,128}$" doc:"Used by one payment of its owner for 30 days."`
	Permit     *struct {
		TtlSeconds *int64  `json:"ttlSeconds,omitempty" range:"60-300" doc:"120 if it is not told."`
		Aud        *string `json:"aud,omitempty" length:"1-256" doc:"Who may act on it; as the policy says (permits.audience), or this service itself, if it is not told."`
	} `json:"permit,omitempty" doc:"Asks for a permit with a PROCEED: a signed statement that whoever is paid verifies by the key set. The payment is held until a minute after its end if no hold is asked for. Needs a payee: cpWallet, cpName or cpIdentifiers."`
	Proof *string `json:"proof,omitempty" doc:"Proof of the agent's key: a compact JWS of type railguard-proof+jwt over the rest of the body. Its jti is the call's Idempotency-Key. It is never kept."`
}

type Screening struct {
	_                 struct{}      `doc:"Decided, and durable on a quorum. triggered and shadow are for reviewer, auditor and admin."`
	Verdict           Verdict       `json:"verdict"`
	TxnID             string        `json:"txnId"`
	Rule              *RuleCode     `json:"rule"`
	Reason            string        `json:"reason"`
	AgentID           string        `json:"agentId,omitempty"`
	AgentName         string        `json:"agentName,omitempty"`
	OperatorLegalName string        `json:"operatorLegalName,omitempty"`
	CredentialStatus  Status        `json:"credentialStatus,omitempty"`
	OFACSource        string        `json:"ofacSource,omitempty"`
	ScreenedAt        Time          `json:"screenedAt"`
	Hold              Hold          `json:"hold,omitempty"`
	Permit            string        `json:"permit,omitempty" doc:"The permit that was asked for, with a PROCEED alone. It is as good as money: keep it out of logs."`
	PermitExpiresAt   Time          `json:"permitExpiresAt,omitempty"`
	LatencyMs         Number        `json:"latencyMs"`
	RuleSet           string        `json:"ruleSet"`
	PolicyVersion     int64         `json:"policyVersion"`
	ListVersion       int64         `json:"listVersion"`
	Index             int64         `json:"index"`
	OFACStale         bool          `json:"ofacStale,omitempty"`
	Warnings          []CallWarning `json:"warnings,omitempty"`
	Triggered         []RuleCode    `json:"triggered,omitempty"`
	Shadow            []RuleCode    `json:"shadow,omitempty"`
}

type StreamResult struct {
	_              struct{} `doc:"The answer of one line: its number, and what a batch says of a payment."`
	Line           int64    `json:"line" range:"1-" doc:"Number of the line in the body, counted from 1; empty lines count."`
	IdempotencyKey string   `json:"idempotencyKey,omitempty"`
	BatchResult
}

type StreamEnd struct {
	End struct {
		Lines   int64  `json:"lines" range:"0-" doc:"How many lines were read. Each that is not empty was answered before this line; of later ones nothing happened."`
		Code    string `json:"code" doc:"complete: the caller ended the body. quiet: no byte came for two minutes. shutting_down: the node stops; go on at another one. unauthorized: the key is no longer good. bad_request: the body broke off or a line was not whole within ten seconds."`
		Message string `json:"message,omitempty"`
	} `json:"end"`
}

type BatchResult struct {
	_                 struct{}      `doc:"status, and the answer of POST /v1/screen or its error."`
	Status            int64         `json:"status"`
	Replayed          bool          `json:"replayed,omitempty"`
	Outcome           string        `json:"outcome,omitempty" enum:"none unknown"`
	Verdict           Verdict       `json:"verdict,omitempty"`
	Rule              *RuleCode     `json:"rule,omitempty"`
	Reason            string        `json:"reason,omitempty"`
	AgentID           string        `json:"agentId,omitempty"`
	AgentName         string        `json:"agentName,omitempty"`
	OperatorLegalName string        `json:"operatorLegalName,omitempty"`
	CredentialStatus  Status        `json:"credentialStatus,omitempty"`
	OFACSource        string        `json:"ofacSource,omitempty"`
	ScreenedAt        Time          `json:"screenedAt,omitempty"`
	Hold              Hold          `json:"hold,omitempty"`
	Permit            string        `json:"permit,omitempty" doc:"The permit that was asked for, with a PROCEED alone. It is as good as money: keep it out of logs."`
	PermitExpiresAt   Time          `json:"permitExpiresAt,omitempty"`
	LatencyMs         Number        `json:"latencyMs,omitempty"`
	RuleSet           string        `json:"ruleSet,omitempty"`
	PolicyVersion     int64         `json:"policyVersion,omitempty"`
	ListVersion       int64         `json:"listVersion,omitempty"`
	Index             int64         `json:"index,omitempty"`
	OFACStale         bool          `json:"ofacStale,omitempty"`
	Warnings          []CallWarning `json:"warnings,omitempty"`
	Triggered         []RuleCode    `json:"triggered,omitempty"`
	Shadow            []RuleCode    `json:"shadow,omitempty"`
	Error             ErrorCode     `json:"error,omitempty"`
	Code              ErrorCode     `json:"code,omitempty"`
	Message           string        `json:"message,omitempty"`
	Param             string        `json:"param,omitempty"`
	Details           []ErrorDetail `json:"details,omitempty"`
	RequestID         string        `json:"requestId,omitempty"`
	Docs              string        `json:"docs,omitempty"`
	RequiredRole      string        `json:"requiredRole,omitempty"`
	DidYouMean        string        `json:"didYouMean,omitempty"`
	CurrentVersion    int64         `json:"currentVersion,omitempty"`
	FleetID           string        `json:"fleetId,omitempty"`
	Disposition       string        `json:"disposition,omitempty"`
	ReviewedAt        Time          `json:"reviewedAt,omitempty"`
	ReviewedBy        string        `json:"reviewedBy,omitempty"`
	SAREscalated      bool          `json:"sarEscalated,omitempty"`
	TxnID             *string       `json:"txnId,omitempty"`
}

type DryRun struct {
	DryRun             bool          `json:"dryRun"`
	Verdict            Verdict       `json:"verdict"`
	Rule               *RuleCode     `json:"rule"`
	Reason             string        `json:"reason"`
	AgentID            string        `json:"agentId,omitempty"`
	AgentName          string        `json:"agentName,omitempty"`
	AgentType          string        `json:"agentType,omitempty"`
	OperatorLegalName  string        `json:"operatorLegalName,omitempty"`
	OperatorID         string        `json:"operatorId,omitempty"`
	CredentialStatus   Status        `json:"credentialStatus,omitempty"`
	FleetID            string        `json:"fleetId,omitempty"`
	UserID             string        `json:"userId,omitempty"`
	Chain              []string      `json:"chain,omitempty"`
	OFACSource         string        `json:"ofacSource,omitempty"`
	OFACStale          bool          `json:"ofacStale,omitempty"`
	RuleSet            string        `json:"ruleSet"`
	PolicyVersion      int64         `json:"policyVersion"`
	ListVersion        int64         `json:"listVersion"`
	Triggered          []RuleCode    `json:"triggered,omitempty"`
	Shadow             []RuleCode    `json:"shadow,omitempty"`
	Matches            []PartyMatch  `json:"matches,omitempty"`
	MatchesTruncated   bool          `json:"matchesTruncated,omitempty"`
	Parties            []Party       `json:"parties,omitempty"`
	PartiesUnavailable *string       `json:"partiesUnavailable,omitempty"`
	Ladder             []LadderStep  `json:"ladder,omitempty"`
	NotSimulated       []RuleCode    `json:"notSimulated,omitempty"`
	Warnings           []CallWarning `json:"warnings,omitempty"`
}

type UnresolvedPayment struct {
	TxnID             string `json:"txnId"`
	State             any    `json:"state" schema:"{\"const\": \"unresolved\"}"`
	Amount            Number `json:"amount"`
	AgentID           string `json:"agentId,omitempty"`
	AgentName         string `json:"agentName,omitempty"`
	OperatorLegalName string `json:"operatorLegalName,omitempty"`
	ScreenedAt        Time   `json:"screenedAt"`
	CountsOn          string `json:"countsOn" format:"date" doc:"The UTC date on which it counts."`
	UnresolvedSince   Time   `json:"unresolvedSince"`
	Approved          bool   `json:"approved" doc:"An officer had approved it, and the approval has lapsed."`
	Redeemed          bool   `json:"redeemed" doc:"Somebody took its leave, and may have paid."`
	KeyID             string `json:"keyId" doc:"The key that screened it."`
	Chain             any    `json:"chain,omitempty"`
	Rail              any    `json:"rail,omitempty"`
	Protocol          any    `json:"protocol,omitempty"`
	PaymentRef        string `json:"paymentRef,omitempty"`
}

type ConfirmCall struct {
	Token  *string `json:"token,omitempty" doc:"The agent's credential. Without it, the newest one of the registry is judged."`
	Permit *struct {
		TtlSeconds *int64  `json:"ttlSeconds,omitempty" range:"60-300" doc:"120 if it is not told."`
		Aud        *string `json:"aud,omitempty" length:"1-256" doc:"Who may act on it; as the policy says (permits.audience), or this service itself, if it is not told."`
	} `json:"permit,omitempty" doc:"Asks for a permit with a PROCEED."`
	Proof  *string `json:"proof,omitempty" length:"1-2048" doc:"Proof of the agent's key over the rest of the body, for the act confirm:TXNID; token is needed with it."`
	Redeem *bool   `json:"redeem,omitempty" doc:"Take the leave at once: whoever confirms makes the payment."`
}

type Confirmation struct {
	Verdict         Verdict   `json:"verdict" doc:"Pay on PROCEED alone."`
	TxnID           string    `json:"txnId"`
	Rule            *RuleCode `json:"rule"`
	Reason          string    `json:"reason"`
	ConfirmedAt     Time      `json:"confirmedAt"`
	Permit          string    `json:"permit,omitempty" doc:"The permit that was asked for, with a PROCEED alone. It is as good as money: keep it out of logs."`
	PermitExpiresAt Time      `json:"permitExpiresAt,omitempty"`
	Payment         struct {
		State     string `json:"state" enum:"held redeemed released"`
		Amount    Number `json:"amount"`
		ExpiresAt Time   `json:"expiresAt,omitempty" doc:"Of a PROCEED: the end of its hold."`
	} `json:"payment"`
	Approval      ConfirmedApproval `json:"approval,omitempty" doc:"Of a payment that an officer approved."`
	PolicyVersion int64             `json:"policyVersion"`
	ListVersion   int64             `json:"listVersion"`
	Index         int64             `json:"index"`
	Triggered     []RuleCode        `json:"triggered,omitempty"`
	Shadow        []RuleCode        `json:"shadow,omitempty"`
}

type ConfirmedApproval struct {
	State string `json:"state" enum:"open redeemed lapsed"`
	Until Time   `json:"until,omitempty"`
}

type PayStated struct {
	Amount      any       `json:"amount" doc:"In USDC, a number or a text."`
	Asset       *string   `json:"asset,omitempty"`
	Chain       *string   `json:"chain,omitempty"`
	Currency    *string   `json:"currency,omitempty" enum:"USD"`
	Name        *string   `json:"name,omitempty" doc:"The payee's name, as it was told."`
	Nonce       *string   `json:"nonce,omitempty"`
	Payee       *string   `json:"payee,omitempty" doc:"The wallet that is paid."`
	PayeeIds    *[]string `json:"payeeIds,omitempty" doc:"In place of payee, name and identifiers: their hashes as the permit has them."`
	Payer       *string   `json:"payer,omitempty"`
	Rail        *string   `json:"rail,omitempty"`
	Ref         *string   `json:"ref,omitempty" doc:"The paymentRef."`
	Units       *string   `json:"units,omitempty"`
	Identifiers any       `json:"identifiers,omitempty" doc:"As cpIdentifiers of a screening call."`
}

type Redemption struct {
	State      string  `json:"state" enum:"redeemed refused" doc:"refused: it is a BLOCK now. What had leave goes on counting until a settler says what became of it."`
	Verdict    Verdict `json:"verdict"`
	TxnID      string  `json:"txnId"`
	RedeemedAt Time    `json:"redeemedAt,omitempty"`
	Index      int64   `json:"index"`
}

type Settlement struct {
	TxnID       string `json:"txnId"`
	State       string `json:"state"`
	Amount      Number `json:"amount"`
	CountedUSDC Number `json:"countedUSDC,omitempty" doc:"What counted for the payment until then."`
	RailRef     string `json:"railRef,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Late        bool   `json:"late,omitempty"`
	OverLimit   bool   `json:"overLimit,omitempty"`
	NotAllowed  bool   `json:"notAllowed,omitempty"`
	Forwarded   bool   `json:"forwarded,omitempty" doc:"Our x402 facilitator sent it on and was told that it was made."`
	Unpermitted bool   `json:"unpermitted,omitempty" doc:"The policy wants such a payment redeemed before it is settled (permits.required), and it was not."`
	EventID     string `json:"eventId"`
	Time        Time   `json:"time"`
	Unchanged   bool   `json:"unchanged,omitempty"`
}
