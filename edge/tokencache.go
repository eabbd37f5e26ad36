package edge

import (
	"crypto/sha256"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unsafe"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/possession"
	"railguard/fsm"
)

// tokenCache remembers the claims of verified tokens, by the hash of the whole token and the key
// set that verified it. Claims never change, so remembered claims are never out of date. Verdicts
// are never cached. The cache is direct-mapped: it has a fixed number of places, a new token
// replaces the old one in its place, and there is no lock.
type tokenCache struct {
	places []atomic.Pointer[cachedToken]
	used   atomic.Int64
}

type cachedToken struct {
	hash   [32]byte
	keys   *credential.KeySet
	claims credentialClaims
}

// newTokenCache makes a cache of max places. max is a power of two.
func newTokenCache(max int) *tokenCache {
	return &tokenCache{places: make([]atomic.Pointer[cachedToken], max)}
}

func (t *tokenCache) placeOf(hash *[32]byte) *atomic.Pointer[cachedToken] {
	at := uint32(hash[0]) | uint32(hash[1])<<8 | uint32(hash[2])<<16 | uint32(hash[3])<<24
	return &t.places[int(at)&(len(t.places)-1)]
}

func (t *tokenCache) findClaims(hash *[32]byte, keys *credential.KeySet) (credentialClaims, bool) {
	entry := t.placeOf(hash).Load()
	if entry == nil || entry.keys != keys || entry.hash != *hash {
		tokenMisses.Inc()
		return credentialClaims{}, false
	}
	tokenHits.Inc()
	return entry.claims, true
}

func (t *tokenCache) keepClaims(hash *[32]byte, keys *credential.KeySet, claims credentialClaims) {
	if t.placeOf(hash).Swap(&cachedToken{hash: *hash, keys: keys, claims: claims}) == nil {
		t.used.Add(1)
	}
}

func (t *tokenCache) size() int { return int(t.used.Load()) }

// recentTokens is asked before the token cache. It holds the whole text of the tokens in present
// use. To compare a text is several times cheaper than to hash it with SHA-256, and just as
// exact.
type recentTokens struct {
	seed   maphash.Seed
	places [recentTokensMax]atomic.Pointer[recentToken]
}

// recentTokensMax is how many tokens are kept. A token has about a kilobyte. The number must be a
// power of two.
const recentTokensMax = 4096

type recentToken struct {
	hash   uint64
	text   string
	keys   *credential.KeySet
	claims credentialClaims
}

func newRecentTokens() *recentTokens { return &recentTokens{seed: maphash.MakeSeed()} }

func (t *recentTokens) hashText(text string) uint64 { return maphash.String(t.seed, text) }

// findClaims returns the claims of the token with exactly this text, verified with these keys.
func (t *recentTokens) findClaims(hash uint64, text string, keys *credential.KeySet) (credentialClaims, bool) {
	entry := t.places[hash%recentTokensMax].Load()
	if entry == nil || entry.hash != hash || entry.keys != keys || entry.text != text {
		return credentialClaims{}, false
	}
	tokenHits.Inc()
	return entry.claims, true
}

func (t *recentTokens) keepToken(hash uint64, entry *recentToken) {
	t.places[hash%recentTokensMax].Store(entry)
}

// The kinds of credential, as fsm.IDs encodes them into credential ids.
const (
	kindAgent = fsm.CredentialAgent
	kindUser  = fsm.CredentialUser
)

// credentialClaims is the content of a verified credential.
type credentialClaims struct {
	kind    byte // 0: none.
	slot    uint32
	epoch   uint16 // The epoch in which the version was issued.
	version uint16
	begins  engine.Time // The later of nbf and iat.
	expires engine.Time
	id      string // jti
	kid     string
	key     *possession.Key // The agent's own; nil: it has none.
}

// Claims verifies a token or finds it in a cache. A bad token is no error: its state is the
// sub-reason of R1. A token may be unknown only because this node's log ends before the token's
// key or time. Then the node catches up and judges the token again: a node that was just started
// must not refuse tokens that were issued while it was away.
func (j *Judge) Claims(text string) (credentialClaims, engine.TokenState, error) {
	claims, state, early := j.claimsHere(text)
	if !early {
		return claims, state, nil
	}
	if err := j.CatchUp(); err != nil {
		return credentialClaims{}, state, err
	}
	claims, state, _ = j.claimsHere(text)
	return claims, state, nil
}

