package wire

import "railguard/engine"

// Kind is what a record asks the state machine to do. Numbers never change.
type Kind uint8

// The record kinds of format 1.
const (
	KindTick Kind = iota + 1
	KindGenesis
	KindScreen
	KindRegister
	KindReissue
	KindUser
	KindUserReissue
	KindFleet
	KindFleetUpdate
	KindAssign
	KindSettings
	KindAttest
	KindStatus
	KindOwnership
	KindDisposition
	KindQueue
	KindListChunk
	KindListActivate
	KindPolicy
	KindWhitelist
	KindAPIKey
	KindSigningKey
	KindCleared
	KindClock
	KindFormat
	KindNote
	KindMember
	KindLogKey
	KindMatcher
	KindHold
	KindWithdraw
	KindAlert
	KindSAR
	KindWebhook
	KindDelivery
	KindRetro
	KindRestored
	KindReseal
	KindLooks
	KindConfirm
	KindOperatorLimit
	KindTime
	KindRetire
	KindSanctions
	KindPay
	KindWork
	KindDraft
	KindSignIn
	KindPasskey
	KindPersonEnd
	KindSecondLook
	KindBackups
)

// KindNewest is the highest kind that this binary knows.
const KindNewest = KindBackups

// Idem is a caller's Idempotency-Key: a hash of the key, scoped by owner and path, and a hash
// of the body. The zero value means that no key was given.
type Idem struct {
	Key  [16]byte `cbor:"1,keyasint"`
	Body [16]byte `cbor:"2,keyasint"`

	// What the edge found in the files of the keys that the state has forgotten (decision 125).
	Looked  uint64      `cbor:"3,keyasint,omitempty"` // It looked through all leaves below this one.
	Found   uint64      `cbor:"4,keyasint,omitempty"` // 1 + the leaf of the first call with the key; 0: there was none within 24 hours.
	FoundAt engine.Time `cbor:"5,keyasint,omitempty"` // When that leaf was written.
	Differs bool        `cbor:"6,keyasint,omitempty"` // That call had another body.
}

// NeverUsed is what a record says whose maker knows that nobody used its key before.
const NeverUsed = ^uint64(0)

// KeyRef names the API key that a record was admitted with: the row of the key
// (its place in the settings, from 1) and its revision. Apply refuses a record
// whose key has changed since. The zero value is the node itself: its duties
// and the person at its own machine.
type KeyRef struct {
	Row uint32 `cbor:"1,keyasint"`
	Rev uint32 `cbor:"2,keyasint"`
}

// Common is the part that all records made for callers share.
type Common struct {
	Idem     *Idem    `cbor:"1,keyasint,omitempty"`
	Key      *KeyRef  `cbor:"60,keyasint,omitempty"` // nil: the node itself, see KeyRef.
	Signed   *Signed  `cbor:"61,keyasint,omitempty"` // What the caller signed with a passkey; nil: nothing.
	Fragment []byte   `cbor:"2,keyasint,omitempty"`  // JSON members, no braces; copied into the leaf as they are.
	Filters  []uint64 `cbor:"3,keyasint,omitempty"`  // engine.FilterKey values that the edge knows.
}

// Keep puts the edge's part back into a record that waited for a second person.
func (c *Common) Keep(fragment []byte, filters []uint64) { c.Fragment, c.Filters = fragment, filters }

// Adopt makes a record that waited for a second person the confirmer's: it comes with his key
// and Idempotency-Key, and what his edge says stands behind what the first edge said.
func (c *Common) Adopt(by *Common) {
	c.Key, c.Idem, c.Signed = by.Key, by.Idem, by.Signed
	if len(c.Fragment) > 0 && len(by.Fragment) > 0 {
		c.Fragment = append(append([]byte(nil), c.Fragment...), ',')
	}
	c.Fragment = append(c.Fragment, by.Fragment...)
}

