package conformance

import (
	"fmt"
)

var amountChecks = []Check{
	{ID: "T058", Title: "missing, negative, non-numeric and overflowing amounts are refused; 0 is legal", Source: Ruling, run: checkBadAmounts},
	{ID: "T083", Title: "decimal amounts are exact", Source: Implied, run: checkDecimals},
	{ID: "T084", Title: "huge amounts neither wrap nor lose cents", Source: Implied, run: checkHuge},
	{ID: "X-AMT-1", Title: "more than six decimals are compared rounded up and echoed as sent", Source: Ruling, run: checkManyDecimals},
	{ID: "X-AMT-2", Title: "exponent forms are exact or refused, and never expanded", Source: Ruling, run: checkExponents},
	{ID: "X-AMT-3", Title: "limits of a policy are read as exactly as amounts", Source: Implied, run: checkPolicyExact},
}

func checkBadAmounts(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 10}))
	a := p.post("/v1/screen", obj{"token": g.token})
	p.refused(a, 400, "missing_amount")
	for _, amount := range []string{
		"-1", "-0.000001", `"5"`, `"abc"`, "null", "true", "[]", "{}", "[5]", "1000000000000.000001", "1000000000001",
		"1e13", "1e400", "9223372036854775807", "18446744073709551617", "99999999999999999999999999999999",
	} {
		a := p.post("/v1/screen", literal(fmt.Sprintf(`{"token":%q,"amount":%s}`, g.token, amount)))
		p.refused(a, 400, "invalid_amount")
		if txn, there := a.at("txnId"); there {
			p.expect(txn == nil, "amount %s: the refusal has txnId %s", amount, show(txn))
		}
	}
	p.proceeds(p.screen(g, "0"))
	p.proceeds(p.screen(g, "10")) // Exactly the limit: nothing of the above was counted.
}

func checkDecimals(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": dollars("0.3")}))
	p.proceeds(p.screen(g, "0.1"))
	p.proceeds(p.screen(g, "0.2"))
	p.verdict(p.screen(g, "0.0000001"), "REVIEW", "R11_DAILY_LIMIT")

	g = p.register(policy(obj{"dailyLimitUSDC": dollars("0.3")}))
	p.proceeds(p.screen(g, "0.1"))
	p.verdict(p.screen(g, "0.2000001"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(g, "0.2"))

	g = p.register(policy(obj{"maxSingleTxUSDC": dollars("1.1")}))
	p.proceeds(p.screen(g, "1.10"))
	p.verdict(p.screen(g, "1.100001"), "REVIEW", "R10_SINGLE_TX_LIMIT")

	g = p.register(policy(obj{"dailyLimitUSDC": 1})) // Ten tenths in binary floating point fall short of one or pass it.
	for range 10 {
		p.proceeds(p.screen(g, "0.1"))
	}
	p.verdict(p.screen(g, "0.000001"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkHuge(p *probe) {
	const exact = "9007199254.740993" // Not a binary double: the neighbours are …740992 and …740994.
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars(exact)}))
	p.proceeds(p.screen(g, exact))
	p.verdict(p.screen(g, "9007199254.740994"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.proceeds(p.screen(g, "9007199254.740992"))

	g = p.register(policy(obj{"dailyLimitUSDC": dollars(exact)}))
	p.proceeds(p.screen(g, "9007199254.740992"))
	p.verdict(p.screen(g, "0.000002"), "REVIEW", "R11_DAILY_LIMIT")
	a := p.screen(g, "0.000001")
	p.proceeds(a)
	record := p.success(p.get("/v1/audit/" + a.text("txnId")))
	p.same(record, "_request.amount", dollars("0.000001"))

	a = p.post("/v1/screen", g.payment("1000000000000.01"))
	p.refused(a, 400, "invalid_amount")

	wide := p.register()
	for range 10 { // Nine of them nearly fill 63 bits of micro-dollars; the tenth would wrap.
		p.proceeds(p.screen(wide, "1000000000000"))
	}
	limits := p.tool(p.get("/v1/agents/" + wide.id + "/limits"))
	spent, ok := rational(p.num(limits, "spentUSDC"))
	ceiling, _ := rational("9000000000000")
	p.must(ok && spent.Cmp(ceiling) >= 0, "after ten times 1e12 the counter is %s", limits.number("spentUSDC"))
	fleet := p.fleet("1000000000000")
	p.join(fleet, wide)
	p.proceeds(p.screen(wide, "1000000000000"))
	p.verdict(p.screen(wide, "0.000001"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
}

func checkManyDecimals(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars("1.000001")}))
	a := p.screen(g, "1.0000001")
	p.proceeds(a)
	record := p.success(p.get("/v1/audit/" + a.text("txnId")))
	p.expect(record.number("_request.amount") == "1.0000001", "_request.amount is the literal %s, want 1.0000001", record.number("_request.amount"))
	p.verdict(p.screen(g, "1.0000011"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.proceeds(p.screen(g, "1.000001000000000000000000000000"))
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

func checkPolicyExact(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars("0.1"), "dailyLimitUSDC": dollars("100000000.000001")}))
	p.proceeds(p.screen(g, "0.1"))
	p.verdict(p.screen(g, "0.100001"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	for _, wrong := range []string{"1e999999999", "1000000000001", "-0.1"} {
		body := p.registration(policy(obj{"dailyLimitUSDC": dollars(wrong)}))
		p.refusedAnyhow(p.post("/v1/agents/register", body))
	}
}
