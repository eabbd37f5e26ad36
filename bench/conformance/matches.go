package conformance

import (
	"net/url"
	"strings"
)

var matchChecks = []Check{
	{ID: "X-MAT-1", Title: "GET /v1/match shows what a name or wallet meets on the list, and changes nothing", Source: Ruling, run: checkMatch},
	{ID: "T149", Title: "a listed name inside a longer one, a name too long to be read whole, and one that cannot be read are not passed over; a guessed reading blocks nobody", Source: Ruling, run: checkContainedNames},
	{ID: "T150", Title: "a listed wallet is one in every spelling; what is no address of any chain is R19", Source: Ruling, run: checkWalletSpellings},
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

// checkContainedNames tries only names of two words or more, because a name of one word need not
// be found among other words.
func checkContainedNames(p *probe) {
	g := p.register()
	for _, name := range []string{p.listedIndividual(), p.listedCompany()} {
		if len(strings.Fields(name)) < 2 {
			continue
		}
		for _, text := range []string{
			name + " account 48291", name + " FRANKFURT BRANCH", name + " JR", "ATTN " + name, "c/o " + name, name + " OR " + cleanCounterparty,
			strings.Repeat("payment for goods as agreed ", 12) + name,
		} {
			p.reviewedAtLeast(p.screen(g, "1", obj{"cpName": text}), text)
		}
	}
	long := strings.Repeat("ordinary words of a long invoice ", 10)
	p.reviewedAtLeast(p.screen(g, "1", obj{"cpName": long}), long)
	for _, unread := range []string{"สมชาย ใจดี", "ហ៊ុន សែន", "नरेंद्र मोदी", cleanCounterparty + " สมชาย", "???"} {
		p.verdict(p.screen(g, "1", obj{"cpName": unread}), "REVIEW", "R21_POSSIBLE_NAME_MATCH")
	}
	for _, guessed := range []string{"성훈 김", "김성훈"} { // KIM Song Hun in Hangul, written by sound.
		a := p.screen(g, "1", obj{"cpName": guessed})
		p.expect(a.text("verdict") != "BLOCK", "%s: a reading by sound blocks: %s", guessed, a.text("rule"))
	}
}

// reviewedAtLeast demands REVIEW or BLOCK.
func (p *probe) reviewedAtLeast(a *answer, text string) {
	verdict := a.text("verdict")
	p.expect(verdict == "REVIEW" || verdict == "BLOCK", "%.60q: verdict %s, want REVIEW or BLOCK", text, verdict)
}

func checkWalletSpellings(p *probe) {
	g := p.register()
	listed := p.listedWallet()
	digits := strings.TrimPrefix(listed, "0x")
	p.must(len(digits) == 40, "the listed wallet is not one of EVM: %s", listed)
	for _, spelling := range []string{
		listed + ":", "ethereum:" + listed + "?value=1", listed + "?value=1", listed + "@1", "ethereum:" + listed + "@8453/transfer", listed + "#code",
		"xdc" + digits, "0x" + strings.Repeat("0", 24) + digits, "https://etherscan.io/address/" + listed, "https://example.com/" + listed + "?tab=tokens",
	} {
		a := p.screen(g, "1", obj{"cpWallet": spelling})
		p.expect(a.text("verdict") == "BLOCK" && hasRule(a, "R6"), "%s: %s %s, want BLOCK by R6", spelling, a.text("verdict"), a.text("rule"))
	}
	for _, none := range []string{"my wallet", "vitalik.eth", "0x1234"} {
		a := p.screen(g, "1", obj{"cpWallet": none})
		p.verdict(a, "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	}
}
