package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
)

// untimed leaves out how long the call took.
func untimed(body string) string {
	return regexp.MustCompile(`"latencyMs":[0-9.]+`).ReplaceAllString(body, "")
}

// keepFewKeys makes the state forget all but eight Idempotency-Keys.
func keepFewKeys(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	limits.Idempotency = 8
}

// TestKeysAreKeptForADay (line K3): whatever number of calls come between, a retry within 24 hours
// gets the first call's answer, whichever route it is of, another body is refused, and afterwards
// the key is free.
func TestKeysAreKeptForADay(t *testing.T) {
	keepFewKeys(t)
	n := newTenants(t)
	calls := []struct{ path, body, other string }{
		{"/v1/screen", `{"token":"` + n.token + `","amount":0.01}`, `{"token":"` + n.token + `","amount":0.02}`},
		{"/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme","dailyLimitUSDC":5}`, `{"fleetName":"G","operatorLegalName":"Acme","dailyLimitUSDC":5}`},
		{"/v1/users/register", `{"legalName":"P","agentIds":["` + n.agent + `"]}`, `{"legalName":"Q","agentIds":["` + n.agent + `"]}`},
		{"/v1/agents/" + n.agent + "/suspend", `{"reason":"r","actor":"D"}`, `{"reason":"s","actor":"D"}`},
		{"/v1/agents/" + n.agent + "/reinstate", `{"reason":"r","actor":"D"}`, `{"reason":"s","actor":"D"}`},
	}
	early := n.do("acme", "POST", "/v1/screen", calls[0].body, "Idempotency-Key", "early")
	require.Equal(t, 200, early.Code, early.Body)
	n.advance(30 * engine.Second)
	first := make([]string, len(calls))
	for i, c := range calls {
		w := n.do("acme", "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i))
		require.Less(t, w.Code, 300, w.Body)
		first[i] = w.Body.String()
	}
	batch := `{"payments":[{"token":"` + n.token + `","amount":0.03,"idempotencyKey":"b"}]}`
	w := n.do("acme", "POST", "/v1/screen/batch", batch)
	require.Equal(t, 200, w.Code, w.Body)
	inBatch := member(t, w.Body.Bytes(), "results.0.txnId")

	retry := func() {
		t.Helper()
		size := n.store.Size()
		for i, c := range calls {
			w := n.do("acme", "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i))
			require.Less(t, w.Code, 300, "%s: %s", c.path, w.Body)
			require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"), c.path)
			require.Equal(t, untimed(first[i]), untimed(w.Body.String()), c.path)
			w = n.do("acme", "POST", c.path, c.other, "Idempotency-Key", fmt.Sprint("k", i))
			require.Equal(t, 422, w.Code, "%s: %s", c.path, w.Body)
			require.Contains(t, w.Body.String(), "idempotency_conflict")
		}
		w := n.do("acme", "POST", "/v1/screen/batch", batch)
		require.Equal(t, inBatch, member(t, w.Body.Bytes(), "results.0.txnId"), "the payment of a batch")
		require.Equal(t, size, n.store.Size(), "nothing was written")
	}
	flood := func() {
		for i := range 40 {
			w := n.do("acme", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":0.01}`, "Idempotency-Key", fmt.Sprint("f", n.now, i))
			require.Equal(t, 200, w.Code, w.Body)
		}
	}
	retry()
	flood()
	require.NotZero(t, n.KeysFrom())
	retry()

	n.Lost.Store(true)
	w = n.do("acme", "POST", "/v1/screen", calls[0].body, "Idempotency-Key", "k0")
	require.Equal(t, 503, w.Code, "without the files nobody knows: %s", w.Body)
	require.Contains(t, w.Body.String(), "reading its history back")
	n.Lost.Store(false)
	require.Equal(t, 200, n.do("acme", "POST", "/v1/screen", strings.Replace(calls[0].body, "0.01", "0.04", 1)).Code, "a call without a key needs no file")

	n.advance(engine.IdempotencyKept - engine.Minute)
	flood()
	retry()
	n.advance(40 * engine.Second)
	require.Equal(t, 200, n.do("acme", "POST", "/v1/screen", calls[0].other, "Idempotency-Key", "early").Code, "its file is still there, but it is a day old")
	retry()
	n.advance(20 * engine.Second)
	flood()
	w = n.do("acme", "POST", "/v1/screen", calls[0].other, "Idempotency-Key", "k0")
	require.Equal(t, 200, w.Code, "a day later the key is free: %s", w.Body)
	require.Empty(t, w.Header().Get("Idempotent-Replayed"))
}