// Tick advances log time; the first entry of every term, then one a second.
type Tick struct {
	Index  uint64 `cbor:"1,keyasint,omitempty"` // A past index for which the leader gives the digest of its state.
	Digest []byte `cbor:"2,keyasint,omitempty"` // The digest at Index, which every node compares off the hot path.
}

// Genesis is the first record of a cluster. It holds the secrets and settings with which all
// nodes begin.
type Genesis struct {
	ClusterID   string        `cbor:"1,keyasint"`
	Dev         bool          `cbor:"2,keyasint,omitempty"` // The cluster was bootstrapped by `railguard dev`, so the sample list may be used.
	TestClock   bool          `cbor:"3,keyasint,omitempty"`
	Issuer      string        `cbor:"4,keyasint"` // did:kya:…
	PublicURL   string        `cbor:"5,keyasint"`
	IDKey       [16]byte      `cbor:"6,keyasint"`  // The key of the permutation of ids.
	SaltKey     [16]byte      `cbor:"7,keyasint"`  // The ratchet's key of the first day; the state does not keep it.
	SigningKey  SigningKey    `cbor:"8,keyasint"`  // cc-v1
	LogSeed     []byte        `cbor:"9,keyasint"`  // Sealed seed of the checkpoint signer.
	LogKeys     string        `cbor:"10,keyasint"` // Verifier keys of checkpoints, one on each line.
	APIKey      *APIKey       `cbor:"11,keyasint,omitempty"`
	SecretCheck []byte        `cbor:"12,keyasint,omitempty"` // A sealed constant, to detect a wrong cluster secret.
	PermitKey   SigningKey    `cbor:"14,keyasint,omitzero"`  // pm-v1
	Policy      engine.Policy `cbor:"13,keyasint"`
}

// Screen is one screening call as its edge judged it. AppendScreen writes its body; the CBOR
// keys are for the tests that compare both forms.
type Screen struct {
	Idem        *Idem               `cbor:"1,keyasint,omitempty"`
	Fragment    []byte              `cbor:"2,keyasint"` // The bytes of a leaf.Fragment.
	Filters     []uint64            `cbor:"3,keyasint,omitempty"`
	Agent       engine.AgentSlot    `cbor:"4,keyasint,omitempty"` // 0: UNKNOWN.
	Version     uint16              `cbor:"5,keyasint,omitempty"` // The credential version that the token claims; 0 never passes R2.
	Expires     engine.Time         `cbor:"6,keyasint,omitempty"`
	User        engine.UserSlot     `cbor:"7,keyasint,omitempty"`
	UserVersion uint16              `cbor:"8,keyasint,omitempty"`
	UserExpires engine.Time         `cbor:"9,keyasint,omitempty"`
	Amount      engine.USD          `cbor:"10,keyasint"`
	Mask        uint32              `cbor:"11,keyasint,omitempty"` // The static rules that hit.
	Subs        []byte              `cbor:"12,keyasint,omitempty"` // One sub-reason for each bit of Mask, ascending.
	Basis       engine.Basis        `cbor:"13,keyasint"`
	ValidUntil  engine.Time         `cbor:"14,keyasint,omitempty"`
	Party       engine.PartyKey     `cbor:"15,keyasint,omitempty"` // A hash of the payee, for R25.
	Key         KeyRef              `cbor:"16,keyasint"`
	Hold        uint32              `cbor:"17,keyasint,omitempty"` // How many seconds a PROCEED is held; 0: no hold.
	Reference   engine.ReferenceKey `cbor:"18,keyasint,omitzero"`  // A hash of the paymentRef.
	Used        Used                `cbor:"20,keyasint,omitzero"`  // Of Reference.
	Permit      uint32              `cbor:"22,keyasint,omitempty"` // How many seconds the permit of a PROCEED is good; 0: none was asked for.
	Counts      bool                `cbor:"19,keyasint,omitempty"` // The hold never returns by itself: somebody else may make the payment.
	Causes      []Cause             `cbor:"21,keyasint,omitempty"` // Whom or what the sanctions rules found, at most CausesMost; no two are equal.
}

