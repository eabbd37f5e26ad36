package match

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/wallet"
)

// checkedOf writes a version and a hash in base58 with their checksum.
func checkedOf(alphabet *base58.Alphabet, version []byte, hash []byte) string {
	data := append(append([]byte{}, version...), hash...)
	first := sha256.Sum256(data)
	second := sha256.Sum256(first[:])
	return base58.EncodeAlphabet(append(data, second[:4]...), alphabet)
}

func segwitOf(prefix string, version byte, program []byte) string {
	words, _ := bech32.ConvertBits(program, 8, 5, true)
	words = append([]byte{version}, words...)
	if version == 0 {
		text, _ := bech32.Encode(prefix, words)
		return text
	}
	text, _ := bech32.EncodeM(prefix, words)
	return text
}

func nestedHash(program []byte) []byte {
	first := sha256.Sum256(append([]byte{0, byte(len(program))}, program...))
	second := ripemd160.New()
	second.Write(first[:])
	return second.Sum(nil)
}

var ripple = base58.NewAlphabet("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz")

// keyForms are the addresses of a key hash on all chains that hash keys alike.
func keyForms(hash []byte) map[string]string {
	base := func(version ...byte) string { return checkedOf(base58.BTCAlphabet, version, hash) }
	forms := map[string]string{
		"BTC": base(0), "Copay": base(0x1C), "LTC": base(0x30), "DOGE": base(0x1E), "BTG": base(0x26), "DASH": base(0x4C), "ZEC": base(0x1C, 0xB8),
		"BCH": cashOf(0, hash), "BCH tokens": cashOf(2<<3, hash), "XRP": checkedOf(ripple, []byte{0}, hash), "tex": bech32Of("tex", hash),
	}
	for _, prefix := range []string{"bc", "ltc", "btg", "vtc", "dgb", "grs"} {
		forms["segwit "+prefix] = segwitOf(prefix, 0, hash)
	}
	for _, prefix := range []string{"bnb", "cosmos", "osmo", "thor", "terra", "kava", "sei", "axelar", "celestia", "dydx", "akash", "juno", "secret"} {
		forms["account "+prefix] = bech32Of(prefix, hash)
	}
	return forms
}

// scriptForms are those of a script hash.
func scriptForms(hash []byte) map[string]string {
	base := func(version ...byte) string { return checkedOf(base58.BTCAlphabet, version, hash) }
	return map[string]string{
		"BTC": base(5), "LTC": base(0x32), "Copay": base(0x28), "DOGE": base(0x16), "XVG": base(0x21), "BTG": base(0x17), "DASH": base(0x10), "ZEC": base(0x1C, 0xBD),
		"BCH": cashOf(1<<3, hash),
	}
}

// pointForms are those of an EVM account.
func pointForms(hash []byte) map[string]string {
	digits := hex.EncodeToString(hash)
	return map[string]string{
		"EVM": "0x" + digits, "bare": digits, "TRON": checkedOf(base58.BTCAlphabet, []byte{0x41}, hash), "INJ": bech32Of("inj", hash), "ONE": bech32Of("one", hash),
		"kava": bech32Of("kava", hash), "sei": bech32Of("sei", hash),
	}
}

func listing(t *testing.T, lists list.Lists, addresses ...string) *Index {
	party := listtest.Named(7, list.Company, lists, "TWIN OWNER")
	for _, address := range addresses {
		party.Addresses = append(party.Addresses, list.Address{Ticker: "XBT", Value: address})
	}
	return mustBuild(t, []list.Entity{party})
}

// Every pair of forms of one hash: what is surely of one key blocks, equal bytes of another meaning
// are a possible match, and another hash is none.
func TestTwinsOfEveryPairOfChains(t *testing.T) {
	t.Parallel()
	hash, _ := hex.DecodeString("0f7c7076aabbccddeeff00112233445566778899")
	other := append([]byte{}, hash...)
	other[19]++
	families := []func([]byte) map[string]string{keyForms, scriptForms, pointForms}
	for from, forms := range families {
		for name, listed := range forms(hash) {
			compiled := listing(t, list.ListSDN, listed)
			for to, asked := range families {
				for askedName, text := range asked(hash) {
					match, ok := compiled.Wallet(text)
					require.True(t, ok, "%s %s as %s %s", name, listed, askedName, text)
					require.Equal(t, listed, match.Address)
					both := listed[:3] == "kav" || listed[:3] == "sei" || text[:3] == "kav" || text[:3] == "sei"
					sure := from == to || both && from != 1 && to != 1
					require.Equal(t, sure, match.Blocks(), "%s %s as %s %s: %s", name, listed, askedName, text, match.Twin)
				}
				for _, text := range asked(other) {
					_, ok := compiled.Wallet(text)
					require.False(t, ok, text)
				}
			}
			require.Equal(t, 1, compiled.Counts().Wallets, "twins are not listed addresses")
		}
	}
}

