package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"railguard/ofac/listtest"
)

var confirmChecks = []Check{
	{ID: "P11", Title: "of 300 callers on all nodes who redeem one permit at once, one gets it", Source: Ruling, run: checkRedeemRace},
	{ID: "P12", Title: "a permit is redeemed once: again it is 409 permit_used, with the same Idempotency-Key the same answer, and of two permits of one payment one is redeemed", Source: Ruling, run: checkRedeemOnce},
	{ID: "P13", Title: "who was revoked, suspended or changed hands since gets no leave, and what had leave goes on counting", Source: Ruling, run: checkLeaveWithdrawn},
	{ID: "P13/listed", Title: "whose payee was listed since gets no leave either", Source: Ruling, Needs: NeedListSwitch, phase: phaseList, run: checkListedSince},
	{ID: "P17", Title: "an approval of R10 is R6 when its payee is listed since, in one case, and REVIEW without a permit when its name is like a listed one", Source: Ruling, Needs: NeedListSwitch, phase: phaseList, run: checkApprovedThenListed},
	{ID: "P20", Title: "a review that nobody decided and one that was escalated are answered in the same bytes to screener and operator", Source: Ruling, Needs: NeedAdmin, run: checkWaitingAlike},
	{ID: "P22", Title: "an approved payment that is settled and was not redeemed is booked, marked, and told by one alert", Source: Ruling, run: checkUnpermitted},
}

const redeemPath = "/v1/permits/redeem"

// redeemersMax is how many callers redeem one permit at once.
const redeemersMax = 300

func confirmPath(txn string) string { return "/v1/transactions/" + txn + "/confirm" }

