package conformance

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

var screeningShapeChecks = []Check{
	{ID: "T040", Title: "success is 200 with one of the four verdicts", Source: Literal, run: checkFourVerdicts},
	{ID: "T041", Title: "BLOCK, REVIEW and UNKNOWN are HTTP 200", Source: Literal, run: checkVerdictStatus},
	{ID: "T042", Title: "txnId is txn_ and eight characters on every verdict", Source: Literal, run: checkTxnID},
	{ID: "T042/us", Title: "the eight characters are letters and digits", Source: Ruling, run: checkTxnAlphabet},
	{ID: "T043", Title: "many calls over all nodes give as many distinct txnIds", Source: Implied, run: checkDistinct},
	{ID: "T044", Title: "rule is null on PROCEED and a non-empty id otherwise", Source: Literal, run: checkRuleMember},
	{ID: "T045", Title: "reason is a non-empty string on every verdict", Source: Literal, run: checkReason},
	{ID: "T046", Title: "screenedAt is UTC, latencyMs a number of at least 0", Source: Literal, run: checkTimes},
	{ID: "T046/now", Title: "screenedAt is the present, on every node, and never goes back", Source: Implied, run: checkPresent},
	{ID: "T047", Title: "PROCEED carries agentId, agentName, operatorLegalName, credentialStatus, ofacSource", Source: Literal, run: checkProceedFields},
	{ID: "T048", Title: "the screening answer has no _request, the audit record has", Source: Literal, run: checkNoRequest},
	{ID: "T049", Title: "the same call twice gives the same verdict, rule and reason, another txnId", Source: Literal, run: checkRepeat},
	{ID: "T050", Title: "the raw token and the four prefixes give the same verdict", Source: Literal, run: checkPrefixes},
	{ID: "T051", Title: "prefixes in any case, with extra blanks; a prefix alone is UNKNOWN", Source: Ruling, run: checkPrefixCase},
	{ID: "T052", Title: "a garbage token is 200 UNKNOWN R1_NO_CREDENTIAL", Source: Literal, run: checkGarbage},
	{ID: "T053", Title: "an empty token is UNKNOWN: only an absent field is a 400", Source: Literal, run: checkEmptyToken},
	{ID: "T053/us", Title: "null and non-string tokens are UNKNOWN", Source: Ruling, run: checkNonStringToken},
	{ID: "T054", Title: "UNKNOWN calls get an audit record", Source: Literal, run: checkUnknownAudited},
	{ID: "T055", Title: "token and amount alone, clean agent without policy: PROCEED", Source: Literal, run: checkMinimal},
	{ID: "T056", Title: "screening works with all egress cut", Source: Literal, Needs: NeedEgressCut, run: checkMinimal},
	{ID: "T057", Title: "under 50 ms at p99 on every node", Source: Literal, Needs: NeedLatency, run: checkLatency},
	{ID: "X-SHAPE-1", Title: "which members each verdict shows and withholds", Source: Ruling, run: checkMembersPerVerdict},
	{ID: "X-SHAPE-2", Title: "values outside the enumerations are evaluated, not refused, on screen", Source: Ruling, run: checkLenientEnums},
	{ID: "X-SHAPE-3", Title: "over-long members of a screening are 400 invalid_field", Source: Ruling, run: checkLongMembers},
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

func checkFourVerdicts(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.expect(a.status == 200 && a.text("verdict") == verdict, "status %d, verdict %q, want 200 %s", a.status, a.text("verdict"), verdict)
	})
}

func checkVerdictStatus(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.expect(a.status == 200, "%s: status %d, want 200", verdict, a.status)
	})
}

func checkTxnID(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.expect(txnShape.MatchString(a.text("txnId")), "%s: txnId is %q", verdict, a.text("txnId"))
	})
}

func checkTxnAlphabet(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.expect(ruledTxn.MatchString(a.text("txnId")), "%s: txnId is %q", verdict, a.text("txnId"))
	})
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

