package x402

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type members = map[string]any

// permit2Body is evmBody for a payment by Permit2, as @x402/evm 2.27.0 signs one.
func permit2Body(change func(body, payload, signed members)) string {
	return evmBody(func(body, payload, wanted members) {
		extra := members{"name": "USD Coin", "version": "2", "assetTransferMethod": "permit2"}
		both("extra", extra)(body, payload, wanted)
		signed := members{
			"from": payerEVM, "permitted": members{"token": Published[1].Address, "amount": "1"}, "spender": permit2Proxy,
			"nonce": "18298506332278084594977139528343179651696845987788541723207879727852785457980", "deadline": "1796038348",
			"witness": members{"to": payeeEVM, "validAfter": "0"},
		}
		payload["payload"] = members{"signature": "0x00", "permit2Authorization": signed}
		if change != nil {
			change(body, payload, signed)
		}
	})
}

// TestPermit2IsReadAsWhatItPays: who pays whom what by Permit2 is what an authorization of the token says,
// and nothing of it may differ from what is wanted.
func TestPermit2IsReadAsWhatItPays(t *testing.T) {
	p, err := readPayment([]byte(permit2Body(nil)), Published, "")
	require.NoError(t, err)
	require.Equal(t, []string{payerEVM, payeeEVM, "1"}, []string{p.payer, p.payee, p.units})
	require.Equal(t, "18298506332278084594977139528343179651696845987788541723207879727852785457980", p.nonceID())
	require.Contains(t, string(p.forward), `"permit2Authorization":{"deadline":"1796038348"`)
	require.Contains(t, string(p.forward), `"assetTransferMethod":"permit2"`)
	require.NotContains(t, string(p.forward), `"token":"t"`)

	set := func(name string, value any) func(_, _, signed members) {
		return func(_, _, signed members) { signed[name] = value }
	}
	beside := func(name string, value any) func(_, payload, _ members) {
		return func(_, payload, _ members) { payload["payload"].(members)[name] = value }
	}
	witness := func(to, validAfter any) func(_, _, signed members) {
		return set("witness", members{"to": to, "validAfter": validAfter})
	}
	permitted := func(token, amount any) func(_, _, signed members) {
		return set("permitted", members{"token": token, "amount": amount})
	}
	for name, c := range map[string]struct {
		change func(body, payload, signed members)
		reason string
	}{
		"the payee in other letter case": {witness(strings.ToLower(payeeEVM), "0"), ""},
		"the token in other letter case": {permitted(strings.ToLower(Published[1].Address), "1"), ""},
		"the proxy in other letter case": {set("spender", strings.ToLower(permit2Proxy)), ""},
		"a payer that is no address":     {set("from", "somebody"), "invalid_payload"},
		"a nonce in hexadecimal digits":  {set("nonce", "0x"+strings.Repeat("1", 64)), "invalid_payload"},
		"a nonce with a zero before":     {set("nonce", "01"), "invalid_payload"},
		"a nonce that is a number":       {set("nonce", 7), "invalid_payload"},
		"a nonce too long":               {set("nonce", strings.Repeat("9", unitsMax+1)), "invalid_payload"},
		"no deadline":                    {set("deadline", ""), "invalid_payload"},
		"no beginning":                   {witness(payeeEVM, nil), "invalid_payload"},
		"another spender":                {set("spender", payeeEVM), "invalid_permit2_spender"},
		"the proxy of another scheme":    {set("spender", "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"), "invalid_permit2_spender"},
		"another payee":                  {witness(payerEVM, "0"), "invalid_permit2_recipient_mismatch"},
		"no witness":                     {set("witness", nil), "invalid_payload"},
		"another token":                  {permitted(payeeEVM, "1"), "permit2_token_mismatch"},
		"another amount":                 {permitted(Published[1].Address, "2"), "permit2_amount_mismatch"},
		"several tokens":                 {set("permitted", []any{members{"token": Published[1].Address, "amount": "1"}}), "permit2_token_mismatch"},
		"an authorization beside it":     {beside("authorization", members{"from": payerEVM}), "invalid_payload"},
		"a member more":                  {set("owner", payeeEVM), "invalid_payload"},
		"a witness that names more":      {set("witness", members{"to": payeeEVM, "validAfter": "0", "facilitator": payerEVM}), "invalid_payload"},
		"a permitted member more":        {set("permitted", members{"token": Published[1].Address, "amount": "1", "x": 1}), "invalid_payload"},
		"an authorization in its place": {func(_, payload, _ members) {
			payload["payload"] = members{"authorization": members{"from": payerEVM, "to": payeeEVM, "value": "1", "nonce": "0x" + strings.Repeat("1", 64)}}
		}, "invalid_payload"},
		"the payer accepted another method": {func(_, payload, _ members) { payload["accepted"].(members)["extra"] = members{} }, "invalid_payment_requirements"},
		"nothing says so": {func(_, payload, _ members) {
			payload["accepted"].(members)["extra"].(members)["assetTransferMethod"] = byAuthorization
		}, "invalid_payload"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readPayment([]byte(permit2Body(c.change)), Published, "")
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			var bad *invalid
			require.ErrorAs(t, err, &bad)
			require.Equal(t, c.reason, bad.reason, bad.message)
		})
	}
}

