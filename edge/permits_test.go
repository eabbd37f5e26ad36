package edge

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/vectors"
	"railguard/strictjson"
)

// TestPaymentStatements (statement P06): the statement of a payment, made from the members of its
// call, has the bytes and the hash that others computed.
func TestPaymentStatements(t *testing.T) {
	type statement struct{ Name, Jti, Request, JCS, Hash string }
	cases := []statement{
		{"a wallet in capital letters", "txn_00000001", `{"amount":25.00,"chain":"base","rail":"usdc","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","paymentRef":"r"}`,
			`{"amount":"25","chain":"BASE","currency":"USD","payee":"0x209693bc6afc0c5328ba36faf03c514ef312287c","rail":"USDC","ref":"r"}`, ""},
		{"only letters a to z change their case", "txn_00000001", `{"amount":1,"chain":"straße","cpWallet":"x"}`,
			`{"amount":"1","chain":"STRAßE","currency":"USD","payee":"x"}`, ""},
		{"a payer among the wallets", "txn_00000001", `{"amount":1,"cpWallet":"x","wallets":[{"role":"fee","address":"f"},{"role":"payer","address":" 0x209693Bc6afc0C5328bA36FaF03C514EF312287C "}]}`,
			`{"amount":"1","currency":"USD","payee":"x","payer":"0x209693bc6afc0c5328ba36faf03c514ef312287c"}`, ""},
	}
	var published struct {
		Cases []struct {
			Name, Jti, Request, JCS string
			Hash                    string `json:"pay_hash"`
		}
	}
	if !vectors.Find(t, "pay.json", &published) {
		t.Log("the published vectors are not beside the project: only our own are held against it")
	}
	for _, c := range published.Cases {
		if c.Request[0] == '{' { // The facilitator has no such body.
			cases = append(cases, statement{c.Name, c.Jti, c.Request, c.JCS, c.Hash})
		}
	}
	for _, c := range cases {
		var document map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(c.Request), &document))
		text := func(name string) string { return strictjson.ReadText(document[name]) }
		amount, err := engine.ParseUSD(string(document["amount"]))
		require.NoError(t, err)
		r := engine.Request{
			Wallet: text("cpWallet"), Payer: text("payerWallet"), Name: text("cpName"), Chain: text("chain"), Rail: text("rail"), Reference: text("paymentRef"),
		}
		if raw := document["wallets"]; raw != nil {
			require.Empty(t, r.ReadWallets(raw))
		}
		if raw := document["cpIdentifiers"]; raw != nil {
			require.Empty(t, r.ReadIdentifiers(raw))
		}
		pay := PayOf(&r, amount, c.Jti)
		require.Equal(t, c.JCS, string(pay.AppendJSON(nil)), c.Name)
		if c.Hash != "" {
			require.Equal(t, c.Hash, pay.Hash(), c.Name)
		}
	}
}
