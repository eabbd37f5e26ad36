package conformance

var delegateChecks = []Check{
	{ID: "T094", Title: "a child may set what its parent left open, and may not drop what it set", Source: Implied, run: checkOpenParent},
	{ID: "T097", Title: "a child never outlives its parent", Source: Implied, run: checkChildExpiry},
	{ID: "X-DEL-1", Title: "the delegate answer: 201, ids, depth, effective policy, its own type and chain", Source: Ruling, run: checkDelegateShape},
}

func checkOpenParent(p *probe) {
	open := p.register()
	child := p.delegate(open, policy(obj{"maxSingleTxUSDC": 50, "allowedChains": list{"BASE"}}))
	p.verdict(p.screen(child, "51"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(child, "1", obj{"chain": "ETH"}), "REVIEW", "R9_CHAIN_POLICY")
	p.proceeds(p.screen(open, "51"))
	limited := p.register(policy(obj{"dailyLimitUSDC": 100}))
	a := p.delegateCall(limited, policy(obj{"dailyLimitUSDC": nil}))
	if !a.ok() { // Refusing the attempt and inheriting the limit are both allowed.
		p.refusedAnyhow(a)
		return
	}
	p.verdict(p.screen(p.registered(a), "101"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkChildExpiry(p *probe) {
	parent := p.register()
	child := p.delegate(parent)
	limit := p.utc(parent.answer, "credential.expirationDate")
	p.expect(!p.utc(child.answer, "credential.expirationDate").After(limit), "the child expires %v, its parent %v",
		child.answer.text("credential.expirationDate"), limit)
	if p.cfg.OnlySpec {
		return
	}
	later := limit.AddDate(0, 0, 1).Format("2006-01-02T15:04:05Z")
	p.refused(p.delegateCall(parent, with("expiresAt", later)), 422, "policy_widening")
	earlier := limit.AddDate(0, 0, -10).Format("2006-01-02T15:04:05Z")
	short := p.delegate(parent, with("expiresAt", earlier))
	p.expect(p.utc(short.answer, "credential.expirationDate").Format("2006-01-02T15:04:05Z") == earlier,
		"expirationDate is %q, want %s", short.answer.text("credential.expirationDate"), earlier)
}

func checkDelegateShape(p *probe) {
	root := p.register(policy(obj{"maxSingleTxUSDC": 100}), autonomous)
	child := p.delegate(root)
	a := p.status(p.delegateCall(child, policy(obj{"dailyLimitUSDC": 7})), 201)
	leaf := p.registered(a)
	p.same(a, "parentAgentId", child.id)
	p.same(a, "rootAgentId", root.id)
	p.same(a, "depth", 2)
	p.same(a, "effectivePolicy.maxSingleTxUSDC", 100)
	p.same(a, "effectivePolicy.dailyLimitUSDC", 7)
	p.expect(contains(p.array(a, "credential.type"), "KYADelegateCredential"), "type lacks KYADelegateCredential")
	p.same(a, "credential.credentialSubject.delegation.parentAgentId", child.id)
	p.same(a, "credential.credentialSubject.delegation.rootAgentId", root.id)
	p.same(a, "credential.credentialSubject.delegation.depth", 2)
	p.array(a, "credential.credentialSubject.delegation.chain")
	_, err := stockVerify(leaf.token, p.jwks(0))
	p.expect(err == nil, "the delegate's token does not verify: %v", err)
	body := obj{"parentToken": root.token, "agentName": p.name("Delegate")}
	p.same(p.status(p.post("/v1/delegates/create", body), 201), "parentAgentId", root.id)
}
