package x402

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	payerEVM = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	payeeEVM = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
)

// evmBody is a payment on Base, after change was made to it.
func evmBody(change func(body, payload, wanted map[string]any)) string {
	terms := func() map[string]any {
		return map[string]any{
			"scheme": "exact", "network": "eip155:8453", "amount": "1", "asset": Published[1].Address, "payTo": payeeEVM, "maxTimeoutSeconds": 60,
		}
	}
	payload := map[string]any{
		"x402Version": 2, "accepted": terms(), "extensions": map[string]any{"railguard": map[string]any{"info": map[string]any{"token": "t", "userToken": "u"}}},
		"payload": map[string]any{"authorization": map[string]any{"from": payerEVM, "to": payeeEVM, "value": "1", "nonce": "0x" + strings.Repeat("1", 64)}},
	}
	wanted := terms()
	body := map[string]any{"x402Version": 2, "paymentPayload": payload, "paymentRequirements": wanted}
	if change != nil {
		change(body, payload, wanted)
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// both sets a member of what was wanted and of what was accepted.
func both(name string, value any) func(body, payload, wanted map[string]any) {
	return func(_, payload, wanted map[string]any) {
		wanted[name] = value
		payload["accepted"].(map[string]any)[name] = value
	}
}

func authorized(name string, value any) func(body, payload, wanted map[string]any) {
	return func(_, payload, _ map[string]any) {
		payload["payload"].(map[string]any)["authorization"].(map[string]any)[name] = value
	}
}

// signedBeside sets a member beside the authorization.
func signedBeside(name string, value any) func(body, payload, wanted map[string]any) {
	return func(_, payload, _ map[string]any) { payload["payload"].(map[string]any)[name] = value }
}

// What was not judged does not reach the facilitator behind.
func TestOnlyWhatWasJudgedIsForwarded(t *testing.T) {
	p, err := readPayment([]byte(evmBody(func(body, payload, wanted map[string]any) {
		payload["resource"] = map[string]any{"url": "https://a.example/1"}
		for _, o := range []map[string]any{body, payload, wanted, payload["accepted"].(map[string]any)} {
			o["permit2Authorization"] = "unjudged"
		}
		payload["extensions"].(map[string]any)["eip2612GasSponsoring"] = "unjudged"
		payload["extensions"].(map[string]any)["bazaar"] = map[string]any{"info": "kept"}
		wanted["extra"] = map[string]any{"name": "USDC", "version": "2"}
	})), Published, "")
	require.NoError(t, err)
	require.NotContains(t, string(p.forward), "unjudged")
	require.NotContains(t, string(p.forward), `"token"`)
	for _, kept := range []string{"https://a.example/1", `"bazaar":{"info":"kept"}`, `"extra":{"name":"USDC","version":"2"}`, `"authorization":{"from":`, `"accepted":{"amount":"1"`} {
		require.Contains(t, string(p.forward), kept)
	}
	require.Equal(t, "https://a.example/1", p.resource)
}

func TestReadPaymentRefuses(t *testing.T) {
	type change = func(body, payload, wanted map[string]any)
	credential := func(token, userToken string) change {
		return func(_, payload, _ map[string]any) {
			payload["extensions"].(map[string]any)["railguard"] = map[string]any{"info": map[string]any{"token": token, "userToken": userToken}}
		}
	}
	week := int((7*24*time.Hour - holdBeyond) / time.Second)
	for name, c := range map[string]refusedTerms{
		"as it should be":               {change: nil},
		"version 0":                     {change: func(b, _, _ map[string]any) { b["x402Version"] = 0 }, reason: "invalid_x402_version"},
		"version 3":                     {change: func(b, _, _ map[string]any) { b["x402Version"] = 3 }, reason: "invalid_x402_version"},
		"the payload's version differs": {change: func(_, p, _ map[string]any) { p["x402Version"] = 1 }, reason: "invalid_payload"},
		"no paymentPayload":             {change: func(b, _, _ map[string]any) { delete(b, "paymentPayload") }, reason: "invalid_payload"},
		"no paymentRequirements":        {change: func(b, _, _ map[string]any) { b["paymentRequirements"] = "x" }, reason: "invalid_payment_requirements"},
		"accepted another scheme":       {change: func(_, _, w map[string]any) { w["scheme"] = "upto" }, reason: "invalid_payload"},
		"accepted another network":      {change: func(_, _, w map[string]any) { w["network"] = "eip155:1" }, reason: "invalid_payload"},
		"accepted another asset":        {change: func(_, _, w map[string]any) { w["asset"] = "0x" }, reason: "invalid_payload"},
		"accepted another amount":       {change: func(_, _, w map[string]any) { w["amount"] = "2" }, reason: "invalid_payload"},
		"accepted another payee":        {change: func(_, _, w map[string]any) { w["payTo"] = payerEVM }, reason: "invalid_payload"},
		"another scheme":                {change: both("scheme", "upto"), reason: "unsupported_scheme"},
		"no network":                    {change: both("network", ""), reason: "invalid_network"},
		"a token of unknown worth":      {change: both("asset", payeeEVM), reason: "invalid_payment_requirements"},
		"an amount that is a number":    {change: both("amount", 1), reason: "invalid_payment_requirements"},
		"an amount with a zero before":  {change: both("amount", "01"), reason: "invalid_payment_requirements"},
		"an amount with a sign":         {change: both("amount", "+1"), reason: "invalid_payment_requirements"},
		"an amount of too many digits":  {change: both("amount", strings.Repeat("9", unitsMax+1)), reason: "invalid_payment_requirements"},
		"an amount of as many as fit": {change: func(b, p, w map[string]any) {
			most := strings.Repeat("9", unitsMax)
			both("amount", most)(b, p, w)
			authorized("value", most)(b, p, w)
		}},
		"no payee":                       {change: both("payTo", ""), reason: "invalid_payment_requirements"},
		"a payee of 39 digits":           {change: both("payTo", payeeEVM[:41]), reason: "invalid_payment_requirements"},
		"no timeout":                     {change: both("maxTimeoutSeconds", "60"), reason: "invalid_payment_requirements"},
		"the longest timeout":            {change: both("maxTimeoutSeconds", week)},
		"a timeout a second longer":      {change: both("maxTimeoutSeconds", week+1), reason: "invalid_payment_requirements"},
		"no payload":                     {change: func(_, p, _ map[string]any) { delete(p, "payload") }, reason: "invalid_payload"},
		"a payer that is no address":     {change: authorized("from", "somebody"), reason: "invalid_payload"},
		"a nonce of 31 bytes":            {change: authorized("nonce", "0x"+strings.Repeat("1", 62)), reason: "invalid_payload"},
		"signed for another payee":       {change: authorized("to", payerEVM), reason: "invalid_exact_evm_payload_recipient_mismatch"},
		"the payee in other letter case": {change: authorized("to", strings.ToLower(payeeEVM))},
		"signed for another amount":      {change: authorized("value", "2"), reason: "invalid_exact_evm_payload_authorization_value"},
		"the same credential twice":      {change: nil, header: "t"},
		"two credentials":                {change: nil, header: "s", reason: "invalid_payload"},
		"the longest credentials":        {change: credential(strings.Repeat("t", tokenMax), strings.Repeat("u", tokenMax))},
		"a credential too long":          {change: credential(strings.Repeat("t", tokenMax+1), ""), reason: "invalid_payload"},
		"a user's credential too long":   {change: credential("t", strings.Repeat("u", tokenMax+1)), reason: "invalid_payload"},
	} {
		c.check(t, name)
	}
}

// Members that nobody judges could be another payment.
func TestReadPaymentRefusesWhatIsNotJudged(t *testing.T) {
	for name, c := range map[string]refusedTerms{
		"a second permit":               {change: signedBeside("permit2Authorization", map[string]any{"from": payeeEVM}), reason: "invalid_payload"},
		"a transaction beside it":       {change: signedBeside("transaction", "AAAA"), reason: "invalid_payload"},
		"a signature":                   {change: signedBeside("signature", "0x00")},
		"a member more was authorized":  {change: authorized("spender", payeeEVM), reason: "invalid_payload"},
		"dates were authorized":         {change: authorized("validBefore", "1795437060")},
		"tokens move by delegation":     {change: both("extra", map[string]any{"assetTransferMethod": "erc7710"}), reason: "invalid_payment_requirements"},
		"tokens move by a number":       {change: both("extra", map[string]any{"assetTransferMethod": 7}), reason: "invalid_payment_requirements"},
		"an authorization for a permit": {change: both("extra", map[string]any{"assetTransferMethod": "permit2"}), reason: "invalid_payload"},
		"tokens move by authorization":  {change: both("extra", map[string]any{"assetTransferMethod": "eip3009", "name": "USDC"})},
		"the payer names another method": {change: func(_, p, _ map[string]any) {
			p["accepted"].(map[string]any)["extra"] = map[string]any{"assetTransferMethod": "permit2"}
		}, reason: "invalid_payment_requirements"},
	} {
		c.check(t, name)
	}
}

// refusedTerms is a payment after a change, with the reason for which it is refused.
type refusedTerms struct {
	change func(body, payload, wanted map[string]any)
	header string
	reason string // "": it is a payment.
}

func (c refusedTerms) check(t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		p, err := readPayment([]byte(evmBody(c.change)), Published, c.header)
		if c.reason == "" {
			require.NoError(t, err)
			require.NotContains(t, string(p.forward), `"token"`)
			return
		}
		var bad *invalid
		require.ErrorAs(t, err, &bad)
		require.Equal(t, c.reason, bad.reason, bad.message)
		require.Equal(t, bad.reason+": "+bad.message, err.Error())
	})
}

