package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var healthChecks = []Check{
	{ID: "T130", Title: "health has status, version, ofac{source,count,syncedAt}, kv, signingKey", Source: Literal, run: checkHealthShape},
	{ID: "T131", Title: "a healthy service says ok, connected, production", Source: Literal, run: checkHealthy},
	{ID: "T132", Title: "without quorum health says so and screening never PROCEEDs", Source: Implied, Needs: NeedNoQuorum, phase: phaseQuorum, run: checkNoQuorum},
	{ID: "T133", Title: "all API paths are under /v1", Source: Literal, run: checkPrefix},
	{ID: "T134", Title: "version is a non-empty string", Source: Literal, run: checkVersion},
	{ID: "T134/cli", Title: "version equals what the binary says", Source: Literal, Needs: NeedVersion, run: checkVersionCLI},
	{ID: "T135", Title: "every listed member keeps its listed type", Source: Ruling, run: checkTypes},
	{ID: "X-HLT-1", Title: "health adds node, role, leader, quorum, index and list details", Source: Ruling, run: checkHealthExtras},
	{ID: "X-HLT-2", Title: "livez and readyz are public and outside /v1", Source: Ruling, run: checkReadiness},
	{ID: "X-HLT-3", Title: "GET /v1/cluster/status tells the truth about the group", Source: Ruling, run: checkClusterStatus},
	{ID: "X-HLT-4", Title: "GET /v1/ofac describes the active list", Source: Ruling, run: checkListDescription},
	{ID: "X-HLT-5", Title: "the KYA context document is served publicly where credentials point", Source: Ruling, run: checkContextDocument},
}

func checkHealthShape(p *probe) {
	for i := range p.cfg.BaseURLs {
		a := p.status(p.get("/v1/health", anonymous, node(i)), 200)
		for _, member := range []string{"status", "version", "kv", "signingKey", "ofac.source"} {
			p.str(a, member)
		}
		p.utc(a, "ofac.syncedAt")
		count, ok := rational(p.num(a, "ofac.count"))
		p.expect(ok && count.IsInt() && count.Sign() > 0, "ofac.count is %s, want an integer above 0", a.number("ofac.count"))
	}
}

func checkHealthy(p *probe) {
	a := p.status(p.get("/v1/health", anonymous), 200)
	p.same(a, "status", "ok")
	p.same(a, "kv", "connected")
	p.same(a, "signingKey", "production")
}

func checkNoQuorum(p *probe) {
	g, lost := p.register(), p.cfg.NoQuorumURL
	if p.cfg.LoseQuorum != nil {
		url, restore, err := p.cfg.LoseQuorum(p.ctx)
		p.must(err == nil, "taking the quorum away: %v", err)
		lost = url
		defer p.heal(g, url, restore)
	}
	p.judgeWithoutQuorum(g, atBase(lost))
}

// judgeWithoutQuorum examines a node that has no quorum, or is about to notice it.
func (p *probe) judgeWithoutQuorum(g agent, lost option) {
	for start := time.Now(); ; {
		a := p.get("/v1/health", anonymous, lost)
		if a.text("status") != "ok" && a.text("kv") != "connected" {
			p.expect(a.text("status") != "" && a.text("kv") != "", "health has no status or kv")
			break
		}
		p.must(time.Since(start) < quorumLossMax, "after %v health still says %q, %q", quorumLossMax, a.text("status"), a.text("kv"))
		p.must(pause(p.ctx, 50*time.Millisecond) == nil, "cut off")
	}
	for range 3 {
		a := p.post("/v1/screen", g.payment("1"), lost)
		p.expect(a.text("verdict") == "" && a.status == 503, "screening without quorum: status %d, verdict %q, want 503", a.status, a.text("verdict"))
	}
	p.array(p.status(p.get("/v1/.well-known/jwks.json", anonymous, lost), 200), "keys")
}

// heal gives the quorum back and waits until the group decides again by itself.
func (p *probe) heal(g agent, url string, restore func() error) {
	err := restore()
	p.must(err == nil, "giving the quorum back: %v", err)
	for start := time.Now(); ; {
		a, err := p.send(p.ctx, "POST", "/v1/screen", g.payment("1"), atBase(url))
		if err == nil && a.text("verdict") == "PROCEED" {
			break
		}
		p.must(time.Since(start) < healMax, "the group does not decide %v after its nodes came back", healMax)
		p.must(pause(p.ctx, 50*time.Millisecond) == nil, "cut off")
	}
	for i := range p.cfg.BaseURLs {
		p.proceeds(p.screenBody(g.payment("1"), node(i)))
	}
}

func checkPrefix(p *probe) {
	for _, e := range specifiedEndpoints {
		bare := strings.TrimPrefix(e.sample, "/v1")
		a := p.call(e.method, bare, nil)
		p.expect(!a.ok(), "%s %s without /v1: status %d", e.method, bare, a.status)
		a = p.call(e.method, "/v2"+bare, nil)
		p.expect(!a.ok(), "%s /v2%s: status %d", e.method, bare, a.status)
	}
	for _, e := range specifiedEndpoints {
		a := p.call(e.method, e.sample, nil, anonymous)
		want := 401
		if e.public {
			want = 200
		}
		p.expect(a.status == want, "%s %s without a key: status %d, want %d", e.method, e.sample, a.status, want)
	}
}

