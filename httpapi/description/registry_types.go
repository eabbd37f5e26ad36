package description

type Warning struct {
	Code    string   `json:"code"`
	Message string   `json:"message,omitempty"`
	Rule    RuleCode `json:"rule,omitempty"`
	Param   string   `json:"param,omitempty"`
}

type Delegation struct {
	ParentAgentID string   `json:"parentAgentId"`
	RootAgentID   string   `json:"rootAgentId"`
	Depth         int64    `json:"depth"`
	Chain         []string `json:"chain"`
}

type CredentialSubject struct {
	AgentID               string      `json:"agentId,omitempty"`
	AgentName             string      `json:"agentName,omitempty"`
	UserID                string      `json:"userId,omitempty"`
	LegalName             string      `json:"legalName,omitempty"`
	AgentType             string      `json:"agentType,omitempty"`
	AgentIDs              []string    `json:"agentIds,omitempty"`
	OperatorLegalName     string      `json:"operatorLegalName,omitempty"`
	SpendPolicy           SpendPolicy `json:"spendPolicy,omitempty"`
	ComplianceAttestation struct {
		OFACAtIssuance   string `json:"ofacAtIssuance"`
		ScreenedAt       Time   `json:"screenedAt"`
		CredentialStatus string `json:"credentialStatus"`
	} `json:"complianceAttestation"`
	Delegation Delegation `json:"delegation,omitempty"`
}

type Credential struct {
	_                 struct{}          `doc:"The W3C credential that the token carries."`
	Context           []string          `json:"@context"`
	ID                string            `json:"id"`
	Type              []string          `json:"type"`
	Issuer            string            `json:"issuer"`
	IssuanceDate      Time              `json:"issuanceDate"`
	ExpirationDate    Time              `json:"expirationDate"`
	CredentialSubject CredentialSubject `json:"credentialSubject"`
}

// SimilarOperator is an operator whose legal name is alike: another one, unless a person finds otherwise.
type SimilarOperator struct {
	OperatorID        string `json:"operatorId"`
	OperatorLegalName string `json:"operatorLegalName"`
}

type IssuedAgent struct {
	OperatorID        string            `json:"operatorId,omitempty"`
	SimilarOperators  []SimilarOperator `json:"similarOperators,omitempty"`
	AgentID           string            `json:"agentId"`
	Token             string            `json:"token"`
	Credential        Credential        `json:"credential"`
	FleetID           *string           `json:"fleetId"`
	CredentialVersion int64             `json:"credentialVersion"`
	ParentAgentID     string            `json:"parentAgentId,omitempty"`
	RootAgentID       string            `json:"rootAgentId,omitempty"`
	Depth             int64             `json:"depth,omitempty"`
	EffectivePolicy   SpendPolicy       `json:"effectivePolicy,omitempty"`
	Warnings          []Warning         `json:"warnings"`
	EventID           string            `json:"eventId"`
	OperatorEIN       string            `json:"operatorEIN,omitempty"`
	PublicKeyThumb    string            `json:"publicKeyThumbprint,omitempty" doc:"RFC 7638: the keyid of message signatures, and the jkt of permits."`
	EffectiveVelocity Velocity          `json:"effectiveVelocity,omitempty"`
}

type ReissuedAgent struct {
	IssuedAgent
	PreviousStatus   Status `json:"previousStatus"`
	Superseded       bool   `json:"superseded"`
	OverlapExpiresAt Time   `json:"overlapExpiresAt,omitempty"`
}

