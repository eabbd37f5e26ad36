package edge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm"
	"railguard/seal"
)

// A verified token is found only by its whole text and the keys that verified it, whatever hash
// is asked for. A token for the same place replaces it.
func TestRecentTokensAreExact(t *testing.T) {
	recent := newRecentTokens()
	keys, others := new(credential.KeySet), new(credential.KeySet)
	text := strings.Repeat("abcdefgh", 140) + ".signature"
	hash := recent.hashText(text)
	_, known := recent.findClaims(hash, text, keys)
	require.False(t, known)
	recent.keepToken(hash, &recentToken{hash: hash, text: text, keys: keys, claims: credentialClaims{slot: 7}})
	claims, known := recent.findClaims(recent.hashText(strings.Clone(text)), strings.Clone(text), keys)
	require.True(t, known)
	require.Equal(t, uint32(7), claims.slot)
	_, known = recent.findClaims(hash, text, others)
	require.False(t, known, "other keys")
	for i := range text {
		forged := text[:i] + "~" + text[i+1:]
		_, known = recent.findClaims(recent.hashText(forged), forged, keys)
		require.False(t, known, i)
		_, known = recent.findClaims(hash, forged, keys) // This is another token with the same hash.
		require.False(t, known, i)
	}
	for _, other := range []string{"", text[1:], text + "x"} {
		_, known = recent.findClaims(hash, other, keys)
		require.False(t, known)
	}
	second := hash + recentTokensMax // A hash that leads to the same place of the cache.
	recent.keepToken(second, &recentToken{hash: second, text: "another", keys: keys, claims: credentialClaims{slot: 8}})
	_, known = recent.findClaims(hash, text, keys)
	require.False(t, known)
	claims, known = recent.findClaims(second, "another", keys)
	require.True(t, known)
	require.Equal(t, uint32(8), claims.slot)
}

// A token that was replaced among the recent ones is found by its hash, as long as the present
// keys verified it.
func TestDisplacedTokenIsFound(t *testing.T) {
	n, judges := newTestNode(t)
	text := token(t, judges, n.agent)
	claim := func() (credentialClaims, uint64) {
		judges.recent = newRecentTokens()
		var judge Judge
		defer judge.Reset()
		judge.Begin(t.Context(), judges, &Call{Caller: &Caller{}})
		misses := tokenMisses.Get()
		claims, state, err := judge.Claims(text)
		require.NoError(t, err)
		require.Equal(t, engine.TokenGood, state)
		return claims, tokenMisses.Get() - misses
	}
	first, missed := claim()
	require.Equal(t, uint64(1), missed)
	require.Equal(t, 1, judges.TokensHeld())
	again, missed := claim()
	require.Zero(t, missed)
	require.Equal(t, first, again)
	key, err := seal.NewSigningKey(judges.deps.Secrets, "cc-v2")
	require.NoError(t, err)
	settings := *n.settings
	settings.Index, settings.SigningKeys = 2, append(slices.Clone(settings.SigningKeys), &key)
	n.settings = &settings
	_, missed = claim()
	require.Equal(t, uint64(1), missed, "other keys")
	require.Equal(t, 1, judges.TokensHeld(), "it stands where it stood")
}

// Before a cluster is bootstrapped there are no ids and no keys: no token is good, and nothing
// is signed. Without an active key nothing is signed either.
func TestTermsBeforeBootstrap(t *testing.T) {
	n, judges := newTestNode(t)
	text, whole := token(t, judges, n.agent), n.settings
	var judge Judge
	defer judge.Reset()
	keyless := *whole
	keyless.Index, keyless.SigningKeys = 2, nil
	n.settings = &keyless
	judge.Begin(t.Context(), judges, &Call{Caller: &Caller{}})
	var refused *Refusal
	require.ErrorAs(t, judge.canSign(judge.Terms.trialCredential(n.agent)), &refused)
	require.Contains(t, refused.Message, "no signing key")
	n.settings = &fsm.Settings{Index: 2, Policy: engine.DefaultPolicy()}
	judges = New(judges.deps)
	terms := judges.Now()
	require.Nil(t, terms.IDs)
	require.Nil(t, terms.Signing)
	_, err := terms.Signer(seal.FirstKID)
	require.Error(t, err)
	judge.Begin(t.Context(), judges, &Call{Caller: &Caller{}})
	_, state, err := judge.Claims(text)
	require.NoError(t, err)
	require.Equal(t, engine.TokenMalformed, state)
	n.settings = whole
	require.Same(t, terms, judges.Now(), "older settings than those it has")
	newer := *whole
	newer.Index = 3
	n.settings = &newer
	require.NotNil(t, judges.Now().Signing)
}
