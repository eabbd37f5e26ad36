package wallet_test

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"railguard/ofac/wallet"
)

// Spellings of one account, from the examples of the standards; the first is canonical.
var accounts = map[string][]string{
	"BCH key hash (cashaddr specification)": {
		"1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
		"qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a", "BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A",
		"bitcoin:1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu?amount=0.1&label=a%20b",
	},
	"BCH script hash (cashaddr specification)": {
		"3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC", "bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq",
	},
	"XRP (XLS-5)": {"r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59", "X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ"},
	"EVM": {
		"0x00c5496aee77c1ba1f0854206a26dda82a81d6d8", "XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS", "xe7338o073kygtwwzn0f2wz0r8px5zppzs",
		"0X00C5496AEE77C1BA1F0854206A26DDA82A81D6D8", "00c5496aEe77C1bA1f0854206A26DdA82a81D6D8", "xdc00c5496aEe77C1bA1f0854206A26DdA82a81D6D8",
		"0x00000000000000000000000000c5496aee77c1ba1f0854206a26dda82a81d6d8", "ethereum:0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8@1?value=1",
		"0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8:", "https://etherscan.io/address/0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8#code",
		"ETH0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8", "ethereum%3A0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8",
	},
	"TRON": {
		"TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G", tronHex("TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"),
		"0x" + tronHex("TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"), "https://tronscan.org/#/address/TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G",
	},
	"segwit 0 (BIP 173)": {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"},
	"segwit 1 (BIP 350)": {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bitcoin:BC1P0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQZK5JJ0"},
	"Solana":             {"4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T", "solana:4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T?amount=1"},
	"Monero":             {"44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A", "monero:44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A"},
	"LTC":                {"LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", "litecoin:LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1"},
}

// tronHex is the hexadecimal form of a TRON address, which TRON nodes use.
func tronHex(address string) string {
	data, _ := base58.Decode(address)
	return hex.EncodeToString(data[:21])
}

func TestEverySpellingIsOneAccount(t *testing.T) {
	for name, spellings := range accounts {
		t.Run(name, func(t *testing.T) {
			want := wallet.AppendKey(nil, spellings[0])
			require.NotZero(t, want[0], "the canonical spelling fits a grammar")
			for _, spelling := range spellings {
				require.Equal(t, want, wallet.AppendKey(nil, spelling), spelling)
				require.True(t, wallet.Fits(spelling), spelling)
				canonical, ok := wallet.Canonical(spelling)
				require.True(t, ok)
				require.Equal(t, spellings[0], canonical, spelling)
			}
		})
	}
}

// Different accounts have different keys.
func TestDifferentAccountsStayApart(t *testing.T) {
	seen := map[string]string{}
	for name, spellings := range accounts {
		key := string(wallet.AppendKey(nil, spellings[0]))
		require.Empty(t, seen[key], name)
		seen[key] = name
	}
	// An X-address with a tag has the key of its account, but another canonical spelling,
	// because another tag is another party.
	tagged := "XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi"
	require.Equal(t, wallet.AppendKey(nil, "rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf"), wallet.AppendKey(nil, tagged))
	canonical, ok := wallet.Canonical(tagged)
	require.True(t, ok)
	require.Equal(t, tagged, canonical)
}

func TestWhatFitsNoGrammar(t *testing.T) {
	for _, text := range []string{
		"", " ", ":", "0x", "vitalik.eth", "DE89370400440532013000", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", // a wrong letter
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",                     // a wrong letter
		"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", // BIP 350: bech32 where bech32m must be
		"qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6b",
		"0x00c5496aee77c1ba1f0854206a26dda82a81d6d",   // a digit short
		"0x00c5496aee77c1ba1f0854206a26dda82a81d6d8a", // a digit long
		"XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZT",
		"5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320", // a key, not an address
		"44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3B",
		"0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060", // a transaction
		"tNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G",
		strings.Repeat("1", wallet.TextMax+1),
	} {
		require.False(t, wallet.Fits(text), text)
		_, ok := wallet.Canonical(text)
		require.False(t, ok, text)
	}
	// A text with two accounts does not name one account.
	two := "ethereum:0x00c5496aEe77C1bA1f0854206A26DdA82a81D6D8/transfer?address=0x52908400098527886E0F7030069857D2E4169EE7&uint256=1"
	require.False(t, wallet.Fits(two))
	require.True(t, wallet.Several(two))
}

// A text whose unread words may be an account does not name exactly one.
func TestAnAccountBehindManyWordsIsNotHidden(t *testing.T) {
	const first, behind = "0x00c5496aee77c1ba1f0854206a26dda82a81d6d8", "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"
	require.False(t, wallet.Fits(first+strings.Repeat(" a", 70)+" "+behind+" b"))
	require.True(t, wallet.Fits(first+strings.Repeat(" a", 70)))
}

// In a link, the last address of the path comes first.
func TestTheLastAddressOfAPathComesFirst(t *testing.T) {
	var reading wallet.Reading
	const first, last = "0x00c5496aee77c1ba1f0854206a26dda82a81d6d8", "0x52908400098527886e0f7030069857d2e4169ee7"
	wallet.Read("https://explorer.example/token/"+first+"/holder/"+last+"?from="+first, &reading)
	require.Len(t, reading.Addresses(), 2)
	require.Equal(t, wallet.AppendKey(nil, last), reading.Addresses()[0].AppendKey(nil))
}

func TestAnUnknownAddressIsComparedAsWritten(t *testing.T) {
	key := wallet.AppendKey(nil, "5BE5543FF73456AB9F2D207887E2AF87322C651EA1A873C5B25B7FFAE456C320")
	require.Equal(t, wallet.AppendKey(nil, "5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320"), key)
	require.NotEqual(t, wallet.AppendKey(nil, "Abcdefghijklmnopqrstuvwxyz"), wallet.AppendKey(nil, "abcdefghijklmnopqrstuvwxyz"))
	require.Equal(t, wallet.AppendKey(nil, " Abc def\u200b"), wallet.AppendKey(nil, "Abcdef"))
	require.Empty(t, wallet.AppendKey(nil, " \u200b\t"))
}

// Reading a plain EVM address allocates nothing.
func TestPlainAddressesDoNotAllocate(t *testing.T) {
	var reading wallet.Reading
	require.Zero(t, testing.AllocsPerRun(100, func() { wallet.Read("0x098B716B8Aaf21512996dC57EB0615e2383E2f96", &reading) }))
}

func TestRandomTextFitsNoGrammar(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	const letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	for range 20_000 {
		text := make([]byte, 25+random.IntN(6)) // shorter than Solana's keys, which have no checksum
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		require.False(t, wallet.Fits(string(text)), string(text))
	}
}

func FuzzRead(f *testing.F) {
	for _, spellings := range accounts {
		for _, spelling := range spellings {
			f.Add(spelling)
		}
	}
	f.Add("%")
	f.Add("%4")
	f.Add("\xff0x")
	f.Fuzz(func(t *testing.T, text string) {
		canonical, ok := wallet.Canonical(text)
		if !ok {
			return
		}
		again, ok := wallet.Canonical(canonical)
		require.True(t, ok, canonical)
		require.Equal(t, canonical, again)
		require.Equal(t, wallet.AppendKey(nil, text), wallet.AppendKey(nil, canonical))
	})
}
