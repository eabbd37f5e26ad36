package fsm

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// asking makes what an edge sends to confirm or to redeem a recorded payment. change changes the
// judgement of the edge.
func (w *world) asking(b wire.Hold, op uint8, seen uint32, change ...func(*wire.Screen)) wire.Pay {
	s := w.screening(b.Agent, b.Recorded)
	for _, with := range change {
		with(s)
	}
	return wire.Pay{
		Op: op, Leaf: b.Leaf, Agent: b.Agent, Fleet: b.Fleet, Operator: b.Operator, Verdict: b.Verdict, ScreenedAt: b.ScreenedAt, Amount: b.Recorded,
		Reference: b.Reference, Seen: seen, Screener: b.Screener, Now: wire.AppendScreen(nil, s),
	}
}

func (w *world) leave(b wire.Hold, op uint8, seen uint32, change ...func(*wire.Screen)) wire.Result {
	asked := w.asking(b, op, seen, change...)
	return w.do(wire.KindPay, &asked)
}

func hit(rule engine.RuleID, causes ...wire.Cause) func(*wire.Screen) {
	return func(s *wire.Screen) {
		var hits engine.Hits
		hits.Add(rule, 1)
		wire.PackHits(&hits, s)
		s.Causes = causes
	}
}

// said returns state and verdict of a confirmation's leaf.
func said(r wire.Result) string {
	return between(r.Data, `"state":"`, `"`) + " " + between(r.Data, `"verdict":"`, `"`)
}

// TestAConfirmationCountsNothingTwice (statement P18): a payment that fills its limit is confirmed
// while it counts, with a hold and without one.
func TestAConfirmationCountsNothingTwice(t *testing.T) {
	for _, seconds := range []uint32{0, 600} {
		w := newWorld(t)
		slot, _ := w.register("a", dailyLimit(100))
		b := w.held(slot, 100, seconds, 7)
		for range 3 {
			r := w.leave(b, wire.PayConfirm, 0)
			require.Equal(t, wire.Applied, r.Code, "%+v", r)
			require.Equal(t, "held PROCEED", said(r))
			require.Equal(t, engine.USD(100), w.books(slot)[0]+w.books(slot)[1])
		}
		require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 1)))
		require.Equal(t, wire.Applied, w.settle(b, 100).Code)
		require.Equal(t, [2]engine.USD{100, 0}, w.books(slot))
		refused := w.leave(b, wire.PayConfirm, 0)
		require.Equal(t, wire.RefusedUsed, refused.Refusal, "settled")
	}
}

// TestAPaymentIsRedeemedOnce (statements P11 and P12): the first one gets it, all others learn which
// leaf took it. A settle consumes it too.
func TestAPaymentIsRedeemedOnce(t *testing.T) {
	for _, seconds := range []uint32{0, 600} {
		w := newWorld(t)
		slot, _ := w.register("a", dailyLimit(100))
		b := w.held(slot, 60, seconds, 0)
		first := w.asking(b, wire.PayRedeem, 0)
		first.Idem = &wire.Idem{Key: [16]byte{1}, Body: [16]byte{2}}
		r := w.do(wire.KindPay, &first)
		require.Equal(t, "redeemed PROCEED", said(r))
		require.Contains(t, string(r.Data), `"kind":"payment.redeemed"`)
		again := w.do(wire.KindPay, &first)
		require.Equal(t, wire.Replayed, again.Code)
		require.Equal(t, r.Leaf, again.Leaf)
		for _, op := range []uint8{wire.PayRedeem, wire.PayConfirm, wire.PayConfirm | wire.PayRedeem} {
			refused := w.leave(b, op, 0)
			require.Equal(t, wire.RefusedUsed, refused.Refusal)
			require.Equal(t, r.Leaf, refused.Value)
		}
		require.Equal(t, engine.USD(60), w.books(slot)[0]+w.books(slot)[1])
		settled := w.settle(b, 60)
		require.Equal(t, wire.Applied, settled.Code)
		require.NotContains(t, string(settled.Data), "unpermitted")
		require.Equal(t, settled.Leaf, w.leave(b, wire.PayRedeem, 0).Value)
	}
}

