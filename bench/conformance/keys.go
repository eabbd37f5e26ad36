package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

var keyChecks = []Check{
	{ID: "X-KEY-1", Title: "a revoked key is 401, on every node", Source: Ruling, Needs: NeedAdmin, run: checkKeyRevoked},
	{ID: "X-KEY-2", Title: "rotation: both secrets live, until the next rotation", Source: Ruling, Needs: NeedAdmin, run: checkKeyRotated},
	{ID: "X-KEY-3", Title: "a key's rate: 429 rate_limited with Retry-After and RateLimit headers, others unharmed", Source: Ruling, Needs: NeedAdmin, run: checkKeyRate},
	{ID: "X-KEY-4", Title: "a key bound to another network is refused", Source: Ruling, Needs: NeedAdmin, run: checkKeyNetwork},
	{ID: "C01", Title: "a write to any node is known on all nodes (promised: within a second; judged: two)", Source: Implied, Needs: NeedTwoNodes, run: checkSpread},
}

// adminCall makes a call on the admin listener.
func (p *probe) adminCall(method, path string, body any) *answer {
	return p.tool(p.call(method, path, body, atBase(p.cfg.AdminURL)))
}

// awaitRefusal waits until a node no longer takes a key.
func (p *probe) awaitRefusal(key apiKey, at option) {
	for start := time.Now(); ; {
		a := p.get("/v1/audit/txn_00000000", at, withKey(key.secret), local)
		if a.status == http.StatusUnauthorized {
			p.refused(a, 401, "unauthorized")
			return
		}
		p.must(time.Since(start) < spreadMax, "a dead key still gets %d after %v", a.status, spreadMax)
		p.must(pause(p.ctx, 5*time.Millisecond) == nil, "cut off")
	}
}

func checkKeyRevoked(p *probe) {
	key, other := p.makeKey(""), p.makeKey("")
	p.status(p.get("/v1/agents?limit=1", withKey(key.secret)), 200)
	p.adminCall("DELETE", "/admin/keys/"+key.id, nil)
	for i := range p.cfg.BaseURLs {
		p.awaitRefusal(key, node(i))
	}
	p.status(p.get("/v1/agents?limit=1", withKey(other.secret)), 200)
}

func checkKeyRotated(p *probe) {
	first, overlap := p.makeKey(""), obj{}
	rotate := func(old apiKey) apiKey {
		a := p.adminCall("POST", "/admin/keys/"+old.id+"/rotate", overlap)
		fresh := apiKey{id: old.id, secret: p.str(a, "key")}
		for i := range p.cfg.BaseURLs {
			p.awaitKey(fresh, node(i))
		}
		return fresh
	}
	second := rotate(first)
	p.expect(first.secret != second.secret, "the rotated secret is the old one")
	p.awaitRefusal(first, node(0))
	p.status(p.get("/v1/agents?limit=1", withKey(second.secret)), 200)
	overlap["overlap"] = "24h"
	third := rotate(second)
	for _, key := range []apiKey{second, third} {
		p.status(p.get("/v1/agents?limit=1", withKey(key.secret)), 200)
	}
}

func checkKeyRate(p *probe) {
	a := p.adminCall("POST", "/admin/keys", obj{"name": p.name("slow key"), "roles": list{"screener"}, "rate": 5})
	slow := apiKey{id: p.str(a, "keyId"), secret: p.str(a, "key")}
	p.awaitKey(slow, node(0))
	g := p.register()
	var mutex sync.Mutex
	var limited *answer
	passed := 0
	p.parallel(200, 8, func(int) error {
		a, err := p.send(p.ctx, http.MethodPost, "/v1/screen", g.payment("1"), withKey(slow.secret), keep429)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		switch a.status {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			limited = a
		default:
			return fmt.Errorf("status %d", a.status)
		}
		return nil
	})
	p.must(limited != nil, "200 calls at once with a key of 5 a second: none was limited")
	p.expect(passed > 0, "not one of the calls within the rate passed")
	p.refused(limited, 429, "rate_limited")
	for _, name := range []string{"Retry-After", "RateLimit-Policy", "RateLimit"} {
		p.expect(limited.header.Get(name) != "", "429 without %s", name)
	}
	p.expect(p.screenBody(g.payment("1"), keep429).status == 200, "another key is limited too")
}

func checkKeyNetwork(p *probe) {
	a := p.adminCall("POST", "/admin/keys", obj{"name": p.name("bound key"), "roles": list{"operator"}, "networks": list{"203.0.113.0/24"}})
	bound := p.str(a, "key")
	p.makeKey("") // When the nodes know this key, they also know the key that is bound to a network, which was made before it.
	a = p.get("/v1/agents?limit=1", withKey(bound))
	p.expect(a.status == 401 || a.status == 403, "a key bound to 203.0.113.0/24, used from elsewhere: status %d, want a refusal", a.status)
	a = p.get("/v1/agents?limit=1", withKey(bound), header("X-Forwarded-For", "203.0.113.7"))
	p.expect(a.status == 401 || a.status == 403, "the same with a forged X-Forwarded-For: status %d, want a refusal", a.status)
}

func checkSpread(p *probe) {
	for i := range p.cfg.BaseURLs {
		g := p.registered(p.post("/v1/agents/register", p.registration(), node(i)))
		start := time.Now()
		for j := range p.cfg.BaseURLs {
			a := p.get("/v1/agents/"+g.id, node(j), local)
			for a.status != http.StatusOK && time.Since(start) < spreadMax {
				a = p.get("/v1/agents/"+g.id, node(j), local)
			}
			p.same(a, "agentId", g.id)
		}
	}
}
