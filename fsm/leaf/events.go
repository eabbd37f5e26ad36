package leaf

import "railguard/engine"

// The structs of events: what Apply writes of each kind, in its order. What the edge adds
// is not here.

// Payment is which payment a leaf is about, how it ended and an amount of it.
type Payment struct {
	TxnID        string     `leaf:"txnId"`
	ScreenedLeaf uint64     `leaf:"screenedLeaf"`
	State        string     `leaf:"state"`
	Amount       engine.USD `leaf:"amountUSDC"` // Settled: what was paid; released: what returned; expired: what counted.
}

// Settled is a payment that went through.
type Settled struct {
	Payment
	Counted    engine.USD `leaf:"countedUSDC"` // What counted until then.
	Late       bool       `leaf:"late,omitempty"`
	OverLimit  bool       `leaf:"overLimit,omitempty"`
	NotAllowed bool       `leaf:"notAllowed,omitempty"`
}

// HoldExpired is a hold that log time ended.
type HoldExpired struct {
	Payment
	ExpiredAt engine.Time `leaf:"expiredAt"`
}

// Reviewed is which review a leaf is about.
type Reviewed struct {
	TxnID        string `leaf:"txnId"`
	ReviewedLeaf uint64 `leaf:"reviewedLeaf"`
}

// Dispositioned is an officer's answer to a review.
type Dispositioned struct {
	Reviewed
	Disposition       string      `leaf:"disposition"`
	ReviewedAt        engine.Time `leaf:"reviewedAt"`
	SAREscalated      bool        `leaf:"sarEscalated"`
	ProposedLeaf      uint64      `leaf:"proposedLeaf,omitempty"`
	OverLimitApproved *bool       `leaf:"overLimitApproved,omitempty"` // Of an approval.
	HeldUntil         engine.Time `leaf:"heldUntil,omitempty"`
	NotHeld           bool        `leaf:"notHeld,omitempty"` // No room for a hold: it counts as spent.
}

// Proposed is a disposition that another person has to confirm.
type Proposed struct {
	Reviewed
	Disposition string      `leaf:"disposition"`
	LapsesAt    engine.Time `leaf:"lapsesAt"`
}

// Withdrawn is a proposal that was taken back.
type Withdrawn struct {
	Reviewed
	Disposition  string `leaf:"disposition"`
	ProposedLeaf uint64 `leaf:"proposedLeaf"`
}

// ReviewDue is a review or a report that is due.
type ReviewDue struct {
	Reviewed
	DueAt engine.Time `leaf:"dueAt"`
}

// Claimed is who works on a review from now on; nobody where Assignee is nil.
type Claimed struct {
	Reviewed
	Assignee   *string     `leaf:"assignee,omitempty"`
	LeaseUntil engine.Time `leaf:"leaseUntil,omitempty"`
}

// SARMoved is a report that reached another state.
type SARMoved struct {
	Reviewed
	From  string      `leaf:"from"`
	To    string      `leaf:"to"`
	DueAt engine.Time `leaf:"dueAt"`
}

// StatusChanged is a party's status; one of the three ids is set.
type StatusChanged struct {
	AgentID    string      `leaf:"agentId,omitempty"`
	UserID     string      `leaf:"userId,omitempty"`
	OperatorID string      `leaf:"operatorId,omitempty"`
	Previous   string      `leaf:"previousStatus"`
	Status     string      `leaf:"credentialStatus"`
	ChangedAt  engine.Time `leaf:"changedAt"`
	Agents     *uint64     `leaf:"agents,omitempty"` // Of an operator.
}

// Ownership is the flag of an agent's transfer; both times are 0 where it was cancelled.
type Ownership struct {
	AgentID     string      `leaf:"agentId"`
	FlaggedAt   engine.Time `leaf:"flaggedAt,omitempty"`
	EffectiveAt engine.Time `leaf:"effectiveAt,omitempty"`
}

