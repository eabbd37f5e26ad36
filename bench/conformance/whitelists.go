package conformance

import "fmt"

var whitelistChecks = []Check{
	{ID: "X-WL-3", Title: "adding and removing single entries", Source: Ruling, run: checkWhitelistEntries},
	{ID: "T147", Title: "adding or narrowing a whitelist never turns R13 into PROCEED; entries of an unset one change no verdict", Source: Ruling, run: checkListsOnlyNarrow},
	{ID: "X-WL-5", Title: "at most 2,000 entries of sane form", Source: Ruling, run: checkWhitelistLimits},
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

// checkListsOnlyNarrow repeats calls that R13 stops while lists are added and narrowed: R13 must
// still stop them. Once, an intersection of kinds let through a call that had a known wallet and
// an unknown name.
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
