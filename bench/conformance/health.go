package conformance

import (
	"fmt"
	"strings"
	"time"
)

var healthChecks = []Check{
	{ID: "T132", Title: "without quorum health says so and screening never PROCEEDs", Source: Implied, Needs: NeedNoQuorum, phase: phaseQuorum, run: checkNoQuorum},
	{ID: "T133", Title: "all API paths are under /v1", Source: Literal, run: checkPrefix},
	{ID: "T134/cli", Title: "version equals what the binary says", Source: Literal, Needs: NeedVersion, run: checkVersionCLI},
	{ID: "X-HLT-3", Title: "GET /v1/cluster/status tells the truth about the group", Source: Ruling, run: checkClusterStatus},
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

func checkVersionCLI(p *probe) {
	version := p.str(p.status(p.get("/v1/health", anonymous), 200), "version")
	p.expect(strings.TrimPrefix(version, "v") == strings.TrimPrefix(p.cfg.Version, "v"), "health says %q, the binary %q", version, p.cfg.Version)
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
