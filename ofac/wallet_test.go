package ofac

import (
	"encoding/hex"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func walletEntities() []Entity {
	lazarus := named(27307, Company, ListSDN, "LAZARUS GROUP")
	lazarus.Addresses = []Address{{Ticker: "ETH", Value: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"}}
	other := named(100, Company, ListCONS, "OTHER")
	other.Addresses = []Address{
		{Ticker: "USDC", Value: "0x098b716b8aaf21512996dc57eb0615e2383e2f96"},
		{Ticker: "XBT", Value: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
		{Ticker: "BCH", Value: "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"},
		{Ticker: "TRX", Value: "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"},
		{Ticker: "XMR", Value: "5BE599AE8B2F4F6C2D5F6E2A8A9D1B3C4D5E6F708192A3B4C5D6E7F8091A2B3C"},
	}
	return []Entity{lazarus, other}
}

func TestWallet(t *testing.T) {
	list := mustOpen(t, mustBuild(t, walletEntities()))
	const eth = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	for name, c := range map[string]struct {
		address string
		uid     uint32
	}{
		"as printed":              {eth, 27307},
		"lower":                   {strings.ToLower(eth), 27307},
		"upper with 0X":           {strings.ToUpper(eth), 27307},
		"without 0x":              {eth[2:], 27307},
		"blanks around":           {" \t" + eth + "\r\n", 27307},
		"no-break space inside":   {eth[:20] + "\u00a0" + eth[20:], 27307},
		"zero width inside":       {eth[:20] + "\u200b" + eth[20:], 27307},
		"full width":              {"０ｘ" + eth[2:], 27307},
		"CAIP-10":                 {"eip155:1:" + eth, 27307},
		"URI":                     {"ethereum:" + eth, 27307},
		"one digit short":         {eth[:41], 0},
		"one digit long":          {eth + "6", 0},
		"another":                 {"0x098B716B8Aaf21512996dC57EB0615e2383E2f97", 0},
		"bech32":                  {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 100},
		"bech32 upper":            {"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", 100},
		"cashaddr with prefix":    {"bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a", 100},
		"cashaddr upper":          {"QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A", 100},
		"base58":                  {"TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G", 100},
		"base58 in another case":  {"tNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G", 0},
		"hexadecimal key lower":   {"5be599ae8b2f4f6c2d5f6e2a8a9d1b3c4d5e6f708192a3b4c5d6e7f8091a2b3c", 100},
		"cyrillic letter":         {strings.Replace(eth, "a", "а", 1), 0},
		"empty":                   {"", 0},
		"blank":                   {" ", 0},
		"longer than any address": {strings.Repeat("1", walletBytesMax+1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			match, ok := list.Wallet(c.address)
			require.Equal(t, c.uid != 0, ok)
			require.Equal(t, c.uid, match.UID)
		})
	}
	match, _ := list.Wallet(eth)
	require.Equal(t, WalletMatch{UID: 27307, Lists: ListSDN | ListCONS, Ticker: "ETH", Address: eth}, match)
}

func TestEveryListedWalletIsFoundInAnyLegalCase(t *testing.T) {
	list := realList(t, "2025-11-19")
	rows := readRows(t, filepath.Join(dataFolder(t), "ofac", "golden", "sdn_2025-11-19_addresses.tsv"))
	distinct := map[string]bool{}
	for _, f := range rows {
		spellings := []string{f[2], " " + f[2] + "\n"}
		lowered := strings.ToLower(f[2])
		if strings.HasPrefix(f[2], "0x") {
			spellings = append(spellings, lowered, strings.ToUpper(f[2]), f[2][2:])
			distinct[lowered] = true
		} else {
			distinct[f[2]] = true
		}
		if strings.HasPrefix(lowered, "bc1") || strings.HasPrefix(lowered, "ltc1") || strings.HasPrefix(lowered, "bnb1") || len(f[2]) == 42 && f[2][0] == 'q' {
			spellings = append(spellings, strings.ToUpper(f[2]), lowered)
		}
		for _, spelling := range spellings {
			_, ok := list.Wallet(spelling)
			require.True(t, ok, spelling)
		}
	}
	require.Equal(t, len(distinct), list.Counts().Wallets)
}

func TestNoRandomWalletIsListed(t *testing.T) {
	list := realList(t, "2025-11-19")
	random := rand.New(rand.NewPCG(1, 2))
	account := make([]byte, 20)
	for range 1_000_000 {
		for i := range account {
			account[i] = byte(random.Uint32())
		}
		_, ok := list.Wallet("0x" + hex.EncodeToString(account))
		require.False(t, ok)
	}
}

func TestWalletDoesNotAllocate(t *testing.T) {
	list := mustOpen(t, mustBuild(t, walletEntities()))
	for _, address := range []string{"0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"} {
		require.Zero(t, testing.AllocsPerRun(100, func() { list.Wallet(address) }))
	}
}

func FuzzWallet(f *testing.F) {
	list := mustOpen(f, mustBuild(f, walletEntities()))
	for _, seed := range []string{"", ":", "0x", "bc1", " \xff", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		match, ok := list.Wallet(address)
		padded, okPadded := list.Wallet("  " + address + "\n")
		require.Equal(t, ok, okPadded)
		require.Equal(t, match, padded)
	})
}
