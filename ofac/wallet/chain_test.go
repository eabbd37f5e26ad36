package wallet_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/wallet"
)

// The spelling of an address determines its chain. A text that is no address gives "other".
func TestChain(t *testing.T) {
	for text, chain := range map[string]string{
		"0x00c5496aee77c1ba1f0854206a26dda82a81d6d8":                                                      "EVM",
		"TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G":                                                              "TRON",
		"1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu":                                                              "BTC",
		"3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC":                                                              "BTC",
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4":                                                      "BTC",
		"bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a":                                          "BCH",
		"LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1":                                                              "LTC",
		"r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59":                                                              "XRP",
		"4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T":                                                    "SOL",
		"44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A": "XMR",
		"kava1pa78qajm34ypqk6unwwn9tgxrc9evaez54jv86":                                                     "KAVA", // Also 32 bytes in base58.
		"dgb1qpa78qajm34ypqk6unwwn9tgxrc9evaezfpuzd7":                                                     "DGB",
		"hello":  "other",
		"":       "other",
		"0x1234": "other",
	} {
		require.Equal(t, chain, wallet.Chain(text), text)
		require.Equal(t, chain != "other", wallet.IsAddress(strings.TrimPrefix(text, "bitcoincash:")), text)
	}
	require.False(t, wallet.IsAddress("pay 0x00c5496aee77c1ba1f0854206a26dda82a81d6d8"))
}

// A reading gives the keys of its accounts first, then those of the text as written.
func TestKeysOfAReading(t *testing.T) {
	var reading wallet.Reading
	wallet.Read("0x00c5496aee77c1ba1f0854206a26dda82a81d6d8 TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G and a-note-without-account-1234567890", &reading)
	var keys []string
	for n := 0; ; n++ {
		key, more := reading.AppendTwinKey(nil, n)
		if !more {
			break
		}
		keys = append(keys, string(key))
	}
	require.Greater(t, len(keys), 3)
	for n, text := range []string{"0x00c5496aee77c1ba1f0854206a26dda82a81d6d8", "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"} {
		var account wallet.Address
		own, ok := wallet.ReadListed(nil, text, &account)
		require.True(t, ok)
		require.Equal(t, string(own), keys[n])
	}
	require.True(t, wallet.Several("0x00c5496aee77c1ba1f0854206a26dda82a81d6d8 TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"))
}

// Invisible characters are dropped. Wide and mathematical characters and digits of other
// scripts are read as the characters they look like.
func TestDisguisedAddressesAreRead(t *testing.T) {
	const address = "0x00c5496aee77c1ba1f0854206a26dda82a81d6d8"
	want := wallet.AppendKey(nil, address)
	for name, disguised := range map[string]string{
		"soft hyphen":          address[:9] + "\u00ad" + address[9:],
		"zero-width space":     address[:9] + "\u200b" + address[9:],
		"direction mark":       "\u202a" + address + "\u202c",
		"combining mark":       address[:9] + "\u0301" + address[9:],
		"variation selector":   address[:9] + "\ufe0f" + address[9:],
		"control character":    address[:9] + "\x01" + address[9:],
		"no-break space":       "\u00a0" + address + "\u3000",
		"full width":           strings.Map(func(r rune) rune { return r - '!' + 0xFF01 }, address),
		"Arabic digits":        strings.Map(func(r rune) rune { return digitOf(r, 0x0660) }, address),
		"Persian digits":       strings.Map(func(r rune) rune { return digitOf(r, 0x06F0) }, address),
		"mathematical digits":  strings.Map(func(r rune) rune { return digitOf(r, 0x1D7CE) }, address),
		"mathematical letters": strings.Map(func(r rune) rune { return letterOf(r, 0x1D400) }, address),
	} {
		require.Equal(t, want, wallet.AppendKey(nil, disguised), name)
	}
}

// digitOf maps a digit to the script with the given zero; other characters stay.
func digitOf(r, zero rune) rune {
	if r >= '0' && r <= '9' {
		return r - '0' + zero
	}
	return r
}

// letterOf maps a small letter to the mathematical alphabet with the given A; other
// characters stay.
func letterOf(r, first rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + first + 26
	}
	return r
}