func checkRuleMember(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		rule, there := a.at("rule")
		if verdict == "PROCEED" {
			p.expect(there && rule == nil, "PROCEED: rule is %s (present: %t), want null", show(rule), there)
			return
		}
		id, isText := rule.(string)
		p.expect(isText && id != "", "%s: rule is %s", verdict, show(rule))
	})
}

func checkReason(p *probe) {
	p.eachVerdict(func(_ string, a *answer) { p.str(a, "reason") })
}

func checkTimes(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.utc(a, "screenedAt")
		latency, ok := rational(p.num(a, "latencyMs"))
		p.expect(ok && latency.Sign() >= 0, "%s: latencyMs is %s", verdict, a.number("latencyMs"))
	})
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

func checkProceedFields(p *probe) {
	body := p.registration()
	g := p.registered(p.post("/v1/agents/register", body))
	a := p.screen(g, "1")
	p.proceeds(a)
	p.same(a, "agentId", g.id)
	p.same(a, "agentName", body["agentName"])
	p.same(a, "operatorLegalName", body["operatorLegalName"])
	p.same(a, "credentialStatus", "ACTIVE")
	p.str(a, "ofacSource")
}

func checkNoRequest(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		p.absent(a, "_request")
		record := p.success(p.get("/v1/audit/" + p.str(a, "txnId")))
		p.expect(kind(p.field(record, "_request")) == "object", "%s: the audit record's _request is %s", verdict, kind(record.tree))
	})
}

func checkRepeat(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	bodies := []obj{
		g.payment("1", obj{"cpName": cleanCounterparty, "chain": "BASE"}),
		g.payment("150"),
		g.payment("1", obj{"cpWallet": p.listedWallet()}),
		{"token": "garbage", "amount": 1},
	}
	for _, body := range bodies {
		first, second := p.screenBody(body), p.screenBody(body)
		for _, member := range []string{"verdict", "rule", "reason"} {
			value, _ := first.at(member)
			p.same(second, member, value)
		}
		p.expect(first.text("txnId") != second.text("txnId"), "the txnId %q came twice", first.text("txnId"))
	}
}

func checkPrefixes(p *probe) {
	g := p.register()
	limited := p.register(policy(obj{"maxSingleTxUSDC": 0}))
	for _, prefix := range []string{"", "Bearer ", "VerifiableCredential ", "ProofPack ", "JWT "} {
		p.proceeds(p.screenBody(obj{"token": prefix + g.token, "amount": 1}))
		p.verdict(p.screenBody(obj{"token": prefix + limited.token, "amount": 1}), "REVIEW", "R10_SINGLE_TX_LIMIT")
	}
}

func checkPrefixCase(p *probe) {
	g := p.register()
	for _, prefix := range []string{"bearer ", "BEARER ", "verifiablecredential ", "PROOFPACK ", "jwt ", "Jwt  ", "  Bearer   "} {
		p.proceeds(p.screenBody(obj{"token": prefix + g.token, "amount": 1}))
	}
	p.proceeds(p.screenBody(obj{"token": "Bearer " + g.token + "  ", "amount": 1}))
	for _, alone := range []string{"Bearer", "Bearer ", "VerifiableCredential ", "ProofPack   ", "JWT"} {
		p.unknownToken("prefix alone: "+alone, alone)
	}
}

func checkGarbage(p *probe) {
	for _, token := range []string{
		"garbage", "a.b.c", "eyJhbGciOiJFUzI1NiJ9..", "...", "é", strings.Repeat("x", 500), "null", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA",
	} {
		a := p.post("/v1/screen", obj{"token": token, "amount": 1})
		p.expect(a.status == 200, "token %.30q: status %d, want 200", token, a.status)
		p.verdict(a, "UNKNOWN", "R1_NO_CREDENTIAL")
	}
}

func checkEmptyToken(p *probe) {
	a := p.post("/v1/screen", obj{"token": "", "amount": 1})
	p.expect(a.status == 200, "empty token: status %d, want 200", a.status)
	p.verdict(a, "UNKNOWN", "R1_NO_CREDENTIAL")
}

func checkNonStringToken(p *probe) {
	for _, token := range []any{nil, 5, true, false, list{}, obj{}, list{"x"}, obj{"token": "x"}, " ", "\t"} {
		p.unknownToken("token "+show(plain(token)), token)
	}
}

