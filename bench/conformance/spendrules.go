package conformance

import (
	"fmt"
)

var spendRuleChecks = []Check{
	{ID: "T069/race", Title: "parallel calls never pass the limit together", Source: Implied, run: checkNoOverspend},
}

// disposition records a disposition that must succeed.
func (p *probe) disposition(txn, value string) *answer {
	return p.status(p.post("/v1/reviews/"+txn, obj{"disposition": value, "reviewedBy": "Conformance Officer", "notes": "seen"}), 200)
}

// checkNoOverspend lets many callers pay from one budget at the same time. Exactly ten payments
// must succeed.
func checkNoOverspend(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	passed := make(chan bool, 200)
	p.parallel(cap(passed), p.cfg.Parallel, func(i int) error {
		a, err := p.send(p.ctx, "POST", "/v1/screen", g.payment("10"), node(i))
		if err != nil {
			return err
		}
		if a.status != 200 {
			return fmt.Errorf("status %d", a.status)
		}
		passed <- a.text("verdict") == "PROCEED"
		return nil
	})
	count := 0
	for range cap(passed) {
		if <-passed {
			count++
		}
	}
	p.expect(count == 10, "%d payments of 10 PROCEEDed under a limit of 100, want 10", count)
}
