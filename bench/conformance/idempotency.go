package conformance

import (
	"net/http"
	"sync"
)

var idempotencyChecks = []Check{
	{ID: "X-IDEM-2", Title: "the same key with another body is 422 idempotency_conflict", Source: Ruling, run: checkConflict},
	{ID: "X-IDEM-5", Title: "every POST that changes state replays its first answer", Source: Ruling, run: checkReplayEverywhere},
	{ID: "X-IDEM-9", Title: "simultaneous calls with one key make one transaction", Source: Ruling, run: checkIdempotencyRace},
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

func checkConflict(p *probe) {
	g, key := p.register(), newKey()
	p.proceeds(p.screenBody(g.payment("1"), key))
	p.refused(p.post("/v1/screen", g.payment("2"), key), 422, "idempotency_conflict")
	p.refused(p.post("/v1/screen", g.payment("1.0"), key), 422, "idempotency_conflict")
	p.refused(p.post("/v1/screen", literal(string(mustJSON(g.payment("1")))+" "), key), 422, "idempotency_conflict")
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