// claimsHere judges a token by what this node has applied. early says that more of the log may
// make the token good.
func (j *Judge) claimsHere(text string) (claims credentialClaims, state engine.TokenState, early bool) {
	raw, ok := credential.StripPrefix(text)
	if !ok || len(raw) > engine.TokenMax || j.Terms.Signing == nil || j.Terms.Signing.Verify == nil {
		return credentialClaims{}, engine.TokenMalformed, false
	}
	keys := j.Terms.Signing.Verify
	short := j.shared.recent.hashText(raw)
	claims, known := j.shared.recent.findClaims(short, raw, keys)
	if !known {
		if claims, state = knownToken(j, raw, keys); state != engine.TokenGood {
			return credentialClaims{}, state, state == engine.TokenUnknownKey
		}
		j.shared.recent.keepToken(short, &recentToken{hash: short, text: strings.Clone(raw), keys: keys, claims: claims})
	}
	if claims.begins > j.shared.deps.Published.LogTime()+engine.ClockSkewAllowed {
		return credentialClaims{}, engine.TokenMalformed, true
	}
	if len(j.Terms.Settings.Epochs) > 0 && !ofThisLine(j.shared.deps.Published, &claims) {
		return credentialClaims{}, engine.TokenUnknownAgent, true
	}
	return claims, engine.TokenGood, false
}

// knownToken finds a token in the cache, or verifies it and adds it to the cache.
func knownToken(j *Judge, raw string, keys *credential.KeySet) (credentialClaims, engine.TokenState) {
	hash := sha256.Sum256(unsafe.Slice(unsafe.StringData(raw), len(raw))) // The hash only reads the bytes; this saves a copy of the token.
	claims, known := j.shared.tokens.findClaims(&hash, keys)
	if known {
		return claims, engine.TokenGood
	}
	claims, state := j.Terms.verifyToken(strings.Clone(raw))
	switch state {
	case engine.TokenGood:
		j.shared.tokens.keepClaims(&hash, keys, claims)
	case engine.TokenSignature:
		forgedTotal.Inc()
	}
	return claims, state
}

// ofThisLine reports whether the version that a token claims was issued in the epoch that it
// names. A version that lost machines issued after the restored backup is unknown here, even if
// a version of the same number has been issued since.
func ofThisLine(published Published, claims *credentialClaims) bool {
	var epochs *engine.CredentialEpochs
	if claims.kind == kindUser {
		if profile := published.User(engine.UserSlot(claims.slot)); profile != nil {
			if epochs = profile.Epochs; claims.version > profile.CredentialVersion {
				return false
			}
		}
	} else if profile := published.Agent(engine.AgentSlot(claims.slot)); profile != nil {
		if epochs = profile.Epochs; claims.version > profile.CredentialVersion {
			return false
		}
	}
	return epochs.EpochOf(claims.version) == claims.epoch
}

// verifyToken verifies a token and reads whose it is. The credential id and the subject must
// name the same party.
func (t *Terms) verifyToken(raw string) (credentialClaims, engine.TokenState) {
	claims, err := t.Signing.Verify.Open(raw)
	if err != nil {
		return credentialClaims{}, credential.State(err)
	}
	kind, slot, epoch, version, ok := t.IDs.ParseCredential(claims.CredentialID)
	subject := t.IDs.ParseAgent
	if claims.Kind == credential.KindUser {
		subject = t.IDs.ParseUser
	}
	named, known := subject(claims.Subject)
	if !ok || !known || named != slot || (kind == kindUser) != (claims.Kind == credential.KindUser) {
		return credentialClaims{}, engine.TokenUnknownAgent
	}
	return credentialClaims{
		kind: kind, slot: slot, epoch: epoch, version: version, begins: max(claims.NotBefore, claims.IssuedAt),
		expires: claims.Expires, id: claims.CredentialID, kid: claims.KeyID, key: claims.Key,
	}, engine.TokenGood
}
