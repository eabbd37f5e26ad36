package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/casework"
)

// cases opens count REVIEWs of one agent.
func (n *testNode) cases(count int) (txns []string) {
	n.t.Helper()
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	for range count {
		v := answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20}`), 200)
		require.Equal(n.t, "REVIEW", textOf(v, "verdict"))
		txns = append(txns, textOf(v, "txnId"))
	}
	return txns
}

func quotedList(texts ...string) string { return `["` + strings.Join(texts, `","`) + `"]` }

func statuses(v *fastjson.Value) (all []int) {
	for _, item := range v.GetArray("results") {
		all = append(all, item.GetInt("status"))
	}
	return all
}

// Each case has its own outcome; repeating the call repeats the outcomes and does nothing
// more.
func TestBulkReview(t *testing.T) {
	n := newTestNode(t)
	txns := n.cases(4)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txns[1], `{"disposition":"REJECTED","reviewedBy":"Bob"}`), 200)
	proceed := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"x","amount":1}`), 200)
	body := `{"txnIds":` + quotedList(txns[0], txns[1], textOf(proceed, "txnId"), "txn_00000000", txns[2]) + `,"disposition":"REJECTED","reviewedBy":"Ann","notes":"fourteen of one kind"}`
	size := n.store.Size()
	v := answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", body, "Idempotency-Key", "b1"), 200)
	require.Equal(t, []int{200, 409, 400, 404, 200}, statuses(v))
	require.Equal(t, size+2, n.store.Size())
	require.Equal(t, "REJECTED", textOf(v, "results", "0", "disposition"))
	require.Equal(t, "Ann", textOf(v, "results", "0", "reviewedBy"))
	require.Equal(t, "already_dispositioned", textOf(v, "results", "1", "code"))
	require.Equal(t, txns[1], textOf(v, "results", "1", "txnId"))
	require.Equal(t, "not_reviewable", textOf(v, "results", "2", "code"))
	require.Equal(t, "not_found", textOf(v, "results", "3", "code"))

	again := answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", body, "Idempotency-Key", "b1"), 200)
	require.Equal(t, []int{200, 409, 400, 404, 200}, statuses(again))
	require.True(t, again.GetBool("results", "0", "replayed"))
	require.Equal(t, textOf(v, "results", "4", "reviewedAt"), textOf(again, "results", "4", "reviewedAt"))
	require.Equal(t, size+2, n.store.Size())
	other := answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", strings.Replace(body, "fourteen", "15", 1), "Idempotency-Key", "b1"), 200)
	require.Equal(t, "idempotency_conflict", textOf(other, "results", "0", "code"))

	many := make([]string, casework.BulkMax+1)
	for i := range many {
		many[i] = "txn_" + strings.Repeat("a", i+1)
	}
	for name, bad := range map[string]struct{ body, param string }{
		"none":        {`{"txnIds":[],"disposition":"REJECTED","reviewedBy":"Ann"}`, "txnIds"},
		"no list":     {`{"disposition":"REJECTED","reviewedBy":"Ann"}`, "txnIds"},
		"too many":    {`{"txnIds":` + quotedList(many...) + `,"disposition":"REJECTED","reviewedBy":"Ann"}`, "txnIds"},
		"twice":       {`{"txnIds":` + quotedList(txns[3], txns[3]) + `,"disposition":"REJECTED","reviewedBy":"Ann"}`, "txnIds[1]"},
		"no word":     {`{"txnIds":` + quotedList(txns[3]) + `,"reviewedBy":"Ann"}`, "disposition"},
		"nobody":      {`{"txnIds":` + quotedList(txns[3]) + `,"disposition":"REJECTED"}`, "reviewedBy"},
		"a stranger":  {`{"txnIds":` + quotedList(txns[3]) + `,"disposition":"REJECTED","reviewedBy":"Ann","note":"n"}`, "note"},
		"not by name": {`{"txnIds":` + quotedList(txns[3]) + `,"disposition":"rejected","reviewedBy":"Ann"}`, "disposition"},
	} {
		require.Equal(t, bad.param, textOf(answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", bad.body), 422), "param"), name)
	}
	require.Equal(t, size+2, n.store.Size())
	answer(t, n.do("auditor", "POST", "/v1/queue/bulk", body), 403)
}

// Four eyes hold in bulk too: two persons decide, and the queue shows what the first
// proposed.
func TestBulkReviewWithFourEyes(t *testing.T) {
	n := newTestNode(t)
	n.advance(engine.DayLength) // So that the keys are old enough to second.
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"fourEyes":{}}}`), 200)
	txns := n.cases(2)
	first := answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", `{"txnIds":`+quotedList(txns...)+`,"disposition":"APPROVED","reviewedBy":"Ann"}`), 200)
	require.Equal(t, []int{200, 200}, statuses(first))
	require.Equal(t, "APPROVED", textOf(first, "results", "0", "proposed", "disposition"))
	queue := answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200)
	for _, item := range queue.GetArray("data") {
		require.Equal(t, "Ann", textOf(item, "proposed", "by"))
	}
	same := answer(t, n.do("reviewer", "POST", "/v1/queue/bulk", `{"txnIds":`+quotedList(txns...)+`,"disposition":"APPROVED","reviewedBy":"Bob"}`), 200)
	require.Equal(t, []int{409, 409}, statuses(same))
	done := answer(t, n.do("admin", "POST", "/v1/queue/bulk", `{"txnIds":`+quotedList(txns...)+`,"disposition":"APPROVED","reviewedBy":"Bob"}`), 200)
	require.Equal(t, []int{200, 200}, statuses(done))
	require.Equal(t, "APPROVED", textOf(done, "results", "1", "disposition"))
}

func TestBulkAcknowledge(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	n.lateSettles(token, 3)
	var ids []string
	for _, item := range answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200).GetArray("data") {
		ids = append(ids, textOf(item, "alertId"))
	}
	body := `{"alertIds":` + quotedList(ids[0], "alr_x", ids[1]) + `,"by":"Ann","reason":"Sunday"}`
	v := answer(t, n.do("reviewer", "POST", "/v1/alerts/acknowledge", body, "Idempotency-Key", "b"), 200)
	require.Equal(t, []int{200, 404, 200}, statuses(v))
	require.Equal(t, "Ann", textOf(v, "results", "0", "acknowledgedBy"))
	require.Equal(t, []int{200, 404, 200}, statuses(answer(t, n.do("reviewer", "POST", "/v1/alerts/acknowledge", body, "Idempotency-Key", "b"), 200)))
	require.Equal(t, []int{409, 404, 409}, statuses(answer(t, n.do("reviewer", "POST", "/v1/alerts/acknowledge", body), 200)))
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?state=open", ""), 200).GetArray("data"), 1)
	answer(t, n.do("reviewer", "POST", "/v1/alerts/acknowledge", `{"alertIds":[],"by":"Ann","reason":"r"}`), 422)
}

// The queue shows how long a case may wait, and which cases have waited longer.
func TestServiceLevelOfReviews(t *testing.T) {
	n := newTestNode(t)
	txns := n.cases(1)
	before := answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200).Get("data", "0")
	require.Equal(t, "null", before.Get("slaDueAt").String())
	require.False(t, before.GetBool("slaBreached"))
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"sla":"4h"}}`), 200)
	n.advance(3 * engine.Hour)
	txns = append(txns, n.cases(1)...)
	n.advance(engine.Hour)
	_, _ = n.Propose(t.Context(), wire.KindTick, wire.Encode(&wire.Tick{}))
	item := answer(t, n.do("reviewer", "GET", "/v1/queue?sort=age", ""), 200).Get("data", "0")
	require.Equal(t, txns[0], textOf(item, "txnId"))
	require.Equal(t, "2026-03-22T07:33", textOf(item, "slaDueAt")[:16])
	require.True(t, item.GetBool("slaBreached"))
	late := answer(t, n.do("reviewer", "GET", "/v1/queue?slaBreached=true", ""), 200).GetArray("data")
	require.Len(t, late, 1)
	require.Equal(t, txns[0], textOf(late[0], "txnId"))
	inTime := answer(t, n.do("reviewer", "GET", "/v1/queue?slaBreached=false", ""), 200).GetArray("data")
	require.Len(t, inTime, 1)
	require.Equal(t, txns[1], textOf(inTime[0], "txnId"))
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_review_overdue 1")
	names, all := n.told("reviewer", "review.sla_breached")
	require.Equal(t, []string{"review.sla_breached"}, names)
	require.Equal(t, txns[0], textOf(all[0], "data", "txnId"))
	names, _ = n.told("screener", "review.sla_breached")
	require.Empty(t, names)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"sla":"1s"}}`), 422)
}

// Names of people are bounded in characters, although the log compares them in bytes.
func TestLongNamesOfReviewers(t *testing.T) {
	n := newTestNode(t)
	name := strings.Repeat("ꯀ", 100)
	n.addKey(wire.APIKey{ID: "key_long", Name: name, Roles: wire.RoleAdmin}, testSecret("long"))
	txn := n.cases(1)[0]
	next := answer(t, n.do("long", "POST", "/v1/queue/next", `{}`), 200)
	require.Equal(t, strings.Repeat("ꯀ", 85), textOf(next, "assignee"))
	decided := answer(t, n.do("long", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"`+name+`"}`), 200)
	require.Equal(t, name, textOf(decided, "reviewedBy"))
}
