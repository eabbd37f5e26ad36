package conformance

var queueChecks = []Check{
	{ID: "X-Q-3", Title: "next leases the top item of a filter, 204 when there is none", Source: Ruling, run: checkQueueNext},
}

func checkQueueNext(p *probe) {
	g, txn := p.review()
	filter := obj{"filter": obj{"agentId": g.id}, "assignee": "carla"}
	a := p.status(p.post("/v1/queue/next", filter, fresh), 200)
	p.same(a, "txnId", txn)
	again := p.post("/v1/queue/next", obj{"filter": obj{"agentId": g.id}, "assignee": "another"}, fresh)
	p.status(again, 204)
	p.expect(len(again.raw) == 0, "204 with a body")
	_, items := p.page("/v1/queue?state=claimed&agentId=" + g.id)
	p.expect(len(items) == 1, "state=claimed gives %d items, want 1", len(items))
}