type AgentSummary struct {
	AgentID           string  `json:"agentId"`
	AgentName         string  `json:"agentName"`
	AgentType         string  `json:"agentType" enum:"autonomous supervised"`
	OperatorLegalName string  `json:"operatorLegalName"`
	OperatorID        string  `json:"operatorId"`
	CredentialStatus  Status  `json:"credentialStatus"`
	OwnStatus         Status  `json:"ownStatus"`
	StatusChangedAt   Time    `json:"statusChangedAt"`
	CredentialVersion int64   `json:"credentialVersion"`
	IssuedAt          Time    `json:"issuedAt"`
	ExpiresAt         Time    `json:"expiresAt"`
	RegisteredAt      Time    `json:"registeredAt"`
	FleetID           *string `json:"fleetId"`
	ParentAgentID     *string `json:"parentAgentId"`
	Depth             int64   `json:"depth"`
}

type OwnershipTransfer struct {
	Flagged              bool    `json:"flagged"`
	FlaggedAt            Time    `json:"flaggedAt,omitempty"`
	EffectiveAt          Time    `json:"effectiveAt,omitempty"`
	Effective            bool    `json:"effective,omitempty"`
	NewOperatorID        string  `json:"newOperatorId,omitempty"`
	NewOperatorLegalName string  `json:"newOperatorLegalName,omitempty"`
	Note                 *string `json:"note,omitempty"`
	Actor                *string `json:"actor,omitempty"`
	CancelledAt          Time    `json:"cancelledAt,omitempty"`
	Reason               *string `json:"reason,omitempty"`
}

type Agent struct {
	AgentSummary
	AgentFramework  *string      `json:"agentFramework"`
	OperatorWallet  *string      `json:"operatorWallet"`
	OperatorEIN     *string      `json:"operatorEIN"`
	OperatorStatus  Status       `json:"operatorStatus"`
	Purpose         *string      `json:"purpose"`
	Metadata        *Free        `json:"metadata" free:"the caller's own object"`
	UnderlyingModel *string      `json:"underlyingModel"`
	CurrentModel    *string      `json:"currentModel"`
	SpendPolicy     *SpendPolicy `json:"spendPolicy"`
	EffectivePolicy SpendPolicy  `json:"effectivePolicy"`
	Spend           struct {
		Date      string `json:"date"`
		SpentUSDC Number `json:"spentUSDC"`
	} `json:"spend"`
	Attestation struct {
		Required   bool    `json:"required"`
		AttestedAt *string `json:"attestedAt" format:"date-time"`
		ValidUntil *string `json:"validUntil" format:"date-time"`
		Stale      bool    `json:"stale"`
		Above      Number  `json:"above" doc:"the amount above which rule R22 wants an attestation"`
	} `json:"attestation"`
	OwnershipTransfer        OwnershipTransfer   `json:"ownershipTransfer"`
	Chain                    []string            `json:"chain"`
	Token                    *string             `json:"token,omitempty"`
	Credential               *Credential         `json:"credential"`
	AsOfIndex                int64               `json:"asOfIndex"`
	OperatingHours           *OperatingHours     `json:"operatingHours,omitempty"`
	Velocity                 *Velocity           `json:"velocity,omitempty"`
	AllowedCounterpartyTypes *[]CounterpartyType `json:"allowedCounterpartyTypes,omitempty"`
	Whitelist                *WhitelistSummary   `json:"whitelist,omitempty"`
	EffectiveVelocity        Velocity            `json:"effectiveVelocity,omitempty"`
	Warnings                 []Warning           `json:"warnings,omitempty"`
	PublicKey                *PublicKey          `json:"publicKey,omitempty"`
	PublicKeyThumb           string              `json:"publicKeyThumbprint,omitempty"`
	Possession               string              `json:"possession,omitempty" enum:"off review required"`
	EffectivePossession      string              `json:"effectivePossession" enum:"off review required" doc:"The strictest of the policy, the agent and its ancestors."`
}

type Attestation struct {
	AgentID         string  `json:"agentId,omitempty"`
	AttestedBy      string  `json:"attestedBy"`
	Note            *string `json:"note"`
	AttestedAt      Time    `json:"attestedAt"`
	ValidUntil      Time    `json:"validUntil"`
	RecordExpiresAt Time    `json:"recordExpiresAt"`
	AttestationID   string  `json:"attestationId"`
}

