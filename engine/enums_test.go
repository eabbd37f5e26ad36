package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

func TestWordsOnScreen(t *testing.T) {
	chain, known := ParseChain(" Eth\t")
	require.True(t, known)
	require.Equal(t, ChainETH, chain)
	rail, known := ParseRail("iban")
	require.True(t, known)
	require.Equal(t, RailIBAN, rail)
	party, known := ParsePartyType("EXCHANGE")
	require.True(t, known)
	require.Equal(t, ofac.PartyExchange, party)
	for _, text := range []string{"", "  "} {
		chain, known = ParseChain(text)
		require.True(t, known)
		require.Equal(t, ChainNone, chain)
	}
	for _, text := range []string{"ETHX", "ET", "\u212Aeth", "e t h"} {
		_, known = ParseChain(text)
		require.False(t, known, text)
	}
}

func TestWordsAtRegistration(t *testing.T) {
	for c := ChainETH; c <= ChainSWIFT; c++ {
		got, known := ParseChainExact(c.String())
		require.True(t, known)
		require.Equal(t, c, got)
	}
	for r := RailUSDC; r <= RailIBAN; r++ {
		got, known := ParseRailExact(r.String())
		require.True(t, known)
		require.Equal(t, r, got)
	}
	for p := ofac.PartyIndividual; p <= ofac.PartyExchange; p++ {
		got, known := ParsePartyTypeExact(PartyTypeName(p))
		require.True(t, known)
		require.Equal(t, p, got)
	}
	for _, text := range []string{"", "eth", " ETH", "Usdc"} {
		_, known := ParseChainExact(text)
		require.False(t, known, text)
		_, known = ParseRailExact(text)
		require.False(t, known, text)
	}
	for text, want := range map[string]AgentType{"autonomous": Autonomous, "supervised": Supervised} {
		got, known := ParseAgentType(text)
		require.True(t, known)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "Autonomous", "human"} {
		_, known := ParseAgentType(text)
		require.False(t, known)
	}
}

// TestMatrix is the whole matrix of R19 (decision 43).
func TestMatrix(t *testing.T) {
	fits := map[Rail]string{RailUSDC: "ETH BASE SOL", RailACH: "ACH", RailWIRE: "WIRE", RailSWIFT: "SWIFT", RailIBAN: "WIRE SWIFT"}
	for rail := RailUSDC; rail <= RailIBAN; rail++ {
		var got string
		for chain := ChainETH; chain <= ChainSWIFT; chain++ {
			if Compatible(chain, rail) {
				got += " " + chain.String()
			}
		}
		require.Equal(t, " "+fits[rail], got, rail)
		require.True(t, Compatible(ChainNone, rail))
	}
	require.True(t, Compatible(ChainETH, RailNone))
}

func TestWalletShapes(t *testing.T) {
	const (
		evm    = "0x52908400098527886E0F7030069857D2E4169EE7"
		bitcon = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
		sol    = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
		base58 = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
		system = "11111111111111111111111111111111"
	)
	for text, want := range map[string]string{
		evm: "0x52908400098527886e0f7030069857d2e4169ee7", "0X52908400098527886E0F7030069857D2E4169EE7": "0x52908400098527886e0f7030069857d2e4169ee7",
		" 52908400098527886E0F7030069857D2E4169EE7 ": "0x52908400098527886e0f7030069857d2e4169ee7",
		bitcon: bitcon, "BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ": bitcon,
		sol: sol, base58: base58, "  " + base58: base58, "": "", "  ": "", "vitalik.eth": "vitalik.eth",
		"Bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq": bitcon, "bitcoin:" + bitcon + "?amount=1": bitcon,
		"qp3wjpa3tjlj042z2wv7hahsldgwhwy0rq9sywjpyy": base58, "ethereum:" + evm + "@1": "0x52908400098527886e0f7030069857d2e4169ee7",
	} {
		require.Equal(t, want, CanonicalWallet(text))
	}
	for _, text := range []string{evm, "0X52908400098527886E0F7030069857D2E4169EE7", bitcon, sol, base58} {
		require.True(t, ValidWallet(text), text)
	}
	for _, text := range []string{"", "0x5290", evm + "0", " " + evm, "vitalik.eth", base58[:24], "1A1zP1eP5QGefi2DMPTfTL5SLmv7Divf0O",
		"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdb", "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"} {
		require.False(t, ValidWallet(text), text)
	}
	for text, want := range map[string]bool{
		sol: true, system: true, system[1:]: false, system + "1": false, evm: false, base58: false,
		sol[:43] + "0": false, "": false,
		"JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG": true,  // 2^256 - 1, the largest.
		"JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFH": false, // One more.
	} {
		require.Equal(t, want, isSolanaAddress(text), text)
	}
}

func FuzzWallet(f *testing.F) {
	f.Add("0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ")
	f.Fuzz(func(t *testing.T, text string) {
		canonical := CanonicalWallet(text)
		require.Equal(t, canonical, CanonicalWallet(canonical), "canonical once is canonical for ever")
		ValidWallet(text)
		isSolanaAddress(text)
	})
}

func TestTimeTexts(t *testing.T) {
	for _, text := range []string{"1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "2026-03-22T03:33:28.589Z", "2100-02-28T12:00:00.000Z"} {
		require.Equal(t, text, at(t, text).String())
	}
	require.Equal(t, at(t, "2026-03-22T01:00:00Z"), at(t, "2026-03-22T03:00:00+02:00"))
	require.Equal(t, "1970-01-01T00:00:00.000Z", Time(-1).String())
	require.Equal(t, "2026-03-22", string(at(t, "2026-03-22T03:33:28Z").Day().AppendDate(nil)))
}
