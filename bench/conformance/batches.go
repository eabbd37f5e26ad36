package conformance

import (
	"strconv"
	"strings"
)

var batchChecks = []Check{
	{ID: "X-BATCH-1", Title: "a batch answers every payment in its place, as a call of its own would", Source: Ruling, run: checkBatch},
	{ID: "X-BATCH-2", Title: "payments of one batch spend of the same limit one after the other", Source: Ruling, run: checkBatchSpends},
	{ID: "X-BATCH-4", Title: "what is wrong with a whole batch ends it and nothing happens", Source: Ruling, run: checkBatchRefused},
}

const batchPath = "/v1/screen/batch"

func (p *probe) batch(payments ...any) *answer {
	a := p.status(p.post(batchPath, obj{"payments": payments}), 200)
	got := p.array(a, "results")
	p.must(len(got) == len(payments), "a batch of %d has %d results", len(payments), len(got))
	return a
}

// resultOf returns the path of a member in the i-th result of a batch.
func resultOf(i int, member string) string { return "results." + strconv.Itoa(i) + "." + member }

func checkBatch(p *probe) {
	g := p.register()
	duplicate := literal(strings.TrimSuffix(string(mustJSON(g.payment("1"))), "}") + `,"amount":2}`)
	payments := []any{
		g.payment("1"), obj{"amount": 1}, obj{"token": g.token}, g.payment("1", obj{"cp_wallet": "0x1"}), literal("7"), duplicate,
		obj{"token": "garbage", "amount": 1}, g.payment("1", obj{"cpWallet": p.listedWallet()}), g.payment("2"),
	}
	a := p.batch(payments...)
	for i, payment := range payments {
		single := p.post("/v1/screen", payment)
		if _, plain := payment.(obj); !plain {
			p.same(a, resultOf(i, "code"), "invalid_json")
			continue
		}
		p.expect(a.number(resultOf(i, "status")) == strconv.Itoa(single.status), "payment %d: status %s, alone %d", i, a.number(resultOf(i, "status")), single.status)
		for _, member := range []string{"verdict", "rule", "code", "param"} {
			want, _ := single.at(member)
			got, _ := a.at(resultOf(i, member))
			p.expect(sameTree(want, got), "payment %d: %s is %s, alone %s", i, member, show(got), show(want))
		}
	}
	p.expect(a.text(resultOf(0, "txnId")) != a.text(resultOf(8, "txnId")), "two payments have one txnId")
	record := p.success(p.get("/v1/audit/" + a.text(resultOf(0, "txnId"))))
	p.same(record, "verdict", "PROCEED")
}

func checkBatchSpends(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	a := p.batch(g.payment("60"), g.payment("60"), g.payment("60"))
	proceeded := 0
	for i := range 3 {
		if a.text(resultOf(i, "verdict")) == "PROCEED" {
			proceeded++
			continue
		}
		p.same(a, resultOf(i, "rule"), "R11_DAILY_LIMIT")
	}
	p.expect(proceeded == 1, "%d of three payments of 60 went through a limit of 100", proceeded)
	p.proceeds(p.screen(g, "40"))
}

func checkBatchRefused(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 100}))
	one := string(mustJSON(g.payment("60")))
	p.refused(p.post(batchPath, literal(`{"payments":[`+one+`,{"token":01}]}`)), 400, "invalid_json")
	p.refused(p.post(batchPath, literal(`{"payments":[`+one+`],"payments":[`+one+`]}`)), 400, "invalid_json")
	p.refused(p.post(batchPath, literal(`{"payment":[`+one+`]}`)), 400, "unknown_field")
	p.refused(p.post(batchPath, obj{"payments": []any{}}), 422, "invalid_field")
	p.refused(p.post(batchPath, obj{}), 422, "missing_field")
	p.refused(p.post(batchPath, literal(`{"payments":[`+strings.Repeat(`{},`, 8192)+one+`]}`)), 422, "invalid_field")
	p.proceeds(p.screen(g, "100"))
}
