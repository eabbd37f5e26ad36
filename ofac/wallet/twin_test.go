package wallet

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
)

func mustRead(t *testing.T, text string) *Address {
	var a Address
	_, ok := ReadListed(nil, text, &a)
	require.True(t, ok, text)
	return &a
}

// Addresses of one key, in both directions.
func TestTwinsOfPublishedAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		listed, asked string
		twin          Twin
	}{
		"itself":       {"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", TwinSame},
		"P2WPKH":       {"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", "bc1qpa78qajm34ypqk6unwwn9tgxrc9evaez76c64s", TwinKey},
		"back":         {"bc1qpa78qajm34ypqk6unwwn9tgxrc9evaez76c64s", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", TwinKey},
		"genesis, LTC": {"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "LUEweDxDA4WhvWiNXXSxjM9CYzHPJv4QQF", TwinKey},
	} {
		listed, asked := mustRead(t, c.listed), mustRead(t, c.asked)
		require.Equal(t, string(listed.AppendTwinKey(nil)), string(asked.AppendTwinKey(nil)), name)
		require.Equal(t, c.twin, asked.TwinOf(listed), name)
		require.True(t, c.twin.Sure())
	}
	require.False(t, TwinBytes.Sure())
	for twin := TwinKey; twin <= TwinBytes; twin++ {
		require.NotEmpty(t, twin.String())
	}
	require.Empty(t, TwinSame.String())
}

// The script hash of a witness program: BIP 49's test vector, and one of 32 bytes.
func TestNestedPrograms(t *testing.T) {
	hash, _ := hex.DecodeString("38971f73930f6c141d977ac4fd4a727c854935b3")
	var key, nested Address
	key.setPayload(KeyHash, hash)
	derived := key.AppendDerived(nil)
	require.Len(t, derived, 1)
	nested = derived[0].Account
	require.Equal(t, TwinNested, derived[0].Twin)
	want, _ := hex.DecodeString("336caa13e08b96080a32b5d818d59b4ab3b36742")
	require.Equal(t, ScriptHash, nested.Family())
	require.Equal(t, want, nested.payload[:nested.size])
	require.Equal(t, TwinBytes, key.TwinOf(&nested), "a key hash is no script hash")

	long := mustRead(t, "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3")
	derived = long.AppendDerived(nil)
	require.Len(t, derived, 1)
	require.Equal(t, ScriptHash, derived[0].Account.Family())
	require.Empty(t, mustRead(t, "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0").AppendDerived(nil), "later versions are not nested")
	require.Empty(t, mustRead(t, "3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC").AppendDerived(nil))
	require.Empty(t, mustRead(t, "0x098B716B8Aaf21512996dC57EB0615e2383E2f96").AppendDerived(nil))
}

// An owner's token accounts: the first as the tests of other programs have it. An owner's key is a
// point of the curve, a program's address is none.
func TestTokenAccounts(t *testing.T) {
	for _, address := range []string{"BwqrghZA2htAcqq8dzP1WDAhTXYTYWj7CHxF5j7TDBAe", "13yWmRpaTR4r5nAktwLqMpRNr28tnVUZw26rTvPSSB19", "2fnQrngrQT4SeLcdToJAD96phoEjNL2man2kfRLCASVk"} {
		require.False(t, isPoint(mustKey(address)), address)
	}
	for seed := range byte(100) {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
		require.True(t, isPoint(key.Public().(ed25519.PublicKey)))
	}
	owner := mustRead(t, "3h1zGmCwsRJnVk5BuRNMLsPaQu1y2aqXqXDWYCgrp5UG")
	tokens := owner.AppendDerived(nil)
	require.Len(t, tokens, len(mints))
	for i := range tokens {
		require.Equal(t, TwinToken, tokens[i].Twin)
		require.False(t, isPoint(tokens[i].Account.payload[:solanaBytes]))
	}
	require.Equal(t, "3uetDDizgTtadDHZzyy9BqxrjQcozMEkxzbKhfZF4tG3", base58.Encode(tokens[0].Account.payload[:solanaBytes]))
}
