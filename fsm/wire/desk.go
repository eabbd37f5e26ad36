package wire

import "railguard/engine"

// Records of the officers' desk: acts of two persons, alerts, suspicious activity reports and
// retro-screening.

// Subject is somebody who acts: the person that an API key names, or a key that names nobody.
// Two keys of one person are one subject. The machine, which is the node itself and whoever
// holds its admin token, is a subject that is no person.
type Subject struct {
	Kind SubjectKind
	ID   string // For a person: APIKey.PersonKey. For a key: its id. For the machine: "".
}

// SubjectKind says what the id of a subject is.
type SubjectKind uint8

// The kinds of subject.
const (
	SubjectMachine SubjectKind = iota
	SubjectKey
	SubjectPerson
)

var subjectWords = [...]string{SubjectMachine: "machine", SubjectKey: "key:", SubjectPerson: "person:"}

// String returns the subject as leaves name it. Different subjects have different texts.
func (s Subject) String() string { return subjectWords[s.Kind] + s.ID }

// Subject returns whom a key acts for. No key is the machine's: nil acts for it.
func (k *APIKey) Subject() Subject {
	if k == nil {
		return Subject{}
	}
	if k.PersonKey != "" {
		return Subject{SubjectPerson, k.PersonKey}
	}
	return Subject{SubjectKey, k.ID}
}

// Withdraw takes back a proposal that is not confirmed. Proposing and confirming an act are
// both the act's own record; Apply tells them apart.
type Withdraw struct {
	Common
	Leaf     uint64 `cbor:"4,keyasint,omitempty"` // The record under review whose proposed disposition is meant.
	Proposal uint64 `cbor:"5,keyasint,omitempty"` // Otherwise: the proposal's leaf.
}

// Confirm does what was proposed, as the second person. Only a disposition is confirmed by
// its own record instead, because its payment is judged again.
type Confirm struct {
	Common
	Proposal uint64 `cbor:"4,keyasint"` // The proposal's leaf.
}

// TimeConfirm lets log time leap up to an instant, because the clocks are right (decision 111).
type TimeConfirm struct {
	Common
	NotAfter engine.Time `cbor:"4,keyasint"`
}

// ClearedPair is a possible match that a reviewer found to be a different person.
type ClearedPair struct {
	ID          uint32      `cbor:"1,keyasint"` // Set by Apply.
	Name        string      `cbor:"2,keyasint"` // Normalised.
	UID         uint32      `cbor:"3,keyasint"`
	EntryDigest uint64      `cbor:"4,keyasint"` // The pair is void when the entry changes.
	ExpiresAt   engine.Time `cbor:"5,keyasint,omitempty"`
	Reason      string      `cbor:"6,keyasint"`
	By          string      `cbor:"7,keyasint"`
	At          engine.Time `cbor:"8,keyasint,omitempty"` // Set by Apply.

	Grounds engine.ClearedGrounds `cbor:"9,keyasint,omitzero"` // Zero: the clearing rests on the name alone, as those did that were made before there were grounds.
}

// ClearedPut adds a cleared pair or removes one.
type ClearedPut struct {
	Common
	Pair   ClearedPair `cbor:"4,keyasint"`
	Remove bool        `cbor:"5,keyasint,omitempty"`
}

// Alert operations.
const (
	AlertOpen        uint8 = 1
	AlertAcknowledge uint8 = 2
)

// Kinds of alert: events that need a person and are no REVIEW. Numbers never change.
const (
	AlertRetroHit    uint8 = 1
	AlertLate        uint8 = 2  // A payment was settled after its hold had ended.
	AlertOverLimit   uint8 = 3  // A settled amount lifted a total above its limit.
	AlertNotAllowed  uint8 = 4  // A payment was made that was not allowed.
	AlertQuarantine  uint8 = 5  // Malformed entities of a list were left out.
	AlertOperator    uint8 = 6  // An operator was listed after its agents' issuance.
	AlertLeft        uint8 = 7  // Parties, names or wallets left the list.
	AlertUnresolved  uint8 = 8  // Payments of an agent whose outcome nobody told have reached a number or a sum.
	AlertToken       uint8 = 9  // The admin token of a node was used.
	AlertDryRuns     uint8 = 10 // A key made many dry runs.
	AlertProbe       uint8 = 11 // A key tried many names near one listed party.
	AlertAlone       uint8 = 12 // One person did what needs two, because there was no second.
	AlertReport      uint8 = 13 // The report of a sanctions case is overdue.
	AlertUnpermitted uint8 = 14 // A payment was settled that had to be redeemed before, and was not.
	AlertReconciled  uint8 = 15 // A reconciliation found a fault.
	AlertSecondLook  uint8 = 16 // A second look did not agree with the decision.
	AlertKinds             = AlertSecondLook
)

// Alert opens an alert or acknowledges one.
type Alert struct {
	Common
	Op      uint8  `cbor:"4,keyasint"`
	Kind    uint8  `cbor:"5,keyasint,omitempty"`
	Subject uint64 `cbor:"6,keyasint,omitempty"` // To open an alert: see AlertSubject.
	Leaf    uint64 `cbor:"7,keyasint,omitempty"` // To acknowledge an alert: the leaf that opened it.
	List    uint64 `cbor:"8,keyasint,omitempty"` // To open an alert: the list version that is the reason; 0: none.
}

// subjectShift is the number of bits for a leaf or slot.
const subjectShift = 56