func TestReadPayment(t *testing.T) {
	p, err := readPayment([]byte(evmBody(func(_, payload, _ map[string]any) {
		payload["extensions"].(map[string]any)["payment-identifier"] = map[string]any{"info": map[string]any{"id": "invoice-7"}}
	})), Published, "")
	require.NoError(t, err)
	require.Equal(t, []string{payerEVM, payeeEVM, "t", "u", "invoice-7", "1"}, []string{p.payer, p.payee, p.token, p.userToken, p.travelRule, p.units})
	require.Equal(t, time.Minute, p.lasts)
	require.Contains(t, string(p.forward), "invoice-7")

	for id, sound := range map[string]bool{strings.Repeat("i", textMax): true, strings.Repeat("i", textMax+1): false} {
		p, err := readPayment([]byte(evmBody(func(_, payload, _ map[string]any) {
			payload["extensions"].(map[string]any)["payment-identifier"] = map[string]any{"info": map[string]any{"id": id}}
		})), Published, "")
		if !sound {
			require.ErrorContains(t, err, "the payment-identifier is too long", "what is not judged is not sent on")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, id, p.travelRule)
	}

	p, err = readPayment([]byte(evmBody(func(_, payload, _ map[string]any) { delete(payload, "extensions") })), Published, "of the header")
	require.NoError(t, err)
	require.Equal(t, "of the header", p.token)
}

