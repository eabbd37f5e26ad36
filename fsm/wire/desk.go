package wire

import "railguard/engine"

// Records of the officer's desk: what four eyes, alerts, suspicious activity reports
// and retro-screening write.

// Withdraw takes back a disposition that was proposed and not confirmed. Proposing and
// confirming are Dispositions: Apply tells them apart.
type Withdraw struct {
	Common
	Leaf uint64 `cbor:"4,keyasint"` // The record under review.
	By   string `cbor:"5,keyasint"`
}

// Alert operations.
const (
	AlertOpen        uint8 = 1
	AlertAcknowledge uint8 = 2
)

// Kinds of alert: what wants a person and is no REVIEW. Numbers are for ever.
const (
	AlertRetroHit   uint8 = 1
	AlertLate       uint8 = 2 // A payment was settled after its hold had ended.
	AlertOverLimit  uint8 = 3 // A settled amount lifted a total above its limit.
	AlertNotAllowed uint8 = 4 // A payment was made that was not allowed.
	AlertQuarantine uint8 = 5 // A malformed entity of a list was put aside.
	AlertOperator   uint8 = 6 // An operator was listed after its agents' issuance.
	AlertKinds            = AlertOperator
)

// Alert opens an alert or acknowledges one.
type Alert struct {
	Common
	Op      uint8  `cbor:"4,keyasint"`
	Kind    uint8  `cbor:"5,keyasint,omitempty"`
	Subject uint64 `cbor:"6,keyasint,omitempty"` // Open: see AlertSubject.
	Leaf    uint64 `cbor:"7,keyasint,omitempty"` // Acknowledge: the leaf that opened it.
	List    uint64 `cbor:"8,keyasint,omitempty"` // Open: the list version that is the reason; 0: none is.
}

// subjectShift is above every leaf and slot.
const subjectShift = 56

// AlertSubject is what an alert is about, as one number: a record by its leaf (target
// 0), a party by its kind and slot, a list by its version (target 0).
func AlertSubject(target Target, at uint64) uint64 { return uint64(target)<<subjectShift | at }

// SplitSubject is AlertSubject turned around.
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

// SAR moves a report from one state to the next. It is opened by the disposition.
type SAR struct {
	Common
	Leaf uint64 `cbor:"4,keyasint"` // The record under review.
	From uint8  `cbor:"5,keyasint"`
	To   uint8  `cbor:"6,keyasint"`
}

// Retro operations.
const (
	RetroBegin   uint8 = 1
	RetroAdvance uint8 = 2 // With hits, or without.
	RetroEnd     uint8 = 3
)

// Retro moves the screening of the past against a list on: its cursor is replicated,
// so that the next leader goes on where the last one stood.
type Retro struct {
	Common
	Op   uint8      `cbor:"4,keyasint"`
	Run  RetroRun   `cbor:"5,keyasint"`
	Hits []RetroHit `cbor:"6,keyasint,omitempty"`
}

// RetroRun is one screening of the past: what it compares, and how far it is.
type RetroRun struct {
	List      uint64      `cbor:"1,keyasint"`           // List version whose entries are looked for,
	Against   uint64      `cbor:"2,keyasint,omitempty"` // less what that version already had; 0: all of them.
	From      engine.Time `cbor:"3,keyasint,omitempty"` // Records from this time on.
	Leaf      uint64      `cbor:"4,keyasint,omitempty"` // The next record to look at.
	Agent     uint32      `cbor:"5,keyasint,omitempty"` // The next slots.
	User      uint32      `cbor:"6,keyasint,omitempty"`
	Operator  uint32      `cbor:"7,keyasint,omitempty"`
	Hits      uint64      `cbor:"8,keyasint,omitempty"`
	StartedAt engine.Time `cbor:"9,keyasint,omitempty"`  // Set by Apply, as are those below.
	EndedAt   engine.Time `cbor:"10,keyasint,omitempty"` // 0: it runs.
	Begun     uint64      `cbor:"11,keyasint,omitempty"` // Leaf that began it: its name.
	Until     uint64      `cbor:"12,keyasint,omitempty"` // Records below this leaf; what came later was judged with the list.
	Covered   uint64      `cbor:"13,keyasint,omitempty"` // List version up to which lists were looked for when they were activated.
	Asked     bool        `cbor:"14,keyasint,omitempty"` // By somebody: not because a list was activated. Begin says so.
	Known     uint64      `cbor:"15,keyasint,omitempty"` // Hits that a run of the same list told of before, set by Apply: no leaf, no alert.
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
	Entries []uint32 `cbor:"4,keyasint"` // Of the list.

	Amount  engine.USD     `cbor:"5,keyasint,omitempty"` // Of a record, as are the next two.
	At      engine.Time    `cbor:"6,keyasint,omitempty"`
	Verdict engine.Verdict `cbor:"7,keyasint,omitempty"`
	Wallet  bool           `cbor:"8,keyasint,omitempty"` // By a wallet.
	Listed  bool           `cbor:"9,keyasint,omitempty"` // By a wallet or a name that blocks; else a name that may be one.
}