// AlertSubject packs the subject of an alert into one number: a record by its leaf (target
// 0), a party by its kind and slot, a list by its version (target 0), a fault of a reconciliation by
// 56 bits of its hash (target 0), so that two runs that find the same fault open one alert.
func AlertSubject(target Target, at uint64) uint64 { return uint64(target)<<subjectShift | at }

// SplitSubject reverses AlertSubject.
func SplitSubject(subject uint64) (target Target, at uint64) {
	return Target(subject >> subjectShift), subject & (1<<subjectShift - 1)
}

// States of a suspicious activity report.
const (
	SARDraft  uint8 = 1
	SARReady  uint8 = 2
	SARFiled  uint8 = 3
	SARClosed uint8 = 4
)

// Operations on a report.
const (
	SAROpen  uint8 = 1 // Opens a report of a record. An escalation opens one, too.
	SARWrite uint8 = 2 // Replaces its narrative.
	SARMove  uint8 = 3 // Moves it from one state to another.
)

// SAR opens a report, writes its narrative or moves it on. The narrative itself stands in the
// fragment, as all that people write.
type SAR struct {
	Common
	Op   uint8  `cbor:"4,keyasint"`
	Leaf uint64 `cbor:"5,keyasint"`           // The record that it is about.
	From uint8  `cbor:"6,keyasint,omitempty"` // To move it: the state that the caller saw, and the next one.
	To   uint8  `cbor:"7,keyasint,omitempty"`

	Filing    [32]byte `cbor:"8,keyasint,omitzero"`   // To move it: SHA-256 of bsaId, so that the second person confirms the same.
	Seen      [32]byte `cbor:"9,keyasint,omitzero"`   // To write or move it: SHA-256 of the narrative that the caller saw; zero: nobody had written one.
	Narrative [32]byte `cbor:"10,keyasint,omitzero"`  // To write it: SHA-256 of the new narrative.
	Finished  bool     `cbor:"11,keyasint,omitempty"` // To write it: the new narrative leaves nothing open.
}

// Retro operations.
const (
	RetroBegin   uint8 = 1
	RetroAdvance uint8 = 2 // Moves the cursor, and may have hits.
	RetroEnd     uint8 = 3
)

// Retro begins, advances or ends a retro-screening. Its cursor is replicated, so that the
// next leader continues where the last one stopped.
type Retro struct {
	Common
	Op   uint8      `cbor:"4,keyasint"`
	Run  RetroRun   `cbor:"5,keyasint"`
	Hits []RetroHit `cbor:"6,keyasint,omitempty"`
}

// RetroRun is one retro-screening: what it compares, and its cursor.
type RetroRun struct {
	List      uint64      `cbor:"1,keyasint"`           // Look for the entries of this list version.
	Against   uint64      `cbor:"2,keyasint,omitempty"` // Leave out the entries that this version had; 0: leave out none.
	From      engine.Time `cbor:"3,keyasint,omitempty"` // Look at records from this time on.
	Leaf      uint64      `cbor:"4,keyasint,omitempty"` // The next record to look at.
	Agent     uint32      `cbor:"5,keyasint,omitempty"` // The next agent, user and operator to look at.
	User      uint32      `cbor:"6,keyasint,omitempty"`
	Operator  uint32      `cbor:"7,keyasint,omitempty"`
	Hits      uint64      `cbor:"8,keyasint,omitempty"`
	StartedAt engine.Time `cbor:"9,keyasint,omitempty"`  // Apply sets this field, Hits, and all fields below except Asked.
	EndedAt   engine.Time `cbor:"10,keyasint,omitempty"` // 0: the run has not ended.
	Begun     uint64      `cbor:"11,keyasint,omitempty"` // The leaf that began the run and names it.
	Until     uint64      `cbor:"12,keyasint,omitempty"` // Look at records before this leaf; later ones were judged with the list.
	Covered   uint64      `cbor:"13,keyasint,omitempty"` // The newest list version that was screened because of its activation.
	Asked     bool        `cbor:"14,keyasint,omitempty"` // Somebody asked for it; it does not follow on an activation.
	Known     uint64      `cbor:"15,keyasint,omitempty"` // Hits known from an earlier run with the same list: no leaf, no alert.
}

// Bounds of one RetroAdvance.
const (
	RetroHitsMost    = 128
	RetroEntriesMost = 10
)

// RetroHit is one record or party that a list now names.
type RetroHit struct {
	Target  Target   `cbor:"1,keyasint,omitempty"` // 0: a record.
	Leaf    uint64   `cbor:"2,keyasint,omitempty"`
	Slot    uint32   `cbor:"3,keyasint,omitempty"`
	Entries []uint32 `cbor:"4,keyasint"` // Entries of the list.

	Amount  engine.USD     `cbor:"5,keyasint,omitempty"` // Only for a record, as are the next two.
	At      engine.Time    `cbor:"6,keyasint,omitempty"`
	Verdict engine.Verdict `cbor:"7,keyasint,omitempty"`
	Wallet  bool           `cbor:"8,keyasint,omitempty"` // It matches by a wallet.
	Listed  bool           `cbor:"9,keyasint,omitempty"` // It matches by a wallet, a tax number or a name above the blocking threshold; otherwise the name is only similar.

	Screener uint32 `cbor:"11,keyasint,omitempty"` // Only for a record: the row of the API key that made the call.

	Tax bool `cbor:"10,keyasint,omitempty"` // Only for an agent: it matches by its operator's tax number, so the registry keeps that.
}