// TestARedeemedPaymentNeverReturns (statement P14): whatever the policy says, it goes on counting, and
// one alert tells of it.
func TestARedeemedPaymentNeverReturns(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a", dailyLimit(100))
	b, other := w.held(slot, 60, 60, 0), w.held(slot, 30, 60, 0)
	require.Equal(t, wire.Applied, w.leave(b, wire.PayRedeem, 0).Code)
	w.now += engine.Minute
	w.tick()
	require.Equal(t, [2]engine.USD{0, 60}, w.books(slot), "the other one came back")
	require.Len(t, w.leavesOf(leaf.KindAlertOpened), 1)
	require.Contains(t, w.leavesOf(leaf.KindAlertOpened)[0], `"alert":"unresolved_payment"`)
	w.tick()
	require.Empty(t, w.out.Leaves, "told once")
	require.Equal(t, wire.RefusedUsed, w.leave(b, wire.PayConfirm, 0).Refusal)
	require.Equal(t, wire.RefusedEnded, w.leave(other, wire.PayConfirm, 0).Refusal)
	require.Equal(t, wire.Applied, w.release(b).Code)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot))
}

// TestAnIdleAgentsPaymentIsConfirmed: the ledger forgets what an agent did when it was idle for a day, and
// a payment of it that waits can be confirmed.
func TestAnIdleAgentsPaymentIsConfirmed(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	b := w.held(slot, 60, 7*24*3600, 0)
	w.now += 3 * engine.DayLength
	w.tick()
	require.Zero(t, w.m.registry.agents.At(uint64(slot)).Activity)
	require.Equal(t, "held PROCEED", said(w.leave(b, wire.PayConfirm, 0)))
	require.Equal(t, "redeemed PROCEED", said(w.leave(b, wire.PayConfirm|wire.PayRedeem, 0)))
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// TestWhatIsToBeRedeemed (statements P10 and P22): by the policy a settle of what was not redeemed is
// booked, marked, and told by one alert; where everything is to be redeemed, what nobody redeemed
// returns.
func TestWhatIsToBeRedeemed(t *testing.T) {
	for need, marked := range map[engine.PermitNeed][2]bool{engine.PermitOfNone: {}, engine.PermitOfReview: {false, true}, engine.PermitOfAll: {true, true}} {
		w := newWorld(t)
		policy := *engine.DefaultPolicy()
		policy.PermitNeed = need
		require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
		slot, _ := w.register("a", dailyLimit(100))
		for i, dollars := range []engine.USD{40, 130} { // A PROCEED, and a REVIEW that is approved.
			b := w.held(slot, dollars, 600, 0)
			if i == 1 {
				w.approval(b)
			}
			r := w.settle(b, dollars)
			require.Equal(t, wire.Applied, r.Code)
			alerts := w.leavesOf(leaf.KindAlertOpened)
			if marked[i] {
				require.Contains(t, string(r.Data), `"unpermitted":true`)
				require.Contains(t, alerts[len(alerts)-1], `"alert":"unpermitted"`)
			} else {
				require.NotContains(t, string(r.Data), "unpermitted")
			}
			counted := w.books(slot)
			if w.held(slot, 1, 60, 0); need == engine.PermitOfAll && w.books(slot) != counted {
				w.now += engine.Minute
				w.tick()
				require.Equal(t, counted, w.books(slot), "it cannot have been made")
			}
		}
	}
}

// approval approves a payment.
func (w *world) approval(b wire.Hold) wire.Result {
	require.Equal(w.t, engine.Review, b.Verdict)
	r := w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Approved, Agent: b.Agent, Fleet: b.Fleet, Operator: b.Operator, Amount: b.Recorded})
	require.Equal(w.t, wire.Applied, r.Code)
	return r
}

