package wire

import "railguard/engine"

// Records of webhooks, and of a restored backup.

// Webhook operations.
const (
	WebhookCreate uint8 = 1
	WebhookChange uint8 = 2 // Sets name, URL, types, SARAllowed and Off.
	WebhookRotate uint8 = 3 // Adds a secret; the one before stays for the overlap.
	WebhookDelete uint8 = 4
)

// Webhook is a receiver of events.
type Webhook struct {
	ID         uint32      `cbor:"1,keyasint"` // Set by Apply; never given twice.
	Name       string      `cbor:"2,keyasint,omitempty"`
	URL        string      `cbor:"3,keyasint"`
	Types      []string    `cbor:"4,keyasint,omitempty"` // Types of events; none: all but those that must be named.
	Secrets    [][]byte    `cbor:"5,keyasint"`           // Sealed, newest first, at most two: shared secrets or Ed25519 seeds.
	Owner      string      `cbor:"6,keyasint,omitempty"` // As in APIKey: whose events it gets; "" means all. Set by Apply.
	SARAllowed bool        `cbor:"7,keyasint,omitempty"`
	Off        bool        `cbor:"8,keyasint,omitempty"`
	CreatedAt  engine.Time `cbor:"9,keyasint,omitempty"`  // Set by Apply.
	Rev        uint32      `cbor:"10,keyasint,omitempty"` // From 1, rises with every change; set by Apply.
	// Key is the row of the API key that the webhook belongs to; 0: the institution's. The webhook
	// gets what that key may read, and nothing once the key is invalid. Set by Apply.
	Key        uint32      `cbor:"11,keyasint,omitempty"`
	OlderUntil engine.Time `cbor:"12,keyasint,omitempty"` // The older secret also signs until then; set by Apply.
}

// WebhookPut creates, changes or deletes a webhook.
type WebhookPut struct {
	Common
	Op      uint8       `cbor:"4,keyasint"`
	BaseRev uint32      `cbor:"5,keyasint,omitempty"`
	Webhook Webhook     `cbor:"6,keyasint"`
	Overlap engine.Time `cbor:"7,keyasint,omitempty"` // For a rotation: how long the older secret also signs.
}

// Delivery operations.
const (
	DeliveryCursor  uint8 = 1 // Everything before the cursor was received or is a dead letter.
	DeliveryDead    uint8 = 2 // An event was given up after the last retry.
	DeliveryRevived uint8 = 3 // An event is to be sent again. It may be a dead letter or not.
	DeliveryOff     uint8 = 4 // The receiver said that it is gone for good.
	DeliverySent    uint8 = 5 // An event that was to be sent again was received or is no longer sent.
	DeliveryAll     uint8 = 6 // All its dead letters are to be sent again.
)

// Delivery records the progress of a webhook.
type Delivery struct {
	Common
	Op       uint8  `cbor:"4,keyasint"`
	Webhook  uint32 `cbor:"5,keyasint"`
	Seq      uint64 `cbor:"6,keyasint"`           // The event's leaf.
	N        uint8  `cbor:"7,keyasint,omitempty"` // The number of the event among the leaf's events.
	Attempts uint8  `cbor:"8,keyasint,omitempty"`
	Status   uint16 `cbor:"9,keyasint,omitempty"` // HTTP status of the last attempt; 0: there was no answer.
}

// Restored begins a new lineage after a backup was restored: ids given out after the
// backup are not given out again.
type Restored struct {
	Common
	Lineage string `cbor:"4,keyasint"`
	Backup  string `cbor:"5,keyasint"`           // The backup's digest, hexadecimal.
	Number  uint16 `cbor:"6,keyasint,omitempty"` // The number of the epoch that it begins; 0: the next one.
	// Passed is the time since the backup, by the clock of whoever restores. It counts as lived
	// through, so that what has expired does not come back; the backup itself is still there.
	Passed engine.Time `cbor:"7,keyasint,omitempty"`
}

// Epoch is a range of slots and leaves with one number. That number is put above the slot or
// leaf before an id is computed. The first epoch is 0.
type Epoch struct {
	Number    uint16      `cbor:"1,keyasint"`
	At        engine.Time `cbor:"2,keyasint"`
	Lineage   string      `cbor:"3,keyasint"`
	Leaf      uint64      `cbor:"4,keyasint"` // The first leaf of this epoch. The fields below have its first slots.
	Agents    uint32      `cbor:"5,keyasint"`
	Users     uint32      `cbor:"6,keyasint"`
	Fleets    uint32      `cbor:"7,keyasint"`
	Operators uint32      `cbor:"8,keyasint"`
	Statuses  uint32      `cbor:"9,keyasint"` // Its first position in the status lists, which begins a new list.
}
