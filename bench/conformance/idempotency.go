package conformance

import (
	"net/http"
	"strings"
	"sync"
)

var idempotencyChecks = []Check{
	{ID: "X-IDEM-1", Title: "the same key and body give the same answer and count once", Source: Ruling, run: checkReplay},
	{ID: "X-IDEM-2", Title: "the same key with another body is 422 idempotency_conflict", Source: Ruling, run: checkConflict},
	{ID: "X-IDEM-3", Title: "the scope of a key is its path", Source: Ruling, run: checkIdempotencyScope},
	{ID: "X-IDEM-4", Title: "a refusal is not stored", Source: Ruling, run: checkRefusalNotStored},
	{ID: "X-IDEM-5", Title: "every POST that changes state replays its first answer", Source: Ruling, run: checkReplayEverywhere},
	{ID: "X-IDEM-6", Title: "a replay on another node is the first answer", Source: Ruling, Needs: NeedTwoNodes, run: checkReplayAcross},
	{ID: "X-IDEM-7", Title: "a key must be 1 to 255 printable characters", Source: Ruling, run: checkKeyForm},
	{ID: "X-IDEM-8", Title: "without the header each call is a new screening", Source: Literal, run: checkNoIdempotency},
	{ID: "X-IDEM-9", Title: "simultaneous calls with one key make one transaction", Source: Ruling, run: checkIdempotencyRace},
	{ID: "X-IDEM-10", Title: "a replay of a disposition is 200, not 409", Source: Ruling, run: checkReviewReplay},
}

func newKey() option { return idempotencyKey("conf-" + randomHex(12)) }

// replays demands that the second answer is a replay of the first, latencyMs aside.
func (p *probe) replays(first, second *answer) {
	p.expect(second.status == first.status, "replay of %s: status %d, want %d", first.path, second.status, first.status)
	p.expect(second.header.Get("Idempotent-Replayed") == "true", "replay of %s: Idempotent-Replayed is %q", first.path, second.header.Get("Idempotent-Replayed"))
	p.expect(first.header.Get("Idempotent-Replayed") == "", "the first call of %s says it is a replay", first.path)
	one, two := withoutMember(first.tree, "latencyMs"), withoutMember(second.tree, "latencyMs")
	p.expect(kind(one) == "object" && sameTree(one, two), "replay of %s differs in %v: %s and %s", first.path, differing(one, two), show(one), show(two))
}

func withoutMember(tree any, name string) any {
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	out := make(map[string]any, len(object))
	for member, value := range object {
		if member != name {
			out[member] = value
		}
	}
	return out
}

// differing names the members in which two objects differ.
func differing(a, b any) []string {
	var out []string
	for _, name := range names(a) {
		if !sameTree(memberOf(a, name), memberOf(b, name)) {
			out = append(out, name)
		}
	}
	for _, name := range names(b) {
		if _, there := at(a, name); !there {
			out = append(out, name)
		}
	}
	return out
}

