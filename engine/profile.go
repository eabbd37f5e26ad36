package engine

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A profile is one immutable value per agent, fleet or user. A change replaces the whole value
// (Rev+1). Edges read profiles through atomic pointers; nobody may change a field of a
// published one. The integer keys are the CBOR keys of the log and the snapshot: never reuse
// one.

// AgentType tells whether a human must re-attest the agent every day.
type AgentType uint8

// The agent types of specification 4.1.
const (
	Supervised AgentType = 1
	Autonomous AgentType = 2
)

// String returns the word of the specification.
func (t AgentType) String() string {
	if t == Autonomous {
		return "autonomous"
	}
	return "supervised"
}

// AgentProfile is everything known about an agent or delegate that is not in its live row.
type AgentProfile struct {
	Slot     AgentSlot    `cbor:"1,keyasint"`
	Rev      uint32       `cbor:"2,keyasint"` // 1 at registration; 0 is "unknown agent".
	Operator OperatorSlot `cbor:"3,keyasint"`
	Fleet    FleetSlot    `cbor:"4,keyasint,omitempty"` // The fleet of a root agent; delegates use their root's.
	Parent   AgentSlot    `cbor:"5,keyasint,omitempty"`
	Root     AgentSlot    `cbor:"6,keyasint"` // The agent itself for a root.
	Depth    uint8        `cbor:"7,keyasint,omitempty"`
	Type     AgentType    `cbor:"8,keyasint"`

	AgentName         string      `cbor:"10,keyasint"`
	AgentFramework    string      `cbor:"11,keyasint,omitempty"`
	Model             string      `cbor:"12,keyasint,omitempty"` // Baseline of R15, set at issuance.
	OperatorLegalName string      `cbor:"13,keyasint"`
	OperatorWallet    string      `cbor:"14,keyasint,omitempty"` // As sent.
	EINSealed         []byte      `cbor:"15,keyasint,omitempty"` // Encrypted by the edge that registered it.
	EINMasked         string      `cbor:"16,keyasint,omitempty"` // "**-***6789"
	Purpose           string      `cbor:"17,keyasint,omitempty"`
	PolicyJSON        []byte      `cbor:"18,keyasint,omitempty"` // spendPolicy as sent, to echo value-exact; empty when absent.
	Policy            SpendPolicy `cbor:"19,keyasint"`
	Metadata          []byte      `cbor:"20,keyasint,omitempty"` // JSON as sent.

	CredentialVersion uint16 `cbor:"30,keyasint"` // 1 at registration.
	IssuedAt          Time   `cbor:"31,keyasint"` // Issuance of the current version.
	ExpiresAt         Time   `cbor:"32,keyasint"`
	RegisteredAt      Time   `cbor:"33,keyasint"`
	KeyID             string `cbor:"34,keyasint"`           // kid that signs the current version.
	WalletMatched     bool   `cbor:"35,keyasint,omitempty"` // Operator wallet was listed at issuance; R3.
	NameMatched       bool   `cbor:"36,keyasint,omitempty"` // Operator name was listed at issuance.
	TaxMatched        bool   `cbor:"48,keyasint,omitempty"` // Operator tax number was listed at issuance, or came on the list since; R5.

	OwnershipTransfer

	Settings AgentSettings `cbor:"40,keyasint"`

	Epochs *CredentialEpochs `cbor:"41,keyasint,omitempty"` // nil: all versions are of epoch 0.

	Status uint32 `cbor:"42,keyasint,omitempty"` // Position of the current version in the status lists.

	PublicKey []byte `cbor:"49,keyasint,omitempty"` // The agent's own key, as package possession stores it; empty: it has none.

	InstitutionSet
}

// InstitutionSet marks what a key of the whole institution set: only such a key widens it
// (decision 92). A mark stays when the operator tightens the value.
type InstitutionSet struct {
	PolicyInstitutions bool `cbor:"46,keyasint,omitempty"` // It set the spend policy.
	FleetInstitutions  bool `cbor:"47,keyasint,omitempty"` // It put the agent into its fleet.
}

// OwnershipTransfer is set while an ownership transfer is flagged (R8). It holds the new
// operator, which a re-issue must name, and whether a key of the institution flagged it. A flag
// that has only a legal name makes no operator and tells of none: its re-issue must name an
// operator of this name.
type OwnershipTransfer struct {
	TransferTo           OperatorSlot `cbor:"37,keyasint,omitempty"`
	TransferInstitutions bool         `cbor:"38,keyasint,omitempty"`
	TransferName         string       `cbor:"39,keyasint,omitempty"` // The legal name, where TransferTo is 0.
}

// CredentialEpochs says in which epochs of the log a party's credentials were issued. After a
// restore from a backup, a version issued here can have the same number as one that the lost
// machines had issued after that backup; their epochs differ.
type CredentialEpochs struct {
	Epoch  uint16 `cbor:"1,keyasint"` // Epoch of the newest version.
	From   uint16 `cbor:"2,keyasint"` // First version of that epoch.
	Before uint16 `cbor:"3,keyasint"` // Epoch of the version before From.
}

