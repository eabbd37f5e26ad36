package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/engine/permit"
	"railguard/fsm/wire"
	"railguard/httpapi/x402"
)

// x402World is a node with its facilitator, and an agent that may pay 5 dollars at once.
type x402World struct {
	*testNode
	facilitator  http.Handler
	agent, token string
	number       int
	sent         int         // How many payments the facilitator behind made.
	silent       atomic.Bool // Its answers get lost.
	refuses      string      // The reason for which it makes none; "": none.
}

func newX402World(t *testing.T, options string) *x402World {
	w := &x402World{testNode: newTestNode(t)}
	w.addSettler()
	w.agent, w.token = w.registered(options)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case w.refuses != "":
			_, _ = io.WriteString(answer, `{"isValid":false,"success":false,"invalidReason":"`+w.refuses+`","errorReason":"`+w.refuses+`"}`)
			return
		case r.URL.Path == "/settle":
			w.sent++
		}
		if w.silent.Load() {
			answer.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		_, _ = io.WriteString(answer, `{"isValid":true,"success":true,"transaction":"0x01","network":"eip155:8453"}`)
	}))
	t.Cleanup(server.Close)
	var err error
	w.facilitator, err = x402.New(x402.Config{API: http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) { w.api.Handler().ServeHTTP(answer, r) }), Upstream: server.URL, Now: w.wallClock})
	require.NoError(t, err)
	return w
}

// payment is a payment of so many units with a nonce of its own.
func (w *x402World) payment(units string) *paymentBody {
	w.number++
	p := newPayment(w.token, 2, w.number)
	p.wanted["amount"], p.accepted["amount"], p.signed["value"] = units, units, units
	return p
}

func (w *x402World) info(p *paymentBody) object { return p.ids["railguard"].(object)["info"].(object) }

func (w *x402World) callAs(key, path string, p *paymentBody) *fastjson.Value {
	w.t.Helper()
	got := sendTo(w.facilitator, key, "/x402/"+path, p.write(w.t))
	require.Equal(w.t, 200, got.Code, got.Body.String())
	return fastjson.MustParseBytes(got.Body.Bytes())
}

func (w *x402World) verify(p *paymentBody) *fastjson.Value {
	w.t.Helper()
	return w.callAs("screener", "verify", p)
}
func (w *x402World) settle(p *paymentBody) *fastjson.Value {
	w.t.Helper()
	return w.callAs("screener", "settle", p)
}

// refused demands that verify or settle refused with a reason, and returns the transaction.
func (w *x402World) refused(got *fastjson.Value, reason string) string {
	w.t.Helper()
	require.False(w.t, got.GetBool("isValid") || got.GetBool("success"), got.String())
	require.Equal(w.t, reason, textOf(got, "invalidReason")+textOf(got, "errorReason"), got.String())
	return textOf(got, "extensions", "railguard", "txnId")
}