// OperatorRef names an operator: by its slot or, where Slot is 0, by its legal name. Apply then
// takes the one operator of that name, or makes one where there is none.
type OperatorRef struct {
	Slot engine.OperatorSlot `cbor:"1,keyasint,omitempty"`
	Name string              `cbor:"2,keyasint,omitempty"` // As engine.LegalText writes it.
	Fold string              `cbor:"3,keyasint,omitempty"` // As in engine.OperatorProfile.
	New  bool                `cbor:"4,keyasint,omitempty"` // Makes an operator also where several have the name; otherwise Apply refuses.

	Another bool `cbor:"5,keyasint,omitempty"` // Makes an operator whoever has the name.
}

// Register creates an agent, or a delegate when Profile.Parent is set.
type Register struct {
	Common
	Profile   engine.AgentProfile `cbor:"4,keyasint"` // Slot, Rev, Operator, times and KeyID are assigned by Apply.
	Operator  OperatorRef         `cbor:"5,keyasint"`
	Basis     engine.Basis        `cbor:"6,keyasint"`           // Revs has the parent chain, and List the list that the agent was screened against.
	ExpiresAt engine.Time         `cbor:"7,keyasint,omitempty"` // The expiry that a delegate asks for; 0: as late as allowed.
	// Key 8 is not used.
}

// Reissue gives an agent a new credential version.
type Reissue struct {
	Common
	Agent    engine.AgentSlot    `cbor:"4,keyasint"`
	Profile  engine.AgentProfile `cbor:"5,keyasint"` // The whole new profile, made from revision BaseRev.
	BaseRev  uint32              `cbor:"6,keyasint"`
	Operator OperatorRef         `cbor:"7,keyasint"`
	List     uint64              `cbor:"8,keyasint"`           // The list version that the agent was screened against.
	Plain    bool                `cbor:"9,keyasint,omitempty"` // Same operator, wallet, policy and model.
	Overlap  engine.Time         `cbor:"10,keyasint,omitempty"`
}

// User creates a user credential.
type User struct {
	Common
	Profile  engine.UserProfile `cbor:"4,keyasint"`
	Basis    engine.Basis       `cbor:"5,keyasint"` // Revs has the agents to which the user is bound.
	Operator OperatorRef        `cbor:"6,keyasint,omitzero"`
}

// UserReissue gives a user a new credential version.
type UserReissue struct {
	Common
	User        engine.UserSlot `cbor:"4,keyasint"`
	BaseRev     uint32          `cbor:"5,keyasint"`
	Overlap     engine.Time     `cbor:"6,keyasint,omitempty"`
	NameMatched bool            `cbor:"7,keyasint,omitempty"`
}

// Settings replaces an agent's registry-side settings.
type Settings struct {
	Common
	Agent    engine.AgentSlot     `cbor:"4,keyasint"`
	BaseRev  uint32               `cbor:"5,keyasint"`
	Settings engine.AgentSettings `cbor:"6,keyasint"`
	Event    string               `cbor:"7,keyasint"` // Leaf kind: "agent.settings", "agent.whitelist", "agent.model_changed".
}

// Attest records a human attestation of an autonomous agent.
type Attest struct {
	Common
	Agent      engine.AgentSlot `cbor:"4,keyasint"`
	AttestedBy string           `cbor:"5,keyasint"`
	Note       string           `cbor:"6,keyasint,omitempty"`
}

// Target says whose status a Status record changes.
type Target uint8

// The targets.
const (
	TargetAgent Target = iota + 1
	TargetUser
	TargetOperator
)

// Status suspends, reinstates or revokes.
type Status struct {
	Common
	Target     Target        `cbor:"4,keyasint"`
	Slot       uint32        `cbor:"5,keyasint"`
	To         engine.Status `cbor:"7,keyasint"`
	ReasonCode uint8         `cbor:"8,keyasint,omitempty"`
}