// Attested is a human's word for an autonomous agent.
type Attested struct {
	AgentID         string      `leaf:"agentId"`
	AttestationID   string      `leaf:"attestationId"`
	AttestedAt      engine.Time `leaf:"attestedAt"`
	ValidUntil      engine.Time `leaf:"validUntil"`
	RecordExpiresAt engine.Time `leaf:"recordExpiresAt"`
}

// FleetCreated is a fleet that was made.
type FleetCreated struct {
	FleetID    string `leaf:"fleetId"`
	OperatorID string `leaf:"operatorId"`
	Date       string `leaf:"date"` // The UTC date that its first day of spending is of.
}

// FleetAssigned is agents that came to a fleet, or left it.
type FleetAssigned struct {
	FleetID    string   `leaf:"fleetId"`
	AgentCount uint64   `leaf:"agentCount"` // Then.
	AgentIDs   []string `leaf:"agentIds"`
}

// WebhookChanged is what became of a webhook; Rev but for a redelivery, whose event Seq and
// N name, where it is of one.
type WebhookChanged struct {
	WebhookID string  `leaf:"webhookId"`
	Op        string  `leaf:"op"`
	Rev       *uint64 `leaf:"rev,omitempty"`
	Seq       *uint64 `leaf:"seq,omitempty"`
	N         *uint64 `leaf:"n,omitempty"`
	Count     *uint64 `leaf:"count,omitempty"`
}

// DeadLetter is an event that a receiver did not take.
type DeadLetter struct {
	WebhookID string `leaf:"webhookId"`
	Seq       uint64 `leaf:"seq"`
	N         uint64 `leaf:"n"`
	Attempts  uint64 `leaf:"attempts"`
	Status    uint64 `leaf:"status"` // Of the last attempt; 0: no answer.
}

// Acknowledged is an alert that somebody took note of.
type Acknowledged struct {
	Alert     string `leaf:"alert"`
	AlertID   string `leaf:"alertId"`
	AlertLeaf uint64 `leaf:"alertLeaf"`
}

// Run is which run of retro-screening a leaf is of.
type Run struct {
	RetroID string `leaf:"retroId"`
	List    uint64 `leaf:"listVersion"`
	Against uint64 `leaf:"against"` // 0: all of the list.
}

// RetroBegun is a run that began.
type RetroBegun struct {
	Run
	Asked bool        `leaf:"asked"`
	From  engine.Time `leaf:"from"`
}

// RetroEnded is a run that ended.
type RetroEnded struct {
	Run
	Hits  uint64 `leaf:"hits"`
	Known uint64 `leaf:"known,omitempty"` // Hits that earlier runs of the list told of.
}

// PolicyChanged is the version of a policy or of the institution's whitelist.
type PolicyChanged struct {
	Version uint64 `leaf:"policyVersion"`
}

// KeyChanged is an API key.
type KeyChanged struct {
	ID     string `leaf:"keyId"`
	Prefix string `leaf:"prefix"`
}

// SigningKeyChanged is a key that credentials are signed with.
type SigningKeyChanged struct {
	KID        string      `leaf:"kid"`
	ActivateAt engine.Time `leaf:"activateAt"`
}

// PairChanged is a cleared pair.
type PairChanged struct {
	ID uint64 `leaf:"clearedId"`
}

// ClockAdvanced is log time of a test clock that was moved.
type ClockAdvanced struct {
	LogTime engine.Time `leaf:"logTime"`
}

// FormatRaised is the format from then on.
type FormatRaised struct {
	Format uint16 `leaf:"format"`
}

// MatcherRaised is the version of the name matcher from then on.
type MatcherRaised struct {
	Version uint16 `leaf:"matcherVersion"`
}

// ListStaged is a list that may be activated.
type ListStaged struct {
	Digest  [32]byte `leaf:"listDigest"`
	Entries uint32   `leaf:"entries"`
}

// ListActivated is the list that verdicts are judged with from then on.
type ListActivated struct {
	Digest   [32]byte    `leaf:"listDigest"`
	Previous *[32]byte   `leaf:"previousDigest,omitempty"` // nil: there was none.
	Version  uint64      `leaf:"listVersion"`
	Entries  uint32      `leaf:"entries"`
	SyncedAt engine.Time `leaf:"syncedAt"`
	Sample   bool        `leaf:"sample"`
	Forced   bool        `leaf:"forced"`
}