// approved makes a payment that an officer approved.
func (p *probe) approved(g agent, extra ...obj) string {
	a := p.screen(g, "150", extra...)
	p.verdict(a, "REVIEW", "R10_SINGLE_TX_LIMIT")
	txn := p.str(a, "txnId")
	p.status(p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer"}), 200)
	return txn
}

// singleLimit gives an agent the limit that p.approved needs.
func singleLimit() change { return policy(obj{"maxSingleTxUSDC": 100}) }

// paymentIs demands what a payment's record says became of it.
func (p *probe) paymentIs(txn, state string) { p.same(p.record(txn), "payment.state", state) }

func checkRedeemRace(p *probe) {
	a, text := p.permitted(p.register(), "1", obj{"cpName": cleanCounterparty})
	var mutex sync.Mutex
	answers, times := map[int]int{}, map[string]bool{}
	p.parallel(redeemersMax, 100, func(i int) error {
		a, err := p.send(p.ctx, http.MethodPost, redeemPath, obj{"permit": text}, node(i), newKey())
		if err != nil {
			return err
		}
		if a.status == http.StatusConflict && a.code() != "permit_used" {
			return fmt.Errorf("409 %s", a.code())
		}
		mutex.Lock()
		defer mutex.Unlock()
		answers[a.status]++
		times[a.text("redeemedAt")] = true
		return nil
	})
	p.expect(answers[200] == 1 && answers[409] == redeemersMax-1, "%d callers at once got %v, want one 200 and all others 409", redeemersMax, answers)
	p.expect(len(times) == 1, "they were told of %d times at which it was redeemed", len(times))
	p.paymentIs(a.text("txnId"), "redeemed")
}

func checkRedeemOnce(p *probe) {
	g := p.register()
	a, first := p.permitted(g, "1", obj{"cpName": cleanCounterparty})
	txn := a.text("txnId")
	confirmed := p.status(p.post(confirmPath(txn), obj{"permit": obj{"ttlSeconds": 300}}), 200)
	second := p.str(confirmed, "permit")
	p.ledger.remember(second)
	p.expect(p.token(second).claims["jti"] == txn && first != second, "the second permit of a payment is not another one with the same jti")
	key := newKey()
	won := p.status(p.post(redeemPath, obj{"permit": second}, key), 200)
	p.same(won, "state", "redeemed")
	p.same(won, "txnId", txn)
	for i := range p.cfg.BaseURLs {
		p.replays(won, p.status(p.post(redeemPath, obj{"permit": second}, key, node(i)), 200))
		for _, permit := range []string{first, second} {
			again := p.post(redeemPath, obj{"permit": permit}, node(i), fresh)
			p.refused(again, 409, "permit_used")
			p.same(again, "redeemedAt", won.text("redeemedAt"))
		}
		for _, body := range []obj{{}, {"redeem": true}} {
			p.refused(p.post(confirmPath(txn), body, node(i), fresh), 409, "permit_used")
		}
	}
	p.success(p.post("/v1/transactions/"+txn+"/settle", obj{}))
	p.refused(p.post(redeemPath, obj{"permit": first}), 409, "permit_used")

	a, text := p.permitted(g, "1", obj{"cpName": cleanCounterparty})
	p.success(p.post("/v1/transactions/"+a.text("txnId")+"/settle", obj{}))
	p.refused(p.post(redeemPath, obj{"permit": text}), 409, "permit_used")
}

// withdraws redeems a permit and confirms another payment of an agent that may pay no more.
func (p *probe) withdraws(permit, redeemed, confirmed, rule string) {
	a := p.status(p.post(redeemPath, obj{"permit": permit}), 200)
	p.same(a, "state", "refused")
	p.same(a, "verdict", "BLOCK")
	p.absent(a, "rule")
	p.paymentIs(redeemed, "held") // It had leave, so it may have been made, and goes on counting.
	again := p.status(p.post(redeemPath, obj{"permit": permit}), 200)
	p.same(again, "state", "refused")
	a = p.status(p.post(confirmPath(confirmed), obj{"permit": obj{}, "redeem": true}), 200)
	p.verdict(a, "BLOCK", rule)
	p.absent(a, "permit")
	p.same(a, "payment.state", "held")
}

func checkLeaveWithdrawn(p *probe) {
	for _, c := range []struct {
		stop func(g agent)
		rule string
	}{
		{func(g agent) { p.setStatus("agents", g.id, "revoke") }, "R2_CREDENTIAL_STATUS"},
		{func(g agent) { p.setStatus("agents", g.id, "suspend") }, "R2_CREDENTIAL_STATUS"},
		{func(g agent) { p.success(p.transfer(g)) }, "R8_OWNERSHIP_TRANSFER"},
	} {
		g := p.register(policy(obj{"dailyLimitUSDC": 10}))
		a, text := p.permitted(g, "4", obj{"cpName": cleanCounterparty})
		b := p.screen(g, "6", obj{"cpName": cleanCounterparty})
		p.proceeds(b)
		c.stop(g)
		p.withdraws(text, a.text("txnId"), b.text("txnId"), c.rule)
	}
}

func checkListedSince(p *probe) {
	wallet, g := cleanWallet(), p.register()
	a, text := p.permitted(g, "1", obj{"cpWallet": wallet})
	b := p.screen(g, "1", obj{"cpWallet": wallet})
	p.proceeds(b)
	p.switched(func() {
		p.withdraws(text, a.text("txnId"), b.text("txnId"), "R6_COUNTERPARTY_WALLET_OFAC")
	}, p.stranger(wallet))
}

func checkApprovedThenListed(p *probe) {
	wallet := cleanWallet()
	person := listtest.Entity{ID: 900005, Individual: true, Last: "QUILLFEATHER", First: "Ambrosius Testus"}
	g, similar := p.register(singleLimit()), p.register(singleLimit())
	txn := p.approved(g, obj{"cpWallet": wallet})
	other := p.approved(similar, obj{"cpName": "Testus Ambrosius Quilfeather"})
	p.proceeds(p.status(p.post(confirmPath(other), obj{}), 200))
	p.switched(func() {
		a := p.status(p.post(confirmPath(txn), obj{"permit": obj{}}), 200)
		p.verdict(a, "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
		p.absent(a, "permit")
		p.paymentIs(txn, "released")
		p.verdict(p.screen(g, "1", obj{"cpWallet": wallet}), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
		cases := 0
		for _, of := range p.allPages("/v1/sanctions/cases?limit=200", "firstTxnId") {
			if of == txn {
				cases++
			}
		}
		p.expect(cases == 1, "%d cases begin with the payment, want one", cases)
		a = p.status(p.post(confirmPath(other), obj{"permit": obj{}, "redeem": true}), 200)
		p.verdict(a, "REVIEW", "R21_POSSIBLE_NAME_MATCH")
		p.absent(a, "permit")
		p.same(a, "payment.state", "held")
		p.same(a, "approval.state", "open")
	}, p.stranger(wallet), person)
}

func checkWaitingAlike(p *probe) {
	operator := p.name("Waiting Orchard Holdings")
	screener, watcher := p.makeKey(operator, "screener"), p.makeKey(operator, "operator")
	g := p.register(with("operatorLegalName", operator), singleLimit())
	a := p.screenBody(g.payment("150"), withKey(screener.secret))
	txn := p.str(a, "txnId")
	asked := func() (bodies []string) {
		for _, key := range []apiKey{screener, watcher} {
			for _, body := range []obj{{}, {"permit": obj{}}, {"redeem": true}} {
				a := p.post(confirmPath(txn), body, withKey(key.secret), header("X-Request-Id", "alike"))
				bodies = append(bodies, fmt.Sprintf("%d %s", a.status, a.raw))
			}
			a := p.get("/v1/audit/"+txn, withKey(key.secret), header("X-Request-Id", "alike"))
			bodies = append(bodies, fmt.Sprintf("%d %s", a.status, a.raw))
		}
		return bodies
	}
	open := asked()
	p.same(p.post(confirmPath(txn), obj{}, withKey(screener.secret)), "state", "waiting")
	p.status(p.post("/v1/reviews/"+txn, obj{"disposition": "ESCALATE_SAR", "reviewedBy": "officer"}), 200)
	for i, body := range asked() {
		p.expect(body == open[i], "answer %d of an escalated review is %s, of an open one %s", i, body, open[i])
	}
}

// alertsOf counts the alerts of a kind about a payment.
func (p *probe) alertsOf(kind, txn string) (count int) {
	for _, of := range p.allPages("/v1/alerts?limit=200&kind="+kind, "txnId") {
		if of == txn {
			count++
		}
	}
	return count
}

func checkUnpermitted(p *probe) {
	g := p.register(singleLimit(), policy(obj{"maxSingleTxUSDC": 100, "dailyLimitUSDC": 400}))
	txn, redeemed := p.approved(g), p.approved(g)
	for range 2 { // A repeated settle changes nothing.
		a := p.success(p.post("/v1/transactions/"+txn+"/settle", obj{}))
		p.same(a, "unpermitted", true)
		p.expect(p.alertsOf("unpermitted", txn) == 1, "%d alerts tell of it, want one", p.alertsOf("unpermitted", txn))
	}
	p.paymentIs(txn, "settled")
	p.same(p.status(p.post(confirmPath(redeemed), obj{"redeem": true}), 200), "payment.state", "redeemed")
	p.absent(p.success(p.post("/v1/transactions/"+redeemed+"/settle", obj{})), "unpermitted")
	p.expect(p.alertsOf("unpermitted", redeemed) == 0, "an alert tells that a redeemed payment was not")
	p.proceeds(p.screen(g, "100"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
}

// awaitPayment waits until a payment's record says what became of it.
func (p *probe) awaitPayment(txn, state string) {
	for start := time.Now(); ; {
		record := p.record(txn)
		if record.text("payment.state") == state {
			p.demands++
			return
		}
		p.must(time.Since(start) < healMax, "payment.state is %q after %v, want %s", record.text("payment.state"), healMax, state)
		p.must(pause(p.ctx, 50*time.Millisecond) == nil, "cut off")
	}
}

// checkUnusedPermit: where all payments are to be redeemed, one that nobody redeemed gives its budget
// back at the end of its hold; one that was redeemed never does.
func checkUnusedPermit(p *probe) {
	_, document := p.policyDocument()
	_, former := p.policyDocument()
	document["permits"] = obj{"required": "all"}
	p.success(p.putPolicy(document, "conformance run"))
	defer func() { p.success(p.putPolicy(former, "conformance run: restore")) }()
	p.advanceTo(p.nextDay(9, 0, 0))
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	unused, _ := p.permitted(g, "60", obj{"cpName": cleanCounterparty})
	used, text := p.permitted(g, "40", obj{"cpName": cleanCounterparty})
	p.same(p.status(p.post(redeemPath, obj{"permit": text}), 200), "state", "redeemed")
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	p.advance(permitLifetime + 65*time.Second)
	p.awaitPayment(unused.text("txnId"), "expired")
	p.awaitPayment(used.text("txnId"), "unresolved")
	p.proceeds(p.screen(g, "60"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
}

// otherLeads hands the leadership on, if there is anybody to hand it to.
func (p *probe) otherLeads() {
	if len(p.cfg.BaseURLs) > 1 {
		p.success(p.post("/v1/cluster/transfer-leader", obj{}))
	}
}

// checkRedeemedAndSilent changes the leader before the end of the hold, so that one tells of it that did not
// see the redeem, and again after it, so that the next one has nothing to tell.
func checkRedeemedAndSilent(p *probe) {
	p.advanceTo(p.nextDay(9, 0, 0))
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	a, text := p.permitted(g, "100", obj{"cpName": cleanCounterparty})
	txn := a.text("txnId")
	p.same(p.status(p.post(redeemPath, obj{"permit": text}), 200), "state", "redeemed")
	p.otherLeads()
	p.paymentIs(txn, "redeemed")
	p.expect(p.alertsOf("unresolved_payment", txn) == 0, "an alert tells of it before its hold is over")
	p.advance(permitLifetime + 65*time.Second)
	p.awaitPayment(txn, "unresolved")
	p.otherLeads()
	p.advance(time.Minute)
	for i := range p.cfg.BaseURLs {
		p.verdict(p.screenBody(g.payment("0.01"), node(i)), "REVIEW", "R11_DAILY_LIMIT")
	}
	p.expect(p.alertsOf("unresolved_payment", txn) == 1, "%d alerts tell of it, want one", p.alertsOf("unresolved_payment", txn))
	p.refused(p.post(redeemPath, obj{"permit": text}), 409, "permit_expired")
	p.success(p.post("/v1/transactions/"+txn+"/settle", obj{}))
	p.paymentIs(txn, "settled")
}

func checkApprovalLapses(p *probe) {
	g := p.register(singleLimit())
	txn := p.approved(g, obj{"cpName": cleanCounterparty})
	p.advance(day - time.Minute)
	a := p.status(p.post(confirmPath(txn), obj{"permit": obj{}}), 200)
	p.proceeds(a)
	until := p.utc(a, "approval.until")
	text := p.str(a, "permit")
	p.ledger.remember(text)
	p.expect(!p.instant(p.token(text).claims, "exp").After(until), "the permit outlives the approval")
	p.advance(2 * time.Minute)
	for i := range p.cfg.BaseURLs {
		for _, body := range []obj{{}, {"redeem": true}} {
			p.refused(p.post(confirmPath(txn), body, node(i), fresh), 409, "approval_lapsed")
		}
	}
}
