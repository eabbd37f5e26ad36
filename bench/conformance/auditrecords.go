package conformance

import (
	"fmt"
	"os"
	"strings"
)

var auditChecks = []Check{
	{ID: "T118", Title: "the record has _request with amount, chain, cpWallet, cpName, rail as sent", Source: Literal, run: checkRequestEcho},
	{ID: "T122", Title: "the record is tamper-evident: its leaf proves into a signed tree head, an altered one does not", Source: Ruling, run: checkProof},
	{ID: "T123", Title: "no log holds a token, an API key or a counterparty's name", Source: Implied, Needs: NeedLogs, phase: phaseLedger, run: checkLogs},
	{ID: "X-AUD-1", Title: "the record of each verdict has everything known", Source: Ruling, run: checkRecordMembers},
	{ID: "X-AUD-2", Title: "latencyMs stays out of the record, the token is nowhere in it", Source: Ruling, run: checkRecordSecrets},
}

// record fetches a record as any caller would: it must be there at once on any node.
func (p *probe) record(txn string, options ...option) *answer {
	return p.success(p.get("/v1/audit/"+txn, append([]option{local}, options...)...))
}

func checkRequestEcho(p *probe) {
	g := p.register()
	sent := obj{"chain": "BASE", "rail": "USDC", "cpWallet": "0xAbCdEf" + randomHex(17), "cpName": "  Märigold “Stationery”  Søpplies 文房具 "}
	a := p.screen(g, "1234.5", sent)
	record := p.record(p.str(a, "txnId"))
	p.same(record, "_request.amount", dollars("1234.5"))
	p.expect(kind(p.field(record, "_request.amount")) == "number", "_request.amount is no number")
	for member, value := range sent {
		p.same(record, "_request."+member, value)
	}
	for _, member := range []string{"txnId", "verdict", "rule", "reason", "screenedAt", "agentId"} {
		value, there := a.at(member)
		p.must(there, "the screening answer has no %s", member)
		p.same(record, member, value)
	}
	bare := p.record(p.str(p.screen(g, "7"), "txnId"))
	p.same(bare, "_request.amount", 7)
	for _, member := range []string{"chain", "rail", "cpWallet", "cpName"} {
		value, there := bare.at("_request." + member)
		p.expect(!there || value == nil, "_request.%s of a call without it is %s", member, show(value))
	}
}

func checkRecordMembers(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		record := p.record(a.text("txnId"))
		members := []string{"txnId", "verdict", "rule", "reason", "screenedAt", "ofacSource", "_request", "ruleSet", "policyVersion", "listVersion", "index"}
		if verdict != "UNKNOWN" {
			members = append(members, "agentId", "agentName", "operatorLegalName", "credentialStatus")
		}
		for _, member := range members {
			_, there := record.at(member)
			p.expect(there, "the record of a %s lacks %s", verdict, member)
		}
		if verdict == "REVIEW" {
			p.same(record, "sarEscalated", false)
		} else {
			p.absent(record, "sarEscalated")
		}
		p.absent(record, "disposition")
	})
}

func checkRecordSecrets(p *probe) {
	g := p.register()
	a := p.screen(g, "1")
	record := p.record(a.text("txnId"))
	p.absent(record, "latencyMs")
	parts := strings.Split(g.token, ".")
	p.must(len(parts) == 3, "the token has %d parts", len(parts))
	for i, part := range parts[1:] {
		p.expect(!strings.Contains(string(record.raw), part), "the record holds part %d of the token", i+1)
	}
	p.absent(record, "_request.token")
	p.absent(record, "salt")
}

// checkLogs reads the target's logs after everything else wrote to them.
func checkLogs(p *probe) {
	secretName := "Zebulon Quartermain " + p.run
	g := p.register()
	p.screen(g, "1", obj{"cpName": secretName})
	p.screenBody(obj{"token": "garbage-" + p.run, "amount": 1, "cpName": secretName})
	p.ledger.hide(secretName)
	bytes := 0
	for _, file := range p.cfg.LogFiles {
		raw, err := os.ReadFile(file)
		p.must(err == nil, "log %s: %v", file, err)
		bytes += len(raw)
		log := string(raw)
		p.expect(!strings.Contains(log, p.cfg.APIKey), "log %s holds the API key", file)
		for i, token := range p.ledger.tokens {
			parts := strings.Split(token, ".")
			found := strings.Contains(log, token) || len(parts) == 3 && strings.Contains(log, parts[1])
			p.expect(!found, "log %s holds credential number %d", file, i)
		}
		for _, hidden := range p.ledger.hidden {
			p.expect(!strings.Contains(log, hidden), "log %s holds %q", file, hidden)
		}
	}
	if bytes == 0 {
		p.failures, p.demands = nil, 0
		p.skip("the log files are empty")
	}
}

// page fetches one page of a list of records and returns the answer and its records.
func (p *probe) page(query string) (*answer, []any) {
	a := p.tool(p.get(query))
	return a, p.array(a, "data")
}

func ids(items []any, member string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, fmt.Sprint(memberOf(item, member)))
	}
	return out
}