// ListSynced is a list that was found current.
type ListSynced struct {
	Digest   [32]byte    `leaf:"listDigest"`
	Version  uint64      `leaf:"listVersion"`
	SyncedAt engine.Time `leaf:"syncedAt"`
}

// ClusterCreated is a cluster's first leaf.
type ClusterCreated struct {
	ClusterID string `leaf:"clusterId"`
	Dev       bool   `leaf:"dev"`
	KID       string `leaf:"kid"`
}

// MemberRemoved is a node that is never admitted again.
type MemberRemoved struct {
	NodeID      string `leaf:"nodeId"`
	Incarnation string `leaf:"incarnation"`
}

// Resealed counts the values that were sealed anew.
type Resealed struct {
	Values uint32 `leaf:"values"`
}

// LogKeyRotated says from which size of the tree the log's new keys sign.
type LogKeyRotated struct {
	FromTreeSize uint64 `leaf:"fromTreeSize"`
}

// Restored is the first leaf of a restored backup's epoch.
type Restored struct {
	Lineage string `leaf:"lineage"`
	Backup  string `leaf:"backup"`
	Epoch   uint64 `leaf:"epoch"`
}

// Recovered is the first leaf after a lost majority was recovered.
type Recovered struct {
	Lineage string `leaf:"lineage"`
	Epoch   uint64 `leaf:"epoch"`
}

// Credential is an agent's credential as it was issued: everything assigned that the signed
// token holds, so that it can be minted again from the leaf alone.
type Credential struct {
	AgentID      string      `leaf:"agentId"`
	CredentialID string      `leaf:"credentialId"`
	Version      uint16      `leaf:"credentialVersion"`
	IssuedAt     engine.Time `leaf:"issuedAt"`
	ExpiresAt    engine.Time `leaf:"expiresAt"`
	KID          string      `leaf:"kid"`
	StatusPlace
	OperatorID    string   `leaf:"operatorId"`
	WalletMatched bool     `leaf:"walletMatched"`
	NameMatched   bool     `leaf:"nameMatched"`
	ParentAgentID string   `leaf:"parentAgentId,omitempty"` // This and the three below: of a delegate.
	RootAgentID   string   `leaf:"rootAgentId,omitempty"`
	Depth         uint8    `leaf:"depth,omitempty"`
	Chain         []string `leaf:"chain,omitempty"` // Its ancestors, root first.
	FleetID       string   `leaf:"fleetId,omitempty"`
}

// StatusPlace is where a credential's status is published.
type StatusPlace struct {
	StatusList  uint64 `leaf:"statusList"`
	StatusIndex uint64 `leaf:"statusIndex"`
}

// Reissued is a credential that follows an earlier one of the agent.
type Reissued struct {
	Credential
	Previous     string      `leaf:"previousStatus"`
	Superseded   bool        `leaf:"superseded"`             // The earlier ones are good no longer.
	OverlapUntil engine.Time `leaf:"overlapUntil,omitempty"` // Else they are good until then.
}

// UserCredential is a user's credential as it was issued.
type UserCredential struct {
	UserID       string      `leaf:"userId"`
	CredentialID string      `leaf:"credentialId"`
	Version      uint16      `leaf:"credentialVersion"`
	IssuedAt     engine.Time `leaf:"issuedAt"`
	ExpiresAt    engine.Time `leaf:"expiresAt"`
	StoredUntil  engine.Time `leaf:"storedUntil"`
	KID          string      `leaf:"kid"`
	StatusPlace
	NameMatched bool `leaf:"nameMatched"`
}

// AgentChanged is the revision of an agent's settings from then on.
type AgentChanged struct {
	AgentID string `leaf:"agentId"`
	Rev     uint64 `leaf:"rev"`
}

// FleetChanged is the revision of a fleet from then on.
type FleetChanged struct {
	FleetID string `leaf:"fleetId"`
	Rev     uint64 `leaf:"rev"`
}

