package conformance

import "fmt"

var whitelistChecks = []Check{
	{ID: "X-WL-1", Title: "PUT and GET of a whitelist, its ETag and If-Match", Source: Ruling, run: checkWhitelistVersions},
	{ID: "X-WL-2", Title: "every identifier of a listed kind must be listed; unidentified counterparties are R13", Source: Ruling, run: checkWhitelistMatch},
	{ID: "X-WL-3", Title: "adding and removing single entries", Source: Ruling, run: checkWhitelistEntries},
	{ID: "X-WL-4", Title: "agent and fleet lists intersect; mode off is no list", Source: Ruling, run: checkWhitelistIntersection},
	{ID: "T147", Title: "adding or narrowing a whitelist never turns R13 into PROCEED; entries of an unset one change no verdict", Source: Ruling, run: checkListsOnlyNarrow},
	{ID: "X-WL-5", Title: "at most 2,000 entries of sane form", Source: Ruling, run: checkWhitelistLimits},
}

func checkWhitelistVersions(p *probe) {
	g, wallet := p.register(), cleanWallet()
	path := "/v1/agents/" + g.id + "/whitelist"
	empty := p.success(p.get(path))
	p.same(empty, "mode", "off")
	p.success(p.call("PUT", path, obj{"mode": "enforce", "entries": list{obj{"wallet": wallet, "label": "the shop"}}}))
	a := p.success(p.get(path))
	p.same(a, "mode", "enforce")
	p.same(a, "entries.0.wallet", wallet)
	p.same(a, "entries.0.label", "the shop")
	tag := a.header.Get("ETag")
	p.must(tag != "", "GET of a whitelist has no ETag")
	p.success(p.call("PUT", path, obj{"mode": "enforce", "entries": list{}}, header("If-Match", tag)))
	p.refused(p.call("PUT", path, obj{"mode": "off", "entries": list{}}, header("If-Match", tag)), 412, "version_mismatch")
	p.same(p.success(p.get(path)), "mode", "enforce")
	p.refused(p.call("PUT", "/v1/agents/agt_zzzzzzzzzzzz/whitelist", obj{"mode": "off", "entries": list{}}), 404, "not_found")
}

