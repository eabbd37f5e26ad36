package fsm

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// keyWith returns a record's common part with the row of a new key.
func (w *world) keyWith(id string, key wire.APIKey) wire.Common {
	key.ID, key.Name, key.Hashes = id, id, key32(byte(len(w.m.settings.Keys)+40))
	require.Equal(w.t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}).Code)
	row := uint32(len(w.m.settings.Keys))
	return wire.Common{Key: &wire.KeyRef{Row: row, Rev: w.m.settings.Keys[row-1].Rev}}
}

// heldBy is held with an API key.
func (w *world) heldBy(key *wire.KeyRef, slot engine.AgentSlot, dollars engine.USD, seconds uint32) wire.Hold {
	s := w.screening(slot, dollars*engine.Dollar)
	s.Hold, s.Key = seconds, *key
	r := w.do(wire.KindScreen, s)
	require.Equal(w.t, wire.Applied, r.Code, "%+v", r)
	return paidBy(w.t, s, &r, w.payerOf(slot))
}

// TestTheSpenderGivesNothingBack (line T1): what was told PROCEED counts until a settler says
// otherwise. A key with which the owner of the screening call can screen is no settler of it.
func TestTheSpenderGivesNothingBack(t *testing.T) {
	w := newWorld(t)
	keys := map[string]wire.Common{"node": {}}
	for name, key := range map[string]wire.APIKey{
		"house screener": {Roles: wire.RoleScreener}, "house settler": {Roles: wire.RoleSettler}, "house both": {Roles: wire.RoleScreener | wire.RoleSettler},
		"house admin": {Roles: wire.RoleAdmin}, "house admin settler": {Roles: wire.RoleAdmin | wire.RoleSettler}, "house nothing": {},
		"acme screener": {Owner: "cal_acme", Roles: wire.RoleScreener}, "acme second": {Owner: "cal_acme", Roles: wire.RoleScreener}, "acme nothing": {Owner: "cal_acme"},
		"acme settler": {Owner: "cal_acme", Roles: wire.RoleSettler}, "acme both": {Owner: "cal_acme", Roles: wire.RoleScreener | wire.RoleSettler},
		"acme gateway":   {Owner: "cal_acme", Roles: wire.RoleGateway | wire.RoleSettler},
		"globex settler": {Owner: "cal_globex", Roles: wire.RoleSettler}, "globex both": {Owner: "cal_globex", Roles: wire.RoleScreener | wire.RoleSettler},
	} {
		keys[name] = w.keyWith(name, key)
	}
	for screener, settlers := range map[string][]string{
		"acme screener":  {"acme settler", "house settler", "house both", "house admin settler"},
		"acme both":      {"acme settler", "house settler", "house both", "house admin settler"},
		"house screener": {"house settler"},
		"house both":     {"house settler"},
		"house admin":    {"house settler"},
		"nobody knows":   {"house settler"},
	} {
		for name, giver := range keys {
			slot, _ := w.register("a") // Its own agent, so that none pays too fast.
			for _, seconds := range []uint32{0, 60} {
				b := w.held(slot, 40, 0, 0)
				if key, known := keys[screener]; known {
					b = w.heldBy(key.Key, slot, 40, seconds)
				} else {
					b.Screener = wire.ScreenerUnknown
				}
				b.Common = giver
				counted := w.books(slot)
				if slices.Contains(settlers, name) {
					require.Equal(t, wire.Applied, w.giveBack(b, wire.HoldSettle, 1).Code, "%s for %s", name, screener)
					require.Equal(t, counted[0]+counted[1]-39, w.books(slot)[0]+w.books(slot)[1])
					continue
				}
				for _, dollars := range []engine.USD{0, 39} {
					require.Equal(t, wire.RefusedSettler, w.giveBack(b, wire.HoldSettle, dollars).Refusal, "%s for %s", name, screener)
				}
				require.Equal(t, wire.RefusedSettler, w.giveBack(b, wire.HoldRelease, 0).Refusal, "%s for %s", name, screener)
				require.Equal(t, counted, w.books(slot))
				require.Equal(t, wire.Applied, w.giveBack(b, wire.HoldSettle, 40+engine.USD(seconds)/30).Code, "it confirms, or raises")
			}
		}
	}
}

// giveBack is settle and release, without a key of its own.
func (w *world) giveBack(b wire.Hold, op uint8, dollars engine.USD) wire.Result {
	b.Op, b.Amount = op, dollars*engine.Dollar
	return w.do(wire.KindHold, &b)
}

