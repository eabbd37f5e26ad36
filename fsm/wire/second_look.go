package wire

import "railguard/engine"

// Operations on a second look.
const (
	LookTake     uint8 = 1 // A person takes it in hand, and is shown the case.
	LookGiveBack uint8 = 2
	LookAnswer   uint8 = 3
)

// SecondLook takes a second look in hand, gives it back or answers it (decision 156).
type SecondLook struct {
	Common
	Op          uint8  `cbor:"4,keyasint"`
	Decision    uint64 `cbor:"5,keyasint"`           // The leaf of the disposition that is looked at again.
	Who         string `cbor:"6,keyasint,omitempty"` // To take it: by what name.
	Disposition uint8  `cbor:"7,keyasint,omitempty"` // To answer it: Approved, Rejected or EscalateSAR.
}

// InHand says who has a second look in hand. Until he answers it or gives it back, he is shown
// nothing else: every node refuses his other calls.
type InHand struct {
	Decision uint64      `cbor:"1,keyasint"`
	Key      uint32      `cbor:"2,keyasint"` // The row of the API key that took it.
	Subject  string      `cbor:"3,keyasint"` // Of whom, as Subject names it.
	Who      string      `cbor:"4,keyasint,omitempty"`
	Until    engine.Time `cbor:"5,keyasint"`
}
