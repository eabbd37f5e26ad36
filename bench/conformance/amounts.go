package conformance

import (
	"fmt"
)

var amountChecks = []Check{
	{ID: "X-AMT-2", Title: "exponent forms are exact or refused, and never expanded", Source: Ruling, run: checkExponents},
}

func checkExponents(p *probe) {
	for literal, value := range map[string]string{"1e2": "100", "1.5E1": "15", "25e-2": "0.25", "1E+2": "100"} {
		g := p.register(policy(obj{"maxSingleTxUSDC": dollars(value)}))
		a := p.post("/v1/screen", g.payment(literal))
		if a.status == 400 {
			p.refused(a, 400, "invalid_amount")
			continue
		}
		p.proceeds(p.status(a, 200))
		below := p.register(policy(obj{"maxSingleTxUSDC": dollars("0.2")}))
		p.verdict(p.screen(below, literal), "REVIEW", "R10_SINGLE_TX_LIMIT")
	}
	g := p.register()
	for _, bomb := range []string{"1e999999999", "1e-999999999", "0e999999999", "1e99999999999999999999", "0.1e400000000"} {
		a := p.post("/v1/screen", literal(fmt.Sprintf(`{"token":%q,"amount":%s}`, g.token, bomb)))
		p.expect(a.status == 400 || a.status == 200, "amount %s: status %d", bomb, a.status)
	}
	a := p.post("/v1/screen", literal(fmt.Sprintf(`{"token":%q,"amount":1e999999999}`, g.token)))
	p.refused(a, 400, "invalid_amount")
}