type ModelChange struct {
	AgentID         string  `json:"agentId"`
	UnderlyingModel string  `json:"underlyingModel"`
	BaselineModel   *string `json:"baselineModel"`
	PreviousModel   *string `json:"previousModel"`
	Changed         bool    `json:"changed"`
	Reason          *string `json:"reason"`
	Actor           *string `json:"actor"`
	UpdatedAt       Time    `json:"updatedAt"`
	EventID         string  `json:"eventId,omitempty"`
	Unchanged       bool    `json:"unchanged,omitempty"`
}

type TransferChange struct {
	AgentID           string            `json:"agentId"`
	OwnershipTransfer OwnershipTransfer `json:"ownershipTransfer"`
	EventID           string            `json:"eventId,omitempty"`
	Unchanged         bool              `json:"unchanged,omitempty"`
}

type StatusChange struct {
	AgentID           string  `json:"agentId,omitempty"`
	UserID            string  `json:"userId,omitempty"`
	OperatorID        string  `json:"operatorId,omitempty"`
	OperatorLegalName string  `json:"operatorLegalName,omitempty"`
	Agents            int64   `json:"agents,omitempty"`
	PreviousStatus    Status  `json:"previousStatus"`
	CredentialStatus  Status  `json:"credentialStatus"`
	ChangedAt         Time    `json:"changedAt"`
	Reason            *string `json:"reason"`
	Actor             *string `json:"actor"`
	ReasonCode        string  `json:"reasonCode,omitempty"`
	EventID           string  `json:"eventId,omitempty"`
	Unchanged         bool    `json:"unchanged,omitempty"`
}

type IssuedUser struct {
	OperatorID        string            `json:"operatorId,omitempty"`
	SimilarOperators  []SimilarOperator `json:"similarOperators,omitempty"`
	UserID            string            `json:"userId"`
	Token             string            `json:"token"`
	Credential        Credential        `json:"credential"`
	AgentIDs          []string          `json:"agentIds"`
	CredentialVersion int64             `json:"credentialVersion"`
	PreviousStatus    Status            `json:"previousStatus,omitempty"`
	Superseded        bool              `json:"superseded,omitempty"`
	OverlapExpiresAt  Time              `json:"overlapExpiresAt,omitempty"`
	RecordExpiresAt   Time              `json:"recordExpiresAt"`
	Warnings          []Warning         `json:"warnings"`
	EventID           string            `json:"eventId"`
}

type UserSummary struct {
	UserID            string   `json:"userId"`
	LegalName         string   `json:"legalName"`
	Email             *string  `json:"email"`
	OperatorLegalName *string  `json:"operatorLegalName"`
	OperatorID        *string  `json:"operatorId"`
	AgentIDs          []string `json:"agentIds"`
	CredentialStatus  Status   `json:"credentialStatus"`
	StatusChangedAt   Time     `json:"statusChangedAt"`
	CredentialVersion int64    `json:"credentialVersion"`
	IssuedAt          Time     `json:"issuedAt"`
	ExpiresAt         Time     `json:"expiresAt"`
	RecordExpiresAt   Time     `json:"recordExpiresAt"`
	KID               string   `json:"kid"`
}

type User struct {
	UserID            string      `json:"userId"`
	LegalName         string      `json:"legalName"`
	Email             *string     `json:"email"`
	OperatorLegalName *string     `json:"operatorLegalName"`
	OperatorID        *string     `json:"operatorId"`
	AgentIDs          []string    `json:"agentIds"`
	CredentialStatus  Status      `json:"credentialStatus"`
	StatusChangedAt   Time        `json:"statusChangedAt"`
	CredentialVersion int64       `json:"credentialVersion"`
	IssuedAt          Time        `json:"issuedAt"`
	ExpiresAt         Time        `json:"expiresAt"`
	RecordExpiresAt   Time        `json:"recordExpiresAt"`
	Token             *string     `json:"token,omitempty"`
	Credential        *Credential `json:"credential"`
	AsOfIndex         int64       `json:"asOfIndex"`
}

