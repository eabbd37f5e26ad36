package wire

import "railguard/engine"

// Kinds of look: what somebody looked at, or asked. Numbers never change.
const (
	LookSuspicion  uint8 = 1 // What reveals a suspicion: queue, alerts, reports, explanations, proofs.
	LookExport     uint8 = 2 // An export, or entries of the log, of which bundles are made.
	LookNames      uint8 = 3 // A search for a person or a company among the records.
	LookMatch      uint8 = 4 // A question about a name to the list.
	LookSignIn     uint8 = 5 // A sign-in to the console.
	LookAdminToken uint8 = 6 // A call with the admin token of the node.
	LookDryRun     uint8 = 7
	LookProbe      uint8 = 8 // Dry runs of many names that come near one listed party.
	LookRecords    uint8 = 9 // Records and events, read by a key that is shown who is suspected.
	LookKinds            = LookRecords
)

// Looks tells who looked at what on one node, and which API keys were used there.
type Looks struct {
	Common
	Node string    `cbor:"4,keyasint"`
	Rows []Look    `cbor:"5,keyasint,omitempty"`
	Used []KeyUsed `cbor:"6,keyasint,omitempty"`
}

// Look is how often one API key looked at one kind of thing within an hour.
type Look struct {
	Kind  uint8       `cbor:"1,keyasint"`
	Key   uint32      `cbor:"2,keyasint,omitempty"` // The row of the API key; 0: the admin token of the node.
	Hour  engine.Time `cbor:"3,keyasint"`           // When the hour began.
	Count uint32      `cbor:"4,keyasint"`
	First string      `cbor:"5,keyasint,omitempty"` // The address of the first call.
	Last  string      `cbor:"6,keyasint,omitempty"` // The address of the last call.
	UID   uint32      `cbor:"7,keyasint,omitempty"` // Of a LookProbe: the listed party.

	Reason string `cbor:"8,keyasint,omitempty"` // Of a LookExport: why, as the caller said; "": he did not.
}

// KeyUsed says that an API key was used within an hour.
type KeyUsed struct {
	Key  uint32      `cbor:"1,keyasint"` // Its row.
	Hour engine.Time `cbor:"2,keyasint"`
}
