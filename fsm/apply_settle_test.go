package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// keyed returns a record's common part with the row of a new key that has these roles.
func (w *world) keyWith(id string, roles wire.APIKey) wire.Common {
	roles.ID, roles.Name, roles.Hashes = id, id, key32(byte(len(w.m.settings.Keys)+40))
	require.Equal(w.t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: roles}).Code)
	row := uint32(len(w.m.settings.Keys))
	return wire.Common{Key: &wire.KeyRef{Row: row, Rev: w.m.settings.Keys[row-1].Rev}}
}

// TestTheSpenderGivesNothingBack (line T1): what was told PROCEED counts until somebody else
// than the key that screened says otherwise.
func TestTheSpenderGivesNothingBack(t *testing.T) {
	w := newWorld(t)
	spender := w.keyWith("spender", wire.APIKey{Roles: wire.RoleScreener | wire.RoleSettler})
	colleague := w.keyWith("colleague", wire.APIKey{Roles: wire.RoleScreener})
	settler := w.keyWith("settler", wire.APIKey{Roles: wire.RoleSettler})
	slot, _ := w.register("a", dailyLimit(100))
	for name, seconds := range map[string]uint32{"held": 60, "not held": 0} {
		b := w.held(slot, 40, seconds, 0)
		b.Screener = spender.Key.Row
		counted := w.books(slot)
		for _, common := range []wire.Common{spender, colleague} {
			b.Common = common
			require.Equal(t, wire.RefusedSettler, w.release(b).Refusal, name)
			require.Equal(t, wire.RefusedSettler, w.settle(b, 0).Refusal, name)
			require.Equal(t, wire.RefusedSettler, w.settle(b, 39).Refusal, name)
			require.Equal(t, counted, w.books(slot), name)
		}
		b.Common = settler
		require.Equal(t, wire.Applied, w.settle(b, 1).Code, name)
	}
	require.Equal(t, [2]engine.USD{2, 0}, w.books(slot))
	for _, c := range []struct {
		amount engine.USD
		counts engine.USD
	}{{10, 10}, {15, 15}} { // It confirms, or raises.
		b := w.held(slot, 10, 60, 0)
		b.Screener, b.Common = spender.Key.Row, spender
		before := w.books(slot)[0]
		require.Equal(t, wire.Applied, w.settle(b, c.amount).Code)
		require.Equal(t, before+c.counts, w.books(slot)[0])
	}
	b := w.held(slot, 10, 60, 0)
	b.Screener, b.Common, b.Forwarded = spender.Key.Row, spender, true
	require.Equal(t, wire.Applied, w.release(b).Code, "the facilitator saw that it was not made")

	self := *engine.DefaultPolicy()
	self.SettlementSelf = true
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: self}).Code)
	b = w.held(slot, 10, 60, 0)
	b.Screener, b.Common = spender.Key.Row, spender
	require.Equal(t, wire.Applied, w.release(b).Code)
}

// TestUndecidedReviewIsNotSettledAway: a review that somebody settled for nothing before it
// was approved would count nothing afterwards.
func TestUndecidedReviewIsNotSettledAway(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	b := w.held(slot, 20, 0, 0)
	require.Equal(t, engine.Review, b.Verdict)
	b.Screener = 0
	require.Equal(t, wire.RefusedSettler, w.settle(b, 0).Refusal)
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Rejected, Agent: slot, Amount: b.Recorded}).Code)
	r := w.settle(b, 5)
	require.Contains(t, string(r.Data), `"notAllowed":true`, "what was made although it was refused is told")
	require.Equal(t, [2]engine.USD{5, 0}, w.books(slot))
}

// TestHoldThatNobodyEndsIsUnresolved (line T1): it goes on counting, is listed, and is settled
// or released by a settler while its record is kept.
func TestHoldThatNobodyEndsIsUnresolved(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	first, second, third := w.held(slot, 60, 60, 1), w.held(slot, 20, 60, 2), w.held(slot, 10, 60, 3)
	w.now += 60 * engine.Second
	w.tick()
	require.Equal(t, [2]engine.USD{0, 90}, w.books(slot))
	require.Len(t, w.out.Leaves, 4, "three payments, and one alert")
	require.Contains(t, string(w.out.Leaves[0].Data), `"type":"hold.unresolved"`)
	require.Contains(t, string(w.out.Leaves[0].Data), `"state":"unresolved","amountUSDC":60`)
	require.Contains(t, string(w.out.Leaves[1].Data), `"alert":"unresolved_payment"`)
	require.Contains(t, string(w.out.Leaves[1].Data), `"payments":1`)
	require.Equal(t, []LeafLink{{Leaf: first.Leaf, Later: w.m.size - 4}, {Leaf: second.Leaf, Later: w.m.size - 2}, {Leaf: third.Leaf, Later: w.m.size - 1}}, w.out.Outcomes)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 20)))
	_, used := w.m.ledger.referenceUsed(first.Reference)
	require.True(t, used, "the payment may have been made")
	var listed []uint64
	w.m.Freeze().Unresolved(0, true, func(row UnresolvedRow) bool { listed = append(listed, row.Leaf); return true })
	require.Equal(t, []uint64{first.Leaf, second.Leaf, third.Leaf}, listed)
	total := w.m.Freeze().UnresolvedTotal()
	require.EqualValues(t, 3, total.Count)
	require.Equal(t, 90*engine.Dollar, total.Sum())

	first.Screener = 0
	require.Equal(t, wire.RefusedSettler, w.release(first).Refusal)
	first.Screener = anotherKey
	require.Equal(t, wire.Applied, w.release(first).Code)
	r := w.settle(second, 5)
	require.NotContains(t, string(r.Data), `"late"`)
	require.Equal(t, []LeafLink{{Leaf: second.Leaf, Later: r.Leaf}}, w.out.Outcomes)
	require.Equal(t, [2]engine.USD{5, 10}, w.books(slot))
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.ledger.unresolvedOf, m.ledger.unresolvedOf)
	require.Equal(t, w.m.ledger.unresolvedTotal, m.ledger.unresolvedTotal)

	w.now = third.ScreenedAt.Day().Start() + engine.DayLength + w.m.limits.Retention
	w.tick()
	require.Zero(t, w.m.ledger.holds.Len(), "its record is gone")
	require.Zero(t, w.m.ledger.unresolvedTotal)
	require.Empty(t, w.m.ledger.unresolvedOf)
}