type Fleet struct {
	SimilarOperators   []SimilarOperator `json:"similarOperators,omitempty"`
	FleetID            string            `json:"fleetId"`
	FleetName          string            `json:"fleetName"`
	OperatorLegalName  string            `json:"operatorLegalName"`
	OperatorID         string            `json:"operatorId"`
	DailyLimitUSDC     Number            `json:"dailyLimitUSDC"`
	OperatingHours     *OperatingHours   `json:"operatingHours,omitempty"`
	Velocity           *Velocity         `json:"velocity,omitempty"`
	EffectiveVelocity  Velocity          `json:"effectiveVelocity,omitempty"`
	Whitelist          WhitelistSummary  `json:"whitelist,omitempty"`
	AgentCount         int64             `json:"agentCount"`
	SpentTodayUSDC     Number            `json:"spentTodayUSDC"`
	RemainingTodayUSDC Number            `json:"remainingTodayUSDC,omitempty"`
	Date               string            `json:"date"`
	OperatorStatus     Status            `json:"operatorStatus,omitempty"`
	OperatorMatched    bool              `json:"operatorMatched"`
	CreatedAt          Time              `json:"createdAt"`
	Warnings           []Warning         `json:"warnings,omitempty"`
	EventID            string            `json:"eventId,omitempty"`
	AsOfIndex          int64             `json:"asOfIndex,omitempty"`
}

type OperatorLimit struct {
	OperatorID             string  `json:"operatorId"`
	OperatorLegalName      string  `json:"operatorLegalName"`
	DailyLimitUSDC         *Number `json:"dailyLimitUSDC"`
	PreviousDailyLimitUSDC *Number `json:"previousDailyLimitUSDC"`
	Rev                    int64   `json:"rev"`
	Reason                 *string `json:"reason"`
	Actor                  *string `json:"actor"`
	UpdatedAt              Time    `json:"updatedAt"`
	EventID                string  `json:"eventId,omitempty"`
}

type FleetChange struct {
	FleetID                string           `json:"fleetId"`
	FleetName              string           `json:"fleetName"`
	OperatorLegalName      string           `json:"operatorLegalName"`
	OperatorID             string           `json:"operatorId"`
	DailyLimitUSDC         Number           `json:"dailyLimitUSDC"`
	PreviousDailyLimitUSDC Number           `json:"previousDailyLimitUSDC,omitempty"`
	OperatingHours         *OperatingHours  `json:"operatingHours,omitempty"`
	Velocity               *Velocity        `json:"velocity,omitempty"`
	EffectiveVelocity      Velocity         `json:"effectiveVelocity,omitempty"`
	Whitelist              WhitelistSummary `json:"whitelist,omitempty"`
	Rev                    int64            `json:"rev"`
	Reason                 *string          `json:"reason"`
	Actor                  *string          `json:"actor"`
	UpdatedAt              Time             `json:"updatedAt"`
	EventID                string           `json:"eventId,omitempty"`
	Unchanged              bool             `json:"unchanged,omitempty"`
	Warnings               []Warning        `json:"warnings,omitempty"`
}

type Retired struct {
	AgentID    string `json:"agentId,omitempty"`
	FleetID    string `json:"fleetId,omitempty"`
	OperatorID string `json:"operatorId"`
	Retired    bool   `json:"retired"`
	RetiredAt  Time   `json:"retiredAt"`
	EventID    string `json:"eventId"`
}

type FleetMembers struct {
	FleetID    string   `json:"fleetId"`
	AgentIDs   []string `json:"agentIds"`
	AgentCount int64    `json:"agentCount"`
	Assigned   bool     `json:"assigned,omitempty"`
	ChangedAt  Time     `json:"changedAt,omitempty"`
	EventID    string   `json:"eventId,omitempty"`
	Unchanged  bool     `json:"unchanged,omitempty"`
}