func checkReplay(p *probe) {
	g, key := p.register(policy(obj{"dailyLimitUSDC": 100})), newKey()
	body := g.payment("60", obj{"cpName": cleanCounterparty})
	first := p.screenBody(body, key)
	p.proceeds(first)
	for range 3 {
		p.replays(first, p.screenBody(body, key))
	}
	p.proceeds(p.screen(g, "40"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	p.replays(first, p.screenBody(body, key)) // Still the first answer, though the limit is spent by now.
	for _, other := range []obj{g.payment("1000"), g.payment("1", obj{"cpWallet": p.listedWallet()}), {"token": "garbage", "amount": 1}} {
		key := newKey()
		first := p.screenBody(other, key)
		p.replays(first, p.screenBody(other, key))
	}
}

func checkConflict(p *probe) {
	g, key := p.register(), newKey()
	p.proceeds(p.screenBody(g.payment("1"), key))
	p.refused(p.post("/v1/screen", g.payment("2"), key), 422, "idempotency_conflict")
	p.refused(p.post("/v1/screen", g.payment("1.0"), key), 422, "idempotency_conflict")
	p.refused(p.post("/v1/screen", literal(string(mustJSON(g.payment("1")))+" "), key), 422, "idempotency_conflict")
}

func checkIdempotencyScope(p *probe) {
	g, key := p.register(), newKey()
	p.proceeds(p.screenBody(g.payment("1"), key))
	made := p.post("/v1/agents/register", p.registration(), key)
	p.status(made, 201)
	p.expect(made.header.Get("Idempotent-Replayed") == "", "a key of screen was replayed on register")
	a := p.register(autonomous)
	b := p.register(autonomous)
	body := obj{"attestedBy": "officer@example.test"}
	p.same(p.success(p.post("/v1/agents/"+a.id+"/attest", body, key)), "agentId", a.id)
	p.same(p.success(p.post("/v1/agents/"+b.id+"/attest", body, key)), "agentId", b.id)
}

func checkRefusalNotStored(p *probe) {
	key := newKey()
	p.refused(p.post("/v1/agents/register", p.registration(without("purpose")), key), 422, "missing_field")
	p.status(p.post("/v1/agents/register", p.registration(), key), 201)
	g, key := p.register(), newKey()
	p.refused(p.post("/v1/screen", obj{"token": g.token, "amount": -1}, key), 400, "invalid_amount")
	p.proceeds(p.screenBody(g.payment("1"), key))
	key = newKey()
	p.refused(p.post("/v1/screen", g.payment("1"), key, withKey("wrong")), 401, "unauthorized")
	a := p.screenBody(g.payment("2"), key)
	p.expect(a.header.Get("Idempotent-Replayed") == "", "a 401 was stored")
}

func checkReplayEverywhere(p *probe) {
	g, supervised := p.register(autonomous), p.register()
	_, txn := p.review()
	calls := []struct {
		path string
		body obj
	}{
		{"/v1/agents/register", p.registration()},
		{"/v1/fleets/create", obj{"fleetName": p.name("Fleet"), "operatorLegalName": cleanOperator, "dailyLimitUSDC": 10}},
		{"/v1/delegates/create", obj{"parentAgentId": g.id, "agentName": p.name("Delegate")}},
		{"/v1/users/register", obj{"legalName": "Marigold Testperson Quill", "agentIds": list{supervised.id}}},
		{"/v1/agents/" + g.id + "/attest", obj{"attestedBy": "officer@example.test"}},
		{"/v1/reviews/" + txn, obj{"disposition": "REJECTED", "reviewedBy": "officer"}},
		{"/v1/agents/" + g.id + "/suspend", obj{"reason": "x"}},
		{"/v1/agents/" + g.id + "/reinstate", obj{"reason": "x"}},
		{"/v1/agents/" + g.id + "/reissue", obj{}},
	}
	for _, call := range calls {
		key := newKey()
		first := p.success(p.post(call.path, call.body, key))
		p.replays(first, p.post(call.path, call.body, key))
	}
	p.same(p.success(p.get("/v1/agents/"+g.id)), "credentialVersion", 2)
}

func checkReplayAcross(p *probe) {
	g := p.register()
	for i := range p.cfg.BaseURLs {
		key := newKey()
		first := p.screenBody(g.payment("1"), key, node(i))
		p.replays(first, p.screenBody(g.payment("1"), key, node(i+1)))
		body := p.registration()
		made := p.status(p.post("/v1/agents/register", body, key, node(i)), 201)
		p.replays(made, p.post("/v1/agents/register", body, key, node(i+1)))
	}
}

func checkKeyForm(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 10}))
	for what, key := range map[string]string{"256 characters": strings.Repeat("k", 256), "not ASCII": "clé", "tab inside": "a\tb"} {
		a := p.post("/v1/screen", g.payment("5"), idempotencyKey(key))
		p.expect(a.status >= 400 && a.status < 500, "key %s: status %d, want a refusal", what, a.status)
	}
	p.proceeds(p.screenBody(g.payment("5"), idempotencyKey(strings.Repeat("k", 247)+randomHex(4))))
	p.proceeds(p.screenBody(g.payment("5"), idempotencyKey("~ !"+randomHex(4))))
}

func checkNoIdempotency(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 10}))
	first, second := p.screen(g, "5"), p.screen(g, "5")
	p.expect(first.text("txnId") != second.text("txnId"), "two calls without a key share the txnId %q", first.text("txnId"))
	p.verdict(p.screen(g, "5"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkIdempotencyRace(p *probe) {
	g, key := p.register(policy(obj{"dailyLimitUSDC": 10})), "conf-"+randomHex(12)
	var mutex sync.Mutex
	txns, odd := map[string]int{}, map[int]int{}
	p.parallel(16, 16, func(i int) error {
		a, err := p.send(p.ctx, http.MethodPost, "/v1/screen", g.payment("10"), idempotencyKey(key), node(i))
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case a.status == 200:
			txns[a.text("txnId")+a.text("verdict")]++
		case a.status == 409 && a.code() == "idempotency_in_flight" && a.header.Get("Retry-After") != "":
		default:
			odd[a.status]++
		}
		return nil
	})
	p.expect(len(txns) == 1, "sixteen calls with one key gave %d transactions: %v", len(txns), txns)
	p.expect(len(odd) == 0, "other statuses: %v", odd)
	p.proceeds(p.screenBody(g.payment("10"), idempotencyKey(key)))
}

func checkReviewReplay(p *probe) {
	_, txn := p.review()
	body, key := obj{"disposition": "APPROVED", "reviewedBy": "officer", "notes": "x"}, newKey()
	first := p.status(p.post("/v1/reviews/"+txn, body, key), 200)
	p.replays(first, p.post("/v1/reviews/"+txn, body, key))
	p.status(p.post("/v1/reviews/"+txn, body), 409)
	p.status(p.post("/v1/reviews/"+txn, body, newKey()), 409)
}
