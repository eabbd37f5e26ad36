package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What R10 compares with the limit over all agents of an operator is shown, by a dry run and when a
// record is explained.
func TestLadderShowsTheOperatorsLimit(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	answer(t, n.do("policy", "POST", "/v1/operators/limit", `{"operatorLegalName":"Acme Inc","dailyLimitUSDC":1000,"reason":"r"}`), 200)
	answer(t, n.do("policy", "POST", "/v1/operators/limit", `{"operatorLegalName":"Nobody Inc","dailyLimitUSDC":1000,"reason":"r"}`), 404)
	payment := `{"token":"` + token + `","amount":7}`
	record := textOf(answer(t, n.do("screener", "POST", "/v1/screen", payment), 200), "txnId")
	for _, w := range []string{
		n.do("policy", "POST", "/v1/screen/dry-run", payment).Body.String(), n.do("auditor", "GET", "/v1/audit/"+record+"/explain", "").Body.String(),
	} {
		require.Contains(t, w, `"operator":{"spentUSDC":`)
		require.Contains(t, w, `"dailyLimitUSDC":1000}`)
	}
}
