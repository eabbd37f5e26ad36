package conformance

var laterRuleChecks = []Check{
	{ID: "X-R23-1", Title: "a delegate of a user credential is refused or BLOCKed R23", Source: Ruling, run: checkUserDelegate},
}

func checkUserDelegate(p *probe) {
	g := p.register()
	user := p.user(obj{"agentIds": list{g.id}})
	a := p.post("/v1/delegates/create", obj{"parentToken": p.str(user, "token"), "agentName": p.name("Delegate")})
	if a.ok() {
		p.verdict(p.screenBody(obj{"token": p.str(a, "token"), "amount": 1}), "BLOCK", "R23_CREDENTIAL_CONTEXT")
		return
	}
	p.refusedAnyhow(a)
	p.refusedAnyhow(p.post("/v1/delegates/create", obj{"parentAgentId": p.str(user, "userId"), "agentName": p.name("Delegate")}))
}
