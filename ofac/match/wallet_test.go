package match

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/sha3"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/wallet"
)

func walletEntities() []list.Entity {
	lazarus := listtest.Named(27307, list.Company, list.ListSDN, "LAZARUS GROUP")
	lazarus.Addresses = []list.Address{{Ticker: "ETH", Value: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"}}
	other := listtest.Named(100, list.Company, list.ListCONS, "OTHER")
	other.Addresses = []list.Address{
		{Ticker: "USDC", Value: "0x098b716b8aaf21512996dc57eb0615e2383e2f96"},
		{Ticker: "XBT", Value: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
		{Ticker: "BCH", Value: "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"},
		{Ticker: "TRX", Value: "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"},
		{Ticker: "XMR", Value: "5BE599AE8B2F4F6C2D5F6E2A8A9D1B3C4D5E6F708192A3B4C5D6E7F8091A2B3C"},
	}
	return []list.Entity{lazarus, other}
}

func TestWallet(t *testing.T) {
	compiled := mustBuild(t, walletEntities())
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
		"longer than any address": {strings.Repeat("1", 520+1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			match, ok := compiled.Wallet(c.address)
			require.Equal(t, c.uid != 0, ok)
			require.Equal(t, c.uid, match.UID)
		})
	}
	match, _ := compiled.Wallet(eth)
	require.Equal(t, index.WalletMatch{UID: 27307, Lists: list.ListSDN | list.ListCONS, Ticker: "ETH", Address: eth}, match)
}

// A listed wallet is found in every encoding, case and scheme, and with whatever a wallet
// app or a person writes around it. The short test takes one address in four.
func TestEveryListedWalletIsFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	entities := listtest.RealEntities(t, "2025-11-19")
	newer := listtest.Named(1, list.Company, list.ListSDN, "NEWER ADDRESSES")
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "ofac", "2026-08-22", "all_wallets.txt")) {
		if f[0] != "" {
			newer.Addresses = append(newer.Addresses, list.Address{Ticker: "XBT", Value: f[0]})
		}
	}
	list := mustBuild(t, append(entities, newer))
	distinct := map[string]bool{}
	var spellings []string
	for i, address := range newer.Addresses {
		distinct[string(wallet.AppendKey(nil, address.Value))] = true
		if testing.Short() && i%4 != 0 {
			continue
		}
		spellings = spellingsOf(spellings[:0], address.Value)
		for _, spelling := range spellings {
			_, ok := list.Wallet(spelling)
			require.True(t, ok, "%s as %s", address.Value, spelling)
			for _, ornament := range walletOrnaments {
				text := strings.ReplaceAll(ornament, "$", spelling)
				if len(text) > wallet.TextMax {
					continue // The text is longer than what is read. A call accepts only half of that.
				}
				_, ok := list.Wallet(text)
				require.True(t, ok, text)
			}
		}
		for i, spelling := range unseenOf(spellings[:0], address.Value) {
			text := strings.ReplaceAll(walletOrnaments[(i+len(spelling))%len(walletOrnaments)], "$", spelling)
			if _, ok := list.Wallet(text); len(text) <= wallet.TextMax {
				require.True(t, ok, text)
			}
		}
	}
	require.Greater(t, len(distinct), 900)
	require.GreaterOrEqual(t, list.Counts().Wallets, len(distinct))
}

