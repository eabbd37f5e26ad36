package conformance

import (
	"fmt"
)

var spendRuleChecks = []Check{
	{ID: "T067", Title: "R9: chain not in allowedChains; without a list it never fires", Source: Literal, run: checkR9},
	{ID: "T067/us", Title: "R9 does not fire when no chain is given; chains in any case", Source: Ruling, run: checkR9Absent},
	{ID: "T068", Title: "R10: above maxSingleTxUSDC; equal passes", Source: Literal, run: checkR10},
	{ID: "T069", Title: "R11: the day's total above dailyLimitUSDC; exactly the limit passes", Source: Literal, run: checkR11},
	{ID: "T070", Title: "only money that may move counts", Source: Implied, run: checkCounted},
	{ID: "T070/us", Title: "an approved REVIEW counts at its approval, and is not refused for the limit", Source: Ruling, run: checkApprovalCounts},
	{ID: "T072", Title: "R12: the fleet's total, with any mix of members", Source: Literal, run: checkR12},
	{ID: "T073", Title: "when R12 fires, no other counter moved", Source: Implied, run: checkAtomic},
	{ID: "T069/race", Title: "parallel calls never pass the limit together", Source: Implied, run: checkNoOverspend},
	{ID: "T078", Title: "the first match wins and alone is reported", Source: Literal, run: checkFirstMatch},
	{ID: "T085", Title: "allowedRails is enforced", Source: Literal, run: checkRails},
	{ID: "T085/us", Title: "a rail outside allowedRails is R18, a rail that does not fit the chain R19", Source: Ruling, run: checkRailRules},
	{ID: "T086", Title: "R18 to R25 are silent on clean calls", Source: Ruling, run: checkQuiet},
	{ID: "X-LIM-1", Title: "GET /v1/agents/:id/limits tells limit, spent, held and remaining", Source: Ruling, run: checkLimitsView},
}

func checkR9(p *probe) {
	g := p.register(policy(obj{"allowedChains": list{"BASE", "SOL"}}))
	for _, chain := range []string{"BASE", "SOL"} {
		p.proceeds(p.screen(g, "1", obj{"chain": chain}))
	}
	for _, chain := range []string{"ETH", "ACH", "WIRE", "SWIFT"} {
		p.verdict(p.screen(g, "1", obj{"chain": chain}), "REVIEW", "R9_CHAIN_POLICY")
	}
	free := p.register()
	for _, chain := range []string{"ETH", "BASE", "SOL", "ACH", "WIRE", "SWIFT"} {
		p.proceeds(p.screen(free, "1", obj{"chain": chain}))
	}
}

func checkR9Absent(p *probe) {
	g := p.register(policy(obj{"allowedChains": list{"BASE"}}))
	p.proceeds(p.screen(g, "1"))
	p.proceeds(p.screen(g, "1", obj{"chain": "base"}))
	p.verdict(p.screen(g, "1", obj{"chain": "eth"}), "REVIEW", "R9_CHAIN_POLICY")
	none := p.register(policy(obj{"allowedChains": list{}}))
	p.verdict(p.screen(none, "1", obj{"chain": "BASE"}), "REVIEW", "R9_CHAIN_POLICY")
}

