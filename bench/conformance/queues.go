package conformance

var queueChecks = []Check{
	{ID: "X-Q-1", Title: "an open review is in the queue, a dispositioned one is not", Source: Ruling, run: checkQueueList},
	{ID: "X-Q-2", Title: "claim, release, comment and their refusals", Source: Ruling, run: checkQueueClaim},
	{ID: "X-Q-3", Title: "next leases the top item of a filter, 204 when there is none", Source: Ruling, run: checkQueueNext},
}

func checkQueueList(p *probe) {
	g, txn := p.review()
	query := "/v1/queue?agentId=" + g.id
	_, items := p.page(query)
	p.must(len(items) == 1, "the queue of the agent has %d items, want 1", len(items))
	for _, member := range []string{"txnId", "rule", "reason", "amount", "screenedAt", "ageSeconds", "priority", "similarOpen"} {
		_, there := at(items[0], member)
		p.expect(there, "a queue item lacks %s", member)
	}
	p.expect(memberOf(items[0], "txnId") == txn, "the item is %v, want %s", memberOf(items[0], "txnId"), txn)
	second := p.reviewOf(g)
	page, items := p.page(query + "&limit=1")
	p.expect(len(items) == 1, "a page of limit 1 has %d items", len(items))
	_, rest := p.page(query + "&limit=1&cursor=" + p.str(page, "nextCursor"))
	p.expect(len(rest) == 1, "the second page has %d items, want 1", len(rest))
	_, items = p.page(query + "&rule=R9_CHAIN_POLICY")
	p.expect(len(items) == 0, "the filter on another rule gives %d items", len(items))
	_, items = p.page(query + "&minAmount=1000")
	p.expect(len(items) == 0, "minAmount above the amounts gives %d items", len(items))
	p.disposition(txn, "REJECTED")
	_, items = p.page(query)
	p.expect(len(items) == 1 && memberOf(items[0], "txnId") == second, "after a disposition the queue is %v, want %s", ids(items, "txnId"), second)
	_, items = p.page(query + "&state=dispositioned")
	p.expect(len(items) == 1 && memberOf(items[0], "txnId") == txn, "state=dispositioned gives %v, want %s", ids(items, "txnId"), txn)
}

func checkQueueClaim(p *probe) {
	_, txn := p.review()
	path := "/v1/queue/" + txn + "/"
	a := p.success(p.post(path+"claim", obj{"assignee": "carla"}))
	p.same(a, "assignee", "carla")
	p.refused(p.post(path+"claim", obj{"assignee": "someone else"}), 409, "claimed_by_other")
	p.success(p.post(path+"comment", obj{"comment": "called the operator", "by": "carla"}))
	p.success(p.post(path+"release", obj{"assignee": "carla"}))
	p.success(p.post(path+"claim", obj{"assignee": "someone else"}))
	p.disposition(txn, "APPROVED") // A claim is advisory: it does not stop a disposition.
	p.status(p.post(path+"claim", obj{"assignee": "carla"}), 409)
	p.refused(p.post("/v1/queue/txn_zzzzzzzz/claim", obj{"assignee": "carla"}), 404, "not_found")
	proceed := p.screen(p.register(), "1").text("txnId")
	p.expect(!p.post("/v1/queue/"+proceed+"/claim", obj{"assignee": "carla"}).ok(), "a PROCEED was claimed")
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