// EpochOf returns the epoch that a version's credential id must name. Only the two newest
// epochs are kept; for any older version EpochOf returns the older of them.
func (l *CredentialEpochs) EpochOf(version uint16) uint16 {
	switch {
	case l == nil:
		return 0
	case version < l.From:
		return l.Before
	}
	return l.Epoch
}

// WithIssued returns the epochs as they are after the issuance of a version in an epoch.
func (l *CredentialEpochs) WithIssued(version, epoch uint16) *CredentialEpochs {
	before := l.EpochOf(version - 1)
	switch {
	case epoch == 0:
		return nil
	case version == 1:
		return &CredentialEpochs{Epoch: epoch, From: 1, Before: epoch}
	case before == epoch:
		return l
	}
	return &CredentialEpochs{Epoch: epoch, From: version, Before: before}
}

// AgentSettings are the settings that the registry keeps for an agent. They are not signed;
// PATCH changes them.
type AgentSettings struct {
	Whitelist    *Whitelist `cbor:"1,keyasint,omitempty"`
	Hours        *Hours     `cbor:"2,keyasint,omitempty"`
	Velocity     *Velocity  `cbor:"3,keyasint,omitempty"`
	PartyTypes   uint8      `cbor:"4,keyasint,omitempty"` // Mask of allowed counterparty types; 0: not set.
	CurrentModel string     `cbor:"5,keyasint,omitempty"` // The model that was reported last; it stays until the next report (decision 38).
	Possession   Possession `cbor:"6,keyasint,omitempty"`
}

// FleetProfile is everything known about a fleet that is not in its row.
type FleetProfile struct {
	Slot              FleetSlot    `cbor:"1,keyasint"`
	Rev               uint32       `cbor:"2,keyasint"`
	Operator          OperatorSlot `cbor:"3,keyasint"`
	FleetName         string       `cbor:"10,keyasint"`
	OperatorLegalName string       `cbor:"11,keyasint"`
	DailyLimit        USD          `cbor:"12,keyasint"`
	DailyLimitText    string       `cbor:"13,keyasint"` // The literal as sent.
	CreatedAt         Time         `cbor:"14,keyasint"`
	NameMatched       bool         `cbor:"15,keyasint,omitempty"`
	Whitelist         *Whitelist   `cbor:"20,keyasint,omitempty"`
	Hours             *Hours       `cbor:"21,keyasint,omitempty"`
	Velocity          *Velocity    `cbor:"22,keyasint,omitempty"`
}

// OperatorProfile is everything known about an operator that is not in its row. The operator is
// its slot, which its id shows; names are not unique.
type OperatorProfile struct {
	Slot      OperatorSlot `cbor:"1,keyasint"`
	LegalName string       `cbor:"2,keyasint"` // As LegalText writes it.
	Fold      string       `cbor:"3,keyasint"` // The name as listed names are compared, when the operator was made. It only finds similar operators.
	CreatedAt Time         `cbor:"4,keyasint"`
	Rev       uint32       `cbor:"5,keyasint"` // 1 when it was made; it rises when what is judged of Wallets or TaxMatched changes.

	// Wallets are those with which its agents were registered, oldest first. What hits one of
	// them hits every agent of the operator, whenever that was registered.
	Wallets []OperatorWallet `cbor:"6,keyasint,omitempty"`

	DailyLimit *USD `cbor:"7,keyasint,omitempty"` // Over all its agents, on a UTC day; nil: the policy's.
	// TaxMatched is how many of its agents were registered for it with a tax number that is
	// listed. It hits every agent of the operator. An agent that a re-issue gave to another
	// operator goes on to count here.
	TaxMatched uint32 `cbor:"8,keyasint,omitempty"`
}

// OperatorWallet is a wallet of an operator.
type OperatorWallet struct {
	Wallet  string `cbor:"1,keyasint"`           // As sent.
	Matched bool   `cbor:"2,keyasint,omitempty"` // It was listed when an agent was last registered with it; R3.
	Agents  uint32 `cbor:"3,keyasint"`           // Agents that were registered with it for this operator. Those whose re-issue for it named another wallet do not count.
}

// PayeeName returns a name as permits name it: in Unicode's form C, without the blanks around it.
func PayeeName(name string) string { return norm.NFC.String(strings.TrimSpace(name)) }

// LegalText returns the text by which the legal names of operators are compared: composed
// letters (NFC) and single spaces. The letters and their case stay as they are, so two names
// are one only if they look alike to a computer.
func LegalText(name string) string { return norm.NFC.String(strings.Join(strings.Fields(name), " ")) }

