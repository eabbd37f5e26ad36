package conformance

var laterRuleChecks = []Check{
	{ID: "X-R23-1", Title: "a delegate of a user credential is refused or BLOCKed R23", Source: Ruling, run: checkUserDelegate},
	{ID: "X-R24-1", Title: "R24 stands before the REVIEW rules", Source: Ruling, run: checkR24Order},
	{ID: "X-ORD-1", Title: "REVIEW rules in their order: R9 R10 R11 R12 R13 R15 R17 R18 R19 R20 R22", Source: Ruling, run: checkReviewOrderOfRules},
	{ID: "X-SRC-1", Title: "ofacSource tells live from sample, and health agrees", Source: Ruling, run: checkListSource},
}

func checkUserDelegate(p *probe) {
	g := p.register()
	user := p.user(obj{"agentIds": list{g.id}})
	a := p.post("/v1/delegates/create", obj{"parentToken": p.str(user, "token"), "agentName": p.name("Delegate")})
	if a.ok() {
		p.verdict(p.screenBody(obj{"token": p.str(a, "token"), "amount": 1}), "BLOCK", "R23_DELEGATION_CHAIN")
		return
	}
	p.refusedAnyhow(a)
	p.refusedAnyhow(p.post("/v1/delegates/create", obj{"parentAgentId": p.str(user, "userId"), "agentName": p.name("Delegate")}))
}

func checkR24Order(p *probe) {
	g, other := p.register(policy(obj{"maxSingleTxUSDC": 1})), p.register()
	token := p.str(p.user(obj{"agentIds": list{other.id}}), "token")
	p.verdict(p.screen(g, "5", obj{"userToken": token}), "BLOCK", "R24_USER_CREDENTIAL_CONTEXT")
	p.verdict(p.screen(g, "5", obj{"userToken": token, "protocol": "Tornado Cash"}), "BLOCK", "R14_MIXER_PROTOCOL")
	p.verdict(p.screen(g, "5"), "REVIEW", "R10_SINGLE_TX_LIMIT")
}

// checkReviewOrderOfRules breaks every REVIEW rule at once and then mends the deciding
// one, call after call: each mend uncovers the next rule of the order.
func checkReviewOrderOfRules(p *probe) {
	fleet := p.fleet("1")
	known := cleanWallet()
	g := p.register(autonomous, with("fleetId", fleet), with("underlyingModel", "model-a"), with("operatingHours", otherHours(p)),
		with("allowedCounterpartyTypes", list{"business"}),
		policy(obj{"allowedChains": list{"BASE"}, "allowedRails": list{"USDC"}, "maxSingleTxUSDC": 30000, "dailyLimitUSDC": 20000}))
	p.whitelist(g, obj{"wallet": known})
	call := obj{"chain": "ETH", "rail": "ACH", "cpWallet": cleanWallet(), "cpType": "exchange", "underlyingModel": "model-b"}
	amount := "40000"
	steps := []struct {
		rule string
		mend func()
	}{
		{"R9_CHAIN_POLICY", func() { call["chain"] = "BASE" }},
		{"R10_SINGLE_TX_LIMIT", func() { amount = "25000" }},
		{"R11_DAILY_LIMIT", func() { amount = "15000" }},
		{"R12_FLEET_DAILY_LIMIT", func() {
			p.success(p.call("PATCH", "/v1/fleets/"+fleet, obj{"dailyLimitUSDC": 100000, "reason": "conformance run"}))
		}},
		{"R13_COUNTERPARTY_WHITELIST", func() { call["cpWallet"] = known }},
		{"R15_MODEL_CHANGED", func() { call["underlyingModel"] = "model-a" }},
		{"R17_UNUSUAL_HOUR", func() {
			p.success(p.call("PATCH", "/v1/agents/"+g.id, obj{"operatingHours": nil, "reason": "the conformance run"}))
		}},
		{"R18_RAIL_POLICY", func() { delete(call, "rail") }},
		{"R20_COUNTERPARTY_TYPE", func() { call["cpType"] = "business" }},
		{"R22_ATTESTATION_STALE", func() { p.attest(g) }},
	}
	for _, step := range steps {
		p.verdict(p.screen(g, amount, call), "REVIEW", step.rule)
		step.mend()
	}
	p.proceeds(p.screen(g, amount, call))
}

func checkListSource(p *probe) {
	source := p.str(p.screen(p.register(), "1"), "ofacSource")
	p.expect(source == "kv:live" || source == "kv:sample", "ofacSource is %q", source)
	p.same(p.get("/v1/health"), "ofac.source", source)
}
