package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

var reviewChecks = []Check{
	{ID: "T110", Title: "the three dispositions give 200 with the complete record", Source: Literal, run: checkDispositions},
	{ID: "T111", Title: "the disposition answer shows the rule as ruleTriggered", Source: Literal, run: checkRuleTriggered},
	{ID: "T112", Title: "sarEscalated is true for ESCALATE_SAR alone", Source: Literal, run: checkSAR},
	{ID: "T113", Title: "a second disposition is 409 and changes nothing", Source: Literal, run: checkSecond},
	{ID: "T113/race", Title: "of simultaneous dispositions on all nodes exactly one succeeds", Source: Implied, run: checkRace},
	{ID: "T114", Title: "PROCEED, BLOCK and UNKNOWN records cannot be dispositioned: 400", Source: Literal, run: checkNotReviewable},
	{ID: "T115", Title: "an unknown txnId is 404", Source: Literal, run: checkUnknownReview},
	{ID: "T116", Title: "another disposition, or no reviewer, is 422", Source: Literal, run: checkBadReview},
	{ID: "T117", Title: "notes are optional", Source: Literal, run: checkNotes},
	{ID: "X-REV-1", Title: "order of the review's refusals: JSON, 404, 422, 400, 409, each with its code", Source: Ruling, run: checkReviewOrder},
	{ID: "X-REV-2", Title: "reviewedByKey, kept rule and the recheck at approval", Source: Ruling, run: checkReviewExtras},
}

func checkDispositions(p *probe) {
	for _, value := range []string{"APPROVED", "REJECTED", "ESCALATE_SAR"} {
		g, txn := p.review()
		a := p.status(p.post("/v1/reviews/"+txn, obj{"disposition": value, "reviewedBy": "Conformance Officer ü", "notes": "looked at it"}), 200)
		p.same(a, "disposition", value)
		p.same(a, "reviewedBy", "Conformance Officer ü")
		p.same(a, "notes", "looked at it")
		p.utc(a, "reviewedAt")
		p.same(a, "sarEscalated", value == "ESCALATE_SAR")
		p.same(a, "txnId", txn)
		p.same(a, "verdict", "REVIEW")
		p.same(a, "agentId", g.id)
		p.str(a, "reason")
		p.utc(a, "screenedAt")
		p.same(a, "_request.amount", 150)
	}
}

func checkRuleTriggered(p *probe) {
	_, txn := p.review()
	a := p.disposition(txn, "APPROVED")
	p.same(a, "ruleTriggered", "R10_SINGLE_TX_LIMIT")
	if !p.cfg.OnlySpec {
		p.same(a, "rule", "R10_SINGLE_TX_LIMIT")
	}
}

func checkSAR(p *probe) {
	for value, want := range map[string]bool{"APPROVED": false, "REJECTED": false, "ESCALATE_SAR": true} {
		_, txn := p.review()
		p.same(p.disposition(txn, value), "sarEscalated", want)
		p.same(p.success(p.get("/v1/audit/"+txn)), "sarEscalated", want)
	}
}

func checkSecond(p *probe) {
	_, txn := p.review()
	p.disposition(txn, "REJECTED")
	before := p.success(p.get("/v1/audit/" + txn))
	for _, value := range []string{"APPROVED", "REJECTED", "ESCALATE_SAR"} {
		p.status(p.post("/v1/reviews/"+txn, obj{"disposition": value, "reviewedBy": "Another Officer", "notes": "again"}), 409)
	}
	after := p.success(p.get("/v1/audit/" + txn))
	for _, member := range []string{"disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated"} {
		want, there := before.at(member)
		p.must(there, "the record has no %s", member)
		p.same(after, member, want)
	}
}

func checkRace(p *probe) {
	for range 5 {
		_, txn := p.review()
		var mutex sync.Mutex
		statuses := map[int]int{}
		p.parallel(8, 8, func(i int) error {
			body := obj{"disposition": []string{"APPROVED", "REJECTED"}[i%2], "reviewedBy": fmt.Sprintf("officer %d", i)}
			a, err := p.send(p.ctx, http.MethodPost, "/v1/reviews/"+txn, body, node(i))
			if err != nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			statuses[a.status]++
			return nil
		})
		p.expect(statuses[200] == 1 && statuses[409] == 7, "eight simultaneous dispositions gave %v, want one 200 and seven 409", statuses)
	}
}

