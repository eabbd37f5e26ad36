package edge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine/credential"
)

// A token that was verified is found by its whole text and by the keys that verified it,
// whatever hash it is asked for with; who comes to its place displaces it.
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
		_, known = recent.findClaims(hash, forged, keys) // As if its hash were the same.
		require.False(t, known, i)
	}
	for _, other := range []string{"", text[1:], text + "x"} {
		_, known = recent.findClaims(hash, other, keys)
		require.False(t, known)
	}
	second := hash + recentTokensMax // Of the same place.
	recent.keepToken(second, &recentToken{hash: second, text: "another", keys: keys, claims: credentialClaims{slot: 8}})
	_, known = recent.findClaims(hash, text, keys)
	require.False(t, known)
	claims, known = recent.findClaims(second, "another", keys)
	require.True(t, known)
	require.Equal(t, uint32(8), claims.slot)
}
