package conformance

import (
	"strings"
)

var registrationChecks = []Check{
	{ID: "X-REG-4", Title: "the EIN is masked wherever it is shown", Source: Ruling, run: checkEINMasked},
	{ID: "X-REG-6", Title: "GET of an agent and the list of agents", Source: Ruling, run: checkAgentViews},
}

func checkEINMasked(p *probe) {
	body := p.registration(with("operatorEIN", "98-7654321"))
	g := p.registered(p.post("/v1/agents/register", body))
	view := p.success(p.get("/v1/agents/" + g.id))
	p.same(view, "agentId", g.id)
	for _, a := range []*answer{g.answer, view, p.record(p.screen(g, "1").text("txnId"))} {
		p.expect(!strings.Contains(string(a.raw), "7654321") && !strings.Contains(string(a.raw), "98-765"), "%s shows the EIN", a.path)
	}
	payload, err := strictBase64(strings.Split(g.token, ".")[1])
	p.must(err == nil, "payload: %v", err)
	p.expect(!strings.Contains(string(payload), "7654321"), "the token holds the EIN")
}

func checkAgentViews(p *probe) {
	operator := p.name("Orchard Viewing Works")
	mine := with("operatorLegalName", operator)
	g := p.register(mine, autonomous, policy(obj{"dailyLimitUSDC": 100}), with("underlyingModel", "model-a"))
	second := p.register(mine)
	p.proceeds(p.screen(g, "30"))
	a := p.success(p.get("/v1/agents/" + g.id))
	p.same(a, "agentId", g.id)
	p.same(a, "credentialStatus", "ACTIVE")
	p.expect(kind(p.field(a, "credential")) == "object", "credential is %s", kind(a.tree))
	if shown := a.text("token"); shown != "" {
		p.expect(shown == g.token, "GET shows another token than the registration")
	}
	p.refused(p.get("/v1/agents/agt_zzzzzzzzzzzz"), 404, "not_found")
	query := "/v1/agents?operator=" + strings.ReplaceAll(operator, " ", "%20")
	page, items := p.page(query)
	p.expect(strings.Join(ids(items, "agentId"), " ") == second.id+" "+g.id, "agents of the operator: %v, want %s and %s, newest first", ids(items, "agentId"), second.id, g.id)
	p.field(page, "nextCursor")
	p.setStatus("agents", second.id, "suspend")
	_, items = p.page(query + "&status=SUSPENDED")
	p.expect(strings.Join(ids(items, "agentId"), " ") == second.id, "suspended agents of the operator: %v", ids(items, "agentId"))
	page, items = p.page(query + "&limit=1")
	p.must(len(items) == 1, "a page of limit 1 has %d items", len(items))
	_, rest := p.page(query + "&limit=1&cursor=" + p.str(page, "nextCursor"))
	p.expect(len(rest) == 1 && memberOf(rest[0], "agentId") == g.id, "the second page is %v, want %s", ids(rest, "agentId"), g.id)
	_, items = p.page(query + "&order=asc")
	p.expect(len(items) == 2 && memberOf(items[0], "agentId") == g.id, "ascending: %v", ids(items, "agentId"))
}
