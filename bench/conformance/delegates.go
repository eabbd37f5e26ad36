package conformance

import (
	"fmt"
)

var delegateChecks = []Check{
	{ID: "T092", Title: "a child inherits the parent's policy; a field left out is inherited, not unlimited", Source: Literal, run: checkInherit},
	{ID: "T093", Title: "a child wider than its parent is refused", Source: Literal, run: checkWidening},
	{ID: "T094", Title: "a child may set what its parent left open, and may not drop what it set", Source: Implied, run: checkOpenParent},
	{ID: "T095", Title: "depth 3 works, depth 4 is refused", Source: Literal, run: checkDepth},
	{ID: "T096", Title: "a suspended or revoked parent blocks its children at once; reinstating restores them", Source: Implied, run: checkParentStatus},
	{ID: "T097", Title: "a child never outlives its parent", Source: Implied, run: checkChildExpiry},
	{ID: "T098", Title: "a child's spend debits every ancestor", Source: Ruling, run: checkAncestors},
	{ID: "X-DEL-1", Title: "the delegate answer: 201, ids, depth, effective policy, its own type and chain", Source: Ruling, run: checkDelegateShape},
	{ID: "X-DEL-2", Title: "widening names parent and requested value; parents unknown or not active are refused", Source: Ruling, run: checkDelegateErrors},
	{ID: "X-DEL-3", Title: "a delegate inherits fleet, whitelist and hours of its chain", Source: Ruling, run: checkDelegateContext},
}