func checkWhitelistMatch(p *probe) {
	const rule = "R13_COUNTERPARTY_WHITELIST"
	g, wallet := p.register(), cleanWallet()
	p.whitelist(g, obj{"wallet": wallet}, obj{"name": cleanCounterparty})
	p.proceeds(p.screen(g, "1", obj{"cpWallet": wallet, "cpName": cleanCounterparty}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": wallet}))
	p.proceeds(p.screen(g, "1", obj{"cpName": cleanCounterparty}))
	p.verdict(p.screen(g, "1", obj{"cpWallet": wallet, "cpName": "A Foreign Name"}), "REVIEW", rule)
	p.verdict(p.screen(g, "1", obj{"cpWallet": cleanWallet(), "cpName": cleanCounterparty}), "REVIEW", rule)
	p.verdict(p.screen(g, "1"), "REVIEW", rule)
	wallets := p.register()
	p.whitelist(wallets, obj{"wallet": wallet})
	p.proceeds(p.screen(wallets, "1", obj{"cpWallet": wallet, "cpName": "A Foreign Name"})) // Names are not in use on this list.
	p.verdict(p.screen(wallets, "1", obj{"cpName": "A Foreign Name"}), "REVIEW", rule)
	none := p.register()
	p.whitelist(none)
	p.verdict(p.screen(none, "1", obj{"cpWallet": wallet}), "REVIEW", rule)
	atBirth := p.register(with("whitelist", obj{"mode": "enforce", "entries": list{obj{"wallet": wallet}}}))
	p.proceeds(p.screen(atBirth, "1", obj{"cpWallet": wallet}))
	p.verdict(p.screen(atBirth, "1", obj{"cpWallet": cleanWallet()}), "REVIEW", rule)
}

func checkWhitelistEntries(p *probe) {
	g, one, two := p.register(), cleanWallet(), cleanWallet()
	path := "/v1/agents/" + g.id + "/whitelist"
	p.whitelist(g, obj{"wallet": one})
	a := p.success(p.post(path+"/entries", obj{"wallet": two, "reason": "a new supplier"}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": two}))
	listed := p.success(p.get(path))
	entries := p.array(listed, "entries")
	p.must(len(entries) == 2, "the list has %d entries, want 2", len(entries))
	id := fmt.Sprint(memberOf(entries[1], "id"))
	p.expect(a.jsonErr == nil && id != "<nil>", "entries have no id: %s", show(any(entries)))
	p.success(p.call("DELETE", path+"/entries/"+id, nil))
	p.verdict(p.screen(g, "1", obj{"cpWallet": two}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
	p.proceeds(p.screen(g, "1", obj{"cpWallet": one}))
	p.refused(p.call("DELETE", path+"/entries/none", nil), 404, "not_found")
}

func checkWhitelistIntersection(p *probe) {
	both, agentOnly, fleetOnly := cleanWallet(), cleanWallet(), cleanWallet()
	fleet := p.fleet("1000000")
	g := p.register(with("fleetId", fleet))
	p.whitelist(g, obj{"wallet": both}, obj{"wallet": agentOnly})
	path := "/v1/fleets/" + fleet + "/whitelist"
	p.success(p.call("PUT", path, obj{"mode": "enforce", "entries": list{obj{"wallet": both}, obj{"wallet": fleetOnly}}}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": both}))
	for _, wallet := range []string{agentOnly, fleetOnly} {
		p.verdict(p.screen(g, "1", obj{"cpWallet": wallet}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
	}
	p.success(p.call("PUT", path, obj{"mode": "off", "entries": list{obj{"wallet": both}}, "reason": "conformance"}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": agentOnly}))
	p.same(p.success(p.get("/v1/whitelist")), "mode", "off")
}

// checkListsOnlyNarrow holds calls that are R13 against lists that are added and
// narrowed: a name beside a known wallet above all, which an intersection of kinds
// once let through.
func checkListsOnlyNarrow(p *probe) {
	const rule = "R13_COUNTERPARTY_WHITELIST"
	wallet, other := cleanWallet(), cleanWallet()
	calls := []obj{
		{"cpWallet": wallet, "cpName": "A Foreign Name"}, {"cpWallet": other, "cpName": cleanCounterparty}, {"cpName": "A Foreign Name"}, {"cpWallet": other}, {},
	}
	fleet := p.fleet("1000000")
	g := p.register(with("fleetId", fleet))
	agents, fleets := "/v1/agents/"+g.id+"/whitelist", "/v1/fleets/"+fleet+"/whitelist"
	p.whitelist(g, obj{"wallet": wallet}, obj{"name": cleanCounterparty})
	held := func(after string) {
		for _, call := range calls {
			a := p.screen(g, "1", call)
			p.expect(a.text("verdict") == "REVIEW" && hasRule(a, "R13"), "%v after %s: %s %s, want REVIEW %s", call, after, a.text("verdict"), a.text("rule"), rule)
		}
	}
	held("nothing")
	for _, entries := range []list{{obj{"wallet": wallet}}, {obj{"wallet": other}}, {obj{"name": "A Foreign Name"}}, {}} {
		p.success(p.call("PUT", fleets, obj{"mode": "enforce", "entries": entries, "reason": "conformance"}))
		held("the fleet's list")
	}
	p.success(p.call("PUT", fleets, obj{"mode": "off", "entries": list{}, "reason": "conformance"}))
	entries := p.array(p.success(p.get(agents)), "entries")
	p.must(len(entries) == 2, "the list has %d entries, want 2", len(entries))
	p.success(p.call("DELETE", agents+"/entries/"+fmt.Sprint(memberOf(entries[1], "id")), nil))
	held("its last name went")
	p.success(p.call("DELETE", agents+"/entries/"+fmt.Sprint(memberOf(entries[0], "id")), nil))
	held("its last entry went")

	unset := p.register()
	path := "/v1/agents/" + unset.id + "/whitelist"
	p.success(p.post(path+"/entries", obj{"wallet": wallet, "reason": "conformance"}))
	p.same(p.success(p.get(path)), "mode", "off")
	for _, call := range calls {
		p.proceeds(p.screen(unset, "1", call))
	}
}

func checkWhitelistLimits(p *probe) {
	g := p.register()
	path := "/v1/agents/" + g.id + "/whitelist"
	entries := make(list, 2001)
	for i := range entries {
		entries[i] = obj{"wallet": fmt.Sprintf("0x%040x", i+1)}
	}
	p.refused(p.call("PUT", path, obj{"mode": "enforce", "entries": entries}), 422, "invalid_field")
	p.success(p.call("PUT", path, obj{"mode": "enforce", "entries": entries[:2000], "reason": "conformance"}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": fmt.Sprintf("0x%040x", 2000)}))
	for _, entry := range []any{obj{}, obj{"wallet": ""}, obj{"name": 5}, "0x1", nil} {
		a := p.call("PUT", path, obj{"mode": "enforce", "entries": list{entry}})
		p.expect(a.status == 422, "entry %s: status %d, want 422", show(plain(entry)), a.status)
	}
	for _, body := range []obj{{"mode": "maybe", "entries": list{}}, {"entries": "all", "mode": "off"}} {
		p.refused(p.call("PUT", path, body), 422, "invalid_field")
	}
}