func checkR10(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 500}))
	p.proceeds(p.screen(g, "500"))
	p.proceeds(p.screen(g, "499.999999"))
	p.verdict(p.screen(g, "500.000001"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(g, "5000"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.proceeds(p.screen(p.register(), "5000"))
}

func checkR11(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 1000}))
	p.proceeds(p.screen(g, "400"))
	p.verdict(p.screen(g, "600.000001"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(g, "600")) // Lands exactly on the limit.
	p.verdict(p.screen(g, "0.000001"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(g, "0"))
	other := p.register(policy(obj{"dailyLimitUSDC": 1000})) // Counted per agent, not per operator.
	p.proceeds(p.screen(other, "1000"))
}

func checkCounted(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 1000, "maxSingleTxUSDC": 700}))
	p.proceeds(p.screen(g, "600"))
	p.verdict(p.screen(g, "600"), "REVIEW", "R11_DAILY_LIMIT")
	p.verdict(p.screen(g, "800"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(g, "300", obj{"cpWallet": p.listedWallet()}), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
	broken := g
	broken.token = g.token + "x"
	p.verdict(p.screen(broken, "300"), "UNKNOWN", "R1_NO_CREDENTIAL")
	p.proceeds(p.screen(g, "400"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkApprovalCounts(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 1000, "maxSingleTxUSDC": 500}))
	rejected, approved := p.screen(g, "700"), p.screen(g, "900")
	p.verdict(rejected, "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.disposition(rejected.text("txnId"), "REJECTED")
	p.proceeds(p.screen(g, "200"))
	p.disposition(approved.text("txnId"), "APPROVED") // 200 + 900 lies above 1,000 and is booked all the same.
	limits := p.tool(p.get("/v1/agents/" + g.id + "/limits"))
	p.same(limits, "spentUSDC", 1100)
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	record := p.success(p.get("/v1/audit/" + approved.text("txnId")))
	p.same(record, "overLimitApproved", true)
}

// disposition records a disposition that must succeed.
func (p *probe) disposition(txn, value string) *answer {
	return p.status(p.post("/v1/reviews/"+txn, obj{"disposition": value, "reviewedBy": "Conformance Officer", "notes": "seen"}), 200)
}

func checkR12(p *probe) {
	a, b, c := p.register(), p.register(), p.register()
	fleet := p.fleet("1000")
	p.join(fleet, a, b, c)
	p.proceeds(p.screen(a, "400"))
	p.proceeds(p.screen(b, "500"))
	p.verdict(p.screen(c, "100.000001"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.proceeds(p.screen(c, "100"))
	for _, member := range []agent{a, b, c} {
		p.verdict(p.screen(member, "0.000001"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	}
}

func checkAtomic(p *probe) {
	a, b := p.register(policy(obj{"dailyLimitUSDC": 700})), p.register(policy(obj{"dailyLimitUSDC": 100}))
	fleet := p.fleet("1000")
	p.join(fleet, a, b)
	c := p.register()
	p.join(fleet, c)
	p.proceeds(p.screen(c, "500"))
	p.verdict(p.screen(a, "600"), "REVIEW", "R12_FLEET_DAILY_LIMIT") // Within a's own 700, above what the fleet has left.
	p.verdict(p.screen(b, "200"), "REVIEW", "R11_DAILY_LIMIT")       // Within the fleet's rest, above b's own limit.
	p.proceeds(p.screen(a, "500"))                                   // Passes only if neither refusal moved any counter.
	p.verdict(p.screen(c, "0.01"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
}

// checkNoOverspend lets many callers race for one budget: exactly ten payments fit.
func checkNoOverspend(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	passed := make(chan bool, 200)
	p.parallel(cap(passed), p.cfg.Parallel, func(i int) error {
		a, err := p.send(p.ctx, "POST", "/v1/screen", g.payment("10"), node(i))
		if err != nil {
			return err
		}
		if a.status != 200 {
			return fmt.Errorf("status %d", a.status)
		}
		passed <- a.text("verdict") == "PROCEED"
		return nil
	})
	count := 0
	for range cap(passed) {
		if <-passed {
			count++
		}
	}
	p.expect(count == 10, "%d payments of 10 PROCEEDed under a limit of 100, want 10", count)
}

func checkFirstMatch(p *probe) {
	g := p.register(policy(obj{"allowedChains": list{"BASE"}, "maxSingleTxUSDC": 10, "dailyLimitUSDC": 5}), with("underlyingModel", "model-a"))
	p.verdict(p.screen(g, "100", obj{"chain": "ETH"}), "REVIEW", "R9_CHAIN_POLICY")
	p.verdict(p.screen(g, "100", obj{"chain": "BASE"}), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(g, "7", obj{"chain": "BASE"}), "REVIEW", "R11_DAILY_LIMIT")
	a := p.screen(g, "4", obj{"chain": "BASE"})
	p.proceeds(a)
	a = p.screen(g, "100", obj{"chain": "ETH", "cpWallet": p.listedWallet(), "cpName": p.listedIndividual()})
	p.verdict(a, "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
	p.expect(kind(p.field(a, "rule")) == "string", "rule is %s, want one id", kind(a.tree))
}

func checkRails(p *probe) {
	g := p.register(policy(obj{"allowedRails": list{"ACH"}}))
	p.proceeds(p.screen(g, "1", obj{"rail": "ACH"}))
	for _, rail := range []string{"USDC", "WIRE", "SWIFT", "IBAN"} {
		a := p.screen(g, "1", obj{"rail": rail})
		p.expect(a.text("verdict") == "REVIEW", "rail %s outside allowedRails: verdict %s, want REVIEW", rail, a.text("verdict"))
	}
	free := p.register()
	for _, rail := range []string{"USDC", "ACH", "WIRE", "SWIFT", "IBAN"} {
		p.proceeds(p.screen(free, "1", obj{"rail": rail}))
	}
}

func checkRailRules(p *probe) {
	g := p.register(policy(obj{"allowedRails": list{"ACH"}}))
	p.verdict(p.screen(g, "1", obj{"rail": "WIRE"}), "REVIEW", "R18_RAIL_POLICY")
	p.verdict(p.screen(g, "1", obj{"rail": "wire"}), "REVIEW", "R18_RAIL_POLICY")
	p.proceeds(p.screen(g, "1"))
	free := p.register()
	fits := [][2]string{{"USDC", "ETH"}, {"USDC", "BASE"}, {"USDC", "SOL"}, {"ACH", "ACH"}, {"WIRE", "WIRE"}, {"SWIFT", "SWIFT"}, {"IBAN", "SWIFT"}, {"IBAN", "WIRE"}}
	for _, pair := range fits {
		p.proceeds(p.screen(free, "1", obj{"rail": pair[0], "chain": pair[1]}))
	}
	clashes := [][2]string{{"USDC", "ACH"}, {"ACH", "ETH"}, {"WIRE", "SWIFT"}, {"SWIFT", "BASE"}, {"IBAN", "ACH"}, {"IBAN", "ETH"}}
	for _, pair := range clashes {
		p.verdict(p.screen(free, "1", obj{"rail": pair[0], "chain": pair[1]}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	}
	for _, wallet := range []string{"vitalik.eth", "0x1234", cleanWallet() + "0", "bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh"} {
		p.verdict(p.screen(free, "1", obj{"chain": "ETH", "cpWallet": wallet}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	}
	p.verdict(p.screen(free, "1", obj{"chain": "SOL", "cpWallet": cleanWallet()}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	p.proceeds(p.screen(free, "1", obj{"chain": "SOL", "cpWallet": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"}))
	p.verdict(p.screen(free, "1", obj{"cpWallet": "vitalik.eth"}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	p.verdict(p.screen(free, "1", obj{"chain": "ACH", "cpWallet": "acct 77"}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
}

func checkQuiet(p *probe) {
	p.proceeds(p.screen(p.register(), "25"))
	full := obj{
		"chain": "BASE", "rail": "USDC", "cpWallet": cleanWallet(), "cpName": cleanCounterparty, "cpType": "business", "protocol": "Uniswap",
	}
	g := p.register(with("operatorWallet", cleanWallet()), with("operatorEIN", "12-3456789"), with("agentFramework", "none"),
		with("underlyingModel", "model-a"), policy(obj{
			"maxSingleTxUSDC": 5000, "dailyLimitUSDC": 50000, "allowedChains": list{"BASE", "ETH"}, "allowedRails": list{"USDC"},
			"counterpartyScreening": "OFAC+CONS", "noMixerProtocols": true,
		}))
	p.proceeds(p.screen(g, "25", full))
	p.proceeds(p.screen(g, "25", full, obj{"underlyingModel": "model-a"}))
	p.proceeds(p.screen(p.register(autonomous), "9999", full))
	for rail, chain := range map[string]string{"ACH": "ACH", "WIRE": "WIRE", "SWIFT": "SWIFT"} {
		p.proceeds(p.screen(p.register(), "25", obj{"chain": chain, "rail": rail, "cpName": cleanCounterparty, "cpType": "individual"}))
	}
	p.proceeds(p.screen(p.register(), "25", obj{"cpType": "exchange", "cpName": "Copper Kettle Exchange Services"}))
}

func checkLimitsView(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": dollars("1000.5")}))
	fleet := p.fleet("5000")
	p.join(fleet, g)
	p.proceeds(p.screen(g, "250.25"))
	a := p.tool(p.get("/v1/agents/" + g.id + "/limits"))
	p.same(a, "dailyLimitUSDC", dollars("1000.5"))
	p.same(a, "spentUSDC", dollars("250.25"))
	p.same(a, "remainingUSDC", dollars("750.25"))
	p.same(a, "heldUSDC", 0)
	p.str(a, "date")
	p.num(a, "asOfIndex")
	p.expect(kind(p.field(a, "fleet")) == "object", "fleet is %s", kind(a.tree))
	p.array(a, "ancestors")
}
