package wire

import "railguard/engine"

// SignIn gives a person whom an identity provider named a secret for one session (decision 150).
// The person has one row among the API keys, which every sign-in renews. Only the node itself signs
// in: it has the provider's word.
type SignIn struct {
	Common
	Key APIKey `cbor:"4,keyasint"` // ID, of a new row; Name, Prefix, one hash, Roles, ExpiresAt, Person, PersonKey, SignedIn and Alias.
}

// Signed says that the caller signed with a passkey what the record does, and others of the same
// call (decision 151). The edge has checked the assertion, which stands in the leaf; the state
// machine judges what can change: whose the passkey is, since when it counts, and that no signature
// counts twice.
type Signed struct {
	Passkey [16]byte `cbor:"1,keyasint"` // The first bytes of the SHA-256 of the passkey's id.
	Number  uint64   `cbor:"2,keyasint"` // The number of the statement that was signed.
	Digest  [32]byte `cbor:"3,keyasint"` // The challenge that was signed.
	Many    bool     `cbor:"4,keyasint,omitempty"`
	Count   uint32   `cbor:"5,keyasint,omitempty"` // What the authenticator says of how often it signed; 0: it does not count.
}

// Passkey is a person's passkey.
type Passkey struct {
	ID         []byte      `cbor:"1,keyasint"` // As the authenticator named it.
	Subject    string      `cbor:"2,keyasint"` // Whose it is; set by Apply.
	Key        []byte      `cbor:"3,keyasint"` // Its public key: the kind, then the point.
	Site       string      `cbor:"4,keyasint"` // The host on whose pages it signs.
	Name       string      `cbor:"5,keyasint,omitempty"`
	AddedAt    engine.Time `cbor:"6,keyasint,omitempty"` // Set by Apply.
	CountsFrom engine.Time `cbor:"7,keyasint,omitempty"` // Before, nothing that it signs counts; set by Apply.
	Number     uint64      `cbor:"8,keyasint,omitempty"` // Of the statement that it signed last; set by Apply.
	Last       [32]byte    `cbor:"9,keyasint"`           // The challenge that it signed last; set by Apply.
	Many       bool        `cbor:"10,keyasint,omitempty"`
	Leaf       uint64      `cbor:"11,keyasint,omitempty"` // By which it was registered; set by Apply.
	Count      uint32      `cbor:"12,keyasint,omitempty"` // The highest count that it said: a copy of it is behind.
}

// Operations on passkeys.
const (
	PasskeyAdd    uint8 = 1
	PasskeyRemove uint8 = 2
)

// PasskeyPut registers the caller's passkey, or removes one.
type PasskeyPut struct {
	Common
	Op      uint8   `cbor:"4,keyasint"`
	Passkey Passkey `cbor:"5,keyasint"` // To remove one: ID.
}

// PersonEnd ends a person: everything by which the person whom a key names acts here.
type PersonEnd struct {
	Common
	KeyID string `cbor:"4,keyasint"` // One of the person's keys or sign-ins.
}
