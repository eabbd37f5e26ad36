package conformance

import "time"

var ownershipChecks = []Check{
	{ID: "X-OWN-1", Title: "the flag's answer; it takes effect at effectiveAt", Source: Ruling, run: checkOwnershipAnswer},
	{ID: "X-OWN-2", Title: "DELETE cancels the flag", Source: Ruling, run: checkOwnershipCancel},
	{ID: "X-OWN-3", Title: "re-issue screens the new operator and asks for a new attestation", Source: Ruling, run: checkOwnershipReissue},
}

func checkOwnershipAnswer(p *probe) {
	g := p.register()
	a := p.status(p.transfer(g), 200)
	p.same(a, "agentId", g.id)
	p.same(a, "ownershipTransfer.flagged", true)
	p.utc(a, "ownershipTransfer.flaggedAt")
	p.refused(p.post("/v1/agents/agt_zzzzzzzzzzzz/ownership-transfer", obj{"newOperatorLegalName": "x"}), 404, "not_found")
	p.refused(p.post("/v1/agents/"+p.register().id+"/ownership-transfer", obj{}), 422, "missing_field")
	later := p.register()
	now := p.utc(p.screen(later, "1"), "screenedAt")
	p.success(p.post("/v1/agents/"+later.id+"/ownership-transfer", obj{
		"newOperatorLegalName": newOperator, "effectiveAt": now.Add(48 * time.Hour).Format("2006-01-02T15:04:05Z"),
	}))
	p.proceeds(p.screen(later, "1"))
}

func checkOwnershipCancel(p *probe) {
	g := p.register()
	p.transfer(g)
	p.verdict(p.screen(g, "1"), "BLOCK", "R8_OWNERSHIP_TRANSFER")
	p.success(p.call("DELETE", "/v1/agents/"+g.id+"/ownership-transfer", nil))
	p.proceeds(p.screen(g, "1"))
}

func checkOwnershipReissue(p *probe) {
	g := p.register(autonomous)
	p.attest(g)
	p.proceeds(p.screen(g, "20000"))
	p.transfer(g)
	a := p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{"operatorLegalName": newOperator}), 201)
	fresh := p.registered(a)
	p.same(a, "credential.credentialSubject.operatorLegalName", newOperator)
	p.verdict(p.screen(fresh, "20000"), "REVIEW", "R22_ATTESTATION_STALE")
	p.attest(fresh)
	p.proceeds(p.screen(fresh, "20000"))
	p.transfer(fresh)
	a = p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{"operatorLegalName": newOperator, "operatorWallet": p.listedWallet()}), 201)
	p.same(a, "credential.credentialSubject.complianceAttestation.ofacAtIssuance", "MATCH")
	p.verdict(p.screen(p.registered(a), "1"), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
}
