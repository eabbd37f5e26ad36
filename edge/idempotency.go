package edge

import (
	"crypto/sha256"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Keyed is what a call with an Idempotency-Key of its caller's is known by. The record of a
// screening call names the hash of the same bytes.
type Keyed struct {
	wire.Idem
	Body [sha256.Size]byte
}

// scopeRoom is more than most scopes take.
const scopeRoom = 512

// Idempotency is a caller's key for a path, in the scope of its owner, and what is
// compared of the body.
func (k *Caller) Idempotency(path, value string, content []byte) *Keyed {
	owner := "institution" // A retry may come with a newer key of the same owner.
	if k.Owner() != "" {
		owner = "operator " + k.Owner()
	}
	var room [scopeRoom]byte
	scope := room[:0]
	for _, part := range [...]string{"railguard idempotency", owner, path, value} {
		scope = append(append(scope, part...), 0)
	}
	key, body := sha256.Sum256(scope), sha256.Sum256(content)
	return &Keyed{wire.Idem{Key: [16]byte(key[:16]), Body: [16]byte(body[:16])}, body}
}

// ReplayProbe builds a record that can do nothing but find what a call with the same key did
// before: its basis fits no state, and the log looks at the key before the basis.
func ReplayProbe(idem *wire.Idem) *wire.Register {
	return &wire.Register{Common: wire.Common{Idem: idem}, Basis: engine.Basis{List: ^uint64(0)}}
}