// TestPermit2IsPaidOnce: a payment by Permit2 is judged, held, sent on and booked as any other one, and its
// facilitator must name its payer.
func TestPermit2IsPaidOnce(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, `{"isValid":true,"success":true,"transaction":"0xabc","network":"eip155:8453","payer":"`+payerEVM+`"}`)
	_, verified := d.send(t, "/verify", permit2Body(nil))
	require.Equal(t, true, verified["isValid"], verified)
	require.Equal(t, payerEVM, verified["payer"])
	require.Equal(t, payerEVM, d.ledger.screened[0]["payerWallet"])
	require.Equal(t, payeeEVM, d.ledger.screened[0]["cpWallet"])
	_, settled := d.send(t, "/settle", permit2Body(nil))
	require.Equal(t, true, settled["success"], settled)
	require.Equal(t, "settled", d.ledger.ending("txn_1")["state"])
	_, again := d.send(t, "/settle", permit2Body(nil))
	require.Equal(t, "duplicate_settlement", again["errorReason"])
	require.Len(t, d.chain.bodies, 2)
}

// TestPermit2IsOfVersionTwo: version 1 of the protocol, and other chains, have no such payments.
func TestPermit2IsOfVersionTwo(t *testing.T) {
	var body members
	require.NoError(t, json.Unmarshal([]byte(permit2Body(nil)), &body))
	payload, wanted := body["paymentPayload"].(members), body["paymentRequirements"].(members)
	body["x402Version"], payload["x402Version"] = 1, 1
	wanted["maxAmountRequired"], wanted["network"], payload["scheme"], payload["network"] = "1", "base", "exact", "base"
	data, err := json.Marshal(body)
	require.NoError(t, err)
	_, err = readPayment(data, Published, "")
	require.ErrorContains(t, err, "extra.assetTransferMethod")
	solana := strings.NewReplacer(`"payTo":"payee"`, `"payTo":"payee","extra":{"assetTransferMethod":"permit2"}`).Replace(goodBody)
	_, err = readPayment([]byte(solana), Published, "")
	require.ErrorContains(t, err, "extra.assetTransferMethod")
}

// TestSupportedIsTaken: a kind is not promised if its tokens move in a way that is refused.
func TestSupportedIsTaken(t *testing.T) {
	d := newDesk(t)
	kind := func(version int, network, method string) string {
		data, err := json.Marshal(members{"x402Version": version, "scheme": "exact", "network": network, "extra": members{"assetTransferMethod": method}})
		require.NoError(t, err)
		return string(data)
	}
	d.chain.says(200, `{"kinds":[`+strings.Join([]string{
		kind(2, "eip155:8453", "permit2"), kind(2, "eip155:1", "eip3009"), kind(1, "base", "eip3009"),
		kind(1, "ethereum", "permit2"), kind(2, "eip155:1", "erc7710"), kind(2, network, "permit2"),
		`{"x402Version":2,"scheme":"exact","network":"eip155:1","extra":{"assetTransferMethod":["permit2","erc7710"]}}`,
	}, ",")+`]}`)
	require.Equal(t, []string{"base", "eip155:1", "eip155:8453"}, d.supports(t).networks())
}