// walletOrnaments are texts around an address; $ is the address.
var walletOrnaments = []string{
	" $\n", "$:", "$,", "$;", "$.", "<$>", "(\"$\")", "[$](https://wallet.example)", "`$`", "$/", "$@1", "$?value=1", "$#memo", "$ (main wallet)",
	"ETH $", "ETH:$", "to=$", "wallet: $", "pay $ now", "ethereum:$", "ethereum:pay-$@137?value=1e18", "bitcoin:$?amount=0.1&label=a%20shop",
	"bitcoincash:$", "litecoin:$", "tron:$", "monero:$?tx_amount=1", "solana:$?amount=1", "eip155:1:$", "bip122:000000000019d6689c085ae165831e93:$",
	"did:pkh:eip155:1:$", "web3://$", "https://etherscan.io/address/$", "https://etherscan.io/address/$#tokentxns", "https://tronscan.org/#/address/$",
	"https://blockchair.com/bitcoin/address/$?from=app", "https%3A%2F%2Fexplorer.example%2Faddress%2F$", "HTTPS://EXPLORER.EXAMPLE/$/transactions",
	"\u200b$\u2060", "\u202a$\u202c", "→ $", "💰$", "cpWallet=$&x=1", "{\"address\":\"$\"}",
	// Current wallet apps and explorers make these.
	"eip155:8453:$", "eip155:42161:$", "eip155:1/slip44:60:$", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:$", "tron:0x2b6653dc:$", "base:$", "arb1:$", "xrpl:0:$",
	"tron:$?amount=1&token=USDT", "ethereum:$@0x2105?value=2.014e18&gas=10&gasLimit=21000", "ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=$&uint256=1e6",
	"bitcoin:$?amount=0.00001&label=sbddesign%3A%20For%20lunch%20Tuesday&lightning=LNBC10U1P3PJ257PP5YZTKWJCZ5FTL5LAXKAV23ZMZEKAW37ZK6KMV80PK4XAEV5QHTZ7Q",
	"solana:$?amount=1&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v&reference=82ZJ7nbGpixjeDCmEhUcmwXYfvurzAgGdtSMuHnUgyny&label=shop",
	"https://basescan.org/address/$", "https://arbiscan.io/token/0xaf88d065e77c8cC2239327C5EDb3A432268e5831?a=$", "https://tronscan.org/#/address/$/transfers",
	"https://mempool.space/address/$", "https://solscan.io/account/$#portfolio", "https://explorer.solana.com/address/$?cluster=mainnet-beta", "https://debank.com/profile/$/history",
	"https://app.safe.global/home?safe=eth:$", "https://metamask.app.link/send/pay-$@1?value=1e18", "https://link.trustwallet.com/send?asset=c60&address=$&amount=1",
	"https://www.blockchain.com/explorer/addresses/btc/$", "https://xmrchain.net/search?value=$", "https://out.example/?to=https%253A%252F%252Fetherscan.io%252Faddress%252F$",
	"?a=1&amp;address=$&amp;b=2", "&lt;$&gt;", "\u2066$\u2069", "\u2067$\u2069", "\ufeff$", "$\u3164", "“$”", "‘$’", "«$»", "『$』", "（$）", "【$】", "$。", "$！", "$…", "—$—", "$?!", "\t$\x00",
}

// spellingsOf appends every encoding and case of an address.
func spellingsOf(dst []string, address string) []string {
	dst = append(dst, address, address[:9]+"\u200b"+address[9:])
	if wallet.Fits(address) { // an address that fits no grammar is compared as written
		dst = append(dst, address[:9]+" "+address[9:20]+" "+address[20:])
	}
	if data, err := base58.Decode(address); err == nil && len(data) == 25 {
		dst = append(dst, spellingsOfHash(data[0], data[1:21])...)
	}
	lowered := strings.ToLower(address)
	switch {
	case strings.HasPrefix(address, "0x") && len(address) == 42:
		account, _ := hex.DecodeString(lowered[2:])
		dst = append(dst, lowered, strings.ToUpper(address), address[2:], "xdc"+address[2:], "XDC"+address[2:], "0x"+strings.Repeat("0", 24)+address[2:],
			strings.Repeat("0", 24)+address[2:], bech32Of("inj", account), bech32Of("one", account))
	case strings.HasPrefix(lowered, "bc1"), strings.HasPrefix(lowered, "ltc1"), strings.HasPrefix(lowered, "bnb1"):
		dst = append(dst, lowered, strings.ToUpper(address))
	case len(address) == 42 && (address[0] == 'q' || address[0] == 'p'):
		dst = append(dst, strings.ToUpper(address), "bitcoincash:"+address, "BITCOINCASH:"+strings.ToUpper(address))
		if canonical, ok := wallet.Canonical(address); ok {
			dst = append(dst, canonical) // base58
		}
	case len(address) == 95 && address[0] == '4' && wallet.Fits(address):
		dst = append(dst, integrated(address))
	case len(address) == 64 && wallet.AppendKey(nil, address)[0] == byte(wallet.Unknown):
		dst = append(dst, strings.ToUpper(address))
	}
	return dst
}

// unseenOf appends an address with invisible characters in it, and in other letters and
// digits.
func unseenOf(dst []string, address string) []string {
	for _, unseen := range []string{"\u00ad", "\u0301", "\u061c", "\u115f", "\u2066", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\U000e0020", "\U000e0101", "%E2%80%8B", "%25E2%2580%258B", "&#8203;", "&ZeroWidthSpace;"} {
		dst = append(dst, address[:11]+unseen+address[11:])
	}
	dst = append(dst, widened(address, func(c byte) rune { return rune(c) - '!' + 0xFF01 }))
	dst = append(dst, widened(address, func(c byte) rune {
		switch {
		case c <= '9':
			return rune(c) - '0' + 0x1D7CE
		case c <= 'Z':
			return rune(c) - 'A' + 0x1D400
		}
		return rune(c) - 'a' + 0x1D41A
	}))
	return dst
}

// widened replaces the letters and digits of an address by others that look like them.
func widened(address string, as func(byte) rune) string {
	var text strings.Builder
	for i := range len(address) {
		text.WriteRune(as(address[i]))
	}
	return text.String()
}

