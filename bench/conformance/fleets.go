package conformance

import "strings"

var fleetChecks = []Check{
	{ID: "T090", Title: "creating a fleet gives an id", Source: Literal, run: checkFleetCreate},
	{ID: "T090/us", Title: "the fleet answer is 201 with all its members; all three fields are required", Source: Ruling, run: checkFleetShape},
	{ID: "T091", Title: "agents of a fleet share its limit, an outsider does not touch it", Source: Literal, run: checkFleetShared},
	{ID: "X-FLT-1", Title: "fleetId at registration; one fleet per agent; operators must agree", Source: Ruling, run: checkFleetMembership},
	{ID: "X-FLT-2", Title: "GET, list, PATCH of the limit, and leaving a fleet", Source: Ruling, run: checkFleetLife},
}

func checkFleetCreate(p *probe) {
	a := p.success(p.post("/v1/fleets/create", obj{
		"fleetName": p.name("Fleet"), "operatorLegalName": cleanOperator, "dailyLimitUSDC": 50000,
	}))
	found := false
	for _, name := range []string{"fleetId", "id"} {
		found = found || a.text(name) != ""
	}
	p.expect(found, "no id in the answer: %s", show(a.tree))
}

func checkFleetShape(p *probe) {
	name := p.name("Fleet")
	body := obj{"fleetName": name, "operatorLegalName": cleanOperator, "dailyLimitUSDC": dollars("1000.50")}
	a := p.status(p.post("/v1/fleets/create", body), 201)
	p.expect(strings.HasPrefix(p.str(a, "fleetId"), "flt_"), "fleetId is %q", a.text("fleetId"))
	p.same(a, "fleetName", name)
	p.same(a, "operatorLegalName", cleanOperator)
	p.expect(p.num(a, "dailyLimitUSDC") == "1000.50", "dailyLimitUSDC is the literal %s, want 1000.50", a.number("dailyLimitUSDC"))
	p.same(a, "agentCount", 0)
	p.same(a, "spentTodayUSDC", 0)
	p.str(a, "date")
	p.utc(a, "createdAt")
	for _, missing := range []string{"fleetName", "operatorLegalName", "dailyLimitUSDC"} {
		cut := obj{}
		for member, value := range body {
			if member != missing {
				cut[member] = value
			}
		}
		p.refused(p.post("/v1/fleets/create", cut), 422, "missing_field")
	}
	for _, wrong := range []any{dollars("-1"), "100", true, nil} {
		bad := obj{"fleetName": name, "operatorLegalName": cleanOperator, "dailyLimitUSDC": wrong}
		p.refusedAnyhow(p.post("/v1/fleets/create", bad))
	}
	p.status(p.post("/v1/fleets/create", obj{"fleetName": name, "operatorLegalName": cleanOperator, "dailyLimitUSDC": 0}), 201)
}

func checkFleetShared(p *probe) {
	a, b, outside := p.register(), p.register(), p.register()
	fleet := p.fleet("100")
	p.join(fleet, a, b)
	p.proceeds(p.screen(outside, "90"))
	p.proceeds(p.screen(a, "60"))
	p.proceeds(p.screen(b, "40"))
	p.verdict(p.screen(a, "1"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.verdict(p.screen(b, "1"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.proceeds(p.screen(outside, "90"))
}

func checkFleetMembership(p *probe) {
	fleet, second := p.fleet("100"), p.fleet("100")
	g := p.register(with("fleetId", fleet))
	p.same(g.answer, "fleetId", fleet)
	p.same(p.register().answer, "fleetId", nil)
	p.proceeds(p.screen(g, "100"))
	p.verdict(p.screen(g, "1"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.refused(p.post("/v1/fleets/"+second+"/agents", obj{"agentId": g.id}), 409, "already_in_fleet")
	stranger := p.register(with("operatorLegalName", p.name("Another Operator Harbour Works")))
	p.refused(p.post("/v1/fleets/"+second+"/agents", obj{"agentId": stranger.id}), 422, "operator_mismatch")
	spelled := p.register(with("operatorLegalName", strings.ToUpper(strings.ReplaceAll(cleanOperator, " ", "  "))))
	p.success(p.post("/v1/fleets/"+second+"/agents", obj{"agentId": spelled.id}))
	p.refused(p.post("/v1/fleets/flt_zzzzzzzzzzzz/agents", obj{"agentId": spelled.id}), 404, "not_found")
	p.expect(!p.post("/v1/fleets/"+second+"/agents", obj{"agentId": "agt_zzzzzzzzzzzz"}).ok(), "an unknown agent joined a fleet")
	one, two := p.register(), p.register()
	p.success(p.post("/v1/fleets/"+second+"/agents", obj{"agentIds": list{one.id, two.id}}))
	p.same(p.success(p.get("/v1/fleets/"+second)), "agentCount", 3)
	a := p.post("/v1/agents/register", p.registration(with("fleetId", "flt_zzzzzzzzzzzz")))
	p.refusedAnyhow(a)
}

func checkFleetLife(p *probe) {
	fleet := p.fleet("100")
	g, other := p.register(with("fleetId", fleet)), p.register(with("fleetId", fleet))
	p.proceeds(p.screen(g, "70"))
	a := p.success(p.get("/v1/fleets/" + fleet))
	p.same(a, "fleetId", fleet)
	p.same(a, "spentTodayUSDC", 70)
	p.same(a, "agentCount", 2)
	p.refused(p.get("/v1/fleets/flt_zzzzzzzzzzzz"), 404, "not_found")
	p.array(p.success(p.get("/v1/fleets?limit=2")), "data")
	p.success(p.call("PATCH", "/v1/fleets/"+fleet, obj{"dailyLimitUSDC": 80}))
	p.verdict(p.screen(other, "11"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.proceeds(p.screen(other, "10"))
	p.success(p.call("DELETE", "/v1/fleets/"+fleet+"/agents/"+g.id, nil))
	p.proceeds(p.screen(g, "1000"))
	p.same(p.success(p.get("/v1/fleets/"+fleet)), "spentTodayUSDC", 80)
}