func (w *x402World) decide(txn, disposition string) {
	w.t.Helper()
	answer(w.t, w.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"`+disposition+`","reviewedBy":"Carla"}`), 200)
}

// reviews returns how many records are REVIEWs.
func (w *x402World) reviews() int {
	w.t.Helper()
	return len(answer(w.t, w.do("auditor", "GET", "/v1/audit?verdict=REVIEW&limit=100", ""), 200).GetArray("data"))
}

func (w *x402World) record(txn string) *fastjson.Value {
	w.t.Helper()
	return answer(w.t, w.do("screener", "GET", "/v1/audit/"+txn, ""), 200)
}

func (w *x402World) limits() (held, spent int) {
	w.t.Helper()
	limits := answer(w.t, w.do("screener", "GET", "/v1/agents/"+w.agent+"/limits", ""), 200)
	return limits.GetInt("heldUSDC"), limits.GetInt("spentUSDC")
}

const atMostFive = `,"spendPolicy":{"maxSingleTxUSDC":5}`

// TestApprovedReviewIsPaidOnceOverX402 (statements P24, P25): while a review waits, and while it is approved
// and not used, no payment of the same parties, token and units opens another one. Approved, it is paid
// once, by whichever nonce comes; then the next payment is screened anew.
func TestApprovedReviewIsPaidOnceOverX402(t *testing.T) {
	w := newX402World(t, atMostFive)
	first := w.payment("20000000")
	txn := w.refused(w.verify(first), "railguard_review")
	require.Equal(t, txn, w.refused(w.verify(first), "railguard_review"))
	require.Equal(t, txn, w.refused(w.verify(w.payment("20000000")), "railguard_review"), "another nonce")
	require.Equal(t, txn, w.refused(w.settle(w.payment("20000000")), "railguard_review"), "and without verify")
	require.Equal(t, 1, w.reviews())
	w.decide(txn, "APPROVED")

	again := w.verify(first)
	require.True(t, again.GetBool("isValid"), "the same body is not answered by its old REVIEW: %s", again)
	require.Equal(t, txn, textOf(again, "extensions", "railguard", "txnId"))
	require.Equal(t, "PROCEED", textOf(again, "extensions", "railguard", "verdict"))
	second := w.payment("20000000")
	require.True(t, w.verify(second).GetBool("isValid"))
	require.Zero(t, w.sent)
	paid := w.settle(second)
	require.True(t, paid.GetBool("success"), paid.String())
	require.Equal(t, txn, textOf(paid, "extensions", "railguard", "txnId"))
	require.Equal(t, 1, w.sent)
	require.Equal(t, "settled", textOf(w.record(txn), "payment", "state"))
	require.Equal(t, "redeemed", textOf(w.record(txn), "approval", "state"))
	held, spent := w.limits()
	require.Equal(t, []int{0, 20}, []int{held, spent})

	w.refused(w.settle(second), "duplicate_settlement")
	w.refused(w.verify(second), "railguard_already_settled")
	w.refused(w.verify(first), "railguard_already_settled")
	w.refused(w.settle(first), "duplicate_settlement")
	require.Equal(t, 1, w.sent, "one leave is one payment")
	require.Equal(t, 1, w.reviews())
	next := w.refused(w.verify(w.payment("20000000")), "railguard_review")
	require.NotEqual(t, txn, next, "the next one is screened anew")
	require.Equal(t, 2, w.reviews())
	require.Empty(t, answer(t, w.do("reviewer", "GET", "/v1/alerts", ""), 200).GetArray("data"))
}

// TestAReviewIsOfOnePayment: what another payer, payee, token, amount, agent or owner asks has a review
// of its own, and two payments that need no review are two.
func TestAReviewIsOfOnePayment(t *testing.T) {
	w := newX402World(t, atMostFive)
	w.addKey(wire.APIKey{ID: "key_other", Owner: "cal_aaaaaaaaaaaa", Roles: wire.RoleScreener}, testSecret("other"))
	txn := w.refused(w.verify(w.payment("20000000")), "railguard_review")
	_, stranger := w.registered(atMostFive)
	for name, change := range map[string]func(p *paymentBody){
		"payer": func(p *paymentBody) { p.signed["from"] = "0x0000000000000000000000000000000000000777" },
		"payee": func(p *paymentBody) {
			p.signed["to"], p.wanted["payTo"], p.accepted["payTo"] = honestPayer, honestPayer, honestPayer
		},
		"network": func(p *paymentBody) {
			for _, terms := range []object{p.wanted, p.accepted} {
				terms["network"], terms["asset"] = x402.Published[0].Network, x402.Published[0].Address
			}
		},
		"units": func(p *paymentBody) {
			p.wanted["amount"], p.accepted["amount"], p.signed["value"] = "20000001", "20000001", "20000001"
		},
		"agent": func(p *paymentBody) { w.info(p)["token"] = stranger },
	} {
		p := w.payment("20000000")
		change(p)
		require.NotEqual(t, txn, w.refused(w.verify(p), "railguard_review"), name)
	}
	require.NotEqual(t, txn, w.refused(w.callAs("other", "verify", w.payment("20000000")), "railguard_review"), "another owner")
	before := w.reviews()
	p := w.payment("20000000")
	p.signed["from"], p.wanted["payTo"] = strings.ToLower(honestPayer), strings.ToLower(honestPayee)
	p.accepted["payTo"] = p.wanted["payTo"]
	require.Equal(t, txn, w.refused(w.verify(p), "railguard_review"), "in other letter case it is the same")
	require.Equal(t, before, w.reviews())
	for range 2 {
		p := w.payment("1000000")
		require.True(t, w.verify(p).GetBool("isValid"))
		require.True(t, w.settle(p).GetBool("success"))
	}
	require.Equal(t, 2, w.sent, "to buy the same thing twice is two payments")
}

// TestAReviewThatIsOverGivesNoLeave: rejected, lapsed, or blocked since.
func TestAReviewThatIsOverGivesNoLeave(t *testing.T) {
	t.Run("rejected", func(t *testing.T) {
		w := newX402World(t, atMostFive)
		p := w.payment("20000000")
		txn := w.refused(w.verify(p), "railguard_review")
		w.decide(txn, "REJECTED")
		got := w.verify(p)
		require.Equal(t, txn, w.refused(got, "railguard_review"))
		require.Contains(t, textOf(got, "invalidMessage"), "rejected")
		require.NotEqual(t, txn, w.refused(w.verify(w.payment("20000000")), "railguard_review"))
	})
	t.Run("escalated is as waiting", func(t *testing.T) {
		w := newX402World(t, atMostFive)
		p := w.payment("20000000")
		first := w.verify(p)
		require.Equal(t, first.String(), w.verify(p).String())
		w.decide(w.refused(first, "railguard_review"), "ESCALATE_SAR")
		require.Equal(t, first.String(), w.verify(p).String())
		require.Equal(t, 1, w.reviews())
	})
	t.Run("lapsed", func(t *testing.T) {
		w := newX402World(t, atMostFive)
		p := w.payment("20000000")
		txn := w.refused(w.verify(p), "railguard_review")
		w.decide(txn, "APPROVED")
		w.advance(24*engine.Hour - engine.Second)
		w.confirmList()
		got := w.verify(p)
		require.True(t, got.GetBool("isValid"), "%s it is good as long as the policy says, not as long as one signed payment", got)
		w.advance(2 * engine.Second)
		w.refused(w.verify(p), "railguard_unresolved")
		w.refused(w.settle(p), "railguard_unresolved")
		require.NotEqual(t, txn, w.refused(w.verify(w.payment("20000000")), "railguard_review"))
		require.Zero(t, w.sent)
	})
	t.Run("suspended since", func(t *testing.T) {
		w := newX402World(t, atMostFive)
		p := w.payment("20000000")
		txn := w.refused(w.verify(p), "railguard_review")
		w.decide(txn, "APPROVED")
		require.True(t, w.verify(p).GetBool("isValid"))
		answer(t, w.do("admin", "POST", "/v1/agents/"+w.agent+"/suspend", `{"reason":"stolen key"}`), 200)
		require.Equal(t, txn, w.refused(w.settle(p), "railguard_block"))
		require.Zero(t, w.sent)
		require.Equal(t, "held", textOf(w.record(txn), "payment", "state"))
	})
	t.Run("tells more than the officer saw", func(t *testing.T) {
		w := newX402World(t, atMostFive)
		p := w.payment("20000000")
		txn := w.refused(w.verify(p), "railguard_review")
		w.decide(txn, "APPROVED")
		more := w.payment("20000000")
		more.wanted["x"] = []string{listedWallet}
		got := w.verify(more)
		require.Equal(t, txn, w.refused(got, "railguard_review"))
		require.Contains(t, textOf(got, "invalidMessage"), "did not see")
		w.refused(w.settle(more), "railguard_review")
		require.Zero(t, w.sent)
		require.Equal(t, 1, w.reviews())
	})
}

// TestReviewNamedByThePayment: a payment that names a review takes the leave of that one or none, and
// is not screened anew.
func TestReviewNamedByThePayment(t *testing.T) {
	w := newX402World(t, atMostFive)
	txn := w.refused(w.verify(w.payment("20000000")), "railguard_review")
	named := w.payment("20000000")
	w.info(named)["txnId"] = txn
	require.Equal(t, txn, w.refused(w.verify(named), "railguard_review"))
	w.decide(txn, "APPROVED")
	other := w.payment("30000000")
	w.info(other)["txnId"] = txn
	w.refused(w.verify(other), "railguard_hold_ended")
	w.refused(w.settle(other), "railguard_hold_ended")
	require.True(t, w.verify(named).GetBool("isValid"))
	require.True(t, w.settle(named).GetBool("success"))
	late := w.payment("20000000")
	w.info(late)["txnId"] = txn
	w.refused(w.verify(late), "railguard_hold_ended")
	require.Equal(t, 1, w.reviews())
	require.Equal(t, 1, w.sent)
}

// TestReviewIsFoundAfterARestart: what the review is, every node finds in history, beyond what the state
// remembers of the call.
func TestReviewIsFoundAfterARestart(t *testing.T) {
	w := newX402World(t, atMostFive)
	p := w.payment("20000000")
	txn := w.refused(w.verify(p), "railguard_review")
	w.advance(29 * engine.DayLength)
	w.confirmList()
	w.reopen(nil)
	require.Equal(t, txn, w.refused(w.verify(w.payment("20000000")), "railguard_review"))
	w.decide(txn, "APPROVED")
	paid := w.payment("20000000")
	require.True(t, w.settle(paid).GetBool("success"))
	w.advance(25 * engine.Hour) // The key of the call that took the leave is forgotten.
	w.confirmList()
	w.reopen(nil)
	w.refused(w.settle(paid), "duplicate_settlement")
	require.Equal(t, 1, w.sent)
}

// TestLeaveOfALostAnswerIsTaken: the answer to a payment with an officer's leave is lost. The leave is
// taken, the payment counts, and only the same call learns of its outcome; no review is opened by it.
func TestLeaveOfALostAnswerIsTaken(t *testing.T) {
	w := newX402World(t, atMostFive)
	p := w.payment("20000000")
	p.ids["payment-identifier"] = object{"info": object{"id": "payment_0123456789"}}
	txn := w.refused(w.verify(p), "railguard_review")
	w.decide(txn, "APPROVED")
	w.silent.Store(true)
	lost := w.settle(p)
	require.Equal(t, txn, w.refused(lost, "settlement_pending"))
	require.Equal(t, "unresolved", textOf(lost, "extensions", "railguard", "state"))
	w.silent.Store(false)
	w.refused(w.settle(p), "settlement_pending")
	require.Equal(t, 1, w.sent)
	other := w.payment("20000000")
	require.NotEqual(t, txn, w.refused(w.settle(other), "railguard_review"), "its leave is taken: another payment is screened anew")
	w.advance(engine.Hour)
	w.confirmList()
	again := w.settle(p)
	require.True(t, again.GetBool("success"), again.String())
	require.Equal(t, "settled", textOf(w.record(txn), "payment", "state"))
	replayed := w.settle(p)
	require.True(t, replayed.GetBool("extensions", "railguard", "replayed"), replayed.String())
	require.Equal(t, 2, w.sent)
	require.Equal(t, 2, w.reviews())
}

// TestUpstreamRefusalKeepsTheLeave: a payment that cannot be made at verify takes no leave; one that
// fails for certain at settle has used it.
func TestUpstreamRefusalKeepsTheLeave(t *testing.T) {
	w := newX402World(t, atMostFive)
	txn := w.refused(w.verify(w.payment("20000000")), "railguard_review")
	w.decide(txn, "APPROVED")
	w.refuses = "insufficient_funds"
	w.refused(w.verify(w.payment("20000000")), "insufficient_funds")
	require.Equal(t, "open", textOf(w.record(txn), "approval", "state"))
	p := w.payment("20000000")
	w.refused(w.settle(p), "insufficient_funds")
	require.Equal(t, "released", textOf(w.record(txn), "payment", "state"))
	w.refuses = ""
	w.refused(w.settle(p), "insufficient_funds")
	require.Zero(t, w.sent)
}

// TestLostAnswersSpendTheLimitOnce (statement P15): four payments of 5 dollars within a limit of 5, of
// which every answer is lost: 5 dollars moved, and nothing of the limit is left.
func TestLostAnswersSpendTheLimitOnce(t *testing.T) {
	w := newX402World(t, `,"spendPolicy":{"dailyLimitUSDC":5}`)
	w.silent.Store(true)
	for i := range 4 {
		p := w.payment("5000000")
		if got := w.settle(p); i == 0 {
			w.refused(got, "settlement_pending")
		} else {
			w.refused(got, "railguard_review")
		}
		w.advance(10 * engine.Minute)
		w.settle(p)
	}
	held, spent := w.limits()
	require.Equal(t, []int{5, 0}, []int{held, spent})
	unresolved := answer(t, w.do("settler", "GET", "/v1/transactions/unresolved", ""), 200).GetArray("data")
	require.Len(t, unresolved, 1)
	require.Equal(t, 5, unresolved[0].GetInt("amount"))
	require.Equal(t, "unresolved", textOf(w.record(textOf(unresolved[0], "txnId")), "payment", "state"))
	require.Equal(t, "unresolved_payment", textOf(answer(t, w.do("reviewer", "GET", "/v1/alerts?kind=unresolved_payment", ""), 200), "data", "0", "kind"))
}

// TestPermitOverX402 (statement P03): verify gives a permit for the origin of the resource, which names
// token, units and nonce, and the same bytes again to the same body, on a node that restarted too.
func TestPermitOverX402(t *testing.T) {
	w := newX402World(t, atMostFive)
	p := w.payment("10000")
	w.info(p)["permit"] = true
	got := w.verify(p)
	require.True(t, got.GetBool("isValid"), got.String())
	token := textOf(got, "extensions", "railguard", "permit")
	pay := func(p *paymentBody) *permit.Pay {
		var signed struct{ Value, Nonce string }
		data, err := json.Marshal(p.signed)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &signed))
		amount, err := engine.ParseUSD(map[string]string{"10000": "0.01", "20000000": "20"}[signed.Value])
		require.NoError(t, err)
		return &permit.Pay{
			Amount: amount, Asset: "eip155:8453/erc20:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Units: signed.Value, Nonce: signed.Nonce, Chain: "BASE", Rail: "USDC",
			Payee: strings.ToLower(honestPayee), Payer: strings.ToLower(honestPayer), Ref: textOf(w.record(textOf(got, "extensions", "railguard", "txnId")), "_request", "paymentRef"),
		}
	}
	claims, err := w.verifyPermit(token, "https://shop.example.org", pay(p))
	require.NoError(t, err)
	require.Equal(t, 60*engine.Second, claims.Expires-claims.IssuedAt, "as long as the payment's own time")
	w.reopen(nil)
	require.Equal(t, token, textOf(w.verify(p), "extensions", "railguard", "permit"))
	require.Nil(t, w.verify(w.payment("10000")).Get("extensions", "railguard", "permit"), "nothing is signed unasked")
	w.resourceless(p)
	require.Nil(t, w.verify(p).Get("extensions", "railguard", "permit"))

	reviewed := w.payment("20000000")
	w.info(reviewed)["permit"] = true
	got = w.verify(reviewed)
	require.Nil(t, got.Get("extensions", "railguard", "permit"), "none for a REVIEW")
	txn := w.refused(got, "railguard_review")
	w.decide(txn, "APPROVED")
	other := w.payment("20000000")
	w.info(other)["permit"] = true
	got = w.verify(other)
	_, err = w.verifyPermit(textOf(got, "extensions", "railguard", "permit"), "https://shop.example.org", pay(other))
	require.NoError(t, err, "the permit of a confirmation names the nonce that is to be paid")
}

// resourceless takes away what a payment says of its resource, and gives it another nonce.
func (w *x402World) resourceless(p *paymentBody) {
	w.number++
	p.signed["nonce"] = newPayment("", 2, w.number).signed["nonce"]
	delete(p.payload, "resource")
}
