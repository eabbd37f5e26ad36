package x402

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mentionedEVM = "0x1111111111111111111111111111111111111111"

// TestMentionedWalletsAreBounded: more wallets than the API looks up in texts are refused, and those of
// the payment itself, or of the interface of the resource, are none of them.
func TestMentionedWalletsAreBounded(t *testing.T) {
	read := func(name string, count int) (*payment, error) {
		var texts []string
		for i := range count {
			texts = append(texts, fmt.Sprintf("0x%040d", i))
		}
		return readPayment([]byte(evmBody(func(body, payload, wanted map[string]any) {
			wanted[name] = append(texts, payerEVM, payeeEVM, strings.ToLower(Published[1].Address))
		})), Published, "")
	}
	p, err := read("x", 4)
	require.NoError(t, err)
	require.Len(t, strings.Fields(p.memo()), 4)
	_, err = read("x", 5)
	require.ErrorContains(t, err, "more wallets in its texts")
	p, err = read("outputSchema", 5)
	require.NoError(t, err)
	require.Empty(t, p.memo())
}

// TestWhatIsPaidForIsScreened: the host of the resource is an identifier of the counterparty, and what
// is said of it in words is the memo.
func TestWhatIsPaidForIsScreened(t *testing.T) {
	for _, c := range []struct{ resource, wanted, website, memo string }{
		{`{"url":"https://api.example.org:8443/weather/today?x=1","description":"Weather today"}`, `"description":"For QUUX HOLDING",`, "api.example.org/weather", "For QUUX HOLDING\nWeather today"},
		{`{"url":"http://localhost:4021/x","description":"` + strings.Repeat("ж", 600) + `"}`, "", "", strings.Repeat("ж", 512)},
		{`{"url":"https://www.example.org"}`, `"description":"same",`, "www.example.org/", "same"},
		{`{"url":7}`, "", "", ""},
		{`{"url":"%zz"}`, "", "", "%zz"},
		{`{"url":"Corner Bakery","description":"Bread"}`, "", "", "Bread\nCorner Bakery"},
		{`{"url":"https://shop.example.org/%zz?x"}`, "", "shop.example.org/%zz", ""},
		{`{"url":"https:\\\\shop.example.org\\a%20b/c"}`, "", "shop.example.org/a b", ""},
		{`{"url":"https://sh%6fp.example.org/"}`, "", "shop.example.org/", ""},
		{`{"url":"shop.example.org/pay"}`, "", "shop.example.org/pay", ""},
		{`{"url":"mcp://tool/x"}`, "", "", ""},
		{`{"url":"https://shop.example.org/?to=` + mentionedEVM + `"}`, "", "shop.example.org/", mentionedEVM},
		{`{"url":7,"x":["` + mentionedEVM + `"],"description":"for ` + mentionedEVM + `"}`, "", "", "for " + mentionedEVM},
		{`{"url":7,"x":"` + mentionedEVM + `"}`, `"description":"` + strings.Repeat("ж", 600) + `",`, "", strings.Repeat("ж", 512-43) + " " + mentionedEVM},
	} {
		body := strings.Replace(goodBody, `"payload":{`, `"resource":`+c.resource+`,"payload":{`, 1)
		body = strings.Replace(body, `"paymentRequirements":{`, `"paymentRequirements":{`+c.wanted, 1)
		p, err := readPayment([]byte(body), Published, "")
		require.NoError(t, err, body)
		call := p.screeningCall("1", "")
		require.Equal(t, c.memo, call.Memo)
		if c.website == "" {
			require.Empty(t, call.Parties)
			continue
		}
		require.Equal(t, []partyIdentifier{{"website", c.website}}, call.Parties)
		encoded, err := json.Marshal(call)
		require.NoError(t, err)
		require.Contains(t, string(encoded), `"cpIdentifiers":[{"type":"website","value":"`+c.website+`"}]`)
	}
}

// TestAPayerThatCannotBeReadIsRefused: also where the policy's rule about wallets is off, a payment
// that does not say who pays is neither valid nor sent on, and holds nothing.
func TestAPayerThatCannotBeReadIsRefused(t *testing.T) {
	d := newDesk(t)
	_, answer := d.send(t, "/verify", unreadBody)
	require.Equal(t, false, answer["isValid"])
	require.Equal(t, "railguard_payer_unread", answer["invalidReason"])
	require.Equal(t, "released", d.ledger.ending("txn_1")["state"])
	_, answer = d.send(t, "/settle", unreadBody)
	require.Equal(t, false, answer["success"])
	require.Equal(t, "railguard_payer_unread", answer["errorReason"])
	require.Empty(t, d.chain.bodies, "nobody else hears of it")
	for txn := range d.ledger.records {
		require.Equal(t, "released", d.ledger.ending(txn)["state"], txn)
	}
	_, again := d.send(t, "/settle", unreadBody)
	require.Equal(t, false, again["success"])
	require.Empty(t, d.chain.bodies)
}

// TestThePayerIsTheOneThatWasJudged: a facilitator behind that names another payer than those that
// were judged gives no answer to this payment.
func TestThePayerIsTheOneThatWasJudged(t *testing.T) {
	for payer, valid := range map[string]bool{"": true, ownerSOL: true, feePayerSOL: true, mintSOL: false, strings.ToLower(ownerSOL): false} {
		d := newDesk(t)
		d.chain.says(200, strings.Replace(chainGood, `{`, `{"payer":"`+payer+`",`, 1))
		require.Equal(t, valid, d.verifies(t)["isValid"], payer)
		require.Equal(t, valid, d.settles(t)["success"], payer)
	}
}
