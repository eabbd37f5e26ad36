package edge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestPayingIsRead: what is about to be paid becomes the statement that the guard would make, and what no
// statement has is refused.
func TestPayingIsRead(t *testing.T) {
	for text, wrong := range map[string]string{
		`{"amount":"25","payee":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","chain":"base","rail":"usdc","payer":"0x857B06519E91E3A54538791BDBB0E22373E36B66","ref":"r","currency":"USD","asset":"a","units":"1","nonce":"n"}`: "",
		`{"amount":25,"name":"Acme Ltd"}`:                                 "",
		`{"amount":25,"identifiers":[{"type":"bic","value":"DEUTDEFF"}]}`: "",
		`{"amount":25,"payeeIds":["b","a"]}`:                              "",
		`{"amount":25,"identifiers":[{"type":"x"}]}`:                      "identifiers",
		`{"amount":25}`:                             "payee is missing",
		`{"name":"Acme"}`:                           "amount is missing",
		`{"amount":"x","name":"Acme"}`:              "amount",
		`{"amount":25,"name":"A","currency":"EUR"}`: "currency is USD",
		`{"amount":25,"name":"A","payeeIds":["a"]}`: "stand in place",
		`{"amount":25,"payeeIds":[1]}`:              "texts",
		`{"amount":25,"title":"A"}`:                 "no member",
		`{"amount":25,"name":1}`:                    "no member",
		`{"amount":25,"amount":26,"name":"A"}`:      "two members",
		`[]`:                                        "object",
	} {
		p, err := ReadPaying([]byte(text))
		if wrong != "" {
			require.ErrorContains(t, err, wrong, text)
			continue
		}
		require.NoError(t, err, text)
		pay := p.Statement("txn_00000000")
		require.Equal(t, 25*engine.Dollar, pay.Amount)
		require.Equal(t, pay.Payee == "", len(pay.PayeeIDs) > 0)
	}
}
