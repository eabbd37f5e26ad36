package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"railguard/audit"
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
	return k.keyedBy(path, value, sha256.Sum256(content))
}

// keyedBy is Idempotency with the hash of the body.
func (k *Caller) keyedBy(path, value string, body [sha256.Size]byte) *Keyed {
	owner := "institution" // Not the API key: a retry may come with a newer key of the same owner.
	if k.Owner != "" {
		owner = "owner " + k.Owner
	}
	var room [scopeRoom]byte
	scope := room[:0]
	for _, part := range [...]string{"railguard idempotency", owner, path, value} {
		scope = append(append(scope, part...), 0)
	}
	key := sha256.Sum256(scope)
	return &Keyed{wire.Idem{Key: [16]byte(key[:16]), Body: [16]byte(body[:16])}, body}
}

// requestHash returns the SHA-256 of the call's body; of a call with a good proof in its body that of
// the canonical form without the proof.
func (j *Judge) requestHash() []byte {
	s := &j.screen
	if j.call.Hashed != nil {
		s.requestHash = *j.call.Hashed
	} else {
		s.requestHash = sha256.Sum256(j.call.Body)
	}
	return s.requestHash[:]
}

// candidatesMost is how many leaves one look for a key or a payment reference reads. There is more than
// one only if the upper 52 bits of two of them are alike, and for a payment with several leaves.
const candidatesMost = 16

// keyed returns the call's Idempotency-Key with what this node's files say of it (decision 125).
// If they say nothing yet, the log refuses the record as stale.
func (j *Judge) keyed() *wire.Idem {
	idem := j.call.Idem
	if j.unread = false; idem == nil || j.shared.deps.Published.KeysFrom() == 0 {
		return idem // The state has the keys of all calls.
	}
	leaves, looked, err := j.shared.deps.Records.KeyedLeaves(idem.Key)
	if j.unread = err != nil || len(leaves) >= candidatesMost; j.unread {
		return idem
	}
	known := &wire.Idem{Key: idem.Key, Body: idem.Body, Looked: looked}
	since := j.LogTime() - engine.IdempotencyKept
	for i := len(leaves) - 1; i >= 0; i-- { // From the first call on.
		l := &leaves[i]
		key, body, err := j.callOf(l)
		if err != nil {
			j.unread = true
			return idem
		}
		if at := engine.Time(l.Time); at > since && bytes.Equal(key, idem.Key[:]) {
			known.Found, known.FoundAt, known.Differs = l.Index+1, at, !bytes.HasPrefix(body, idem.Body[:])
			break
		}
	}
	return known
}

// callOf returns the hashes of the Idempotency-Key and of the body of the call that wrote a leaf;
// nil: it had no key.
func (j *Judge) callOf(l *audit.PlacedLeaf) (key, body []byte, err error) {
	opened, err := j.OpenLeaf(l.Index, l.Data)
	if err != nil {
		return nil, nil, err
	}
	if key, err = hex.DecodeString(opened.Text("idempotencyKeyHash")); err == nil {
		body, err = hex.DecodeString(opened.Text("requestHash"))
	}
	return key, body, err
}

// ReplayProbe builds a record that can only find the result of an earlier call with the same
// key. Its basis fits no state, and the log looks at the key before the basis.
func (j *Judge) ReplayProbe() *wire.Register {
	return &wire.Register{Common: wire.Common{Idem: j.keyed()}, Basis: engine.Basis{List: ^uint64(0)}}
}