// TestAnApprovalIsJudgedAgain (statements P13, P16, P17, P19 and P20): by what is true now, but for the
// rules that the officer saw.
func TestAnApprovalIsJudgedAgain(t *testing.T) {
	const seen = 1 << engine.RuleDailyLimit
	begin := func() (*world, wire.Hold) {
		w := newWorld(t)
		slot, _ := w.register("a", dailyLimit(100))
		b := w.held(slot, 130, 0, 0)
		require.Equal(t, wire.RefusedWaiting, w.leave(b, wire.PayConfirm, seen).Refusal)
		return w, b
	}
	w, b := begin()
	w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.EscalateSAR, Agent: b.Agent, Amount: b.Recorded})
	require.Equal(t, wire.RefusedWaiting, w.leave(b, wire.PayConfirm, seen).Refusal, "escalated is as open")
	w, b = begin()
	w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Rejected, Agent: b.Agent, Amount: b.Recorded})
	require.Equal(t, wire.RefusedRejected, w.leave(b, wire.PayConfirm, seen).Refusal)

	w, b = begin()
	w.approval(b)
	require.Equal(t, "held PROCEED", said(w.leave(b, wire.PayConfirm, seen)))
	require.Equal(t, "held REVIEW", said(w.leave(b, wire.PayConfirm, 0)), "another limit than the officer saw")
	require.Equal(t, "held REVIEW", said(w.leave(b, wire.PayConfirm|wire.PayRedeem, seen, hit(engine.RulePossibleName))))
	require.Equal(t, "redeemed PROCEED", said(w.leave(b, wire.PayRedeem, seen, hit(engine.RulePossibleName))), "a redeem asks the BLOCK rules alone")

	w, b = begin()
	w.approval(b)
	w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(b.Agent), To: engine.Revoked})
	r := w.leave(b, wire.PayRedeem, seen)
	require.Equal(t, "released BLOCK", said(r))
	require.Contains(t, string(r.Data), `"rule":"R2_`)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(b.Agent))
	require.Len(t, w.leavesOf(leaf.KindHoldReleased), 1)
	require.Equal(t, wire.RefusedEnded, w.leave(b, wire.PayConfirm, seen).Refusal)

	w, b = begin()
	w.approval(b)
	require.Equal(t, "released BLOCK", said(w.leave(b, wire.PayConfirm, seen, hit(engine.RulePartyWallet, wire.PartyCause(7)))))
	require.Len(t, w.leavesOf(leaf.KindSanctionsOpened), 1)
	row := w.sanctionsCases()[0]
	require.Equal(t, b.Leaf, row.First)
	require.Greater(t, row.Last, b.Leaf)

	w, b = begin()
	w.approval(b)
	w.now += 24*engine.Hour - 1
	require.Equal(t, wire.Applied, w.leave(b, wire.PayConfirm, seen).Code)
	w.now++
	require.Equal(t, wire.RefusedLapsed, w.leave(b, wire.PayConfirm, seen).Refusal)
}

// TestConfirmationsAreBounded (statement P21), as is the time in which a payment without a hold can be
// confirmed.
func TestConfirmationsAreBounded(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 60, 0, 0)
	for range w.m.limits.ConfirmsMost {
		require.Equal(t, wire.Applied, w.leave(b, wire.PayConfirm, 0).Code)
	}
	require.Equal(t, wire.RefusedConfirms, w.leave(b, wire.PayConfirm, 0).Refusal)
	require.Equal(t, wire.Applied, w.leave(b, wire.PayRedeem, 0).Code)

	b = w.held(slot, 1, 0, 0)
	w.now = (b.ScreenedAt.Day() + 2).Start() - 1
	asked := w.asking(b, wire.PayRedeem, 0)
	asked.Until = w.now
	require.Equal(t, wire.RefusedPermitOver, w.do(wire.KindPay, &asked).Refusal)
	require.Equal(t, "held PROCEED", said(w.leave(b, wire.PayConfirm, 0)), "limits of a day that is over are not judged")
	b = w.held(slot, 2, 0, 0)
	w.now = (b.ScreenedAt.Day() + 2).Start()
	require.Equal(t, wire.RefusedLapsed, w.leave(b, wire.PayConfirm, 0).Refusal)
	for _, refused := range []wire.Hold{{Leaf: b.Leaf, Agent: slot, Verdict: engine.Block}, {Leaf: b.Leaf, Agent: slot, Verdict: engine.Unknown}} {
		require.Equal(t, wire.RefusedNoLeave, w.leave(refused, wire.PayConfirm, 0).Refusal)
	}
}