func checkUnknownAudited(p *probe) {
	a := p.screenBody(obj{"token": "garbage", "amount": 17, "cpName": cleanCounterparty})
	record := p.success(p.get("/v1/audit/" + p.str(a, "txnId")))
	p.same(record, "verdict", "UNKNOWN")
	p.same(record, "rule", "R1_NO_CREDENTIAL")
	p.same(record, "txnId", a.text("txnId"))
	p.same(record, "_request.amount", 17)
}

func checkMinimal(p *probe) {
	p.proceeds(p.screen(p.register(), "100"))
	p.proceeds(p.screen(p.register(), "999999"))
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

func checkMembersPerVerdict(p *probe) {
	full := []string{"txnId", "verdict", "rule", "reason", "agentId", "agentName", "operatorLegalName", "credentialStatus", "ofacSource", "screenedAt", "latencyMs"}
	want := map[string][]string{
		"PROCEED": full,
		"REVIEW":  full,
		"BLOCK":   {"txnId", "verdict", "rule", "reason", "agentId", "screenedAt", "latencyMs"},
		"UNKNOWN": {"txnId", "verdict", "rule", "reason", "screenedAt", "latencyMs"},
	}
	hidden := []string{"agentName", "operatorLegalName", "credentialStatus", "ofacSource"}
	p.eachVerdict(func(verdict string, a *answer) {
		for _, member := range want[verdict] {
			_, there := a.at(member)
			p.expect(there, "%s lacks %s", verdict, member)
		}
		if verdict == "BLOCK" || verdict == "UNKNOWN" {
			for _, member := range hidden {
				p.absent(a, member)
			}
		}
		if verdict == "UNKNOWN" {
			p.absent(a, "agentId")
		}
		for _, member := range []string{"ruleSet", "listVersion", "policyVersion", "index"} {
			_, there := a.at(member)
			p.expect(there, "%s lacks the additive member %s", verdict, member)
		}
		p.absent(a, "sarEscalated")
	})
}

func checkLenientEnums(p *probe) {
	g := p.register()
	for _, members := range []obj{
		{"chain": "DOGE"}, {"rail": "PAYPAL"}, {"cpType": "alien"}, {"chain": "base"}, {"rail": "usdc", "chain": "eth"}, {"cpType": "Business"},
	} {
		a := p.post("/v1/screen", g.payment("1", members))
		p.expect(a.status == 200, "%s: status %d, want 200", show(plain(members)), a.status)
	}
	p.proceeds(p.screen(g, "1", obj{"chain": "base", "rail": "usdc", "cpType": "BUSINESS"}))
	p.verdict(p.screen(g, "1", obj{"cpType": "alien"}), "REVIEW", "R20_COUNTERPARTY_TYPE")
	p.verdict(p.screen(g, "1", obj{"chain": "DOGE"}), "REVIEW", "R19_RAIL_CHAIN_MISMATCH")
	narrow := p.register(policy(obj{"allowedChains": list{"BASE"}}))
	p.verdict(p.screen(narrow, "1", obj{"chain": "DOGE"}), "REVIEW", "R9_CHAIN_POLICY")
}

func checkLongMembers(p *probe) {
	g := p.register()
	for member, length := range map[string]int{"cpName": 513, "protocol": 257, "cpWallet": 257, "chain": 257, "rail": 257, "cpType": 257, "underlyingModel": 257} {
		a := p.post("/v1/screen", g.payment("1", obj{member: strings.Repeat("q", length)}))
		p.refused(a, 400, "invalid_field")
	}
	a := p.post("/v1/screen", g.payment("1", obj{"cpName": strings.Repeat("é", 512)}))
	p.expect(a.status == 200, "a counterparty name of 512 runes: status %d, want 200", a.status)
	for _, member := range []string{"cpName", "protocol", "cpWallet", "chain", "rail", "cpType"} {
		p.refused(p.post("/v1/screen", g.payment("1", obj{member: 7})), 400, "invalid_field")
	}
}
