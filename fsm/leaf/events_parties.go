package leaf

import "railguard/engine"

// The structs of events about agents, users, operators and fleets.

// Credential is an agent's credential as it was issued. It has every assigned value of the
// signed token, so the token can be minted again from the leaf alone.
type Credential struct {
	AgentID string `leaf:"agentId" event:"1"`
	Link
	CredentialID string      `leaf:"credentialId" event:"8"`
	Version      uint16      `leaf:"credentialVersion" event:"9"`
	IssuedAt     engine.Time `leaf:"issuedAt" event:"10"`
	ExpiresAt    engine.Time `leaf:"expiresAt" event:"11"`
	KID          string      `leaf:"kid"`
	StatusPlace
	OperatorID    string   `leaf:"operatorId" event:"4"`
	WalletMatched bool     `leaf:"walletMatched"`
	NameMatched   bool     `leaf:"nameMatched"`
	TaxMatched    bool     `leaf:"taxMatched,omitempty" doc:"the operator's tax number was on the list"`
	ParentAgentID string   `leaf:"parentAgentId,omitempty" event:"7" doc:"this and the three behind it: of a delegate"`
	RootAgentID   string   `leaf:"rootAgentId,omitempty"`
	Depth         uint8    `leaf:"depth,omitempty"`
	Chain         []string `leaf:"chain,omitempty" doc:"its ancestors, root first"`
	FleetID       string   `leaf:"fleetId,omitempty" event:"3"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
	AgentName         string `leaf:"agentName,edge"`
	AgentType         string `leaf:"agentType,edge" event:"6"`
}

// StatusPlace says where a credential's status is published.
type StatusPlace struct {
	StatusList  uint64 `leaf:"statusList"`
	StatusIndex uint64 `leaf:"statusIndex"`
}

// Reissued is a credential that follows an earlier one of the agent.
type Reissued struct {
	Credential
	Previous     string      `leaf:"previousStatus" event:"12"`
	Superseded   bool        `leaf:"superseded" doc:"earlier credentials are good no longer"`
	OverlapUntil engine.Time `leaf:"overlapExpiresAt,omitempty" doc:"else they are good until then"`
}

// UserCredential is a user's credential as it was issued.
type UserCredential struct {
	UserID       string      `leaf:"userId" event:"2"`
	CredentialID string      `leaf:"credentialId" event:"8"`
	Version      uint16      `leaf:"credentialVersion" event:"9"`
	IssuedAt     engine.Time `leaf:"issuedAt" event:"10"`
	ExpiresAt    engine.Time `leaf:"expiresAt" event:"11"`
	StoredUntil  engine.Time `leaf:"recordExpiresAt"`
	KID          string      `leaf:"kid"`
	StatusPlace
	NameMatched bool   `leaf:"nameMatched"`
	OperatorID  string `leaf:"operatorId,omitempty" event:"4"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
}

// AgentChanged is the new revision of an agent's settings.
type AgentChanged struct {
	AgentID string `leaf:"agentId" event:"1"`
	Link
	Rev uint64 `leaf:"rev" event:"21"`
}

// StatusChanged is a party's status; one of the three ids is set.
type StatusChanged struct {
	AgentID string `leaf:"agentId,omitempty" event:"1"`
	Link
	UserID     string      `leaf:"userId,omitempty" event:"2"`
	OperatorID string      `leaf:"operatorId,omitempty" event:"4"`
	Previous   string      `leaf:"previousStatus" event:"12"`
	Status     string      `leaf:"credentialStatus" event:"13"`
	ChangedAt  engine.Time `leaf:"changedAt" event:"14"`
	Agents     *uint64     `leaf:"agents,omitempty" doc:"of an operator"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
}

// Ownership says that an agent's ownership transfer was flagged or cancelled. If it was
// cancelled, both times are 0.
type Ownership struct {
	AgentID string `leaf:"agentId" event:"1"`
	Link
	FlaggedAt   engine.Time `leaf:"flaggedAt,omitempty" event:"15"`
	EffectiveAt engine.Time `leaf:"effectiveAt,omitempty" event:"16"`

	NewOperatorID string `leaf:"newOperatorId,omitempty" event:"22"`
}

// Attested is a human's attestation of an autonomous agent.
type Attested struct {
	AgentID string `leaf:"agentId" event:"1"`
	Link
	AttestationID   string      `leaf:"attestationId"`
	AttestedAt      engine.Time `leaf:"attestedAt" event:"17"`
	ValidUntil      engine.Time `leaf:"validUntil" event:"18"`
	RecordExpiresAt engine.Time `leaf:"recordExpiresAt"`
}

// OperatorChanged is the new revision of an operator.
type OperatorChanged struct {
	OperatorID string `leaf:"operatorId" event:"4"`
	Rev        uint64 `leaf:"rev" event:"21"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
}

// FleetCreated is a fleet that was made.
type FleetCreated struct {
	FleetID    string `leaf:"fleetId" event:"3"`
	OperatorID string `leaf:"operatorId" event:"4"`
	Date       string `leaf:"date" doc:"the UTC date that its first day of spending is of"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
}

// AgentRetired is an agent whose rows were given back.
type AgentRetired struct {
	AgentID    string `leaf:"agentId" event:"1"`
	OperatorID string `leaf:"operatorId" event:"4"`
	Link
}

// FleetRetired is a fleet whose rows were given back.
type FleetRetired struct {
	FleetID    string `leaf:"fleetId" event:"3"`
	OperatorID string `leaf:"operatorId" event:"4"`
}

// FleetChanged is the new revision of a fleet.
type FleetChanged struct {
	FleetID    string `leaf:"fleetId" event:"3"`
	Rev        uint64 `leaf:"rev" event:"21"`
	OperatorID string `leaf:"operatorId" event:"4"`

	OperatorLegalName string `leaf:"operatorLegalName,edge" event:"5"`
}

// FleetAssigned lists agents that were put into a fleet, or taken out of it.
type FleetAssigned struct {
	FleetID    string   `leaf:"fleetId" event:"3"`
	AgentCount uint64   `leaf:"agentCount" event:"20" doc:"then"`
	AgentIDs   []string `leaf:"agentIds" event:"19"`
}

// CredentialDue is a credential that ends or has ended.
type CredentialDue struct {
	Version   uint16      `leaf:"credentialVersion" event:"9"`
	ExpiresAt engine.Time `leaf:"expiresAt" event:"11"`
	AgentID   string      `leaf:"agentId" event:"1"`
	Link
}

// AttestationDue is an attestation that ends or has ended.
type AttestationDue struct {
	AttestedAt engine.Time `leaf:"attestedAt" event:"17"`
	ValidUntil engine.Time `leaf:"validUntil" event:"18"`
	AgentID    string      `leaf:"agentId" event:"1"`
	Link
}

// OwnershipDue is a transfer that took effect.
type OwnershipDue struct {
	EffectiveAt engine.Time `leaf:"effectiveAt" event:"16"`
	AgentID     string      `leaf:"agentId" event:"1"`
	Link
}

// UserErased is a user whose record is gone.
type UserErased struct {
	UserID            string      `leaf:"userId" event:"2"`
	OperatorID        string      `leaf:"operatorId,omitempty" event:"4"`
	OperatorLegalName string      `leaf:"operatorLegalName,omitempty" event:"5"`
	StoredUntil       engine.Time `leaf:"recordExpiresAt"`
}