type NewAgent struct {
	AgentName                string             `json:"agentName" length:"-NameRunesMax" pattern:"\\S"`
	AgentType                AgentType          `json:"agentType"`
	OperatorLegalName        string             `json:"operatorLegalName" length:"-NameRunesMax" pattern:"\\S"`
	OperatorID               *string            `json:"operatorId,omitempty" length:"-FieldMax"`
	Purpose                  string             `json:"purpose" length:"-TextMax" pattern:"\\S"`
	SpendPolicy              *SpendPolicy       `json:"spendPolicy,omitempty"`
	UnderlyingModel          *string            `json:"underlyingModel,omitempty" length:"-FieldMax"`
	AgentFramework           *string            `json:"agentFramework,omitempty" length:"-FieldMax"`
	OperatorWallet           *string            `json:"operatorWallet,omitempty" length:"-FieldMax"`
	OperatorEIN              EIN                `json:"operatorEIN,omitempty"`
	FleetID                  *string            `json:"fleetId,omitempty" length:"-FieldMax"`
	Metadata                 *Metadata          `json:"metadata,omitempty"`
	OperatingHours           *OperatingHours    `json:"operatingHours,omitempty"`
	Velocity                 *Velocity          `json:"velocity,omitempty"`
	AllowedCounterpartyTypes *CounterpartyTypes `json:"allowedCounterpartyTypes,omitempty"`
	Whitelist                *NewWhitelist      `json:"whitelist,omitempty"`
	PublicKey                *PublicKey         `json:"publicKey,omitempty" doc:"The agent's own key: an Ed25519 or P-256 JWK. The token then names it (cnf), and a call proves with the member proof that it has the private key."`
	Possession               Possession         `json:"possession,omitempty"`
}

type NewDelegate struct {
	_                        struct{}           `schema:"{\"anyOf\": [{\"required\": [\"parentAgentId\"], \"properties\": {\"parentAgentId\": {\"type\": \"string\"}}}, {\"required\": [\"parentToken\"], \"properties\": {\"parentToken\": {\"type\": \"string\"}}}]}"`
	AgentName                string             `json:"agentName" length:"-NameRunesMax" pattern:"\\S"`
	AgentType                *AgentType         `json:"agentType,omitempty"`
	OperatorLegalName        *string            `json:"operatorLegalName,omitempty" length:"-NameRunesMax" doc:"The parent's; may be left out."`
	Purpose                  *string            `json:"purpose,omitempty" length:"-TextMax"`
	ParentAgentID            *string            `json:"parentAgentId,omitempty" length:"-FieldMax"`
	ParentToken              *string            `json:"parentToken,omitempty" length:"-8448"`
	ExpiresAt                *string            `json:"expiresAt,omitempty" length:"10-256" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}"`
	SpendPolicy              *SpendPolicy       `json:"spendPolicy,omitempty"`
	UnderlyingModel          *string            `json:"underlyingModel,omitempty" length:"-FieldMax"`
	AgentFramework           *string            `json:"agentFramework,omitempty" length:"-FieldMax"`
	Metadata                 *Metadata          `json:"metadata,omitempty"`
	OperatingHours           *OperatingHours    `json:"operatingHours,omitempty"`
	Velocity                 *Velocity          `json:"velocity,omitempty"`
	AllowedCounterpartyTypes *CounterpartyTypes `json:"allowedCounterpartyTypes,omitempty"`
	Whitelist                *NewWhitelist      `json:"whitelist,omitempty"`
	PublicKey                *PublicKey         `json:"publicKey,omitempty" doc:"The agent's own key: an Ed25519 or P-256 JWK. The token then names it (cnf), and a call proves with the member proof that it has the private key."`
	Possession               Possession         `json:"possession,omitempty"`
}

