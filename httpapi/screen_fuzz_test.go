package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/strictjson"
)

// FuzzAmount: a literal is an amount exactly when the engine accepts it, and the answer
// repeats it unchanged.
func FuzzAmount(f *testing.F) {
	n := newTestNode(f)
	for _, seed := range []string{"0", "-0", "1e12", "1e999999999", "0.0000001", "100.50", "9007199254.740993", "1E2", "-1", `"5"`, "null", "[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		n.t = t
		body := `{"token":"x","amount":` + literal + `}`
		w := n.do("screener", "POST", "/v1/screen", body)
		var g strictjson.Validator
		if g.Check([]byte(body), engine.ScreenValuesMax) != nil {
			require.Equal(t, 400, w.Code)
			return
		}
		_, err := engine.ParseUSD(g.Raw("amount"))
		if err != nil {
			require.Equal(t, 400, w.Code, "%s: %s", literal, w.Body)
			require.Contains(t, w.Body.String(), `"invalid_amount"`)
			return
		}
		if w.Code == 400 && strings.Contains(w.Body.String(), `"invalid_field"`) {
			return // The literal contained another member.
		}
		require.Equal(t, 200, w.Code, "%s: %s", literal, w.Body)
		txn := member(t, w.Body.Bytes(), "txnId")
		record := n.do("auditor", "GET", "/v1/audit/"+txn, "")
		require.Equal(t, 200, record.Code)
		require.Equal(t, string(g.Raw("amount")), member(t, record.Body.Bytes(), "_request.amount"))
	})
}

// FuzzScreenBody: no body breaks the service, and every answer is JSON.
func FuzzScreenBody(f *testing.F) {
	n := newTestNode(f)
	f.Add(`{"token":"x","amount":1,"cpName":"Usama","chain":"ETH","rail":"USDC","cpType":"individual"}`)
	f.Add(`{"token":{"a":1},"amount":1e-7,"cpWallet":"0x","userToken":"y"}`)
	f.Add(`{"token":"` + strings.Repeat("a", 9000) + `","amount":1}`)
	f.Fuzz(func(t *testing.T, body string) {
		n.t = t
		w := n.do("screener", "POST", "/v1/screen", body)
		require.Contains(t, []int{200, 400, 413}, w.Code, "%q: %s", body, w.Body)
		require.True(t, json.Valid(w.Body.Bytes()))
	})
}
