package conformance

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

var screeningShapeChecks = []Check{
	{ID: "T043", Title: "many calls over all nodes give as many distinct txnIds", Source: Implied, run: checkDistinct},
	{ID: "T046/now", Title: "screenedAt is the present, on every node, and never goes back", Source: Implied, run: checkPresent},
	{ID: "T057", Title: "under 50 ms at p99 on every node", Source: Literal, Needs: NeedLatency, run: checkLatency},
}

// oneOfEach makes a screening of each verdict: PROCEED, REVIEW, BLOCK, UNKNOWN.
func (p *probe) oneOfEach() map[string]*answer {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	out := map[string]*answer{
		"PROCEED": p.screen(g, "1"),
		"REVIEW":  p.screen(g, "150"),
		"BLOCK":   p.screen(g, "1", obj{"cpWallet": p.listedWallet()}),
		"UNKNOWN": p.screenBody(obj{"token": "garbage", "amount": 1}),
	}
	for verdict, a := range out {
		p.must(a.text("verdict") == verdict, "the call meant to %s gave %s (%s)", verdict, a.text("verdict"), a.text("rule"))
	}
	return out
}

// eachVerdict runs a demand on one screening of each verdict, in a fixed order.
func (p *probe) eachVerdict(demand func(verdict string, a *answer)) {
	answers := p.oneOfEach()
	verdicts := make([]string, 0, len(answers))
	for verdict := range answers {
		verdicts = append(verdicts, verdict)
	}
	sort.Strings(verdicts)
	for _, verdict := range verdicts {
		demand(verdict, answers[verdict])
	}
}

func checkDistinct(p *probe) {
	agents := make([]agent, 32)
	for i := range agents {
		agents[i] = p.register()
	}
	var mutex sync.Mutex
	seen := make(map[string]bool, p.cfg.DistinctCalls)
	p.parallel(p.cfg.DistinctCalls, p.cfg.Parallel, func(i int) error {
		a, err := p.send(p.ctx, "POST", "/v1/screen", agents[i%len(agents)].payment("0.01"), node(i))
		if err != nil {
			return err
		}
		id := a.text("txnId")
		if a.status != 200 || !txnShape.MatchString(id) {
			return fmt.Errorf("call %d: status %d, txnId %q", i, a.status, id)
		}
		mutex.Lock()
		defer mutex.Unlock()
		if seen[id] {
			return fmt.Errorf("call %d: txnId %s came twice", i, id)
		}
		seen[id] = true
		return nil
	})
	p.must(len(seen) == p.cfg.DistinctCalls, "%d distinct txnIds of %d calls", len(seen), p.cfg.DistinctCalls)
}

// checkPresent compares the target's time with the examiner's. It runs before any
// check moves the target's clock.
func checkPresent(p *probe) {
	var before time.Time
	for i := range 3 * len(p.cfg.BaseURLs) {
		at := p.utc(p.screenBody(obj{"token": "garbage", "amount": 1}, node(i)), "screenedAt")
		p.expect(time.Since(at).Abs() < presentMax, "screenedAt is %v, the examiner's clock says %v", at, time.Now().UTC())
		p.expect(!at.Before(before), "screenedAt went back from %v to %v", before, at)
		before = at
	}
}

// checkLatency measures calls one after another on each node, as a caller sees them.
func checkLatency(p *probe) {
	const calls = 400
	g := p.register()
	for i := range p.cfg.BaseURLs {
		took := make([]time.Duration, calls)
		for n := range took {
			took[n] = p.screenBody(g.payment("0.01"), node(i)).took
		}
		sort.Slice(took, func(a, b int) bool { return took[a] < took[b] })
		p99 := took[calls*99/100]
		p.expect(p99 < 50*time.Millisecond, "node %d: p99 of %d calls is %v, want under 50 ms", i, calls, p99)
	}
}