// spellingsOfHash are the other encodings of a hash with a base58 version.
func spellingsOfHash(version byte, hash []byte) []string {
	checked := func(version byte) string {
		data := append([]byte{version}, hash...)
		first := sha256.Sum256(data)
		second := sha256.Sum256(first[:])
		return base58.Encode(append(data, second[:4]...))
	}
	switch version {
	case 0x00:
		return []string{checked(0x1C), cashOf(0, hash), "bitcoincash:" + cashOf(0, hash), cashOf(2<<3, hash)}
	case 0x05:
		return []string{checked(0x32), checked(0x28), cashOf(1<<3, hash), strings.ToUpper(cashOf(1<<3, hash))}
	case 0x32:
		return []string{checked(0x05), cashOf(1<<3, hash)}
	case 0x41:
		digits := "41" + hex.EncodeToString(hash)
		return []string{digits, strings.ToUpper(digits), "0x" + digits, "0x" + strings.Repeat("0", 22) + digits, "0x" + digits[2:]}
	}
	return nil
}

func bech32Of(prefix string, data []byte) string {
	words, _ := bech32.ConvertBits(data, 8, 5, true)
	text, _ := bech32.Encode(prefix, words)
	return text
}

// cashOf encodes a cashaddr without its prefix.
func cashOf(version byte, hash []byte) string {
	words, _ := bech32.ConvertBits(append([]byte{version}, hash...), 8, 5, true)
	sum := uint64(1)
	step := func(value byte) {
		top := sum >> 35
		sum = (sum&0x07ffffffff)<<5 ^ uint64(value)
		for i, generator := range []uint64{0x98f2bc8e61, 0x79b76d99e2, 0xf33e5fb3c4, 0xae2eabe2a8, 0x1e4f43e470} {
			if top>>i&1 != 0 {
				sum ^= generator
			}
		}
	}
	for _, c := range []byte("bitcoincash") {
		step(c & 31)
	}
	step(0)
	for _, word := range words {
		step(word)
	}
	for range 8 {
		step(0)
	}
	sum ^= 1
	for i := range 8 {
		words = append(words, byte(sum>>(5*(7-i)))&31)
	}
	text := make([]byte, len(words))
	for i, word := range words {
		text[i] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"[word]
	}
	return string(text)
}

// integrated makes an integrated Monero address of a standard one and a payment id.
func integrated(address string) string {
	var body []byte
	for rest := address; len(rest) > 0; {
		digits, size := 11, 8
		if len(rest) < 11 {
			digits, size = 7, 5
		}
		value := new(big.Int)
		for _, c := range []byte(rest[:digits]) {
			value.Mul(value, big.NewInt(58))
			value.Add(value, big.NewInt(int64(strings.IndexByte("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", c))))
		}
		body, rest = append(body, value.FillBytes(make([]byte, size))...), rest[digits:]
	}
	body = append(append([]byte{19}, body[1:65]...), 1, 2, 3, 4, 5, 6, 7, 8)
	hash := sha3.NewLegacyKeccak256()
	hash.Write(body)
	body = append(body, hash.Sum(nil)[:4]...)
	var text strings.Builder
	for len(body) > 0 {
		size, digits := min(8, len(body)), 11
		if size < 8 {
			digits = 7
		}
		block := base58.Encode(bytes.TrimLeft(body[:size], "\x00"))
		text.WriteString(strings.Repeat("1", digits-len(block)) + block)
		body = body[size:]
	}
	return text.String()
}

var randomWallets = flag.Int("wallets", 100_000, "random addresses of TestNoRandomWalletIsListed")

func TestNoRandomWalletIsListed(t *testing.T) {
	list := realList(t, "2025-11-19")
	random := rand.New(rand.NewPCG(1, 2))
	hash := make([]byte, 20)
	for i := range *randomWallets {
		for k := range hash {
			hash[k] = byte(random.Uint32())
		}
		spelling := "0x" + hex.EncodeToString(hash)
		switch i % 16 {
		case 0:
			spelling = cashOf(0, hash)
		case 1:
			spelling = spellingsOfHash(0x32, hash)[0]
		case 2:
			spelling = bech32Of("bnb", hash)
		case 3:
			spelling = "41" + hex.EncodeToString(hash)
		case 4, 5, 6:
			spelling = checkedOf(base58.BTCAlphabet, []byte{[]byte{0x00, 0x05, 0x30}[i%16-4]}, hash)
		case 7, 8:
			spelling = segwitOf([]string{"bc", "ltc"}[i%16-7], 0, hash)
		case 9:
			spelling = bech32Of("kava", hash)
		case 10:
			spelling = checkedOf(ripple, []byte{0}, hash)
		}
		_, ok := list.Wallet(spelling)
		require.False(t, ok, spelling)
	}
}

func TestWalletDoesNotAllocate(t *testing.T) {
	list := mustBuild(t, walletEntities())
	for _, address := range []string{"0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "0x00000000219ab540356cBB839Cbe05303d7705Fa"} {
		require.Zero(t, testing.AllocsPerRun(100, func() { list.Wallet(address) }))
	}
}

func FuzzWallet(f *testing.F) {
	list := mustBuild(f, walletEntities())
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