// TestWhoScreenedStandsInTheHold: an edge that names another screener changes nothing.
func TestWhoScreenedStandsInTheHold(t *testing.T) {
	w := newWorld(t)
	both := w.keyWith("both", wire.APIKey{Roles: wire.RoleScreener | wire.RoleSettler})
	other := w.keyWith("other", wire.APIKey{Owner: "cal_acme", Roles: wire.RoleScreener})
	slot, _ := w.register("a", dailyLimit(100))
	b := w.heldBy(both.Key, slot, 40, 60)
	b.Common, b.Screener = both, other.Key.Row
	require.Equal(t, wire.RefusedSettler, w.release(b).Refusal)
	require.Equal(t, wire.RefusedSettler, w.settle(b, 1).Refusal)
	b = w.heldBy(other.Key, slot, 40, 60)
	b.Common, b.Screener = both, both.Key.Row
	require.Equal(t, wire.Applied, w.release(b).Code)
}

// TestWhatLetsASpenderGiveBack: the facilitator's own eyes, and the policy.
func TestWhatLetsASpenderGiveBack(t *testing.T) {
	w := newWorld(t)
	spender := w.keyWith("spender", wire.APIKey{Roles: wire.RoleScreener})
	slot, _ := w.register("a", dailyLimit(100))
	b := w.heldBy(spender.Key, slot, 10, 60)
	b.Common, b.Forwarded = spender, true
	require.Equal(t, wire.Applied, w.release(b).Code, "the facilitator saw that it was not made")
	self := *engine.DefaultPolicy()
	self.SettlementSelf = true
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: self}).Code)
	b = w.heldBy(spender.Key, slot, 10, 60)
	b.Common = spender
	require.Equal(t, wire.Applied, w.release(b).Code)
}

// TestOwnersHaveAShareOfTheHolds: what one owner leaves open stops its own payments with a hold,
// and nobody else's. Unresolved payments count until somebody ends them.
func TestOwnersHaveAShareOfTheHolds(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Holds = 4 * ownersLeast * 2 }) // Each has 2 for itself.
	acme := w.keyWith("acme", wire.APIKey{Owner: "cal_acme", Roles: wire.RoleScreener})
	second := w.keyWith("second", wire.APIKey{Owner: "cal_acme", Roles: wire.RoleScreener})
	house := w.keyWith("house", wire.APIKey{Roles: wire.RoleScreener})
	slot, _ := w.register("a", dailyLimit(110))
	screen := func(key wire.Common, seconds uint32) wire.Result {
		s := w.screening(slot, engine.Dollar)
		s.Key, s.Hold = *key.Key, seconds
		return w.do(wire.KindScreen, s)
	}
	mine, other := w.m.ownerAt(acme.Key.Row), w.m.ownerAt(house.Key.Row)
	count := 0
	for ; screen(house, 60).Code == wire.Applied; count++ {
	}
	require.Equal(t, 3*ownersLeast*2+2, count, "what is lent, and its own")
	held := w.heldBy(acme.Key, slot, 1, 60)
	w.heldBy(second.Key, slot, 1, 60)
	r := screen(acme, 60)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableHolds, r.Value)
	require.Equal(t, 1, w.out.SharesRefused[wire.TableHolds])
	w.now += 60 * engine.Second
	w.tick()
	require.EqualValues(t, count+2, w.m.Freeze().UnresolvedTotal().Count)
	require.Equal(t, wire.RefusedShare, screen(second, 60).Refusal, "unresolved payments count")
	require.Equal(t, wire.Applied, screen(acme, 0).Code, "without a hold")
	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		m.limits = w.m.limits
		require.EqualValues(t, count, m.sharesOf(wire.TableHolds).heldBy(other, &m.owners).Rows)
		require.EqualValues(t, 2, m.sharesOf(wire.TableHolds).heldBy(mine, &m.owners).Rows)
	}

	review := w.heldBy(acme.Key, slot, 130, 0)
	require.Equal(t, engine.Review, review.Verdict)
	r = w.do(wire.KindDisposition, &wire.Disposition{Leaf: review.Leaf, Disposition: wire.Approved, Agent: slot, Amount: review.Recorded, Screener: review.Screener})
	require.Contains(t, string(r.Data), `"notHeld":true`)
	require.Equal(t, wire.Applied, w.release(held).Code)
	third, _ := w.register("b", dailyLimit(100))
	w.heldBy(acme.Key, third, 1, 60)
	require.Equal(t, wire.RefusedShare, screen(acme, 60).Refusal)
}

