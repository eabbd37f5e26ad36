package conformance

import "time"

var ownershipChecks = []Check{
	{ID: "X-OWN-1", Title: "the flag's answer; it takes effect at effectiveAt", Source: Ruling, run: checkOwnershipAnswer},
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
