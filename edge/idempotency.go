package edge

import (
	"crypto/sha256"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Keyed is the identity of a call that has an Idempotency-Key. The record of a screening call
// holds a hash of the same body.
type Keyed struct {
	wire.Idem
	Body [sha256.Size]byte
}

// scopeRoom is enough bytes for most scopes.
const scopeRoom = 512

// Idempotency returns the identity of a call: a hash of the key in the scope of path and owner,
// and a hash of the body.
func (k *Caller) Idempotency(path, value string, content []byte) *Keyed {
	owner := "institution" // Not the API key: a retry may come with a newer key of the same owner.
	if k.Owner != "" {
		owner = "owner " + k.Owner
	}
	var room [scopeRoom]byte
	scope := room[:0]
	for _, part := range [...]string{"railguard idempotency", owner, path, value} {
		scope = append(append(scope, part...), 0)
	}
	key, body := sha256.Sum256(scope), sha256.Sum256(content)
	return &Keyed{wire.Idem{Key: [16]byte(key[:16]), Body: [16]byte(body[:16])}, body}
}

// ReplayProbe builds a record that can only find the result of an earlier call with the same
// key. Its basis fits no state, and the log looks at the key before the basis.
func ReplayProbe(idem *wire.Idem) *wire.Register {
	return &wire.Register{Common: wire.Common{Idem: idem}, Basis: engine.Basis{List: ^uint64(0)}}
}