// UserProfile is everything known about a user credential that is not in its row.
type UserProfile struct {
	Slot              UserSlot     `cbor:"1,keyasint"`
	Rev               uint32       `cbor:"2,keyasint"`
	LegalName         string       `cbor:"10,keyasint"`
	Email             string       `cbor:"11,keyasint,omitempty"`
	Agents            []AgentSlot  `cbor:"12,keyasint,omitempty"` // The supervised agents that the credential is bound to.
	OperatorLegalName string       `cbor:"13,keyasint,omitempty"`
	NameMatched       bool         `cbor:"14,keyasint,omitempty"`
	Operator          OperatorSlot `cbor:"15,keyasint,omitempty"` // 0: only the institution knows the user.
	CredentialVersion uint16       `cbor:"20,keyasint"`
	IssuedAt          Time         `cbor:"21,keyasint"`
	ExpiresAt         Time         `cbor:"22,keyasint"` // 30 days after issuance.
	StoredUntil       Time         `cbor:"23,keyasint"` // 31 days after issuance.
	KeyID             string       `cbor:"24,keyasint"`

	Epochs *CredentialEpochs `cbor:"25,keyasint,omitempty"` // As in AgentProfile.

	Status uint32 `cbor:"26,keyasint,omitempty"` // As in AgentProfile.
}

// Attestation is one human re-attestation of an autonomous agent, kept 25 hours.
type Attestation struct {
	AttestedBy string `cbor:"1,keyasint"`
	Note       string `cbor:"2,keyasint,omitempty"`
	At         Time   `cbor:"3,keyasint"`
	Leaf       uint64 `cbor:"4,keyasint"`
}

// SpendPolicy is the compiled form of a spendPolicy (specification 2.2).
type SpendPolicy struct {
	MaxSingle  USD   `cbor:"1,keyasint"` // NoLimit when absent.
	DailyLimit USD   `cbor:"2,keyasint"` // NoLimit when absent.
	ChainsSet  bool  `cbor:"3,keyasint,omitempty"`
	Chains     uint8 `cbor:"4,keyasint,omitempty"` // Mask over Chain.
	RailsSet   bool  `cbor:"5,keyasint,omitempty"`
	Rails      uint8 `cbor:"6,keyasint,omitempty"` // Mask over Rail.
	CONS       bool  `cbor:"7,keyasint,omitempty"` // counterpartyScreening is OFAC+CONS.
	ScreenSet  bool  `cbor:"8,keyasint,omitempty"` // counterpartyScreening was given.
	NoMixer    bool  `cbor:"9,keyasint,omitempty"`
	NoMixerSet bool  `cbor:"10,keyasint,omitempty"`
}

// Whitelist is an approved-counterparty list (R13, decision 42).
type Whitelist struct {
	Enforce bool             `cbor:"1,keyasint"`
	Rev     uint32           `cbor:"2,keyasint"` // Its ETag.
	Entries []WhitelistEntry `cbor:"3,keyasint"`

	// Kinds are the kinds of identifier that the list decides about: if a call names its
	// counterparty by one of them, that identifier must be listed. Kinds includes the kinds of
	// all entries; removing entries never removes a kind.
	Kinds Kinds `cbor:"4,keyasint,omitempty"`
}

// Kinds are kinds of identifier, one bit each.
type Kinds uint8

// The kinds.
const (
	KindWallet Kinds = 1 << iota
	KindName
)

// WhitelistEntry is one approved counterparty: a wallet or a name.
type WhitelistEntry struct {
	ID        uint32 `cbor:"1,keyasint"`
	Wallet    string `cbor:"2,keyasint,omitempty"` // Canonical form (ofac's).
	Name      string `cbor:"3,keyasint,omitempty"` // Normalised form.
	Shown     string `cbor:"4,keyasint"`           // As sent.
	Label     string `cbor:"5,keyasint,omitempty"`
	ExpiresAt Time   `cbor:"6,keyasint,omitempty"`
	AddedBy   string `cbor:"7,keyasint,omitempty"`
}

// Velocity is the setting of R16; a zero field is not set.
type Velocity struct {
	MaxPerMinute uint32 `cbor:"1,keyasint,omitempty"`
	MaxPerHour   uint32 `cbor:"2,keyasint,omitempty"`
	BurstFactor  uint32 `cbor:"3,keyasint,omitempty"`
}

// Hours is a compiled operating-hours setting (R17, decision 46). The edge that wrote it
// compiled the zone's UTC transitions, so that Apply needs only arithmetic. The methods are in
// hours.go.
type Hours struct {
	Timezone    string        `cbor:"1,keyasint"`
	Source      []byte        `cbor:"2,keyasint"` // JSON as sent.
	Transitions []Transition  `cbor:"3,keyasint"` // Ascending; the first also covers all time before the second.
	Windows     []HoursWindow `cbor:"4,keyasint"`
	Holidays    []Day         `cbor:"5,keyasint,omitempty"` // Local dates, ascending; closed all day.
	TZVersion   string        `cbor:"6,keyasint,omitempty"`
}

// Transition says that from UTC time At on, local time is UTC plus Offset seconds.
type Transition struct {
	At     Time  `cbor:"1,keyasint"`
	Offset int32 `cbor:"2,keyasint"`
}

// HoursWindow is a half-open local window [From, To) in minutes of the day,
// beginning on each day of the mask (bit 0 is Monday); To <= From crosses midnight.
type HoursWindow struct {
	Days uint8  `cbor:"1,keyasint"`
	From uint16 `cbor:"2,keyasint"`
	To   uint16 `cbor:"3,keyasint"`
}