func checkInherit(p *probe) {
	parent := p.register(policy(obj{"maxSingleTxUSDC": 100, "dailyLimitUSDC": 1000, "allowedChains": list{"BASE"}, "noMixerProtocols": true}))
	child := p.delegate(parent)
	p.verdict(p.screen(child, "100.01"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(child, "1", obj{"chain": "ETH"}), "REVIEW", "R9_CHAIN_POLICY")
	p.proceeds(p.screen(child, "100", obj{"chain": "BASE"}))
	narrow := p.delegate(parent, policy(obj{"maxSingleTxUSDC": 10}))
	p.verdict(p.screen(narrow, "11"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(narrow, "1", obj{"chain": "ETH"}), "REVIEW", "R9_CHAIN_POLICY")
	for range 9 {
		p.proceeds(p.screen(child, "100"))
	}
	p.verdict(p.screen(child, "1"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkWidening(p *probe) {
	parent := p.register(policy(obj{
		"maxSingleTxUSDC": 100, "dailyLimitUSDC": 1000, "allowedChains": list{"BASE", "ETH"}, "allowedRails": list{"USDC"},
		"counterpartyScreening": "OFAC+CONS", "noMixerProtocols": true,
	}))
	p.delegate(parent) // The parent can delegate at all; only then does a refusal say anything.
	wider := []obj{
		{"maxSingleTxUSDC": dollars("100.000001")}, {"dailyLimitUSDC": 1001}, {"allowedChains": list{"BASE", "SOL"}}, {"allowedChains": list{"SOL"}},
	}
	if !p.cfg.OnlySpec {
		wider = append(wider, obj{"allowedRails": list{"ACH"}}, obj{"counterpartyScreening": "OFAC"}, obj{"noMixerProtocols": false})
	}
	for _, members := range wider {
		a := p.delegateCall(parent, policy(members))
		if p.refusedAnyhow(a) && !p.cfg.OnlySpec {
			p.refused(a, 422, "policy_widening")
		}
	}
	p.delegate(parent, policy(obj{"maxSingleTxUSDC": 100, "dailyLimitUSDC": 1000, "allowedChains": list{"ETH"}}))
}

func checkOpenParent(p *probe) {
	open := p.register()
	child := p.delegate(open, policy(obj{"maxSingleTxUSDC": 50, "allowedChains": list{"BASE"}}))
	p.verdict(p.screen(child, "51"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.verdict(p.screen(child, "1", obj{"chain": "ETH"}), "REVIEW", "R9_CHAIN_POLICY")
	p.proceeds(p.screen(open, "51"))
	limited := p.register(policy(obj{"dailyLimitUSDC": 100}))
	a := p.delegateCall(limited, policy(obj{"dailyLimitUSDC": nil}))
	if !a.ok() { // Refusing the attempt and inheriting the limit are both honest.
		p.refusedAnyhow(a)
		return
	}
	p.verdict(p.screen(p.registered(a), "101"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkDepth(p *probe) {
	g := p.register()
	for depth := 1; depth <= 3; depth++ {
		g = p.delegate(g)
		p.proceeds(p.screen(g, "1"))
		if !p.cfg.OnlySpec {
			p.same(g.answer, "depth", depth)
		}
	}
	a := p.delegateCall(g)
	if p.refusedAnyhow(a) && !p.cfg.OnlySpec {
		p.refused(a, 422, "delegation_depth_exceeded")
	}
}

func checkParentStatus(p *probe) {
	root := p.register()
	child := p.delegate(root)
	grandchild := p.delegate(child)
	p.proceeds(p.screen(grandchild, "1"))
	p.setStatus("agents", root.id, "suspend")
	p.verdict(p.screen(child, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.verdict(p.screen(grandchild, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.setStatus("agents", root.id, "reinstate")
	p.proceeds(p.screen(child, "1"))
	p.proceeds(p.screen(grandchild, "1"))
	p.setStatus("agents", child.id, "revoke")
	p.verdict(p.screen(grandchild, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.proceeds(p.screen(root, "1"))
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

func checkAncestors(p *probe) {
	root := p.register(policy(obj{"dailyLimitUSDC": 1000}))
	left, right := p.delegate(root, policy(obj{"dailyLimitUSDC": 800})), p.delegate(root, policy(obj{"dailyLimitUSDC": 800}))
	leaf := p.delegate(left)
	p.proceeds(p.screen(leaf, "500"))
	p.verdict(p.screen(right, "501"), "REVIEW", "R11_DAILY_LIMIT")
	p.verdict(p.screen(left, "301"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(right, "400"))
	p.verdict(p.screen(root, "101"), "REVIEW", "R11_DAILY_LIMIT")
	p.proceeds(p.screen(root, "100"))
	p.verdict(p.screen(leaf, "0.000001"), "REVIEW", "R11_DAILY_LIMIT")
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

func checkDelegateErrors(p *probe) {
	parent := p.register(policy(obj{"dailyLimitUSDC": 1000}))
	a := p.delegateCall(parent, policy(obj{"dailyLimitUSDC": 2000}))
	p.refused(a, 422, "policy_widening")
	p.same(a, "details.0.param", "spendPolicy.dailyLimitUSDC")
	p.same(a, "details.0.parent", 1000)
	p.same(a, "details.0.requested", 2000)
	p.refused(p.delegateCall(agent{id: "agt_zzzzzzzzzzzz"}), 404, "not_found")
	p.refused(p.post("/v1/delegates/create", obj{"agentName": "x"}), 422, "missing_field")
	p.refused(p.post("/v1/delegates/create", obj{"parentAgentId": parent.id}), 422, "missing_field")
	p.refused(p.delegateCall(parent, autonomous), 422, "policy_widening")
	p.setStatus("agents", parent.id, "suspend")
	p.refused(p.delegateCall(parent), 409, "parent_not_active")
	p.refusedAnyhow(p.post("/v1/delegates/create", obj{"parentToken": "garbage", "agentName": "x"}))
}

func checkDelegateContext(p *probe) {
	fleet, known := p.fleet("100"), cleanWallet()
	root := p.register(with("fleetId", fleet))
	child := p.delegate(root)
	p.proceeds(p.screen(child, "90"))
	p.verdict(p.screen(root, "11"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.whitelist(root, obj{"wallet": known})
	p.proceeds(p.screen(child, "1", obj{"cpWallet": known}))
	p.verdict(p.screen(child, "1", obj{"cpWallet": cleanWallet()}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
	closed := p.register(with("operatingHours", otherHours(p)))
	p.verdict(p.screen(p.delegate(closed), "1"), "REVIEW", "R17_UNUSUAL_HOUR")
	a := p.success(p.get(fmt.Sprintf("/v1/agents/%s", child.id)))
	p.str(a, "agentId")
}
