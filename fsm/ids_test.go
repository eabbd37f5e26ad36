package fsm

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key [16]byte
		copy(key[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))
		ids := NewIDs(key)
		slot := rapid.Uint32Min(1).Draw(t, "slot")
		leaf := rapid.Uint64Range(0, txnCount-1).Draw(t, "leaf")
		version := rapid.Uint16().Draw(t, "version")

		agent := ids.AgentID(slot)
		require.Regexp(t, regexp.MustCompile(`^agt_[a-z2-7]{12}$`), agent)
		got, ok := ids.ParseAgent(agent)
		require.True(t, ok)
		require.Equal(t, slot, got)
		_, ok = ids.ParseUser(agent)
		require.False(t, ok)

		txn := ids.TxnID(leaf)
		require.Regexp(t, regexp.MustCompile(`^txn_[0-9A-Za-z]{8}$`), txn)
		index, ok := ids.ParseTxn(txn)
		require.True(t, ok)
		require.Equal(t, leaf, index)

		epoch := rapid.Uint16Range(0, epochMax).Draw(t, "epoch")
		id := ids.CredentialID(CredentialUser, slot, epoch, version)
		require.Regexp(t, regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), id)
		kind, s, e, v, ok := ids.ParseCredential(id)
		require.True(t, ok)
		require.Equal(t, CredentialUser, kind)
		require.Equal(t, slot, s)
		require.Equal(t, epoch, e)
		require.Equal(t, version, v)
	})
}

func TestIDsDistinct(t *testing.T) {
	ids := NewIDs([16]byte{1})
	seen := map[string]bool{}
	for leaf := range uint64(200_000) {
		seen[ids.TxnID(leaf)] = true
	}
	require.Len(t, seen, 200_000)
}

func TestIDsRefuseGarbage(t *testing.T) {
	ids := NewIDs([16]byte{1})
	for _, text := range []string{"", "agt_", "agt_AAAAAAAAAAAA", "agt_aaaaaaaaaaa1", "txn_", "txn_1234567", "txn_12345 78", "txn_123456789"} {
		_, ok := ids.ParseAgent(text)
		require.False(t, ok, text)
		_, ok = ids.ParseTxn(text)
		require.False(t, ok, text)
	}
	// Well-formed ids that were never given out are refused too.
	known := 0
	for _, text := range []string{"agt_aaaaaaaaaaaa", "agt_zzzzzzzzzzzz", "agt_777777777777"} {
		if _, ok := ids.ParseAgent(text); ok {
			known++
		}
	}
	require.Zero(t, known)
}