// CredentialDue is a credential that ends or has ended.
type CredentialDue struct {
	Version   uint16      `leaf:"credentialVersion"`
	ExpiresAt engine.Time `leaf:"expiresAt"`
	AgentID   string      `leaf:"agentId"`
}

// AttestationDue is an attestation that ends or has ended.
type AttestationDue struct {
	AttestedAt engine.Time `leaf:"attestedAt"`
	ValidUntil engine.Time `leaf:"validUntil"`
	AgentID    string      `leaf:"agentId"`
}

// OwnershipDue is a transfer that took effect.
type OwnershipDue struct {
	EffectiveAt engine.Time `leaf:"effectiveAt"`
	AgentID     string      `leaf:"agentId"`
}

// ListDue is an active list that is older than the policy has it.
type ListDue struct {
	Version  uint64      `leaf:"listVersion"`
	SyncedAt engine.Time `leaf:"syncedAt"`
}

// KeyDue is an API key that ends.
type KeyDue struct {
	KeyChanged
	ExpiresAt engine.Time `leaf:"expiresAt"`
}

// PairDue is a cleared pair whose time is over.
type PairDue struct {
	PairChanged
	ExpiredAt engine.Time `leaf:"expiredAt"`
}

// UserErased is a user whose record is gone.
type UserErased struct {
	UserID            string      `leaf:"userId"`
	OperatorLegalName string      `leaf:"operatorLegalName,omitempty"`
	StoredUntil       engine.Time `leaf:"storedUntil"`
}

// Subject is the payment or the party that an alert or a hit is about; nothing is set where
// it is about the list itself.
type Subject struct {
	UserID       string  `leaf:"userId,omitempty"`
	OperatorID   string  `leaf:"operatorId,omitempty"`
	AgentID      string  `leaf:"agentId,omitempty"` // Of a listed operator too: whose payment told.
	TxnID        string  `leaf:"txnId,omitempty"`
	ScreenedLeaf *uint64 `leaf:"screenedLeaf,omitempty"`
}

// AlertOpened is an alert for a person.
type AlertOpened struct {
	Alert       string `leaf:"alert"`
	AlertID     string `leaf:"alertId"`
	ListVersion uint64 `leaf:"listVersion,omitempty"` // The list that is the reason.
	Subject
	SettledLeaf uint64      `leaf:"settledLeaf,omitempty"` // Of a settle.
	Amount      *engine.USD `leaf:"amountUSDC,omitempty"`  // Of a settle, or of a payment that a run found.
	Entries     uint32      `leaf:"entries,omitempty"`     // Of a list: how many were put aside.
	HitLeaf     uint64      `leaf:"hitLeaf,omitempty"`     // Of a run.
}

// RetroHit is a payment or a party that a run found.
type RetroHit struct {
	Run
	Subject
	Verdict    string       `leaf:"verdict,omitempty"` // This and the two below: of a payment.
	ScreenedAt *engine.Time `leaf:"screenedAt,omitempty"`
	Amount     *engine.USD  `leaf:"amountUSDC,omitempty"`
	Entries    []uint32     `leaf:"entries"`
	Wallet     bool         `leaf:"wallet"`
	Listed     bool         `leaf:"listed"` // By name or wallet: not only alike.
}

// RetroSuspension is what Apply says, in an edge's place, of a party that it suspends for a hit.
type RetroSuspension struct {
	Reason            string `leaf:"reason"`
	OperatorLegalName string `leaf:"operatorLegalName,omitempty"`
}

// Note is a leaf that says only what an edge sent.
type Note struct{}

// EventKind is a kind of event and its struct.
type EventKind struct {
	Name  string // Of what is due (KindDue) with its type behind a colon.
	Event any
}

