package conformance

import (
	"fmt"
	"net/url"
	"strings"
)

var inputChecks = []Check{
	{ID: "T140", Title: "a misspelt member of a screening call is 400, another unknown one is warned of; elsewhere 422", Source: Ruling, run: checkUnknownMembers},
	{ID: "T141", Title: "an unknown, unreadable or empty query parameter is 400 that names it, on every call under /v1", Source: Ruling, run: checkQueries},
	{ID: "T142", Title: "a chunked body is answered as any other, under the same bounds; both headers end the connection", Source: Ruling, run: checkChunked},
	{ID: "T143", Title: "a write answered by a node is seen by the next read, write and screening call there", Source: Ruling, run: checkOwnWrites},
}

func checkUnknownMembers(p *probe) {
	g := p.register()
	for member, meant := range map[string]string{"cp_wallet": "cpWallet", "CPNAME": "cpName", "cpWalet": "cpWallet", "cp-type": "cpType"} {
		a := p.post("/v1/screen", g.payment("1", obj{member: cleanWallet()}))
		p.refused(a, 400, "unknown_field")
		p.same(a, "param", member)
		p.same(a, "didYouMean", meant)
	}
	a := p.post("/v1/screen", g.payment("1", obj{"orderReference": "A-1"}))
	p.proceeds(a)
	p.expect(a.text("warnings.0.param") == "orderReference" || strings.Contains(string(a.raw), `"param":"orderReference"`), "no warning of orderReference: %s", a.raw)
	record := p.record(a.text("txnId"))
	p.expect(strings.Contains(string(record.raw), `"param":"orderReference"`), "the record does not warn of orderReference")
	p.refused(p.post("/v1/screen", g.payment("1", obj{"orderReference": "A-1"}), header("X-Railguard-Strict", "true")), 400, "unknown_field")
	p.refused(p.post("/v1/agents/register", p.registration(policy(obj{"dailyLimitUSD": 1}))), 422, "unknown_field")
	p.refused(p.post("/v1/fleets/create", obj{"fleetName": "f", "operatorLegalName": "Orchard Testing", "dailyLimit": 1}), 422, "unknown_field")
	p.refused(p.call("PUT", "/v1/policy", obj{"velocty": obj{"maxPerMinute": 1}}), 422, "unknown_field")
}

// readPaths are every GET under /v1 that needs no id of something real.
var readPaths = []string{
	"/v1/health", "/v1/.well-known/jwks.json", "/v1/audit", "/v1/audit/export", "/v1/audit/txn_zzzzzzzz", "/v1/queue", "/v1/agents", "/v1/fleets",
	"/v1/policy", "/v1/policy/versions", "/v1/ofac", "/v1/match", "/v1/cleared", "/v1/whitelist", "/v1/cluster/status", "/v1/cluster/peers",
	"/v1/cluster/leader", "/v1/agents/agt_zzzzzzzzzzzz", "/v1/users/usr_zzzzzzzzzzzz", "/v1/fleets/flt_zzzzzzzz",
}

func checkQueries(p *probe) {
	for _, path := range readPaths {
		for query, param := range map[string]string{"zzUnknown=1": "zzUnknown", "consistency=%zz": "consistency", "consistency=": "consistency"} {
			a := p.get(path + "?" + query)
			p.refused(a, 400, "bad_request")
			p.same(a, "param", param)
		}
	}
	for _, c := range [][2]string{
		{"/v1/audit?agentid=x", "agentid"}, {"/v1/audit?name=%zz", "name"}, {"/v1/audit?name=...", "name"}, {"/v1/agents?operator=-", "operator"},
		{"/v1/queue?rule=", "rule"}, {"/v1/audit?cursor=" + url.QueryEscape("1.3w5e11264sgsf.0.0"), "cursor"},
	} {
		a := p.get(c[0])
		p.refused(a, 400, "bad_request")
		p.same(a, "param", c[1])
	}
	for _, path := range []string{"/v1/screen", "/v1/screen/dry-run", "/v1/agents/register", "/v1/queue/next", "/v1/fleets/create"} {
		a := p.post(path+"?cpWallet=1", obj{})
		p.refused(a, 400, "bad_request")
		p.same(a, "param", "cpWallet")
	}
}

func checkChunked(p *probe) {
	body := p.screenText(p.register())
	chunks := func(text string) string {
		half := len(text) / 2
		return fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, text[:half], len(text)-half, text[half:])
	}
	a := p.raw(p.rawPost("/v1/screen", "Transfer-Encoding: chunked\r\n", chunks(body)))
	p.expect(a.status == 200 && strings.Contains(a.body, `"verdict":"PROCEED"`), "a chunked body: status %d %s", a.status, a.body)
	a = p.raw(p.rawPost("/v1/screen", "Transfer-Encoding: chunked\r\n", chunks(body+strings.Repeat(" ", 64<<10))))
	p.expect(a.status == 413, "a chunked body of more than 64 KiB: status %d, want 413", a.status)
	hidden := "GET /v1/health HTTP/1.1\r\nHost: HOST\r\n\r\n"
	a = p.raw(p.rawPostKept("/v1/screen", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", chunks(body)+hidden))
	p.expect(a.rest == "", "after both headers the connection goes on: %s", a.rest)
}

func checkOwnWrites(p *probe) {
	for _, base := range p.cfg.BaseURLs {
		at := atBase(base)
		g := p.registered(p.post("/v1/agents/register", p.registration(), at))
		p.status(p.get("/v1/agents/"+g.id, at), 200)
		p.success(p.post("/v1/agents/"+g.id+"/suspend", obj{"reason": "conformance"}, at))
		p.same(p.get("/v1/agents/"+g.id, at), "credentialStatus", "SUSPENDED")
		p.verdict(p.screenBody(g.payment("1"), at), "BLOCK", "R2_CREDENTIAL_STATUS")
		p.success(p.post("/v1/agents/"+g.id+"/reinstate", obj{"reason": "conformance"}, at))
		p.verdict(p.screenBody(g.payment("1"), at), "PROCEED", "")
		added := p.success(p.call("PUT", "/v1/agents/"+g.id+"/whitelist", obj{"mode": "off", "entries": list{obj{"name": "Orchard Supplies"}}}, at))
		entry := added.text("entries.0.id")
		if entry == "" {
			entry = "1"
		}
		p.success(p.call("DELETE", "/v1/agents/"+g.id+"/whitelist/entries/"+entry, nil, at))
	}
}
