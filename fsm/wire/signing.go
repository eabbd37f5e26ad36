package wire

import "railguard/engine"

// Keys that sign: credentials and permits, and the log's checkpoints.

// What a signing key signs.
const (
	ForCredentials uint8 = 0
	ForPermits     uint8 = 1
)

// SigningKey is one key with which the cluster signs credentials or permits.
type SigningKey struct {
	KID        string      `cbor:"1,keyasint"`
	Public     []byte      `cbor:"2,keyasint"`           // X then Y, 32 bytes each.
	Sealed     []byte      `cbor:"3,keyasint"`           // Private scalar, encrypted under the cluster secret.
	ActivateAt engine.Time `cbor:"4,keyasint,omitempty"` // First instant at which it signs.
	RevokedAt  engine.Time `cbor:"5,keyasint,omitempty"` // Revoked in an emergency: R2 blocks its credentials, and no key set vouches for its permits.
	For        uint8       `cbor:"6,keyasint,omitempty"` // ForCredentials or ForPermits.
}

// Signing key operations.
const (
	SigningAdd    uint8 = 1
	SigningRevoke uint8 = 2
)

// SigningKeyPut adds the next signing key or revokes one.
type SigningKeyPut struct {
	Common
	Op  uint8      `cbor:"4,keyasint"`
	Key SigningKey `cbor:"5,keyasint"`
	Now bool       `cbor:"6,keyasint,omitempty"` // The key signs at once, in an emergency. Otherwise it signs 24 h after it was published.
}

// LogKeyPut makes the keys of a new seed sign the log's checkpoints from then on.
type LogKeyPut struct {
	Common
	Seed []byte `cbor:"4,keyasint"` // Sealed.
}

// LogStretch is a stretch of the log with one name and one pair of keys. It begins after a
// recovery, a restore or a change of keys.
type LogStretch struct {
	From    uint64      `cbor:"1,keyasint"` // The smallest tree that its keys sign, in leaves.
	At      engine.Time `cbor:"2,keyasint"`
	Lineage string      `cbor:"3,keyasint,omitempty"` // Appended to the log's first name; "": the first name alone.
	Seed    []byte      `cbor:"4,keyasint"`           // Sealed seed of its keys.
}
