package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	listedWallet = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" // In the sample list.
	cleanWallet  = "0x1111111111111111111111111111111111111111"
	mixerWallet  = "0x910Cbd523D972eb0a6f4cAe4618aD62622b39DbF"
)

// TestEveryWalletOfAPaymentIsJudged: a listed wallet blocks in every role and over every door, as
// payer by R4, as anybody else by R6; the record names it, and a search for it finds the record.
func TestEveryWalletOfAPaymentIsJudged(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	roles := func(pairs ...string) string {
		var items []string
		for i := 0; i < len(pairs); i += 2 {
			items = append(items, fmt.Sprintf(`{"role":%q,"address":%q}`, pairs[i], pairs[i+1]))
		}
		return `,"wallets":[` + strings.Join(items, ",") + `]`
	}
	const party = `,"cpWallet":"` + cleanWallet + `"`
	for _, c := range []struct{ said, want, reason, party string }{
		{party + `,"payerWallet":"` + cleanWallet + `"`, `PROCEED null`, "", ""},
		{party + roles("payer", cleanWallet, "intermediary", cleanWallet), `PROCEED null`, "", ""},
		{party + `,"payerWallet":null,"wallets":[]`, `PROCEED null`, "", ""},
		{party + `,"payerWallet":"` + listedWallet + `"`, "BLOCK R4_OPERATOR_WALLET_LIVE", "The wallet that pays is on the OFAC list.", "payer"},
		{party + `,"payerWallet":" ETH:` + strings.ToLower(listedWallet) + `"`, "BLOCK R4_OPERATOR_WALLET_LIVE", "The wallet that pays is on the OFAC list.", "payer"},
		{party + roles("payer", listedWallet), "BLOCK R4_OPERATOR_WALLET_LIVE", "The wallet that pays is on the OFAC list.", "payer"},
		{party + roles("payee", listedWallet), "BLOCK R6_COUNTERPARTY_WALLET_OFAC", "Another wallet of the payment is on the OFAC list.", "counterparty"},
		{roles("payee", listedWallet), "BLOCK R6_COUNTERPARTY_WALLET_OFAC", "The counterparty wallet is on the OFAC list.", "counterparty"},
		{party + roles("fee", cleanWallet, "intermediary", listedWallet), "BLOCK R6_COUNTERPARTY_WALLET_OFAC", "Another wallet of the payment is on the OFAC list.", "intermediary"},
		{party + roles("fee", listedWallet), "BLOCK R6_COUNTERPARTY_WALLET_OFAC", "Another wallet of the payment is on the OFAC list.", "fee"},
		{party + `,"payerWallet":"` + mixerWallet + `"`, "BLOCK R14_MIXER_PROTOCOL", "The wallet that pays is a contract of a known mixer or privacy protocol.", ""},
		{party + roles("intermediary", mixerWallet), "BLOCK R14_MIXER_PROTOCOL", "Another wallet of the payment is a contract of a known mixer or privacy protocol.", ""},
		{party + `,"payerWallet":"my own wallet"`, "REVIEW R19_RAIL_CHAIN_MISMATCH", "The wallet that pays cannot be read as one account of a known chain.", ""},
		{party + roles("fee", "0x12"), "REVIEW R19_RAIL_CHAIN_MISMATCH", "Another wallet of the payment cannot be read as one account of a known chain.", ""},
	} {
		w := n.screen(token, c.said)
		require.Equal(t, c.want, verdict(t, w), c.said)
		if c.reason != "" {
			require.Equal(t, c.reason, member(t, w.Body.Bytes(), "reason"), c.said)
		}
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+member(t, w.Body.Bytes(), "txnId"), ""), 200)
		if c.party != "" {
			require.Equal(t, c.party, textOf(record, "matches", "0", "party"), record.String())
			require.Equal(t, strings.ToLower(listedWallet), strings.ToLower(textOf(record, "matches", "0", "wallet")))
			require.NotEmpty(t, textOf(record, "parties", "0", "name"))
		}
		batch := answer(t, n.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1`+c.said+`}]}`), 200)
		require.Equal(t, strings.Fields(c.want)[0], textOf(batch, "results", "0", "verdict"), c.said)
		dry := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1`+c.said+`}`), 200)
		require.Equal(t, strings.Fields(c.want)[0], textOf(dry, "verdict"), c.said)
	}
	found := answer(t, n.do("auditor", "GET", "/v1/audit?wallet="+listedWallet+"&limit=100", ""), 200)
	require.Len(t, found.GetArray("data"), 14, "seven calls and their items of a batch, whatever the role")
}

// TestWalletsThatCannotBeRead: what is wrong with the new members is an error, because a wallet
// that is passed over is a wallet that nobody judged.
func TestWalletsThatCannotBeRead(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	nine := strings.TrimSuffix(strings.Repeat(`{"role":"fee","address":"`+cleanWallet+`"},`, 9), ",")
	for said, param := range map[string]string{
		`,"payerWallet":7`: "payerWallet",
		`,"payerWallet":"` + strings.Repeat("x", 257) + `"`: "payerWallet",
		`,"payerwallet":"x"`:                             "payerwallet",
		`,"wallet":[]`:                                   "wallet",
		`,"wallets":{}`:                                  "wallets",
		`,"wallets":[` + nine + `]`:                      "wallets",
		`,"wallets":["` + cleanWallet + `"]`:             "wallets[0]",
		`,"wallets":[{"role":"payer"}]`:                  "wallets[0]",
		`,"wallets":[{"address":"` + cleanWallet + `"}]`: "wallets[0]",
		`,"wallets":[{"role":"owner","address":"` + cleanWallet + `"}]`:           "wallets[0].role",
		`,"wallets":[{"role":"payer","address":7}]`:                               "wallets[0].address",
		`,"wallets":[{"role":"payer","address":"` + cleanWallet + `","note":""}]`: "wallets[0].note",
	} {
		v := answer(t, n.screen(token, said), 400)
		require.Equal(t, param, textOf(v, "param"), "%s: %s", said, v)
	}
}