// TestAJudgementIsReadAgain: the leaf holds the judgement as a screening record, with its profile, its
// place and its permit.
func TestAJudgementIsReadAgain(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 60, 600, 0)
	r := w.leave(b, wire.PayConfirm, 0, func(s *wire.Screen) { s.Permit = 120 })
	data, err := base64.StdEncoding.DecodeString(between(r.Data, `"judged":"`, `"`))
	require.NoError(t, err)
	var x leaf.Screen
	require.NoError(t, leaf.DecodeScreen(data, &x))
	require.Equal(t, r.Leaf, x.Leaf)
	require.Equal(t, uint32(120), x.PermitSeconds)
	require.Equal(t, b.ScreenedAt+600*engine.Second, x.HoldUntil)
	require.NotZero(t, x.Profile.Hash)
	require.Equal(t, between(r.Data, `"txnId":"txn_`, `"`), string(x.Txn[:]))
	require.Equal(t, 60*engine.Dollar, x.Levels[0].Held, "what is judged stands in the counters")
}

// payAgain confirms or redeems one of the latest payments of a random history.
func (w *world) payAgain(random *rand.Rand) {
	if len(w.paid) == 0 {
		return
	}
	b := w.paid[len(w.paid)-1-random.IntN(min(len(w.paid), 12))]
	seen := uint32(0)
	if random.IntN(2) == 0 {
		seen = 1<<engine.RuleDailyLimit | 1<<engine.RuleFleetLimit
	}
	asked := w.asking(b, uint8(1+random.IntN(3)), seen, func(s *wire.Screen) {
		switch random.IntN(12) {
		case 0:
			hit(engine.RulePartyWallet, wire.PartyCause(uint32(random.IntN(3)+1)))(s)
		case 1:
			hit(engine.RulePossibleName)(s)
		case 2:
			s.Permit = 60
		}
	})
	asked.Common = keyedOnce(random)
	w.do(wire.KindPay, &asked)
}

// TestABlockReturnsOnlyWhatNobodyCouldPay: whoever spends must not get its budget back by making its own
// payment a BLOCK. What had leave goes on counting, with a hold and without one.
func TestABlockReturnsOnlyWhatNobodyCouldPay(t *testing.T) {
	for name, seconds := range map[string]uint32{"with a hold": 600, "without": 0} {
		w := newWorld(t)
		slot, _ := w.register("a", dailyLimit(100))
		b := w.held(slot, 60, seconds, 0)
		turn := func(to engine.Status) {
			w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(slot), To: to})
		}
		turn(engine.Suspended)
		for range 3 {
			require.Equal(t, "held BLOCK", said(w.leave(b, wire.PayConfirm, 0)), name)
			require.Equal(t, engine.USD(60), w.books(slot)[0]+w.books(slot)[1], name)
		}
		turn(engine.Active)
		require.Equal(t, "held PROCEED", said(w.leave(b, wire.PayConfirm, 0)), name)
		turn(engine.Suspended)
		require.Equal(t, "held BLOCK", said(w.leave(b, wire.PayRedeem, 0)), name)
		require.Equal(t, engine.USD(60), w.books(slot)[0]+w.books(slot)[1], name)
	}
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 130, 0, 0)
	w.approval(b)
	require.Equal(t, "held PROCEED", said(w.leave(b, wire.PayConfirm, 1<<engine.RuleDailyLimit)))
	w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Revoked})
	require.Equal(t, "held BLOCK", said(w.leave(b, wire.PayConfirm, 1<<engine.RuleDailyLimit)), "it was confirmed, so it may have been paid")
	require.Equal(t, [2]engine.USD{0, 130}, w.books(slot))
}
