package conformance

import (
	"net/http"
	"time"
)

const day = 24 * time.Hour

// clockChecks run late: only those of the ledger come after them. They run from the shortest span
// to the longest, because the clock moves only forward, credentials of earlier checks expire, and
// the list becomes stale.
var clockChecks = []Check{
	{ID: "X-CLK-1", Title: "velocity and review leases fall back with time", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkMinutes},
	{ID: "T077/hours", Title: "R17 at the edges of the operating hours", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkHourEdges},
	{ID: "T071", Title: "the day's total is per UTC date and resets at 00:00:00Z", Source: Literal, Needs: NeedTestClock, phase: phaseClock, run: checkUTCDay},
	{ID: "P10", Title: "where every payment is to be redeemed, an unused permit gives its budget back at its hold's end, and a used one does not", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkUnusedPermit},
	{ID: "P14", Title: "a redeemed payment of which nobody says more goes on counting, and one alert tells of it, over a change of leader", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkRedeemedAndSilent},
	{ID: "T102", Title: "an attestation lasts 24 hours, its record 25", Source: Literal, Needs: NeedTestClock, phase: phaseClock, run: checkAttestationAge},
	{ID: "P19", Title: "an approval is confirmed until it lapses, and then no more", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkApprovalLapses},
	{ID: "X-CLK-2", Title: "idempotency keys live 24 hours, a renewal's overlap likewise", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkDayOld},
	{ID: "X-CLK-3", Title: "an ownership transfer takes effect at its time; whitelist entries expire", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkFutureSettings},
	{ID: "X-CLK-4", Title: "a list older than 48 hours is told to be stale and still decides", Source: Ruling, Needs: NeedTestClock, phase: phaseClock, run: checkStaleList},
	{ID: "T099", Title: "a user credential ends after 30 days, its record after 31", Source: Literal, Needs: NeedTestClock, phase: phaseClock, run: checkUserAge},
	{ID: "T121", Title: "a record is there for 90 days and gone after", Source: Literal, Needs: NeedTestClock, phase: phaseClock, run: checkRetention},
	{ID: "T060a", Title: "a token past exp is BLOCK R2, not UNKNOWN", Source: Literal, Needs: NeedTestClock, phase: phaseClock, run: checkExpired},
}

// advance moves the clock of the target, and has it confirm its list at the new time: a target
// that lived those days would have fetched it daily.
func (p *probe) advance(stretch time.Duration) {
	p.leap(stretch)
	if !p.cfg.OnlySpec {
		p.status(p.post("/v1/ofac/sync", obj{}), 202)
	}
}

// leap moves the clock of the target and demands that its time moved by as much.
func (p *probe) leap(stretch time.Duration) {
	before := p.now()
	a := p.post("/v1/test/clock", obj{"advance": stretch.String()})
	lacking := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusForbidden
	if lacking && !p.cfg.Strict {
		p.skip("the target has no test clock (status %d)", a.status)
	}
	p.status(a, 200)
	moved := p.now().Sub(before)
	p.must(moved >= stretch && moved < stretch+time.Minute, "the clock was advanced %v, the target's time moved %v", stretch, moved)
}

// advanceTo moves the clock to a moment, which has to lie ahead.
func (p *probe) advanceTo(moment time.Time) {
	stretch := moment.Sub(p.now())
	p.must(stretch > 0, "BUG: %v is in the target's past", moment)
	p.advance(stretch)
}

// nextDay is a time of day on the target's next UTC date.
func (p *probe) nextDay(hour, minute, second int) time.Time {
	now := p.now().UTC()
	return time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, second, 0, time.UTC)
}

func checkMinutes(p *probe) {
	fast := p.register(with("velocity", obj{"maxPerMinute": 3}))
	for range 3 {
		p.proceeds(p.screen(fast, "1"))
	}
	p.screen(fast, "1")
	p.verdict(p.screen(fast, "1"), "REVIEW", "R16_VELOCITY_FLAG")
	g, txn := p.review()
	filter := obj{"filter": obj{"agentId": g.id}, "assignee": "carla"}
	p.same(p.status(p.post("/v1/queue/next", filter, fresh), 200), "txnId", txn)
	p.advance(90 * time.Second)
	p.proceeds(p.screen(fast, "1"))
	p.status(p.post("/v1/queue/next", obj{"filter": obj{"agentId": g.id}, "assignee": "another"}, fresh), 204)
	p.advance(9 * time.Minute) // The lease is ten minutes long.
	p.same(p.status(p.post("/v1/queue/next", filter, fresh), 200), "txnId", txn)
}

func checkHourEdges(p *probe) {
	everyDay := list{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}
	g := p.register(with("operatingHours", obj{"timezone": "UTC", "windows": list{obj{"days": everyDay, "from": "08:00", "to": "18:00"}}}))
	p.advanceTo(p.nextDay(7, 59, 0))
	p.verdict(p.screen(g, "1"), "REVIEW", "R17_UNUSUAL_HOUR")
	p.advanceTo(p.now().Truncate(day).Add(8 * time.Hour))
	p.proceeds(p.screen(g, "1"))
	p.advanceTo(p.now().Truncate(day).Add(18*time.Hour - 30*time.Second))
	p.proceeds(p.screen(g, "1"))
	p.advanceTo(p.now().Truncate(day).Add(18 * time.Hour))
	p.verdict(p.screen(g, "1"), "REVIEW", "R17_UNUSUAL_HOUR")
}