// TestEndingsAreKept: however many payments end after it, what became of a payment is shown, told
// again, and proven, a late settle included. A node that cannot look says so.
func TestEndingsAreKept(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	limits.Outcomes = 4
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered("")
	pay := func(more string) string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+more+`}`), 200), "txnId")
	}
	do := func(txn, verb, body string, want int) *fastjson.Value {
		t.Helper()
		return answer(t, n.do("settler", "POST", "/v1/transactions/"+txn+"/"+verb, body), want)
	}
	hold := `,"hold":{"ttlSeconds":60}`
	settled, released, unheld, unresolved := pay(hold), pay(hold), pay(""), pay(hold)
	first := textOf(do(settled, "settle", `{}`, 200), "eventId")
	gone := textOf(do(released, "release", `{"reason":"r"}`, 200), "eventId")
	plain := textOf(do(unheld, "settle", `{}`, 200), "eventId")
	n.advance(engine.Hour) // The hold is unresolved.
	flood := func() {
		for range 10 {
			do(pay(hold), "settle", `{}`, 200)
		}
	}
	flood()
	require.NotZero(t, n.EndedFrom())

	shown := func(txn string) *fastjson.Value {
		t.Helper()
		return answer(t, n.do("auditor", "GET", "/v1/audit/"+txn, ""), 200)
	}
	ends := func(txn, state, event string) {
		t.Helper()
		v := shown(txn)
		require.Equal(t, state, textOf(v, "payment", "state"), v.String())
		require.Equal(t, event, textOf(v, "payment", "eventId"))
	}
	size := n.store.Size()
	ends(settled, "settled", first)
	ends(unheld, "settled", plain)
	ends(released, "released", gone)
	require.Equal(t, "unresolved", textOf(shown(unresolved), "payment", "state"))
	require.Equal(t, first, textOf(do(settled, "settle", `{}`, 200), "eventId"), "the first answer stands")
	require.Equal(t, gone, textOf(do(released, "release", `{"reason":"r"}`, 200), "eventId"))
	require.Equal(t, "invalid_transition", textOf(do(settled, "release", `{"reason":"r"}`, 409), "code"))
	require.Equal(t, size, n.store.Size(), "nothing was written")

	n.Lost.Store(true)
	require.Equal(t, "overloaded", textOf(do(settled, "settle", `{}`, 503), "code"))
	answer(t, n.do("auditor", "GET", "/v1/audit/"+released, ""), 503)
	do(pay(hold), "settle", `{}`, 200) // Of a new payment the state knows all.
	n.Lost.Store(false)

	late := do(released, "settle", `{}`, 200)
	require.True(t, late.GetBool("late"), late.String())
	resolved := do(unresolved, "settle", `{}`, 200)
	flood()
	ends(released, "released", gone)
	require.Equal(t, textOf(late, "eventId"), textOf(shown(released), "lateSettlement", "eventId"), shown(released).String())
	ends(unresolved, "settled", textOf(resolved, "eventId"))
	require.Equal(t, textOf(late, "eventId"), textOf(do(released, "settle", `{}`, 200), "eventId"))
	for _, txn := range []string{settled, released, unheld, unresolved} {
		answer(t, n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", ""), 200)
	}
}

// referring is a node whose state keeps four uses of payment references.
type referring struct {
	*testing.T
	*testNode
	token string
	other int // How many references flood has used.
}

func newReferring(t *testing.T) *referring {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	limits.References = 4
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	return &referring{T: t, testNode: n, token: token}
}

