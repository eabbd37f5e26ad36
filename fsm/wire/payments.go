package wire

import "railguard/engine"

// Hold operations.
const (
	HoldSettle  uint8 = 1
	HoldRelease uint8 = 2
)

// ScreenerUnknown stands for the row of an API key where no key is known that made the screening
// call.
const ScreenerUnknown = 1<<32 - 1

// Hold reports that a payment was made or not made. The edge has checked in the record what
// can no longer change; Apply decides whether a hold is open, has ended or never existed.
type Hold struct {
	Common
	Op         uint8               `cbor:"4,keyasint"`
	Leaf       uint64              `cbor:"5,keyasint"` // The screening record.
	Agent      engine.AgentSlot    `cbor:"6,keyasint,omitempty"`
	Fleet      engine.FleetSlot    `cbor:"7,keyasint,omitempty"` // The fleet of the agent's root, from the record.
	Verdict    engine.Verdict      `cbor:"8,keyasint,omitempty"`
	ScreenedAt engine.Time         `cbor:"9,keyasint"`
	Recorded   engine.USD          `cbor:"10,keyasint"`           // The record's amount.
	Amount     engine.USD          `cbor:"11,keyasint,omitempty"` // For a settle: the amount that was paid.
	Reference  engine.ReferenceKey `cbor:"12,keyasint,omitzero"`
	Screener   uint32              `cbor:"13,keyasint,omitempty"` // The row of the API key that made the screening call; 0: the node itself.
	Operator   engine.OperatorSlot `cbor:"15,keyasint,omitempty"` // The agent's operator, from the record.
	Forwarded  bool                `cbor:"14,keyasint,omitempty"` // This product's facilitator forwarded the payment and was told the outcome.
	Used       Used                `cbor:"17,keyasint,omitzero"`  // Of Reference.
	Past       *Past               `cbor:"16,keyasint,omitempty"` // nil: the edge knew that the state has all endings of the payment.
}

// Used is what the edge found in the files of payment references that the state has forgotten
// (decision 125).
type Used struct {
	Looked uint64 `cbor:"1,keyasint,omitempty"` // It looked through all leaves below this one.
	By     uint64 `cbor:"2,keyasint,omitempty"` // 1 + the leaf of the record that uses the reference; 0: none does.
}

// Past is what the edge found of the end of a payment that the state may have forgotten
// (decision 125).
type Past struct {
	Looked     uint64      `cbor:"1,keyasint"`           // It looked through all leaves below this one.
	State      uint8       `cbor:"2,keyasint,omitempty"` // How the payment ended, in numbers of the state; 0: it has not.
	Later      uint64      `cbor:"3,keyasint,omitempty"` // The leaf that ended it.
	Late       uint64      `cbor:"4,keyasint,omitempty"` // The leaf of a settle after that; 0: none.
	Unresolved uint64      `cbor:"5,keyasint,omitempty"` // The leaf that said before that it was unresolved; 0: none.
	At         engine.Time `cbor:"6,keyasint,omitempty"` // When it ended.
}
