//go:build unix

package httpapi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/ofac/sample"
)

// BenchmarkInboxOfHits measures a page of an inbox of 10,000 reviews, each of a hit of another spelling:
// all are ranked at each call.
func BenchmarkInboxOfHits(b *testing.B) {
	const open = 10_000
	n := newTestNode(b)
	n.activate(append(sample.Entities(), listing(900001, "VORONTSAK, Miroslav Petrovich", "05 Oct 1976", "Russia")), sample.Meta())
	_, token := n.registered("")
	for i := range open {
		w := n.do("screener", "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":%d,"cpName":"Miroslav Vorontzak","cpDateOfBirth":"1976-10-05","cpCountry":"RU"}`, token, 1+i%400))
		require.Equal(b, 200, w.Code)
	}
	require.Equal(b, open, answer(b, n.do("reviewer", "GET", "/v1/inbox?limit=1", ""), 200).GetInt("counts", "review"))
	n.measureReads(b, "/v1/inbox?limit=50", open)
}

// BenchmarkLearning measures the figures of 2,000 decisions.
func BenchmarkLearning(b *testing.B) {
	const decided = 2_000
	n := newTestNode(b)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1}`)
	for range decided {
		v := answer(b, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"Corner Bakery"}`), 200)
		answer(b, n.do("reviewer", "POST", "/v1/reviews/"+textOf(v, "txnId"), `{"disposition":"APPROVED","reviewedBy":"Ann","notes":"n"}`), 200)
	}
	require.Equal(b, decided, answer(b, n.do("reviewer", "GET", "/v1/learning", ""), 200).GetInt("total", "decisions"))
	n.measureReads(b, "/v1/learning", decided)
}

// BenchmarkRetroReport measures the report of a retro-screening with 1,000 hits, half of which an officer
// decided since: it reads each hit's record and what became of it.
func BenchmarkRetroReport(b *testing.B) {
	const hits = 1_000
	n := newTestNode(b)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	for i := range hits {
		v := answer(b, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20,"cpName":"PAPER TIGER HOLDING"}`), 200)
		if i%2 == 0 {
			answer(b, n.do("reviewer", "POST", "/v1/reviews/"+textOf(v, "txnId"), `{"disposition":"APPROVED","reviewedBy":"Ann","notes":"n"}`), 200)
		}
	}
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	screenPast(b, n.leading())
	report := n.retroReport("")
	require.Equal(b, hits, report.GetInt("hits"), report.String())
	n.measureReads(b, "/v1/ofac/retro/"+textOf(report, "retroId"), hits)
}

// measureReads repeats a read of many things, by keys of their own because walks count as many calls. It
// tells the processor time of one of the things: how busy the machine is beside it does not matter.
func (n *testNode) measureReads(b *testing.B, path string, things int) {
	i, used := 0, processor(b)
	for b.Loop() {
		who := fmt.Sprint("reader", i)
		n.addKey(wire.APIKey{ID: "key_" + who, Name: who, Roles: wire.RoleReviewer | wire.RoleAuditor}, testSecret(who))
		i++
		require.Equal(b, 200, n.do(who, "GET", path, "").Code)
	}
	b.ReportMetric(float64((processor(b)-used).Nanoseconds())/float64(i)/float64(things), "cpu-ns/thing")
}
