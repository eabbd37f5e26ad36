package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

func (n *testNode) batch(items ...string) *httptest.ResponseRecorder {
	return n.do("screener", "POST", "/v1/screen/batch", `{"payments":[`+strings.Join(items, ",")+`]}`)
}

// results returns the results of an answered batch.
func results(t testing.TB, w *httptest.ResponseRecorder) []*fastjson.Value {
	require.Equal(t, 200, w.Code, w.Body)
	v, err := fastjson.ParseBytes(w.Body.Bytes())
	require.NoError(t, err)
	return v.GetArray("results")
}

func payment(token, more string) string { return `{"token":"` + token + `","amount":1` + more + `}` }

// A payment in a batch gets the same status and code as in a call of its own.
func TestBatchIsAsExactAsSingleCalls(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	items := []string{
		payment(token, ""), payment("x", ""), `{}`, `{"token":"x"}`, `{"token":7,"amount":1}`, `{"amount":1,"tokn":"x"}`,
		payment(token, `,"amount":2`), payment(token, `,"cpName":7`), payment(token, `,"cpName":"`+strings.Repeat("é", 513)+`"`),
		payment(token, `,"chain":"`+strings.Repeat("x", 257)+`"`), payment(token, `,"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)),
		payment(token, `,"x":[`+strings.Repeat("1,", 300)+`1]`), payment(token, `,"x":"\ud800"`), payment(token, `,"paymentRef":""`),
		payment(token, `,"cp_name":"x"`), payment(token, `,"hold":null`), payment(token, `,"strange":{"a":1}`),
		payment(token, `,"cpName":"`+strings.Repeat("x", engine.ScreenBodyMax)+`"`), `{"token":"x","amount":1e13}`, `{"token":"x","amount":null}`,
		payment(token, `,"cpWallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"`), payment(token, `,"userToken":"x"`),
	}
	got := results(t, n.batch(items...))
	require.Len(t, got, len(items))
	for i, item := range items {
		// A paymentRef is used once, so the single call needs another.
		single := n.do("screener", "POST", "/v1/screen", strings.Replace(item, `"paymentRef":"r"`, `"paymentRef":"s"`, 1))
		want := fastjson.MustParseBytes(single.Body.Bytes())
		require.Equal(t, single.Code, got[i].GetInt("status"), "%.200s: %s", item, got[i])
		for _, name := range []string{"code", "message", "param", "verdict", "rule", "reason", "agentName", "warnings", "didYouMean"} {
			require.Equal(t, fmt.Sprint(want.Get(name)), fmt.Sprint(got[i].Get(name)), "%.200s", item)
		}
	}
	require.Zero(t, n.api.Large.Held.Load())
}

// A batch that was judged with a stale basis is judged again, but only the payments that
// need it.
func TestBatchIsJudgedAgain(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	_, other := n.register("")
	rounds := 0
	n.before = func(kind wire.Kind) {
		if kind != wire.KindScreen {
			return
		}
		if rounds++; rounds == 1 {
			require.Less(t, n.do("admin", "POST", "/v1/whitelist/entries", `{"name":"x","reason":"r"}`).Code, 300)
		}
	}
	got := results(t, n.batch(payment(token, `,"idempotencyKey":"a"`), payment("x", ""), payment(other, "")))
	require.Equal(t, 2, rounds)
	for i, verdict := range []string{"PROCEED", "UNKNOWN", "PROCEED"} {
		require.Equal(t, verdict, string(got[i].GetStringBytes("verdict")), got[i])
	}
	again := results(t, n.batch(payment(token, `,"idempotencyKey":"a"`)))
	require.Equal(t, string(got[0].GetStringBytes("txnId")), string(again[0].GetStringBytes("txnId")))
	require.True(t, again[0].GetBool("replayed"))
}

// Each payment gets the log's answer to its own record; a 503 states its outcome.
func TestBatchOutcomes(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	errs := []error{wire.ErrUnknown, wire.ErrOverloaded, wire.ErrNoQuorum, wire.ErrTooLarge, errors.New("of the tests")}
	n.many = func(bodies [][]byte) ([]wire.Result, []error) {
		require.Len(t, bodies, len(errs)+1)
		applied, err := n.Propose(t.Context(), wire.KindScreen, bodies[len(errs)])
		require.NoError(t, err)
		return append(make([]wire.Result, len(errs)), applied), append(append([]error{}, errs...), nil)
	}
	items := make([]string, len(errs)+1)
	for i := range items {
		items[i] = payment(token, fmt.Sprintf(`,"idempotencyKey":"k%d"`, i))
	}
	got := results(t, n.batch(items...))
	for i, want := range []struct {
		status        int
		code, outcome string
	}{{503, "outcome_unknown", "unknown"}, {503, "overloaded", "none"}, {503, "no_quorum", "none"}, {413, "payload_too_large", ""}, {500, "internal_error", ""}, {200, "", ""}} {
		require.Equal(t, want.status, got[i].GetInt("status"))
		require.Equal(t, want.code, string(got[i].GetStringBytes("code")))
		require.Equal(t, want.outcome, string(got[i].GetStringBytes("outcome")))
	}
	require.Empty(t, n.api.Idempotent.Running, "no key stays claimed")
}

// When a record is in the log but cannot be read, the payment must not be made anew.
func TestBatchReplayThatCannotBeRead(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	item := payment(token, `,"idempotencyKey":"a"`)
	results(t, n.batch(item))
	n.leafError = errors.New("of the tests")
	got := results(t, n.batch(item, payment(token, "")))
	require.Equal(t, "unknown", string(got[0].GetStringBytes("outcome")), got[0])
	require.Equal(t, 200, got[1].GetInt("status"))
}

// When another call runs with one payment's key, the other payments succeed and the key
// stays claimed.
func TestBatchKeyInFlight(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.before = func(wire.Kind) {
		n.before = nil
		got := results(t, n.batch(payment(token, `,"idempotencyKey":"a"`), payment(token, "")))
		require.Equal(t, 409, got[0].GetInt("status"))
		require.Equal(t, "idempotency_in_flight", string(got[0].GetStringBytes("code")))
		require.Equal(t, 200, got[1].GetInt("status"))
		require.Len(t, n.api.Idempotent.Running, 1)
	}
	got := results(t, n.batch(payment(token, `,"idempotencyKey":"a"`)))
	require.Equal(t, 200, got[0].GetInt("status"))
	require.Empty(t, n.api.Idempotent.Running)
}

func TestBatchLimits(t *testing.T) {
	n := newTestNode(t)
	item := payment("x", "")
	require.Len(t, results(t, n.batch(strings.Split(strings.Repeat(item+"\n", engine.BatchMax-1)+item, "\n")...)), engine.BatchMax)
	size := n.index
	w := n.batch(strings.Split(strings.Repeat(item+"\n", engine.BatchMax)+item, "\n")...)
	require.Equal(t, 422, w.Code)
	w = n.batch(payment("x", `,"x":"`+strings.Repeat("x", engine.BatchBodyMax)+`"`))
	require.Equal(t, 413, w.Code)
	require.Equal(t, size, n.index, "nothing happened")
	require.Zero(t, n.api.Large.Held.Load())

	n.api.Large.Held.Store(border.BatchBytesMax)
	w = n.batch(item)
	require.Equal(t, 503, w.Code)
	require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
	require.EqualValues(t, border.BatchBytesMax, n.api.Large.Held.Load())
}

// The key's rate counts payments, not batches.
func TestBatchIsChargedByPayment(t *testing.T) {
	n := newTestNode(t)
	key := testKey("slow")
	key.Rate, key.Roles = 50, wire.RoleScreener
	n.addKey(key, testSecret("slow"))
	items := `{"payments":[` + strings.Repeat(payment("x", "")+",", 59) + payment("x", "") + `]}`
	require.Equal(t, 200, n.do("slow", "POST", "/v1/screen/batch", items).Code) // This uses 60 of a burst of 100.
	index := n.index
	w := n.do("slow", "POST", "/v1/screen/batch", items)
	require.Equal(t, 429, w.Code)
	require.Equal(t, index, n.index, "nothing happened")
	require.Equal(t, 200, n.do("slow", "POST", "/v1/screen", payment("x", "")).Code)
}

// A payment is not made when its key was revoked meanwhile.
func TestBatchKeyRevokedMeanwhile(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_gone", Roles: wire.RoleScreener}, testSecret("gone"))
	n.before = func(wire.Kind) {
		n.before = nil
		n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_gone"}})
	}
	w := n.do("gone", "POST", "/v1/screen/batch", `{"payments":[`+payment("x", "")+`,7]}`)
	got := results(t, w)
	require.Equal(t, 401, got[0].GetInt("status"))
	require.Equal(t, 400, got[1].GetInt("status"))
}

// A batch of which nothing is known is never told that nothing happened, also where nobody can say
// whether its key is still good.
func TestBatchOfUnknownOutcome(t *testing.T) {
	n := newTestNode(t)
	n.many = func(bodies [][]byte) ([]wire.Result, []error) {
		n.readError = wire.ErrNoLeader
		return make([]wire.Result, len(bodies)), slices.Repeat([]error{wire.ErrUnknown}, len(bodies))
	}
	for _, item := range results(t, n.batch(payment("x", ""), payment("x", ""))) {
		require.Equal(t, "unknown", string(item.GetStringBytes("outcome")), item)
	}
}

// FuzzBatchBody: no body breaks the service, every answer is JSON, and an answered batch
// has one result per payment.
func FuzzBatchBody(f *testing.F) {
	n := newTestNode(f)
	f.Add(`{"payments":[{"token":"x","amount":1,"idempotencyKey":"a"},{"token":"x","amount":1,"idempotencyKey":"a"}]}`)
	f.Add(`{"payments":[{"token":"x","amount":1,"amount":2},7,null,[],{"idempotency_key":1}],"x":1}`)
	f.Add(`{"payments":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		n.t = t
		w := n.do("screener", "POST", "/v1/screen/batch", body)
		require.Contains(t, []int{200, 400, 413, 422, 429}, w.Code, "%q: %s", body, w.Body)
		require.True(t, json.Valid(w.Body.Bytes()))
		require.Empty(t, n.api.Idempotent.Running)
		require.Zero(t, n.api.Large.Held.Load())
		if w.Code != 200 {
			return
		}
		var sent struct{ Payments []any }
		require.NoError(t, json.Unmarshal([]byte(body), &sent))
		got := results(t, w)
		require.Len(t, got, len(sent.Payments))
		for _, result := range got {
			require.Contains(t, []int{200, 400, 413, 422}, result.GetInt("status"), "%s", result)
		}
	})
}