// TestAlertOfUnresolvedPayments: it opens when an agent's payments reach the policy's number
// or sum, each time anew.
func TestAlertOfUnresolvedPayments(t *testing.T) {
	w := newWorld(t)
	policy := *engine.DefaultPolicy()
	policy.UnresolvedCount, policy.UnresolvedSum = 2, 100*engine.Dollar
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	one, _ := w.register("one")
	two, _ := w.register("two")
	lapse := func(slot engine.AgentSlot, dollars engine.USD) (wire.Hold, int) {
		b, before := w.held(slot, dollars, 60, 0), w.m.desk.alerts.Len()
		w.now += engine.Minute
		w.tick()
		return b, w.m.desk.alerts.Len() - before
	}
	for _, c := range []struct {
		slot    engine.AgentSlot
		dollars engine.USD
		alerts  int
	}{{one, 10, 0}, {two, 99, 0}, {one, 10, 1}, {one, 10, 0}, {one, 70, 1}, {one, 10, 0}} {
		_, opened := lapse(c.slot, c.dollars)
		require.Equal(t, c.alerts, opened, "%+v", c)
	}
	b, opened := lapse(two, 1)
	require.Equal(t, 1, opened)
	require.Equal(t, wire.Applied, w.release(b).Code)
	_, opened = lapse(two, 1)
	require.Equal(t, 1, opened, "reached again")
}

// TestSumOfUnresolvedPaymentsNeverWraps: it is exact above what an amount can hold, so the
// order of payments does not matter.
func TestSumOfUnresolvedPaymentsNeverWraps(t *testing.T) {
	var total UnresolvedTotal
	for range 40 {
		total.add(engine.AmountMax)
	}
	require.Equal(t, engine.USD(1<<63-1), total.Sum())
	for range 39 {
		total.remove(engine.AmountMax)
	}
	require.Equal(t, engine.AmountMax, total.Sum())
	require.EqualValues(t, 1, total.Count)
}

// TestHoldsOfTheFacilitatorNeverReturn: whatever the policy says, because somebody else than
// the product may make the payment.
func TestHoldsOfTheFacilitatorNeverReturn(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a", dailyLimit(10))
	s := w.screening(slot, 5*engine.Dollar)
	s.Hold, s.Counts = 60, true
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code)
	w.now += engine.Hour
	w.tick()
	require.Equal(t, [2]engine.USD{0, 5}, w.books(slot))
}

// TestApprovalLapses (line T14): an approval is good until it ends. Afterwards the key that
// screened cannot settle, and the payment is unresolved.
func TestApprovalLapses(t *testing.T) {
	for name, hold := range map[string]uint32{"as the policy says": 0, "with its hold": 3600} {
		w := newWorld(t)
		slot, _ := w.register("a", dailyLimit(100))
		b := w.held(slot, 130, hold, 0)
		require.Equal(t, engine.Review, b.Verdict)
		b.Screener = 0
		r := w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Amount: b.Recorded, Hold: hold})
		require.Contains(t, string(r.Data), `"payBy":"`)
		require.Equal(t, [2]engine.USD{0, 130}, w.books(slot), name)
		good := 24 * engine.Hour
		if hold != 0 {
			good = engine.Hour
		}
		w.now += good - 1
		w.tick()
		require.Empty(t, w.out.Leaves, name)
		require.Equal(t, wire.RefusedSettler, w.settle(b, 100).Refusal)
		w.now++
		require.Equal(t, wire.RefusedLapsed, w.settle(b, 130).Refusal, name)
		require.Contains(t, string(w.out.Leaves[0].Data), `"type":"review.approval_lapsed"`)
		require.Contains(t, string(w.out.Leaves[0].Data), `"state":"unresolved"`)
		var held engine.USD
		w.m.Freeze().Unresolved(0, true, func(row UnresolvedRow) bool { held += row.Amount; return true })
		require.Equal(t, 130*engine.Dollar, held, name)
		b.Screener = anotherKey
		require.Equal(t, wire.Applied, w.settle(b, 130).Code, "a settler says what happened")
	}
}
