package wire

import (
	"strconv"

	"railguard/engine"
)

// Sanctions cases (decision 131): what a BLOCK because of sanctions leaves to an officer.

// Cause is what a sanctions case is about besides the agent: a listed party or a place. The zero
// value is a party that was listed when the registry looked and that the edge's list does not
// name. The eight highest bits say which of them it is.
type Cause uint64

const (
	causeKind  Cause = 0xff << causeShift
	causeParty Cause = 1 << causeShift // Below it: the uid of a listed party.
	causePlace Cause = 2 << causeShift // Below it: the characters of a place's code, the first one highest.
	causeShift       = 56
	placeMost        = causeShift / 8
)

// CausesMost is how many causes one screening record names.
const CausesMost = 4

// PartyCause returns the cause of a listed party.
func PartyCause(uid uint32) Cause { return causeParty | Cause(uid) }

// PlaceCause returns the cause of a place, which is an ISO 3166-1 alpha-2 or an ISO 3166-2 code in
// capital letters. It returns 0 for any other text.
func PlaceCause(code string) Cause {
	if len(code) < 2 || len(code) > placeMost {
		return 0
	}
	c := Cause(0)
	for i := range len(code) {
		if !isPlaceByte(code[i]) {
			return 0
		}
		c = c<<8 | Cause(code[i])
	}
	return causePlace | c
}

func isPlaceByte(b byte) bool { return b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' }

// UID returns the uid of the listed party.
func (c Cause) UID() (uint32, bool) { return uint32(c), c&causeKind == causeParty }

// Place returns the code of the place.
func (c Cause) Place() (string, bool) {
	if c&causeKind != causePlace {
		return "", false
	}
	var code []byte
	for shift := causeShift - 8; shift >= 0; shift -= 8 {
		if b := byte(c >> shift); b != 0 {
			code = append(code, b)
		}
	}
	return string(code), true
}

// Sound tells whether PartyCause or PlaceCause can have returned the value.
func (c Cause) Sound() bool {
	if uid, is := c.UID(); is {
		return uid != 0 && c == PartyCause(uid)
	}
	code, is := c.Place()
	return is && c == PlaceCause(code)
}

// String returns the cause as search keys have it: "uid 7777", "place UA-43" or "unnamed".
func (c Cause) String() string {
	if uid, is := c.UID(); is {
		return "uid " + strconv.FormatUint(uint64(uid), 10)
	}
	if code, is := c.Place(); is {
		return "place " + code
	}
	return "unnamed"
}

// States of a sanctions case.
const (
	SanctionsOpen        uint8 = 1
	SanctionsTrueMatch   uint8 = 2
	SanctionsNotTheParty uint8 = 3
	SanctionsReported    uint8 = 4
	SanctionsClosed      uint8 = 5
)

// Kinds of a sanctions case, which an officer tells with TRUE_MATCH.
const (
	SanctionsRejected  uint8 = 1 // A rejected transaction (31 CFR 501.604).
	SanctionsProperty  uint8 = 2 // Blocked property (31 CFR 501.603).
	SanctionsProcessed uint8 = 3 // A payment that went ahead, of which nothing is blocked.
)

// SanctionsCase moves a sanctions case from one state to another, or opens one. A BLOCK opens one,
// too.
type SanctionsCase struct {
	Common
	Leaf      uint64           `cbor:"4,keyasint"` // The leaf that opened the case; to open one: the record of the payment.
	From      uint8            `cbor:"5,keyasint"`
	To        uint8            `cbor:"6,keyasint"`
	Kind      uint8            `cbor:"7,keyasint,omitempty"`  // With TRUE_MATCH: SanctionsRejected or SanctionsProperty.
	Reference string           `cbor:"8,keyasint,omitempty"`  // With REPORTED: what OFAC's system gave.
	Property  *BlockedProperty `cbor:"9,keyasint,omitempty"`  // With TRUE_MATCH, of blocked property.
	Said      [32]byte         `cbor:"10,keyasint,omitzero"`  // SHA-256 of the reason and the notes, so that the second person confirms both.
	Opens     *PaidPayment     `cbor:"11,keyasint,omitempty"` // The record opens a case; nil: it moves one.
}

// PaidPayment is a payment that went ahead, and with what an officer connects it.
type PaidPayment struct {
	Agent  engine.AgentSlot `cbor:"1,keyasint,omitempty"`
	User   engine.UserSlot  `cbor:"2,keyasint,omitempty"`
	Cause  Cause            `cbor:"3,keyasint"`
	Amount engine.USD       `cbor:"4,keyasint"`
	Newest uint64           `cbor:"5,keyasint"` // The newest leaf about the record, by which the edge saw that it went ahead.
}

// BlockedProperty is what the register of blocked property keeps until the property is blocked no
// more, longer than the leaves.
type BlockedProperty struct {
	Party       string     `cbor:"1,keyasint"` // Whose property is blocked.
	Description string     `cbor:"2,keyasint"`
	Location    string     `cbor:"3,keyasint"`
	Authority   string     `cbor:"4,keyasint,omitempty"` // The legal authority, such as the sanctions program.
	Value       engine.USD `cbor:"5,keyasint"`
	Action      string     `cbor:"6,keyasint,omitempty"` // What was done with it, such as a deposit into a blocked account.
}