func checkVersion(p *probe) {
	version := p.str(p.status(p.get("/v1/health", anonymous), 200), "version")
	if !p.cfg.OnlySpec {
		p.expect(regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+].+)?$`).MatchString(version), "version %q is not semantic", version)
	}
}

func checkVersionCLI(p *probe) {
	version := p.str(p.status(p.get("/v1/health", anonymous), 200), "version")
	p.expect(strings.TrimPrefix(version, "v") == strings.TrimPrefix(p.cfg.Version, "v"), "health says %q, the binary %q", version, p.cfg.Version)
}

// listedTypes are the members that the specification lists, with their types.
var listedTypes = map[string]map[string]string{
	"register": {
		"agentId": "string", "token": "string", "credential": "object", "credential.@context": "array", "credential.type": "array",
		"credential.issuer": "string", "credential.expirationDate": "string", "credential.credentialSubject": "object",
		"credential.credentialSubject.spendPolicy.maxSingleTxUSDC": "number", "credential.credentialSubject.spendPolicy.dailyLimitUSDC": "number",
		"credential.credentialSubject.spendPolicy.allowedChains": "array", "credential.credentialSubject.spendPolicy.noMixerProtocols": "boolean",
		"credential.credentialSubject.complianceAttestation": "object",
	},
	"screen": {
		"verdict": "string", "txnId": "string", "rule": "null", "reason": "string", "agentId": "string", "agentName": "string",
		"operatorLegalName": "string", "credentialStatus": "string", "ofacSource": "string", "screenedAt": "string", "latencyMs": "number",
	},
	"record": {
		"verdict": "string", "txnId": "string", "rule": "string", "_request": "object", "_request.amount": "number", "disposition": "string",
		"reviewedBy": "string", "reviewedAt": "string", "notes": "string", "sarEscalated": "boolean", "ruleTriggered": "string",
	},
	"health": {
		"status": "string", "version": "string", "ofac": "object", "ofac.source": "string", "ofac.count": "number", "ofac.syncedAt": "string",
		"kv": "string", "signingKey": "string",
	},
}

func checkTypes(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100, "dailyLimitUSDC": 1000, "allowedChains": list{"BASE"}, "noMixerProtocols": true}))
	answers := map[string]*answer{
		"register": g.answer,
		"screen":   p.screen(g, "1"),
		"record":   p.disposition(p.reviewOf(g), "APPROVED"),
		"health":   p.get("/v1/health"),
	}
	for what, members := range listedTypes {
		for path, want := range members {
			value, there := answers[what].at(path)
			p.expect(there && kind(value) == want, "%s: %s is %s (present: %t), want %s", what, path, kind(value), there, want)
		}
	}
}

func checkHealthExtras(p *probe) {
	a := p.status(p.get("/v1/health", anonymous), 200)
	for _, member := range []string{"node", "role", "leader", "quorum", "index", "ofac.listVersion", "ofac.ageSeconds", "ofac.stale", "uptimeSeconds"} {
		_, there := a.at(member)
		p.expect(there, "health lacks %s", member)
	}
	p.same(a, "ofac.stale", false)
}

func checkReadiness(p *probe) {
	for _, path := range []string{"/livez", "/readyz", "/readyz?noleader", "/readyz?sync"} {
		a := p.get(path, anonymous)
		p.expect(a.status == 200, "GET %s: status %d, want 200", path, a.status)
	}
	a := p.get("/readyz", anonymous)
	for _, line := range []string{"[+]node", "[+]leader", "[+]ofac"} {
		p.expect(strings.Contains(string(a.raw), line), "readyz lacks %q: %s", line, cut(string(a.raw), 200))
	}
	p.expect(p.get("/v1/livez", anonymous).status == 404, "/v1/livez is there")
}

func checkClusterStatus(p *probe) {
	a := p.tool(p.get("/v1/cluster/status"))
	for _, member := range []string{"clusterId", "node", "role", "term", "leader.id", "quorum.voters", "quorum.healthy",
		"quorum.failureTolerance", "index.commit", "index.applied", "fsmHash", "nodes", "writes.state"} {
		_, there := a.at(member)
		p.expect(there, "cluster status lacks %s", member)
	}
	voters := len(p.cfg.BaseURLs)
	if voters > 1 {
		p.same(a, "quorum.voters", voters)
		p.same(a, "quorum.failureTolerance", (voters-1)/2)
	}
	for i := range p.array(a, "nodes") {
		for _, member := range []string{"id", "addr", "suffrage", "healthy", "appliedIndex", "version"} {
			_, there := a.at(fmt.Sprintf("nodes.%d.%s", i, member))
			p.expect(there, "node %d lacks %s", i, member)
		}
	}
	p.same(a, "writes.state", "ok")
}

func checkListDescription(p *probe) {
	a := p.tool(p.get("/v1/ofac"))
	for _, member := range []string{"snapshotId", "source", "sha256", "publishedAt", "syncedAt"} {
		p.str(a, "active."+member)
	}
	for _, member := range []string{"sdn", "cons", "names", "wallets", "individuals", "entities", "vessels", "aircraft"} {
		p.num(a, "active.counts."+member)
	}
	p.array(a, "history")
	p.array(a, "staged")
}

func checkContextDocument(p *probe) {
	context := p.array(p.register().answer, "credential.@context")
	p.must(len(context) == 2, "@context has %d members", len(context))
	address, _ := context[1].(string)
	p.expect(strings.HasSuffix(address, "/contexts/kya/v1"), "the second context is %q", address)
	a := p.status(p.get("/contexts/kya/v1", anonymous), 200)
	p.must(a.jsonErr == nil, "the context document is not JSON: %v", a.jsonErr)
	document := p.field(a, "@context")
	p.expect(document != nil, "the document has no @context")
	p.expect(strings.Contains(string(a.raw), "KYAAgentCredential"), "the document does not define KYAAgentCredential")
}
