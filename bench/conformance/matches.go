package conformance

import "net/url"

var matchChecks = []Check{
	{ID: "X-MAT-1", Title: "GET /v1/match shows what a name or wallet meets on the list, and changes nothing", Source: Ruling, run: checkMatch},
	{ID: "X-MAT-2", Title: "the evidence of a match is in the record for those who may see it", Source: Ruling, run: checkMatchEvidence},
}

// found collects the matches of a workbench answer, wherever it puts them.
func (p *probe) found(a *answer) []any {
	var all []any
	there := false
	for _, path := range []string{"matches", "name.matches", "wallet.matches"} {
		value, _ := a.at(path)
		items, ok := value.([]any)
		there = there || ok
		all = append(all, items...)
	}
	p.must(there, "no list of matches in the answer: %s", show(a.tree))
	return all
}

func checkMatch(p *probe) {
	hit := p.tool(p.get("/v1/match?name=" + url.QueryEscape(p.listedIndividual())))
	matches := p.found(hit)
	p.must(len(matches) > 0, "no match for a listed person")
	for _, member := range []string{"list", "uid", "name", "score"} {
		_, there := at(matches[0], member)
		p.expect(there, "a match lacks %s", member)
	}
	wallet := p.success(p.get("/v1/match?wallet=" + url.QueryEscape(p.listedWallet())))
	p.expect(len(p.found(wallet)) > 0, "no match for a listed wallet")
	clean := p.success(p.get("/v1/match?name=" + url.QueryEscape(cleanCounterparty) + "&wallet=" + cleanWallet()))
	p.expect(len(p.found(clean)) == 0, "an ordinary name and a fresh wallet match %s", show(clean.tree))
	a := p.get("/v1/match")
	p.expect(a.status == 422, "match of nothing: status %d, want 422", a.status)
}

func checkMatchEvidence(p *probe) {
	g := p.register()
	record := p.record(p.screen(g, "1", obj{"cpName": p.listedIndividual()}).text("txnId"))
	matches := p.array(record, "matches")
	p.must(len(matches) > 0, "the record of an R7 has no matches")
	for _, member := range []string{"list", "uid", "name", "quality", "score", "programs"} {
		_, there := at(matches[0], member)
		p.expect(there, "a match lacks %s", member)
	}
	clean := p.record(p.screen(g, "1").text("txnId"))
	value, there := clean.at("matches")
	items, _ := value.([]any)
	p.expect(!there || len(items) == 0, "a clean record has matches %s", show(value))
}
