package wallet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An account is found wherever it stands if its shape is unmistakable. Numbers, hashes and
// references are none.
func TestElsewhere(t *testing.T) {
	const evm, btc, bech32, tron = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h",
		"bc1qpa78qajm34ypqk6unwwn9tgxrc9evaez76c64s", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	for text, found := range map[string]string{
		"": "", "invoice 2024/117": "", "rent for " + evm: " " + evm, `{"to":"` + btc + `"}`: " " + btc,
		"x402:" + bech32 + ";" + tron:           " " + bech32 + " " + tron,
		"tx " + "0x" + strings.Repeat("a9", 32): "", strings.Repeat("b", 40): "", strings.Repeat("7", 64): "",
		"12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9i": "", // The checksum is wrong.
	} {
		var e Elsewhere
		e.Add([]byte(text))
		require.Equal(t, found, string(e.Texts), text)
		require.False(t, e.More)
	}
	var e Elsewhere
	e.Add([]byte(strings.Repeat(evm+" ", 5)))
	require.True(t, e.More)
	require.Equal(t, elsewhereMax, e.Count)
}

// A wallet beside a word that cannot be read is not read whole.
func TestUnread(t *testing.T) {
	const clean = "0x52908400098527886E0F7030069857D2E4169EE7"
	for text, unread := range map[string]bool{
		clean: false, "ETH " + clean: false, "pay " + clean + " now": false, clean + " (main wallet)": false, "→ " + clean: false,
		"0x5290 8400 0985 2788 6E0F 7030 0698 57D2 E416 9EE7":      false,
		"\u041Ex098B716B8Aaf21512996dC57EB0615e2383E2f96 " + clean: true,
		clean + " \u041Ex098B716B8Aaf21512996dC57EB0615e2383E2f96": true,
		"0x098B716B8A af21512996dC57EB0615e2383E2f96 " + clean:     true,
	} {
		var r Reading
		Read(text, &r)
		require.Equal(t, unread, r.Unread(), text)
	}
}