// TestUnresolvedWaitsAsLongAsItsRecord: not as long as its approval's day, and then it leaves
// every counter.
func TestUnresolvedWaitsAsLongAsItsRecord(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 130, 0, 0)
	gone := b.ScreenedAt.Day().Start() + engine.DayLength + w.m.limits.Retention
	w.liveUntil(gone - 5*engine.DayLength)
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Amount: b.Recorded}).Code)
	w.liveUntil(gone - 1)
	require.EqualValues(t, 1, w.m.Freeze().UnresolvedTotal().Count)
	spend := func() engine.Spend { return w.m.registry.agents.At(uint64(slot)).Spend }
	require.Equal(t, 130*engine.Dollar, spend().Held)
	w.now = gone
	w.tick()
	require.Zero(t, w.m.Freeze().UnresolvedTotal().Count)
	require.Zero(t, w.m.ledger.holds.Len())
	require.Zero(t, spend().Held)
	require.Zero(t, w.m.sharesOf(wire.TableHolds).all)
}

// TestOneLeafForTwoUnresolvedPaymentsIsRefused: Restore finds it.
func TestOneLeafForTwoUnresolvedPaymentsIsRefused(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.held(slot, 1, 60, 0)
	w.held(slot, 1, 60, 0)
	w.now += engine.Minute
	w.tick()
	restoredFrom(t, w.m)
	w.m.ledger.holds.Edit(1).Unresolved = w.m.ledger.holds.At(2).Unresolved
	var data bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&data)
	require.NoError(t, err)
	_, err = Restore(&data)
	require.ErrorIs(t, err, ErrSnapshot)
}

// TestUndecidedReviewIsNotSettledAway: a review that somebody settled for nothing before it
// was approved would count nothing afterwards.
func TestUndecidedReviewIsNotSettledAway(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	b := w.held(slot, 20, 0, 0)
	require.Equal(t, engine.Review, b.Verdict)
	require.Equal(t, wire.RefusedSettler, w.giveBack(b, wire.HoldSettle, 0).Refusal)
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
	require.Contains(t, string(w.out.Leaves[0].Data), `"state":"unresolved","amount":60`)
	require.Contains(t, string(w.out.Leaves[1].Data), `"alert":"unresolved_payment"`)
	require.Contains(t, string(w.out.Leaves[1].Data), `"payments":1`)
	require.Equal(t, []LeafLink{{Leaf: first.Leaf, Later: w.m.size - 4}, {Leaf: second.Leaf, Later: w.m.size - 2}, {Leaf: third.Leaf, Later: w.m.size - 1}}, w.out.Outcomes)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 20)))
	_, used, _ := w.m.ledger.referenceUsed(first.Reference)
	require.True(t, used, "the payment may have been made")
	var listed []uint64
	w.m.Freeze().Unresolved(0, true, func(row UnresolvedRow) bool { listed = append(listed, row.Leaf); return true })
	require.Equal(t, []uint64{first.Leaf, second.Leaf, third.Leaf}, listed)
	total := w.m.Freeze().UnresolvedTotal()
	require.EqualValues(t, 3, total.Count)
	require.Equal(t, 90*engine.Dollar, total.Sum())

	require.Equal(t, wire.RefusedSettler, w.giveBack(first, wire.HoldRelease, 0).Refusal)
	require.Equal(t, wire.Applied, w.release(first).Code)
	r := w.settle(second, 5)
	require.NotContains(t, string(r.Data), `"late"`)
	require.Equal(t, []LeafLink{{Leaf: second.Leaf, Later: r.Leaf}}, w.out.Outcomes)
	require.Equal(t, [2]engine.USD{5, 10}, w.books(slot))
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.ledger.unresolvedOf, m.ledger.unresolvedOf)
	require.Equal(t, w.m.ledger.unresolvedTotal, m.ledger.unresolvedTotal)

	w.liveUntil(third.ScreenedAt.Day().Start() + engine.DayLength + w.m.limits.Retention)
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
		require.Equal(t, wire.RefusedSettler, w.giveBack(b, wire.HoldSettle, 100).Refusal)
		w.now++
		require.Equal(t, wire.RefusedLapsed, w.giveBack(b, wire.HoldSettle, 130).Refusal, name)
		require.Contains(t, string(w.out.Leaves[0].Data), `"type":"review.approval_lapsed"`)
		require.Contains(t, string(w.out.Leaves[0].Data), `"state":"unresolved"`)
		var held engine.USD
		w.m.Freeze().Unresolved(0, true, func(row UnresolvedRow) bool { held += row.Amount; return true })
		require.Equal(t, 130*engine.Dollar, held, name)
		require.Equal(t, wire.Applied, w.settle(b, 130).Code, "a settler says what happened")
	}
}