type Reissue struct {
	AgentName         *string      `json:"agentName,omitempty" length:"-NameRunesMax"`
	OperatorLegalName *string      `json:"operatorLegalName,omitempty" length:"-NameRunesMax"`
	OperatorID        *string      `json:"operatorId,omitempty" length:"-FieldMax"`
	OperatorWallet    *string      `json:"operatorWallet,omitempty" length:"-FieldMax"`
	OperatorEIN       EIN          `json:"operatorEIN,omitempty"`
	Purpose           *string      `json:"purpose,omitempty" length:"-TextMax"`
	UnderlyingModel   *string      `json:"underlyingModel,omitempty" length:"-FieldMax"`
	AgentFramework    *string      `json:"agentFramework,omitempty" length:"-FieldMax"`
	SpendPolicy       *SpendPolicy `json:"spendPolicy,omitempty"`
	OverlapHours      Overlap      `json:"overlapHours,omitempty"`
	PublicKey         *PublicKey   `json:"publicKey,omitempty" doc:"Another key supersedes older tokens at once, unless overlapHours is told. null takes the key away, where calls need not prove one."`
	Reason            *string      `json:"reason,omitempty" length:"-TextMax"`
	Actor             *string      `json:"actor,omitempty" length:"-FieldMax"`
}

type WhyRequired struct {
	Reason string  `json:"reason" length:"-TextMax" pattern:"\\S"`
	Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
}

type Revocation struct {
	Reason     string     `json:"reason" length:"-TextMax" pattern:"\\S"`
	Actor      *string    `json:"actor,omitempty" length:"-FieldMax"`
	ReasonCode ReasonCode `json:"reasonCode,omitempty"`
}

type NewUser struct {
	_                 struct{}   `schema:"{\"anyOf\": [{\"required\": [\"legalName\"], \"properties\": {\"legalName\": {\"type\": \"string\", \"pattern\": \"\\\\S\"}}}, {\"required\": [\"userName\"], \"properties\": {\"userName\": {\"type\": \"string\", \"pattern\": \"\\\\S\"}}}]}"`
	LegalName         *string    `json:"legalName,omitempty" length:"-NameRunesMax"`
	UserName          *string    `json:"userName,omitempty" length:"-NameRunesMax"`
	Email             *string    `json:"email,omitempty" length:"-NameRunesMax"`
	AgentIDs          *[]string  `json:"agentIds,omitempty" each:"{\"maxLength\": 256}" items:"-UserAgentsMax"`
	AgentType         *AgentType `json:"agentType,omitempty"`
	OperatorLegalName *string    `json:"operatorLegalName,omitempty" length:"-NameRunesMax"`
	OperatorID        *string    `json:"operatorId,omitempty" length:"-FieldMax"`
}

type NewFleet struct {
	FleetName         string          `json:"fleetName" length:"-NameRunesMax" pattern:"\\S"`
	OperatorLegalName string          `json:"operatorLegalName" length:"-NameRunesMax" pattern:"\\S"`
	OperatorID        *string         `json:"operatorId,omitempty" length:"-FieldMax"`
	DailyLimitUSDC    Number          `json:"dailyLimitUSDC" range:"0-1000000000000"`
	OperatingHours    *OperatingHours `json:"operatingHours,omitempty"`
	Velocity          *Velocity       `json:"velocity,omitempty"`
	Whitelist         *NewWhitelist   `json:"whitelist,omitempty"`
}

type FleetEdit struct {
	FleetName      *string         `json:"fleetName,omitempty" length:"-NameRunesMax"`
	DailyLimitUSDC *Number         `json:"dailyLimitUSDC,omitempty" range:"0-1000000000000"`
	OperatingHours *OperatingHours `json:"operatingHours,omitempty"`
	Velocity       *Velocity       `json:"velocity,omitempty"`
	Reason         *string         `json:"reason,omitempty" length:"-TextMax"`
	Actor          *string         `json:"actor,omitempty" length:"-FieldMax"`
}