// Ownership flags an ownership transfer (R8) or cancels one.
type Ownership struct {
	Common
	Agent       engine.AgentSlot `cbor:"4,keyasint"`
	EffectiveAt engine.Time      `cbor:"5,keyasint,omitempty"` // 0: at once.
	Cancel      bool             `cbor:"6,keyasint,omitempty"`
	Operator    OperatorRef      `cbor:"7,keyasint,omitzero"` // The new operator; zero when cancelling.
}

// Dispositions of specification 4.7.
const (
	Approved    uint8 = 1
	Rejected    uint8 = 2
	EscalateSAR uint8 = 3
)

// Disposition records a reviewer's decision on a REVIEW leaf.
type Disposition struct {
	Common
	Leaf        uint64              `cbor:"4,keyasint"`
	Disposition uint8               `cbor:"5,keyasint"`
	Agent       engine.AgentSlot    `cbor:"6,keyasint"`
	Fleet       engine.FleetSlot    `cbor:"7,keyasint,omitempty"` // The fleet that the reviewed record names.
	Amount      engine.USD          `cbor:"8,keyasint"`
	Hold        uint32              `cbor:"9,keyasint,omitempty"`  // The hold that the reviewed call asked for, in seconds; an approval opens it.
	Reference   engine.ReferenceKey `cbor:"10,keyasint,omitzero"`  // The reference of the reviewed call; an approval uses it.
	Rules       uint32              `cbor:"12,keyasint,omitempty"` // All rules that the call triggered, for four eyes: bit n is rule Rn.
	Screener    uint32              `cbor:"13,keyasint,omitempty"` // The row of the API key that made the reviewed call; 0: the node itself.
	Used        Used                `cbor:"16,keyasint,omitzero"`  // Of Reference.
	Operator    engine.OperatorSlot `cbor:"14,keyasint,omitempty"` // The agent's operator that the reviewed record names.
}

// Queue operations (decision 48).
const (
	QueueClaim   uint8 = 1 // It also serves "next", which claims the first free review of Leaves.
	QueueRelease uint8 = 2
	QueueAssign  uint8 = 3
	QueueComment uint8 = 4
)

// Queue claims, releases, assigns or comments an open review.
type Queue struct {
	Common
	Op     uint8    `cbor:"4,keyasint"`
	Leaves []uint64 `cbor:"5,keyasint"`
	Who    string   `cbor:"6,keyasint,omitempty"` // The assignee, or the person who claims.
	Force  bool     `cbor:"7,keyasint,omitempty"` // The claim may be somebody else's.
}

// ListChunk replicates a part of an encoded list of entities. Offset 0 begins a new one.
type ListChunk struct {
	Digest [32]byte  `cbor:"1,keyasint"`
	Total  uint32    `cbor:"2,keyasint"`
	Offset uint32    `cbor:"3,keyasint"`
	Data   []byte    `cbor:"4,keyasint"`
	Info   *ListInfo `cbor:"5,keyasint,omitempty"` // The description of the list, which comes with the last chunk.
	Common Common    `cbor:"6,keyasint"`
	// Replace: if as many uploaded lists are staged as may be, the oldest gives way.
	Replace bool `cbor:"7,keyasint,omitempty"`
}

// ListActivate makes a staged list the active one at its own log index, or,
// with Refresh, only says that the active list was found current again.
type ListActivate struct {
	Common
	Digest  [32]byte `cbor:"4,keyasint"`
	Refresh bool     `cbor:"5,keyasint,omitempty"`
	Force   bool     `cbor:"6,keyasint,omitempty"`
	Base    uint64   `cbor:"7,keyasint,omitempty"` // The list version that the swap was checked against, see ListBase; 0: any.

	Rollback bool      `cbor:"8,keyasint,omitempty"` // The active list is not to come back by itself.
	Left     *ListLeft `cbor:"9,keyasint,omitempty"` // Who leaves the list by this.

	// List, with Refresh, is the id of the list beside OFAC's whose file was imported again; "":
	// OFAC's.
	List string `cbor:"10,keyasint,omitempty"`
}

