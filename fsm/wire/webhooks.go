package wire

import "railguard/engine"

// Records of webhooks and of a backup's restoration.

// Webhook operations.
const (
	WebhookCreate uint8 = 1
	WebhookChange uint8 = 2 // URL, types, switched on or off.
	WebhookRotate uint8 = 3 // Another secret, beside the newest one.
	WebhookDelete uint8 = 4
)

// Webhook is a receiver of events.
type Webhook struct {
	ID         uint32      `cbor:"1,keyasint"` // Set by Apply; never given twice.
	Name       string      `cbor:"2,keyasint,omitempty"`
	URL        string      `cbor:"3,keyasint"`
	Types      []string    `cbor:"4,keyasint,omitempty"` // Of events; none: all but the ones that must be asked for.
	Secrets    [][]byte    `cbor:"5,keyasint"`           // Sealed, newest first, at most two: shared ones and Ed25519 seeds.
	Operator   string      `cbor:"6,keyasint,omitempty"` // Whose events, normalised; "" is all. Set by Apply.
	SARAllowed bool        `cbor:"7,keyasint,omitempty"`
	Off        bool        `cbor:"8,keyasint,omitempty"`
	CreatedAt  engine.Time `cbor:"9,keyasint,omitempty"`  // Set by Apply.
	Rev        uint32      `cbor:"10,keyasint,omitempty"` // From 1, one more with every change; set by Apply.
	Key        uint32      `cbor:"11,keyasint,omitempty"` // Row of the API key whose it is: it is told what that one may know, nothing once that is none any more. 0: the institution's own. Set by Apply.
	OlderUntil engine.Time `cbor:"12,keyasint,omitempty"` // The older secret signs as well until then; set by Apply.
}

// WebhookPut creates, changes or deletes a webhook.
type WebhookPut struct {
	Common
	Op      uint8       `cbor:"4,keyasint"`
	BaseRev uint32      `cbor:"5,keyasint,omitempty"`
	Webhook Webhook     `cbor:"6,keyasint"`
	Overlap engine.Time `cbor:"7,keyasint,omitempty"` // How long the older secret signs as well, of a rotation.
}

// Delivery operations.
const (
	DeliveryCursor  uint8 = 1 // Everything before the cursor was received or is a dead letter.
	DeliveryDead    uint8 = 2 // An event was given up after the last retry.
	DeliveryRevived uint8 = 3 // An event is to be sent again, a dead letter or another one.
	DeliveryOff     uint8 = 4 // The receiver said that it is gone for good.
	DeliverySent    uint8 = 5 // An event that was to be sent again was received.
	DeliveryAll     uint8 = 6 // All its dead letters are to be sent again.
)

// Delivery moves on what a webhook was sent.
type Delivery struct {
	Common
	Op       uint8  `cbor:"4,keyasint"`
	Webhook  uint32 `cbor:"5,keyasint"`
	Seq      uint64 `cbor:"6,keyasint"`           // The event's leaf,
	N        uint8  `cbor:"7,keyasint,omitempty"` // and which of that leaf's types.
	Attempts uint8  `cbor:"8,keyasint,omitempty"`
	Status   uint16 `cbor:"9,keyasint,omitempty"` // HTTP status of the last attempt; 0: there was no answer.
}

// Restored begins a new lineage after a backup was restored: ids given out after the
// backup are not given out again.
type Restored struct {
	Common
	Lineage string `cbor:"4,keyasint"`
	Backup  string `cbor:"5,keyasint"`           // Its digest, hexadecimal.
	Number  uint16 `cbor:"6,keyasint,omitempty"` // Of the epoch it begins; 0: the next one.
}

// Epoch is a stretch of slots and leaves that ids were made for under one number: it
// stands above the slot or leaf in what an id's permutation is given. The first is 0.
type Epoch struct {
	Number    uint16      `cbor:"1,keyasint"`
	At        engine.Time `cbor:"2,keyasint"`
	Lineage   string      `cbor:"3,keyasint"`
	Leaf      uint64      `cbor:"4,keyasint"` // The first leaf and slots of this epoch.
	Agents    uint32      `cbor:"5,keyasint"`
	Users     uint32      `cbor:"6,keyasint"`
	Fleets    uint32      `cbor:"7,keyasint"`
	Operators uint32      `cbor:"8,keyasint"`
	Statuses  uint32      `cbor:"9,keyasint"` // The first position of the status lists; a list of its own begins with it.
}
