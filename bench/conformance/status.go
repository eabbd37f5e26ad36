package conformance

const newOperator = "New Orchard Owners Works"

// transfer flags an agent as sold to the new operator.
func (p *probe) transfer(g agent) *answer {
	return p.tool(p.post("/v1/agents/"+g.id+"/ownership-transfer", obj{
		"newOperatorLegalName": newOperator, "note": "sold", "actor": "conformance",
	}))
}