// PolicyPut replaces the institution's policy (its whitelist stays).
type PolicyPut struct {
	Common
	Base   uint64        `cbor:"4,keyasint,omitempty"` // The policy version that If-Match names; 0: any.
	Policy engine.Policy `cbor:"5,keyasint"`
	Acts   engine.Acts   `cbor:"6,keyasint,omitempty"` // What the change from Base is called in twoPersons.
}

// WhitelistPut replaces the institution's whitelist.
type WhitelistPut struct {
	Common
	Base      uint64            `cbor:"4,keyasint,omitempty"`
	Whitelist *engine.Whitelist `cbor:"5,keyasint,omitempty"`
	Acts      engine.Acts       `cbor:"6,keyasint,omitempty"` // What the change from Base is called in twoPersons.
}

// Roles of an API key, a bit each (decision 33, "Roles").
const (
	RoleOperator uint16 = 1 << iota
	RoleScreener
	RoleReviewer
	RoleAuditor
	RolePolicy
	RoleOps
	RoleAdmin
	RoleSettler
	RoleViewer
	RoleGateway
)

// RolesOfOutsiders are the roles that a key of an operator or a caller may have. All others are
// the institution's (decision 92).
const RolesOfOutsiders = RoleOperator | RoleScreener | RoleSettler | RoleViewer | RoleGateway

// MayHold reports whether a key of an owner may have the roles.
func MayHold(owner string, roles uint16) bool { return owner == "" || roles&^RolesOfOutsiders == 0 }

// APIKey is one key; the secret itself is never stored.
type APIKey struct {
	ID        string      `cbor:"1,keyasint"`
	Name      string      `cbor:"2,keyasint"`
	Prefix    string      `cbor:"3,keyasint"` // First characters of the newest secret.
	Hashes    [][]byte    `cbor:"4,keyasint"` // SHA-256 of up to two live secrets, newest first. The second is good until OldUntil.
	Roles     uint16      `cbor:"5,keyasint"`
	Owner     string      `cbor:"6,keyasint,omitempty"` // Whose key it is: "" the institution's, an operator's (opr_…) or a caller's (cal_…).
	Networks  []string    `cbor:"7,keyasint,omitempty"` // CIDRs.
	ExpiresAt engine.Time `cbor:"8,keyasint,omitempty"`
	Rate      int32       `cbor:"9,keyasint,omitempty"`  // Calls per second; 0: the default, -1: unlimited.
	CreatedAt engine.Time `cbor:"10,keyasint,omitempty"` // Set by Apply.
	RevokedAt engine.Time `cbor:"11,keyasint,omitempty"`
	Rev       uint32      `cbor:"12,keyasint,omitempty"` // From 1, rises with every change; set by Apply.
	Strict    bool        `cbor:"13,keyasint,omitempty"` // Unknown members of a screening call are errors.
	OldUntil  engine.Time `cbor:"14,keyasint,omitempty"` // From this log time on the secret before the last rotation is refused; set by Apply.
	Sessions  uint32      `cbor:"15,keyasint,omitempty"` // Counts how often the key's sessions were ended; set by Apply.
	UsedAt    engine.Time `cbor:"30,keyasint,omitempty"` // The beginning of the last hour in which it was used; 0: never. Set by Apply, which hears of it late.
	Person    string      `cbor:"16,keyasint,omitempty"` // Whose key it is, as the admin wrote it; "": nobody's.
	PersonKey string      `cbor:"17,keyasint,omitempty"` // Person in the form in which persons are compared, see Subject.
	MadeBy    string      `cbor:"18,keyasint,omitempty"` // The subject that got the secret when the key was made or renewed for somebody; "": the machine. Set by Apply.
	ChangedAt engine.Time `cbor:"19,keyasint,omitempty"` // When its person or roles were set, or somebody else got its secret; set by Apply.
	SignedIn  string      `cbor:"20,keyasint,omitempty"` // Whose sign-ins it is for: the identity provider and its name for the person; "": it is no such key.
	Alias     string      `cbor:"21,keyasint,omitempty"` // What the provider calls that person, in the form of PersonKey: two keys of one alias are one person's.
	Gone      bool        `cbor:"22,keyasint,omitempty"` // Its person was ended, not this key alone: the provider's word brings nobody back. Set by Apply.
}