// Events is the registry of kinds.
var Events = []EventKind{
	{"agent.registered", Credential{}},
	{"delegate.created", Credential{}},
	{"agent.reissued", Reissued{}},
	{"agent.refused", Note{}},
	{"agent.settings", AgentChanged{}},
	{"agent.whitelist", AgentChanged{}},
	{"agent.model_changed", AgentChanged{}},
	{"fleet.updated", FleetChanged{}},
	{"fleet.whitelist", FleetChanged{}},
	{"user.registered", UserCredential{}},
	{"user.reissued", UserCredential{}},
	{"user.refused", Note{}},
	{KindAlertOpened, AlertOpened{}},
	{KindRetroHit, RetroHit{}},
	{KindDue + ":" + DueAgentExpiring.String(), CredentialDue{}},
	{KindDue + ":" + DueAgentExpired.String(), CredentialDue{}},
	{KindDue + ":" + DueAttestationExpiring.String(), AttestationDue{}},
	{KindDue + ":" + DueAttestationStale.String(), AttestationDue{}},
	{KindDue + ":" + DueOwnership.String(), OwnershipDue{}},
	{KindDue + ":" + DueListStale.String(), ListDue{}},
	{KindDue + ":" + DueSigningKey.String(), SigningKeyChanged{}},
	{KindDue + ":" + DueAPIKey.String(), KeyDue{}},
	{KindDue + ":" + DueCleared.String(), PairDue{}},
	{KindDue + ":" + DueUserErased.String(), UserErased{}},
	{KindHoldSettled, Settled{}},
	{KindHoldReleased, Payment{}},
	{KindDue + ":" + DueHold.String(), HoldExpired{}},
	{KindDue + ":" + DueProposal.String(), Withdrawn{}},
	{KindDue + ":" + DueReviewSLA.String(), ReviewDue{}},
	{KindDue + ":" + DueSAR.String(), ReviewDue{}},
	{KindDispositioned, Dispositioned{}},
	{KindProposed, Proposed{}},
	{KindWithdrawn, Withdrawn{}},
	{"review.claimed", Claimed{}},
	{"review.released", Claimed{}},
	{"review.assigned", Claimed{}},
	{KindCommented, Claimed{}},
	{KindSARMoved, SARMoved{}},
	{"agent.revoked", StatusChanged{}},
	{"agent.suspended", StatusChanged{}},
	{"agent.reinstated", StatusChanged{}},
	{"user.revoked", StatusChanged{}},
	{"user.suspended", StatusChanged{}},
	{"user.reinstated", StatusChanged{}},
	{"operator.suspended", StatusChanged{}},
	{"operator.reinstated", StatusChanged{}},
	{"ownership.flagged", Ownership{}},
	{"ownership.cancelled", Ownership{}},
	{"attestation.recorded", Attested{}},
	{"policy.activated", PolicyChanged{}},
	{"policy.whitelist", PolicyChanged{}},
	{"key.created", KeyChanged{}},
	{"key.rotated", KeyChanged{}},
	{"key.revoked", KeyChanged{}},
	{"signing_key.added", SigningKeyChanged{}},
	{"signing_key.revoked", SigningKeyChanged{}},
	{"cleared.added", PairChanged{}},
	{"cleared.removed", PairChanged{}},
	{"clock.advanced", ClockAdvanced{}},
	{"format.raised", FormatRaised{}},
	{"matcher.raised", MatcherRaised{}},
	{"fleet.created", FleetCreated{}},
	{"fleet.assigned", FleetAssigned{}},
	{"fleet.removed", FleetAssigned{}},
	{KindWebhook, WebhookChanged{}},
	{KindDeadLetter, DeadLetter{}},
	{KindAcknowledged, Acknowledged{}},
	{KindRetroBegun, RetroBegun{}},
	{KindRetroEnded, RetroEnded{}},
	{"list.staged", ListStaged{}},
	{"list.activated", ListActivated{}},
	{"list.synced", ListSynced{}},
	{"cluster.created", ClusterCreated{}},
	{"cluster.member_removed", MemberRemoved{}},
	{KindResealed, Resealed{}},
	{"log.key_rotated", LogKeyRotated{}},
	{KindClusterLineage, Restored{}},
	{"cluster.recovered", Recovered{}},
}
