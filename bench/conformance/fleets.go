package conformance

var fleetChecks = []Check{
	{ID: "T090", Title: "creating a fleet gives an id", Source: Literal, run: checkFleetCreate},
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