// What the ids of the owners of keys begin with.
const (
	OwnerOperatorPrefix = "opr_"
	OwnerCallerPrefix   = "cal_"
)

// API key operations.
const (
	KeyCreate  uint8 = 1
	KeyRotate  uint8 = 2
	KeyRevoke  uint8 = 3
	KeySignOut uint8 = 4 // Ends the key's sessions; the key itself goes on.

	KeyReinstate uint8 = 5 // Lets a person sign in again whose key of sign-ins was revoked.
)

// APIKeyPut creates, rotates or revokes an API key, ends its sessions, or reinstates it.
type APIKeyPut struct {
	Common
	Op       uint8       `cbor:"4,keyasint"`
	Key      APIKey      `cbor:"5,keyasint"`           // To rotate a key: ID, Prefix and one hash. To revoke it or to end its sessions: ID.
	Overlap  engine.Time `cbor:"6,keyasint,omitempty"` // To rotate a key: how long its secret of now stays good; 0: it ends at once.
	Operator OperatorRef `cbor:"7,keyasint,omitzero"`  // For a new key of an operator that its owner does not name.
}

// Clock advances the test clock.
type Clock struct {
	Common
	Advance engine.Time `cbor:"4,keyasint"`
}

// FormatRaise raises the format.
type FormatRaise struct {
	Common
	To engine.Format `cbor:"4,keyasint"`
}

// Matcher raises the version of the matcher that verdicts are judged with, by one.
type Matcher struct {
	Common
	To uint16 `cbor:"4,keyasint"`
}

// Note writes a leaf about something that happened outside the state: a registration that the
// institution's policy refused, a reconciliation, or a recovery of the cluster, which also begins a new line of
// the log.
type Note struct {
	Common
	Event   string `cbor:"4,keyasint"`           // Leaf kind: agent.…, user.…, EventReconciled or EventRecovered.
	Lineage string `cbor:"5,keyasint,omitempty"` // EventRecovered: the new line's name, which the log's origin shows from here on.
}

// Member says that a node is no longer a member, permanently.
type Member struct {
	Common
	ID          string `cbor:"4,keyasint"`
	Incarnation string `cbor:"5,keyasint"`           // Of a node that is gone for good; "": see Change.
	Change      string `cbor:"6,keyasint,omitempty"` // What a caller does to a member that is not gone: MemberAdmitted and so on.
}

// Changes of a member that a caller asks for. They are written before the group's configuration
// changes, which is no record.
const (
	MemberAdmitted = "admitted"
	MemberPromoted = "promoted"
	MemberDemoted  = "demoted"
)

// Removed is a node that no node of the cluster admits again.
type Removed struct {
	ID          string      `cbor:"1,keyasint"`
	Incarnation string      `cbor:"2,keyasint"`
	At          engine.Time `cbor:"3,keyasint"`
}

// EventRecovered is the kind of the leaf about a lost majority's recovery, EventReconciled that of
// the leaf about a rail's extract that was compared with the records.
const (
	EventRecovered  = "cluster.recovered"
	EventReconciled = "reconciliation.done"
)

// Reseal replaces sealed values by newly sealed ones after the cluster secret was changed.
// The plain values are the same, so no length changes.
type Reseal struct {
	Common
	Values []Resealed `cbor:"4,keyasint"`
}

// Resealed is one sealed value. It changes nothing if the stored value is not Old.
type Resealed struct {
	Agent engine.AgentSlot `cbor:"1,keyasint,omitempty"` // The agent whose EIN it is; 0: every value of the settings that equals Old.
	Old   []byte           `cbor:"2,keyasint"`
	New   []byte           `cbor:"3,keyasint"`
}