// Version 1 names networks in words and the amount otherwise.
func TestReadPaymentOfVersionOne(t *testing.T) {
	read := func(change func(body, payload, wanted map[string]any)) (*payment, error) {
		return readPayment([]byte(evmBody(func(body, payload, wanted map[string]any) {
			body["x402Version"], payload["x402Version"] = 1, 1
			wanted["maxAmountRequired"], wanted["network"] = wanted["amount"], "base"
			delete(wanted, "amount")
			delete(payload, "accepted")
			payload["scheme"], payload["network"] = "exact", "base"
			if change != nil {
				change(body, payload, wanted)
			}
		})), Published, "")
	}
	p, err := read(nil)
	require.NoError(t, err)
	require.Equal(t, &Published[1], p.asset)
	require.Equal(t, "1", p.units)
	require.Equal(t, "base", p.network, "as it was written")
	p, err = read(func(_, _, wanted map[string]any) { wanted["resource"] = "https://a.example/1" })
	require.NoError(t, err)
	require.Equal(t, "https://a.example/1", p.resource)
	_, err = read(func(_, payload, wanted map[string]any) { payload["network"], wanted["network"] = "nowhere", "nowhere" })
	require.ErrorContains(t, err, "invalid_network")
	_, err = read(func(_, payload, _ map[string]any) { payload["network"] = "ethereum" })
	require.ErrorContains(t, err, "differs in network")
}

// If the payload is a transaction in the chain's own form, the payment is identified by the hash
// of the payload.
func TestReadPaymentOfATransaction(t *testing.T) {
	first, err := readPayment([]byte(unreadBody), Published, "")
	require.NoError(t, err)
	other, err := readPayment([]byte(strings.Replace(unreadBody, "AAAA", "AAAB", 1)), Published, "")
	require.NoError(t, err)
	require.Len(t, first.nonce, 64)
	require.NotEqual(t, first.nonce, other.nonce)
	require.Empty(t, first.payer)
	_, err = readPayment([]byte(strings.Replace(unreadBody, `"AAAA"`, `7`, 1)), Published, "")
	require.ErrorContains(t, err, "payload.transaction must be a string")
	_, err = readPayment([]byte(strings.Replace(unreadBody, `"AAAA"`, `"AAAA","authorization":{}`, 1)), Published, "")
	require.ErrorContains(t, err, "payload has a member that is not judged here: authorization")
	_, err = readPayment([]byte(strings.ReplaceAll(unreadBody, `"payee"`, `""`)), Published, "")
	require.ErrorContains(t, err, "payTo is no address")
	longest := strings.Repeat("p", textMax)
	_, err = readPayment([]byte(strings.ReplaceAll(unreadBody, "payee", longest)), Published, "")
	require.NoError(t, err)
	_, err = readPayment([]byte(strings.ReplaceAll(unreadBody, "payee", longest+"p")), Published, "")
	require.ErrorContains(t, err, "payTo is no address")
}