// What is computed of a listed address: nested witness programs, and token accounts. A witness
// program is one on every chain.
func TestComputedTwins(t *testing.T) {
	t.Parallel()
	program := sha256.Sum256([]byte("a script"))
	for name, c := range map[string]struct {
		listed, asked string
		twin          wallet.Twin
		found         bool
	}{
		"P2SH-P2WPKH":                  {"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", scriptForms(nestedHash(hashOf(t, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")))["BTC"], wallet.TwinNested, true},
		"P2SH-P2WPKH on LTC":           {"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", scriptForms(nestedHash(hashOf(t, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")))["LTC"], wallet.TwinNested, true},
		"P2SH-P2WPKH, the bare hash":   {"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", hex.EncodeToString(nestedHash(hashOf(t, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"))), wallet.TwinBytes, true},
		"P2SH-P2WSH":                   {segwitOf("bc", 0, program[:]), scriptForms(nestedHash(program[:]))["BTC"], wallet.TwinNested, true},
		"a program on LTC":             {segwitOf("bc", 0, program[:]), segwitOf("ltc", 0, program[:]), wallet.TwinKey, true},
		"taproot on LTC":               {segwitOf("bc", 1, program[:]), segwitOf("ltc", 1, program[:]), wallet.TwinKey, true},
		"another version":              {segwitOf("bc", 1, program[:]), segwitOf("bc", 0, program[:]), 0, false},
		"a long account is no program": {segwitOf("bc", 0, program[:]), bech32Of("cosmos", program[:]), 0, false},
		"USDC of an owner":             {"3h1zGmCwsRJnVk5BuRNMLsPaQu1y2aqXqXDWYCgrp5UG", "3uetDDizgTtadDHZzyy9BqxrjQcozMEkxzbKhfZF4tG3", wallet.TwinToken, true},
		"the owner of a token account": {"3uetDDizgTtadDHZzyy9BqxrjQcozMEkxzbKhfZF4tG3", "3h1zGmCwsRJnVk5BuRNMLsPaQu1y2aqXqXDWYCgrp5UG", 0, false},
		"the key of a script hash":     {scriptForms(nestedHash(hashOf(t, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")))["BTC"], "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", 0, false},
	} {
		match, ok := listing(t, list.ListSDN, c.listed).Wallet(c.asked)
		require.Equal(t, c.found, ok, name)
		require.Equal(t, c.twin, match.Twin, name)
	}
}

func hashOf(t *testing.T, address string) []byte {
	data, err := base58.Decode(address)
	require.NoError(t, err)
	return data[1:21]
}

// Of several listed twins the sure one counts, and of those that the listed address itself. On a
// list that is reviewed a twin is reviewed as its address is.
func TestWhichTwinCounts(t *testing.T) {
	t.Parallel()
	hash := hashOf(t, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")
	point, bitcoin, litecoin := pointForms(hash)["EVM"], keyForms(hash)["BTC"], keyForms(hash)["LTC"]
	compiled := listing(t, list.ListSDN, point, bitcoin, litecoin)
	for text, want := range map[string]struct {
		address string
		twin    wallet.Twin
	}{point: {point, wallet.TwinSame}, bitcoin: {bitcoin, wallet.TwinSame}, litecoin: {litecoin, wallet.TwinSame}, segwitOf("bc", 0, hash): {bitcoin, wallet.TwinKey},
		"pay " + point + " or " + bitcoin: {point, wallet.TwinSame}, keyForms(hash)["account sei"]: {point, wallet.TwinKey}} {
		match, ok := compiled.Wallet(text)
		require.True(t, ok)
		require.Equal(t, want.address, match.Address, text)
		require.Equal(t, want.twin, match.Twin, text)
		require.True(t, match.Blocks())
	}
	match, _ := listing(t, list.ListSDN, bitcoin).Wallet(point + " " + litecoin)
	require.True(t, match.Blocks(), "what blocks counts before what may be")
}

// Every listed key hash of the real list is found by every other address of its key.
func TestEveryListedKeyIsFoundByItsTwins(t *testing.T) {
	t.Parallel()
	entities := listtest.RealEntities(t, "2025-11-19")
	newer := listtest.Named(1, list.Company, list.ListSDN, "NEWER ADDRESSES")
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "ofac", "2026-08-22", "all_wallets.txt")) {
		if f[0] != "" {
			newer.Addresses = append(newer.Addresses, list.Address{Ticker: "XBT", Value: f[0]})
		}
	}
	compiled, keys, tokens := mustBuild(t, append(entities, newer)), 0, 0
	for _, address := range newer.Addresses {
		var account wallet.Address
		_, ok := wallet.ReadListed(nil, address.Value, &account)
		for _, token := range account.AppendDerived(nil) {
			if token.Twin == wallet.TwinToken {
				tokens++
				match, found := compiled.Wallet(base58.Encode(token.Account.AppendKey(nil)[1:]))
				require.True(t, found && match.Blocks(), address.Value)
			}
		}
		if !ok || account.Family() != wallet.KeyHash {
			continue
		}
		canonical, _ := wallet.Canonical(address.Value)
		hash := hashOf(t, canonical)
		keys++
		for _, forms := range []map[string]string{keyForms(hash), scriptForms(nestedHash(hash))} {
			for name, text := range forms {
				match, ok := compiled.Wallet(text)
				require.True(t, ok && match.Blocks(), "%s of %s: %s, %v", name, address.Value, text, match)
			}
		}
		match, found := compiled.Wallet(hex.EncodeToString(hash))
		require.True(t, found && !match.Blocks(), "the bare hash of %s may be it", address.Value)
	}
	require.Greater(t, keys, 200)
	t.Logf("%d key hashes, %d token accounts", keys, tokens)
}
