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
	Looked uint64      `cbor:"1,keyasint"`           // It looked through all leaves below this one.
	State  uint8       `cbor:"2,keyasint,omitempty"` // How the payment ended, in numbers of the state; 0: it has not.
	Later  uint64      `cbor:"3,keyasint,omitempty"` // The leaf that ended it.
	Late   uint64      `cbor:"4,keyasint,omitempty"` // The leaf of a settle after that; 0: none.
	Before uint64      `cbor:"5,keyasint,omitempty"` // The newest leaf that said before what it was: confirmed, redeemed or unresolved; 0: none.
	At     engine.Time `cbor:"6,keyasint,omitempty"` // When it ended.
}

// What a Pay does, a bit each.
const (
	PayConfirm uint8 = 1 << iota
	PayRedeem
)

// Pay judges a recorded payment again, by the list, the policy and the state of now, and consumes
// it if it is redeemed. The edge has judged in Now what cannot change, without the members of the
// request, which the payment's own record has.
type Pay struct {
	Common
	Op         uint8               `cbor:"4,keyasint"`
	Leaf       uint64              `cbor:"5,keyasint"` // The screening record. What follows up to Screener is from it.
	Agent      engine.AgentSlot    `cbor:"6,keyasint,omitempty"`
	Fleet      engine.FleetSlot    `cbor:"7,keyasint,omitempty"`
	Operator   engine.OperatorSlot `cbor:"8,keyasint,omitempty"`
	Verdict    engine.Verdict      `cbor:"9,keyasint,omitempty"`
	ScreenedAt engine.Time         `cbor:"10,keyasint"`
	Amount     engine.USD          `cbor:"11,keyasint"`
	Reference  engine.ReferenceKey `cbor:"12,keyasint,omitzero"`
	Seen       uint32              `cbor:"13,keyasint,omitempty"` // The rules that it triggered, which the officer saw who approved it.
	Screener   uint32              `cbor:"14,keyasint,omitempty"` // The row of the API key that made the screening call; 0: the node itself.
	Past       *Past               `cbor:"15,keyasint,omitempty"` // nil: the edge knew that the state has all endings of the payment.
	Until      engine.Time         `cbor:"16,keyasint,omitempty"` // The end of the permit that is redeemed; 0: it is redeemed without one.
	Now        []byte              `cbor:"17,keyasint"`           // The judgement of now, as AppendScreen writes it.
}
