package httpapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// edge is what this node made of one Settings value: the key table, the id
// permutation, the credential keys, the JWKS. Immutable; rebuilt whole when the
// settings change, its parts taken over where their source did not.
type edge struct {
	settings *fsm.Settings
	ids      *fsm.IDs // nil before bootstrap.
	keys     *keyTable
	signing  *signingKeys
	cleared  *clearedPairs
}

// signingKeys is the credential side of an edge.
type signingKeys struct {
	source   []*wire.SigningKey
	issuer   string
	verify   *credential.KeySet
	private  map[string]*ecdsa.PrivateKey // By kid; those that this node could unseal.
	jwks     []byte
	jwksETag string
	err      error // The cluster secret does not open a key: this node must not be ready.
}

var errNoSigningKey = errors.New("no signing key of the cluster can be unsealed")

// edge returns what belongs to the settings of this moment.
func (a *API) edge() *edge {
	settings := a.deps.Published.Settings()
	current := a.edges.Load()
	if current != nil && current.settings == settings {
		return current
	}
	return a.rebuildEdge(settings)
}

func (a *API) rebuildEdge(settings *fsm.Settings) *edge {
	a.edgeMutex.Lock()
	defer a.edgeMutex.Unlock()
	before := a.edges.Load()
	if before != nil && (before.settings == settings || before.settings.Index > settings.Index) {
		return before
	}
	next := &edge{settings: settings}
	var keysBefore *keyTable
	if before != nil {
		keysBefore = before.keys
		next.ids, next.keys, next.signing, next.cleared = before.ids, before.keys, before.signing, before.cleared
	}
	if next.keys == nil || !slices.Equal(next.keys.source, settings.Keys) {
		next.keys = newKeyTable(settings.Keys, keysBefore)
	}
	if next.cleared == nil || !slices.Equal(next.cleared.source, settings.Cleared) {
		next.cleared = newClearedPairs(settings.Cleared)
	}
	if settings.Genesis != nil && next.ids == nil {
		next.ids = fsm.NewIDs(settings.Genesis.IDKey)
	}
	if settings.Genesis != nil && (next.signing == nil || !slices.Equal(next.signing.source, settings.SigningKeys)) {
		next.signing = a.openSigningKeys(settings)
		if next.signing.err != nil {
			a.log.Error("signing keys", "error", next.signing.err)
		}
	}
	a.edges.Store(next)
	return next
}

// openSigningKeys unseals the cluster's signing keys and lays out the JWKS.
func (a *API) openSigningKeys(settings *fsm.Settings) *signingKeys {
	s := &signingKeys{source: settings.SigningKeys, issuer: settings.Genesis.Issuer, private: make(map[string]*ecdsa.PrivateKey)}
	if err := a.deps.Secrets.Check(settings.Genesis.SecretCheck); err != nil {
		s.err = err
	}
	if err := s.publish(settings.SigningKeys); err != nil {
		s.err = err
		return s
	}
	for _, key := range settings.SigningKeys {
		if key.RevokedAt != 0 || s.err != nil {
			continue
		}
		private, err := a.deps.Secrets.OpenSigningKey(key)
		if err != nil {
			s.err = fmt.Errorf("signing key %s: %w", key.KID, err)
			continue
		}
		s.private[key.KID] = private
	}
	return s
}

// publish makes the key set that verifies tokens and the bytes of the JWKS.
func (s *signingKeys) publish(keys []*wire.SigningKey) error {
	public := make([]credential.PublicKey, 0, len(keys))
	for _, key := range keys {
		state := credential.KeyActive
		if key.RevokedAt != 0 {
			state = credential.KeyRevoked
		}
		public = append(public, credential.PublicKey{ID: key.KID, Point: key.Public, State: state})
	}
	set, err := credential.NewKeySet(s.issuer, public)
	if err != nil {
		return fmt.Errorf("key set: %w", err)
	}
	s.verify, s.jwks = set, set.AppendJWKS(nil)
	sum := sha256.Sum256(s.jwks)
	s.jwksETag = `"` + hex.EncodeToString(sum[:8]) + `"`
	return nil
}

// signer returns the private key of a kid.
func (e *edge) signer(kid string) (*ecdsa.PrivateKey, error) {
	if e.signing == nil {
		return nil, errNoSigningKey
	}
	if e.signing.err != nil {
		return nil, e.signing.err
	}
	key := e.signing.private[kid]
	if key == nil {
		return nil, errNoSigningKey
	}
	return key, nil
}

// agentID, fleetID and userID are the texts of slots.
func (e *edge) agentID(slot engine.AgentSlot) string { return e.ids.AgentID(uint32(slot)) }
func (e *edge) fleetID(slot engine.FleetSlot) string { return e.ids.FleetID(uint32(slot)) }
func (e *edge) userID(slot engine.UserSlot) string   { return e.ids.UserID(uint32(slot)) }

// parseAgent, parseFleet and parseUser read them; false for no id of ours.
func (e *edge) parseAgent(text string) (engine.AgentSlot, bool) {
	slot, ok := e.ids.ParseAgent(text)
	return engine.AgentSlot(slot), ok
}

func (e *edge) parseFleet(text string) (engine.FleetSlot, bool) {
	slot, ok := e.ids.ParseFleet(text)
	return engine.FleetSlot(slot), ok
}

func (e *edge) parseUser(text string) (engine.UserSlot, bool) {
	slot, ok := e.ids.ParseUser(text)
	return engine.UserSlot(slot), ok
}

// nodeRole caches this node's raft role for the header of every answer: asking
// the cluster thousands of times a second would cost more than the word is worth.
type nodeRole struct {
	word  atomic.Pointer[string]
	until atomic.Int64 // Wall nanoseconds.
}

const roleKept = 200 * time.Millisecond

// roler is what Operations may offer besides: the role without the whole status.
type roler interface{ Role() string }

func (n *nodeRole) text(a *API) string {
	now := time.Now().UnixNano()
	until := n.until.Load()
	if word := n.word.Load(); word != nil && now < until {
		return *word
	}
	if !n.until.CompareAndSwap(until, now+int64(roleKept)) {
		if word := n.word.Load(); word != nil {
			return *word // Somebody else is asking.
		}
	}
	word := a.askRole()
	n.word.Store(&word)
	return word
}

func (a *API) askRole() string {
	if operations, ok := a.deps.Operations.(roler); ok {
		return operations.Role()
	}
	ctx, cancel := context.WithTimeout(context.Background(), roleKept)
	defer cancel()
	return a.deps.Operations.Status(ctx).Role
}
