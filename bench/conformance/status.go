package conformance

import "strings"

var statusChecks = []Check{
	{ID: "T060", Title: "R2: suspended and revoked credentials are BLOCKed", Source: Literal, run: checkR2},
	{ID: "T066", Title: "R8: the ownership flag blocks until re-issue; then the new token passes, the old does not", Source: Literal, run: checkR8},
	{ID: "X-STA-1", Title: "status answers, repeats, illegal moves and their codes", Source: Ruling, run: checkTransitions},
	{ID: "X-STA-2", Title: "suspending an operator blocks all its agents, present and future", Source: Ruling, run: checkOperatorSuspend},
	{ID: "X-STA-3", Title: "a plain renewal keeps the old token for the overlap; a changed one kills it at once", Source: Ruling, run: checkReissue},
	{ID: "C06", Title: "a revocation acknowledged on one node is R2 on the next screen of another", Source: Implied, Needs: NeedTwoNodes, run: checkRevokeAcross},
}

func checkR2(p *probe) {
	g := p.register()
	p.proceeds(p.screen(g, "1"))
	p.setStatus("agents", g.id, "suspend")
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.setStatus("agents", g.id, "reinstate")
	p.proceeds(p.screen(g, "1"))
	p.setStatus("agents", g.id, "revoke")
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
}

const newOperator = "New Orchard Owners Works"

// transfer flags an agent as sold to the new operator.
func (p *probe) transfer(g agent) *answer {
	return p.tool(p.post("/v1/agents/"+g.id+"/ownership-transfer", obj{
		"newOperatorLegalName": newOperator, "note": "sold", "actor": "conformance",
	}))
}

func checkR8(p *probe) {
	g := p.register()
	p.transfer(g)
	p.verdict(p.screen(g, "1"), "BLOCK", "R8_OWNERSHIP_TRANSFER")
	a := p.tool(p.post("/v1/agents/"+g.id+"/reissue", obj{"operatorLegalName": newOperator}))
	fresh := p.registered(a)
	p.expect(fresh.id == g.id, "the re-issued agentId is %s, want %s", fresh.id, g.id)
	p.proceeds(p.screen(fresh, "1"))
	old := p.screen(g, "1")
	p.expect(old.text("verdict") == "BLOCK", "the token of before the re-issue: %s, want BLOCK", old.text("verdict"))
	if !p.cfg.OnlySpec {
		p.verdict(old, "BLOCK", "R2_CREDENTIAL_STATUS")
	}
}

func checkTransitions(p *probe) {
	g := p.register()
	path := "/v1/agents/" + g.id + "/"
	a := p.status(p.post(path+"suspend", obj{"reason": "lost laptop", "actor": "ops@example.test"}), 200)
	p.same(a, "agentId", g.id)
	p.same(a, "previousStatus", "ACTIVE")
	p.same(a, "credentialStatus", "SUSPENDED")
	p.same(a, "reason", "lost laptop")
	p.same(a, "actor", "ops@example.test")
	p.utc(a, "changedAt")
	p.status(p.post(path+"suspend", obj{"reason": "again", "actor": "x"}), 200)
	p.same(p.success(p.get("/v1/agents/"+g.id)), "credentialStatus", "SUSPENDED")
	p.refused(p.post(path+"reinstate", obj{}), 422, "missing_field")
	p.same(p.status(p.post(path+"reinstate", obj{"reason": "found it"}), 200), "credentialStatus", "ACTIVE")
	a = p.status(p.post(path+"revoke", obj{"reason": "gone", "reasonCode": "KEY_COMPROMISE"}), 200)
	p.same(a, "credentialStatus", "REVOKED")
	for _, verb := range []string{"suspend", "reinstate"} {
		a = p.post(path+verb, obj{"reason": "x"})
		p.refused(a, 409, "invalid_transition")
		p.same(a, "credentialStatus", "REVOKED")
	}
	p.refused(p.post(path+"reissue", obj{}), 409, "invalid_transition")
	p.refused(p.post("/v1/agents/"+p.register().id+"/revoke", obj{"reason": "x", "reasonCode": "WHIM"}), 422, "invalid_field")
	p.refused(p.post("/v1/agents/"+p.register().id+"/suspend", obj{"actor": "x"}), 422, "missing_field")
	p.refused(p.post("/v1/agents/agt_zzzzzzzzzzzz/suspend", obj{"reason": "x"}), 404, "not_found")
}

func checkOperatorSuspend(p *probe) {
	operator := p.name("Suspended Orchard Holdings")
	g := p.register(with("operatorLegalName", operator))
	outside := p.register()
	p.proceeds(p.screen(g, "1"))
	p.success(p.post("/v1/operators/suspend", obj{"operatorLegalName": strings.ToUpper(operator), "reason": "conformance", "actor": "x"}))
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	later := p.register(with("operatorLegalName", operator))
	p.verdict(p.screen(later, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.proceeds(p.screen(outside, "1"))
}

func checkReissue(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	a := p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{}), 201)
	renewed := p.registered(a)
	p.same(a, "credentialVersion", 2)
	p.expect(renewed.token != g.token, "the renewed token is the old one")
	p.proceeds(p.screen(renewed, "1"))
	p.proceeds(p.screen(g, "1"))
	wider := p.registered(p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{"spendPolicy": obj{"maxSingleTxUSDC": 200}}), 201))
	p.proceeds(p.screen(wider, "200"))
	p.verdict(p.screen(renewed, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	last := p.registered(p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{"overlapHours": 0}), 201))
	p.verdict(p.screen(wider, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.proceeds(p.screen(last, "1"))
	p.refused(p.post("/v1/agents/"+g.id+"/reissue", obj{"overlapHours": 169}), 422, "invalid_field")
}

func checkRevokeAcross(p *probe) {
	for i := range 10 {
		g := p.registered(p.post("/v1/agents/register", p.registration(), node(i)))
		p.proceeds(p.screenBody(g.payment("1"), node(i+1)))
		p.tool(p.post("/v1/agents/"+g.id+"/revoke", obj{"reason": "conformance", "actor": "x"}, node(i)))
		p.verdict(p.screenBody(g.payment("1"), node(i+1)), "BLOCK", "R2_CREDENTIAL_STATUS")
	}
}
