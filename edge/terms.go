package edge

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/jws"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Terms is what this node derived from one Settings value: the id permutation, the credential
// keys, the JWKS, the cleared pairs, the owners of API keys. It is immutable. When the settings
// change, new Terms take over every part whose source did not change.
type Terms struct {
	Settings *fsm.Settings
	IDs      *fsm.IDs     // nil before bootstrap.
	Signing  *signingKeys // nil before bootstrap.
	cleared  *clearedPairs
	owners   *owners
}

// signingKeys holds the signing keys in the form that minting and verifying need.
type signingKeys struct {
	source    []*wire.SigningKey
	genesis   *wire.Genesis
	stretches []*wire.LogStretch
	issuer    string
	scheme    string   // Of the public address.
	known     []string // The authorities under which this service is known.
	Verify    *credential.KeySet
	Permits   *jws.KeySet              // The keys for permits.
	private   map[string]crypto.Signer // By kid; only keys that this node could unseal.
	JWKS      []byte
	JWKSETag  string
	Err       error // The cluster secret does not open a key, so this node must not be ready.
}

var errNoSigningKey = errors.New("no signing key of the cluster can be unsealed")

// Now returns the terms of the present settings.
func (js *Judges) Now() *Terms {
	settings := js.deps.Published.Settings()
	current := js.terms.Load()
	if current != nil && current.Settings == settings {
		return current
	}
	return js.rebuildTerms(settings)
}

func (js *Judges) rebuildTerms(settings *fsm.Settings) *Terms {
	js.mutex.Lock()
	defer js.mutex.Unlock()
	before := js.terms.Load()
	if before != nil && (before.Settings == settings || before.Settings.Index > settings.Index) {
		return before
	}
	next := &Terms{Settings: settings}
	if before != nil {
		next.IDs, next.Signing, next.cleared, next.owners = before.IDs, before.Signing, before.cleared, before.owners
	}
	if next.cleared == nil || !slices.Equal(next.cleared.source, settings.Cleared) {
		next.cleared = newClearedPairs(settings.Cleared)
	}
	if next.owners == nil || !slices.Equal(next.owners.source, settings.Keys) {
		next.owners = newOwners(settings.Keys)
	}
	if settings.Genesis != nil && (next.IDs == nil || len(before.Settings.Epochs) != len(settings.Epochs)) {
		next.IDs = fsm.NewIDs(settings.Genesis.IDKey, settings.Epochs...)
	}
	if settings.Genesis != nil && (next.Signing == nil || !next.Signing.madeOf(settings)) {
		next.Signing = js.openSigningKeys(settings)
		js.tellSigning(next.Signing)
	}
	if next.Signing != nil && !slices.Equal(next.Signing.stretches, settings.LogLines) {
		keys := *next.Signing // The keys are the same, and the log has another name.
		keys.stretches, next.Signing = settings.LogLines, &keys
	}
	js.terms.Store(next)
	return next
}

// tellSigning logs why the signing keys cannot be used. After an exchange of the cluster secret the
// state of a node's last snapshot is sealed under the one before, and what has come since opens
// them: that is no error, and a secret that is wrong ends the node.
func (js *Judges) tellSigning(keys *signingKeys) {
	switch {
	case keys.Err == nil:
	case js.deps.Secrets.Check(keys.genesis.SecretCheck) != nil:
		js.deps.Logger.Info("the state is sealed under another cluster secret: its signing keys are opened when newer state is here")
	default:
		js.deps.Logger.Error("signing keys", "error", keys.Err)
	}
}

// openSigningKeys unseals the cluster's signing keys and makes the JWKS.
func (js *Judges) openSigningKeys(settings *fsm.Settings) *signingKeys {
	s := &signingKeys{source: settings.SigningKeys, genesis: settings.Genesis, stretches: settings.LogLines, issuer: settings.Genesis.Issuer, private: make(map[string]crypto.Signer)}
	s.scheme, s.known = authoritiesOf(permitIssuer(s.genesis), js.deps.Authorities)
	if err := js.deps.Secrets.Check(settings.Genesis.SecretCheck); err != nil {
		s.Err = err
	}
	if err := s.publishKeys(settings.SigningKeys); err != nil {
		s.Err = err
		return s
	}
	for _, key := range settings.SigningKeys {
		if key.RevokedAt != 0 || s.Err != nil {
			continue
		}
		private, err := js.deps.Secrets.OpenSigningKey(key)
		if err != nil {
			s.Err = fmt.Errorf("signing key %s: %w", key.KID, err)
			continue
		}
		s.private[key.KID] = private
	}
	return s
}

// madeOf reports whether the keys were made from these settings. A genesis is replaced when its
// secrets are sealed again.
func (s *signingKeys) madeOf(settings *fsm.Settings) bool {
	return s.genesis == settings.Genesis && slices.Equal(s.source, settings.SigningKeys)
}

// publishKeys makes the key set that verifies tokens, and the bytes of the JWKS.
func (s *signingKeys) publishKeys(keys []*wire.SigningKey) error {
	var public [2][]jws.PublicKey // By what they sign.
	for _, key := range keys {
		state := jws.KeyActive
		if key.RevokedAt != 0 {
			state = jws.KeyRevoked
		}
		public[key.For] = append(public[key.For], jws.PublicKey{ID: key.KID, Point: key.Public, State: state})
	}
	var err, errPermits error
	s.Verify, err = credential.NewKeySet(s.issuer, public[wire.ForCredentials])
	s.Permits, errPermits = jws.NewKeySet(public[wire.ForPermits])
	if err := errors.Join(err, errPermits); err != nil {
		return fmt.Errorf("key set: %w", err)
	}
	s.JWKS = jws.AppendJWKS(nil, s.Verify.Keys(), s.Permits)
	sum := sha256.Sum256(s.JWKS)
	s.JWKSETag = `"` + hex.EncodeToString(sum[:8]) + `"`
	return nil
}

// Signer returns the private key of a kid.
func (t *Terms) Signer(kid string) (crypto.Signer, error) {
	if t.Signing == nil {
		return nil, errNoSigningKey
	}
	return t.Signing.signer(kid)
}

func (s *signingKeys) signer(kid string) (crypto.Signer, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	if key := s.private[kid]; key != nil {
		return key, nil
	}
	return nil, errNoSigningKey
}

// Policy returns the institution's policy.
func (t *Terms) Policy() *engine.Policy { return t.Settings.Policy }

// AgentID returns the id of a slot, as FleetID and UserID do.
func (t *Terms) AgentID(slot engine.AgentSlot) string { return t.IDs.AgentID(uint32(slot)) }
func (t *Terms) FleetID(slot engine.FleetSlot) string { return t.IDs.FleetID(uint32(slot)) }
func (t *Terms) UserID(slot engine.UserSlot) string   { return t.IDs.UserID(uint32(slot)) }

// ParseAgent reads an id, as ParseFleet and ParseUser do. It returns false for a text that is
// no id of ours.
func (t *Terms) ParseAgent(text string) (engine.AgentSlot, bool) {
	slot, ok := t.IDs.ParseAgent(text)
	return engine.AgentSlot(slot), ok
}

func (t *Terms) ParseFleet(text string) (engine.FleetSlot, bool) {
	slot, ok := t.IDs.ParseFleet(text)
	return engine.FleetSlot(slot), ok
}

func (t *Terms) ParseUser(text string) (engine.UserSlot, bool) {
	slot, ok := t.IDs.ParseUser(text)
	return engine.UserSlot(slot), ok
}
