package conformance

import (
	"strings"
	"time"
)

var historyChecks = []Check{
	{ID: "X-HIS-1", Title: "GET /v1/audit filters and pages", Source: Ruling, run: checkAuditList},
	{ID: "X-HIS-4", Title: "export as NDJSON holds every record of the time", Source: Ruling, run: checkExport},
	{ID: "X-HIS-5", Title: "the checkpoint is public and grows", Source: Ruling, run: checkCheckpoint},
}

// allPages follows the cursors of a list to the end of the list. A page with a cursor may be
// short or empty.
func (p *probe) allPages(query, member string) []string {
	var all []string
	cursor := ""
	for range pagesMax {
		page, items := p.page(query + cursor)
		if strings.Contains(query, "limit=1") {
			p.must(len(items) <= 1, "a page of limit 1 has %d items", len(items))
		}
		all = append(all, ids(items, member)...)
		if page.text("nextCursor") == "" {
			return all
		}
		cursor = "&cursor=" + page.text("nextCursor")
	}
	p.stop("%s: more than %d pages", query, pagesMax)
	return nil
}

func checkAuditList(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	wallet := cleanWallet()
	first := p.screen(g, "1", obj{"cpWallet": wallet}).text("txnId")
	second := p.screen(g, "150").text("txnId")
	third := p.screen(g, "1", obj{"cpWallet": p.listedWallet()}).text("txnId")
	want := third + " " + second + " " + first
	query := "/v1/audit?agentId=" + g.id
	expect := func(more, wanted string) {
		got := p.allPages(query+more, "txnId")
		p.expect(strings.Join(got, " ") == wanted, "%s%s gives %v, want %s", query, more, got, wanted)
	}
	expect("", want)
	expect("&order=asc", first+" "+second+" "+third)
	expect("&verdict=REVIEW", second)
	expect("&rule=R6_COUNTERPARTY_WALLET_OFAC", third)
	expect("&wallet="+cleanWallet(), "")
	expect("&wallet="+wallet, first)
	expect("&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", "")
	expect("&limit=1", want)
	for _, bad := range []string{"&limit=0", "&limit=501", "&limit=x", "&cursor=!!", "&from=yesterday", "&verdict=MAYBE"} {
		a := p.get(query + bad)
		p.expect(a.status >= 400 && a.status < 500, "%s: status %d, want a refusal", bad, a.status)
	}
}

func checkExport(p *probe) {
	g := p.register()
	var txns []string
	from := p.now().Add(-time.Second)
	var at time.Time
	for range 5 {
		a := p.screen(g, "1")
		at = p.utc(a, "screenedAt")
		txns = append(txns, a.text("txnId"))
	}
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	a := p.get("/v1/audit/export?format=ndjson&from=" + stamp(from) + "&to=" + stamp(at.Add(time.Minute)))
	p.status(a, 200)
	p.expect(strings.Contains(a.header.Get("Content-Type"), "ndjson"), "Content-Type is %q", a.header.Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(string(a.raw)), "\n")
	for i, line := range lines {
		tree, err := decodeTree([]byte(line))
		p.must(err == nil && kind(tree) == "object", "line %d is no JSON object: %v", i, err)
	}
	for _, txn := range txns {
		p.expect(strings.Contains(string(a.raw), txn), "the export lacks %s", txn)
	}
	p.expect(!strings.Contains(string(a.raw), g.token), "the export holds a token")
	a = p.get("/v1/audit/export?format=xml&from=" + stamp(at.Add(-time.Hour)))
	p.expect(a.status >= 400 && a.status < 500, "format=xml: status %d, want a refusal", a.status)
}

func checkCheckpoint(p *probe) {
	before, ok := parseCheckpoint(string(p.status(p.get("/log/checkpoint", anonymous), 200).raw))
	p.must(ok, "the checkpoint is not origin, size, root and a signature line: %s", cut(string(p.last.raw), 200))
	g := p.register()
	txn := p.screen(g, "1").text("txnId")
	proven := p.tool(p.get("/v1/audit/" + txn + "/proof"))
	after, ok := parseCheckpoint(p.str(proven, "checkpoint"))
	p.must(ok, "the proof's checkpoint does not parse")
	p.expect(after.origin == before.origin, "the origin changed from %q to %q", before.origin, after.origin)
	p.expect(after.size > before.size, "the tree did not grow: %d, then %d", before.size, after.size)
}