func checkNotReviewable(p *probe) {
	p.eachVerdict(func(verdict string, a *answer) {
		if verdict == "REVIEW" {
			return
		}
		refusal := p.post("/v1/reviews/"+a.text("txnId"), obj{"disposition": "APPROVED", "reviewedBy": "officer"})
		p.expect(refusal.status == 400, "review of a %s: status %d, want 400", verdict, refusal.status)
	})
}

func checkUnknownReview(p *probe) {
	for _, txn := range []string{"txn_zzzzzzzz", "txn_0000", "agt_x", "x"} {
		a := p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer"})
		p.expect(a.status == 404, "review of %s: status %d, want 404", txn, a.status)
	}
	_, txn := p.review()
	p.disposition(txn, "APPROVED") // The same call with a real id works.
}

func checkBadReview(p *probe) {
	_, txn := p.review()
	for _, value := range []any{"approved", "Approved", "APPROVE", "", "APPROVED ", nil, 1, true, list{"APPROVED"}, "ESCALATE"} {
		a := p.post("/v1/reviews/"+txn, obj{"disposition": value, "reviewedBy": "officer"})
		p.expect(a.status == 422, "disposition %s: status %d, want 422", show(plain(value)), a.status)
	}
	for _, reviewer := range []any{"", "   ", "\t\n", nil, 5, list{}} {
		a := p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": reviewer})
		p.expect(a.status == 422, "reviewedBy %s: status %d, want 422", show(plain(reviewer)), a.status)
	}
	for _, body := range []obj{{"disposition": "APPROVED"}, {"reviewedBy": "officer"}, {}} {
		a := p.post("/v1/reviews/"+txn, body)
		p.expect(a.status == 422, "review %s: status %d, want 422", show(plain(body)), a.status)
	}
	p.disposition(txn, "APPROVED") // None of the refusals was recorded.
}

func checkNotes(p *probe) {
	_, txn := p.review()
	a := p.status(p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer"}), 200)
	p.same(a, "disposition", "APPROVED")
	_, txn = p.review()
	note := "line one\nline two \u2028 “quoted” \u0007"
	a = p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "officer", "notes": note})
	p.status(a, 200, 422)
	if a.ok() {
		p.same(a, "notes", note)
	}
}

func checkReviewOrder(p *probe) {
	good, bad := obj{"disposition": "APPROVED", "reviewedBy": "o"}, obj{"disposition": "MAYBE"}
	p.refused(p.post("/v1/reviews/txn_zzzzzzzz", literal("{")), 400, "invalid_json")
	p.refused(p.post("/v1/reviews/txn_zzzzzzzz", bad), 404, "not_found")
	proceed := p.screen(p.register(), "1").text("txnId")
	p.refused(p.post("/v1/reviews/"+proceed, obj{"disposition": "MAYBE", "reviewedBy": "o"}), 422, "invalid_disposition")
	p.refused(p.post("/v1/reviews/"+proceed, obj{"disposition": "APPROVED"}), 422, "missing_field")
	p.refused(p.post("/v1/reviews/"+proceed, good), 400, "not_reviewable")
	_, txn := p.review()
	p.disposition(txn, "REJECTED")
	p.refused(p.post("/v1/reviews/"+txn, obj{"disposition": "MAYBE", "reviewedBy": "o"}), 422, "invalid_disposition")
	a := p.post("/v1/reviews/"+txn, good)
	p.refused(a, 409, "already_dispositioned")
	p.same(a, "disposition", "REJECTED")
	p.refused(p.post("/v1/reviews/"+txn, obj{"disposition": "APPROVED", "reviewedBy": "o", "notes": strings.Repeat("n", 9<<10)}), 422, "invalid_field")
}

func checkReviewExtras(p *probe) {
	g, txn := p.review()
	record := p.success(p.get("/v1/audit/" + txn))
	p.same(record, "sarEscalated", false)
	p.absent(record, "disposition")
	a := p.disposition(txn, "APPROVED")
	p.str(a, "reviewedByKey")
	p.absent(a, "recheck") // Nothing changed since, so there is nothing to recheck in red.
	txn = p.reviewOf(g)
	p.setStatus("agents", g.id, "suspend")
	a = p.disposition(txn, "APPROVED")
	p.same(a, "recheck.verdict", "BLOCK")
	p.same(a, "recheck.rule", "R2_CREDENTIAL_STATUS")
	p.field(a, "recheck.listVersion")
	p.same(p.success(p.get("/v1/audit/"+txn)), "recheck.verdict", "BLOCK")
}