// pay screens a payment with a reference, and returns its transaction.
func (r *referring) pay(reference, more, verdict string) string {
	r.Helper()
	v := answer(r, r.do("screener", "POST", "/v1/screen", `{"token":"`+r.token+`","amount":1,"paymentRef":"`+reference+`"`+more+`}`), 200)
	require.Equal(r, verdict, textOf(v, "verdict"), v.String())
	return textOf(v, "txnId")
}

// flood uses so many references that the state forgets all before them.
func (r *referring) flood() {
	r.Helper()
	for range 5 {
		r.other++
		r.pay(fmt.Sprint("f", r.other), "", "PROCEED")
	}
}

// TestReferencesAreKeptForAMonth (line K3): however many references are used after it, a second
// payment with a reference is not let through for 30 days, unless the first one has become free.
func TestReferencesAreKeptForAMonth(t *testing.T) {
	n := newReferring(t)
	hold := `,"hold":{"ttlSeconds":600}`
	paid, held, plain := n.pay("paid", "", "PROCEED"), n.pay("held", hold, "PROCEED"), n.pay("plain", "", "PROCEED")
	n.flood()
	require.NotZero(t, n.UsedFrom())
	twice := n.pay("paid", "", "REVIEW")
	v := answer(t, n.do("auditor", "GET", "/v1/audit/"+twice, ""), 200)
	require.Contains(t, v.String(), `"R25_STRUCTURING"`)
	usedBy := func(reference string, want int) string {
		return textOf(answer(t, n.do("screener", "GET", "/v1/transactions?paymentRef="+reference, ""), want), "txnId")
	}
	require.Equal(t, paid, usedBy("paid", 200))
	usedBy("never", 404)
	dry := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+n.token+`","amount":1,"paymentRef":"paid"}`), 200)
	require.Equal(t, "REVIEW", textOf(dry, "verdict"), dry.String())

	n.Lost.Store(true)
	require.Equal(t, "overloaded", textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":1,"paymentRef":"paid"}`), 503), "code"))
	usedBy("paid", 503)
	answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":1}`), 200) // A call without a reference needs no file.
	n.Lost.Store(false)

	for _, txn := range []string{held, plain} {
		answer(t, n.do("settler", "POST", "/v1/transactions/"+txn+"/release", `{"reason":"r"}`), 200)
	}
	n.flood()
	usedBy("held", 404)
	n.pay("held", "", "PROCEED")
	n.pay("plain", "", "PROCEED")
	n.pay("held", "", "REVIEW")
	n.flood()
	n.pay("plain", "", "REVIEW")
	answer(t, n.do("settler", "POST", "/v1/transactions/"+paid+"/settle", `{}`), 200)
	n.flood()
	require.Equal(t, paid, usedBy("paid", 200), "a settle changes nothing of it")
	n.advance(engine.ReferenceKept - engine.Minute)
	n.confirmList()
	n.flood()
	n.pay("paid", "", "REVIEW")
	n.advance(2 * engine.Minute)
	n.flood()
	n.pay("paid", "", "PROCEED")
}

// TestReferencesOfApprovals: what an officer approves uses its reference, and gives it back when
// the approval lapses. What another payment uses stays used.
func TestReferencesOfApprovals(t *testing.T) {
	n := newReferring(t)
	n.pay("a", "", "PROCEED")
	n.flood()
	const large = `,"amount":11,"hold":{"ttlSeconds":600}`
	reviewed := func(reference string) string {
		v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+n.token+`","paymentRef":"`+reference+`"`+large+`}`), 200)
		require.Equal(t, "REVIEW", textOf(v, "verdict"), v.String())
		return textOf(v, "txnId")
	}
	own, foreign := reviewed("b"), reviewed("a")
	n.flood()
	for _, txn := range []string{own, foreign} {
		answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"o"}`), 200)
	}
	n.flood()
	n.pay("b", "", "REVIEW")
	for _, txn := range []string{own, foreign} {
		answer(t, n.do("settler", "POST", "/v1/transactions/"+txn+"/release", `{"reason":"r"}`), 200)
	}
	n.flood()
	n.pay("b", "", "PROCEED")
	n.pay("a", "", "REVIEW")
}