func checkUTCDay(p *probe) {
	p.advanceTo(p.nextDay(14, 0, 0))
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	fleet := p.fleet("50")
	member := p.register()
	p.join(fleet, member)
	p.proceeds(p.screen(g, "100"))
	p.proceeds(p.screen(member, "50"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	p.advanceTo(p.nextDay(0, 0, 0).Add(-30 * time.Second)) // Midnight in another time zone does not reset the limit before that.
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	p.verdict(p.screen(member, "0.01"), "REVIEW", "R12_FLEET_DAILY_LIMIT")
	p.advanceTo(p.nextDay(0, 0, 0)) // Ten hours after the spend, a new date.
	p.proceeds(p.screen(g, "100"))
	p.proceeds(p.screen(member, "50"))
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
	p.advance(13 * time.Hour)
	p.verdict(p.screen(g, "0.01"), "REVIEW", "R11_DAILY_LIMIT")
}

func checkAttestationAge(p *probe) {
	g := p.register(autonomous)
	p.attest(g)
	p.proceeds(p.screen(g, "10000.01"))
	p.advance(day - time.Minute)
	p.proceeds(p.screen(g, "10000.01"))
	p.advance(2 * time.Minute)
	a := p.screen(g, "10000.01")
	p.expect(a.text("verdict") == "REVIEW", "a day and a minute after the attestation: %s, want REVIEW", a.text("verdict"))
	p.proceeds(p.screen(g, "10000"))
	if !p.cfg.OnlySpec {
		p.verdict(a, "REVIEW", "R22_ATTESTATION")
	}
	path := "/v1/agents/" + g.id + "/attestations"
	p.expect(len(p.array(p.tool(p.get(path)), "data")) == 1, "the record is gone before 25 hours")
	p.advance(time.Hour)
	p.expect(len(p.array(p.tool(p.get(path)), "data")) == 0, "the record is there after 25 hours")
	p.attest(g)
	p.proceeds(p.screen(g, "10000.01"))
}

func checkDayOld(p *probe) {
	g, key := p.register(), newKey()
	first := p.screenBody(g.payment("1"), key)
	renewed := p.registered(p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{}), 201))
	p.advance(day - time.Hour)
	p.replays(first, p.screenBody(g.payment("1"), key))
	p.proceeds(p.screen(g, "1"))
	p.advance(2 * time.Hour)
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.proceeds(p.screen(renewed, "1"))
	again := p.screenBody(g.payment("1"), key)
	p.expect(again.text("txnId") != first.text("txnId"), "a key of 25 hours was replayed")
}

func checkFutureSettings(p *probe) {
	g, listed, wallet := p.register(), p.register(), cleanWallet()
	soon := p.now().Add(time.Hour).Format("2006-01-02T15:04:05Z")
	p.success(p.post("/v1/agents/"+g.id+"/ownership-transfer", obj{"newOperatorLegalName": newOperator, "effectiveAt": soon}))
	p.whitelist(listed, obj{"wallet": wallet, "expiresAt": soon}, obj{"wallet": cleanWallet()})
	p.proceeds(p.screen(g, "1"))
	p.proceeds(p.screen(listed, "1", obj{"cpWallet": wallet}))
	p.advance(time.Hour + time.Minute)
	p.verdict(p.screen(g, "1"), "BLOCK", "R8_OWNERSHIP_TRANSFER")
	p.verdict(p.screen(listed, "1", obj{"cpWallet": wallet}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
}

func checkStaleList(p *probe) {
	p.leap(2*day + time.Hour)
	health := p.get("/v1/health")
	p.same(health, "ofac.stale", true)
	g := p.register()
	a := p.screen(g, "1")
	p.proceeds(a)
	p.same(p.record(a.text("txnId")), "ofacStale", true)
	p.verdict(p.screen(g, "1", obj{"cpWallet": p.listedWallet()}), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
}

func checkUserAge(p *probe) {
	g := p.register()
	a := p.user(obj{"agentIds": list{g.id}})
	id, token := p.str(a, "userId"), p.str(a, "token")
	pays := func() *answer { return p.screen(g, "1", obj{"userToken": token}) }
	p.proceeds(pays())
	p.advance(30*day - time.Minute)
	p.proceeds(pays())
	p.advance(2 * time.Minute)
	p.verdict(pays(), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.proceeds(p.screen(g, "1"))
	p.advance(day - time.Hour)
	p.same(p.tool(p.get("/v1/users/"+id)), "userId", id)
	p.advance(2 * time.Hour)
	p.refused(p.get("/v1/users/"+id), 404, "not_found")
}

func checkRetention(p *probe) {
	g, reviewed := p.review()
	txn := p.screen(g, "1").text("txnId")
	p.advance(90*day - time.Hour)
	p.same(p.record(txn), "txnId", txn)
	p.advance(time.Hour + 5*time.Minute)
	for i := range p.cfg.BaseURLs {
		p.refused(p.get("/v1/audit/"+txn, node(i)), 404, "not_found")
	}
	a := p.post("/v1/reviews/"+reviewed, obj{"disposition": "APPROVED", "reviewedBy": "officer"})
	p.expect(a.status == 404, "review of an expired record: status %d, want 404", a.status)
	fresh := p.screen(p.register(), "1").text("txnId")
	p.record(fresh)
}

func checkExpired(p *probe) {
	g := p.register()
	child := p.delegate(g)
	p.advance(91*day - time.Minute)
	p.proceeds(p.screen(g, "1"))
	p.advance(2 * time.Minute)
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.verdict(p.screen(child, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	if p.cfg.OnlySpec {
		return
	}
	p.same(p.tool(p.get("/v1/agents/"+g.id)), "credentialStatus", "EXPIRED")
	fresh := p.registered(p.status(p.post("/v1/agents/"+g.id+"/reissue", obj{}), 201))
	p.proceeds(p.screen(fresh, "1"))
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
}
