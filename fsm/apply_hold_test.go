package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// held makes a call with a hold, and returns the part of it that a settle or release needs.
func (w *world) held(slot engine.AgentSlot, dollars engine.USD, seconds uint32, reference byte) wire.Hold {
	s := w.screening(slot, dollars*engine.Dollar)
	s.Hold = seconds
	if reference != 0 {
		s.Reference, s.Used = engine.ReferenceKey{reference}, wire.Used{Looked: w.m.size} // The files have nothing of it.
	}
	r := w.do(wire.KindScreen, s)
	require.Equal(w.t, wire.Applied, r.Code, "%+v", r)
	return paidBy(w.t, s, &r, w.payerOf(slot))
}

func (w *world) settle(b wire.Hold, dollars engine.USD) wire.Result {
	b.Op, b.Amount = wire.HoldSettle, dollars*engine.Dollar
	return w.end(b)
}

func (w *world) release(b wire.Hold) wire.Result {
	b.Op = wire.HoldRelease
	return w.end(b)
}

// end ends a payment, with a key of the institution's settler unless the record names a key.
func (w *world) end(b wire.Hold) wire.Result {
	if b.Key == nil {
		if w.settler == nil {
			w.settler = w.keyWith("rail", wire.APIKey{Roles: wire.RoleSettler}).Key
		}
		b.Key = w.settler
	}
	return w.do(wire.KindHold, &b)
}

// books returns what an agent has spent and what is held, in dollars.
func (w *world) books(slot engine.AgentSlot) [2]engine.USD {
	row := w.m.registry.agents.At(uint64(slot))
	day := w.m.now.Day()
	return [2]engine.USD{row.Spend.SpentOn(day) / engine.Dollar, row.Spend.HeldOn(day) / engine.Dollar}
}

func TestHoldCountsEverywhereUntilItEnds(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, wire.Applied, w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{OperatorLegalName: "Acme Inc", DailyLimit: 100 * engine.Dollar}, Operator: named("acme inc")}).Code)
	root, _ := w.register("root", dailyLimit(100), func(p *engine.AgentProfile) { p.Fleet = 1 })
	child, _ := w.register("child", dailyLimit(100), parent(root))
	b := w.held(child, 60, 60, 0)
	fleet := func() engine.USD { return w.m.registry.fleets.At(1).Spend.Counted(w.m.now.Day()) / engine.Dollar }
	require.Equal(t, [2]engine.USD{0, 60}, w.books(child))
	require.Equal(t, [2]engine.USD{0, 60}, w.books(root))
	require.EqualValues(t, 60, fleet())
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(root, 41)), "held counts as spent does")
	require.Equal(t, `PROCEED null`, verdict(w.screen(root, 40)))
	r := w.settle(b, 25)
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"kind":"hold.settled"`)
	require.Contains(t, string(r.Data), `"amount":25,"countedUSDC":60`)
	require.Equal(t, [2]engine.USD{25, 0}, w.books(child))
	require.Equal(t, [2]engine.USD{65, 0}, w.books(root))
	require.EqualValues(t, 65, fleet())
	again := w.settle(b, 26)
	require.Equal(t, wire.Unchanged, again.Code)
	require.Equal(t, r.Leaf, again.Leaf, "a repeated call is answered with the first one's leaf")
	refused := w.release(b)
	require.Equal(t, wire.RefusedEnded, refused.Refusal)
	require.Equal(t, r.Leaf, refused.Value)
}

// returning makes holds that nobody ends return by themselves.
func (w *world) returning() *world {
	policy := *engine.DefaultPolicy()
	policy.HoldsReturn = true
	require.Equal(w.t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	return w
}

func TestHoldExpiresOnceByLogTime(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 60, 60, 1)
	w.now += 60*engine.Second - 1
	w.tick()
	require.Equal(t, [2]engine.USD{0, 60}, w.books(slot), "a nanosecond before")
	w.now++
	w.tick()
	require.Len(t, w.out.Leaves, 1)
	require.Contains(t, string(w.out.Leaves[0].Data), `"kind":"due"`)
	require.Contains(t, string(w.out.Leaves[0].Data), `"type":"hold.expired"`)
	require.Equal(t, []LeafLink{{Leaf: b.Leaf, Later: w.m.size - 1}}, w.out.Outcomes)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot))
	w.tick()
	require.Empty(t, w.out.Leaves)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot), "not returned twice")
	require.Equal(t, wire.RefusedEnded, w.release(b).Refusal)
	late := w.settle(b, 70)
	require.Contains(t, string(late.Data), `"late":true`)
	require.NotContains(t, string(late.Data), `"overLimit"`)
	require.Equal(t, [2]engine.USD{70, 0}, w.books(slot), "it happened, so it counts")
	require.Equal(t, late.Leaf, w.settle(b, 70).Leaf)
}

// TestSettleBeforeTheTickIsLateAllTheSame: a hold whose time is over has ended even if no
// tick has come yet.
func TestSettleBeforeTheTickIsLateAllTheSame(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 60, 60, 0)
	w.now += 60 * engine.Second
	r := w.settle(b, 60)
	require.Len(t, w.out.Leaves, 3)
	require.Contains(t, string(w.out.Leaves[0].Data), `"type":"hold.expired"`)
	require.Contains(t, string(w.out.Leaves[2].Data), `"kind":"alert.opened"`)
	require.Contains(t, string(r.Data), `"late":true`)
	require.EqualValues(t, w.m.size-2, r.Leaf)
	require.Equal(t, [2]engine.USD{60, 0}, w.books(slot))
}

func TestTicksExpireABoundedNumber(t *testing.T) {
	w := newWorld(t).returning()
	most := w.m.limits.ExpiredAtOneTick
	for range most/256 + 1 { // Many agents, so that none pays too fast.
		slot, _ := w.register("a")
		var records []wire.Record
		for range 256 {
			s := w.screening(slot, engine.Dollar)
			s.Hold = 60
			records = append(records, w.record(wire.KindScreen, s))
		}
		w.apply(w.entry(records...))
	}
	w.now += 61 * engine.Second
	w.tick()
	require.Equal(t, most, len(w.out.Leaves))
	require.Equal(t, 256, w.m.ledger.holds.Len())
	w.tick()
	require.Equal(t, 256, len(w.out.Leaves))
	for slot := engine.AgentSlot(1); int(slot) <= w.m.registry.agents.Len(); slot++ {
		require.Equal(t, [2]engine.USD{0, 0}, w.books(slot))
	}
}

func TestSettleIsNeverRefusedForALimit(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	over := w.held(slot, 60, 60, 0)
	r := w.settle(over, 130)
	require.Contains(t, string(r.Data), `"overLimit":true`)
	require.Equal(t, [2]engine.USD{130, 0}, w.books(slot))

	other, _ := w.register("b", dailyLimit(100))
	review := w.held(other, 130, 60, 0)
	require.Equal(t, engine.Review, review.Verdict)
	require.Equal(t, wire.RefusedNotHeld, w.release(review).Refusal)
	r = w.settle(review, 30)
	require.Contains(t, string(r.Data), `"notAllowed":true`)
	require.Equal(t, [2]engine.USD{30, 0}, w.books(other))
	w.do(wire.KindDisposition, &wire.Disposition{Leaf: review.Leaf, Disposition: wire.Approved, Agent: other, Amount: review.Recorded, Hold: 60})
	require.Equal(t, [2]engine.USD{30, 0}, w.books(other), "what was settled counts already")
}

func TestReviewIsHeldFromItsApproval(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 130, 60, 7)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot))
	w.now += engine.Hour
	r := w.do(wire.KindDisposition, &wire.Disposition{
		Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Amount: b.Recorded, Hold: 60, Reference: b.Reference,
	})
	require.Contains(t, string(r.Data), `"payBy":"`)
	require.Equal(t, [2]engine.USD{0, 130}, w.books(slot))
	by, used, _ := w.m.ledger.referenceUsed(b.Reference)
	require.True(t, used && by == b.Leaf, "an approved review uses its reference")
	w.now += 60 * engine.Second
	w.tick()
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot))
	_, used, _ = w.m.ledger.referenceUsed(b.Reference)
	require.False(t, used)
}

func TestPlainProceedIsReleasedUntilTheNextDayEnds(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	one, two := w.held(slot, 40, 0, 0), w.held(slot, 40, 0, 0)
	require.Equal(t, wire.Applied, w.release(one).Code)
	require.Equal(t, [2]engine.USD{40, 0}, w.books(slot))
	require.Equal(t, wire.Unchanged, w.release(one).Code)
	require.Equal(t, [2]engine.USD{40, 0}, w.books(slot), "once")
	w.now = two.ScreenedAt.Day().Start() + 2*engine.DayLength - 1
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 30)))
	require.Equal(t, wire.Applied, w.release(two).Code)
	require.Equal(t, [2]engine.USD{30, 0}, w.books(slot), "it returns to its own day")
	three := w.held(slot, 10, 0, 0)
	w.now = three.ScreenedAt.Day().Start() + 2*engine.DayLength
	require.Equal(t, wire.RefusedLate, w.release(three).Refusal)
	require.Contains(t, string(w.settle(three, 15).Data), `"countedUSDC":10`)
	require.Equal(t, [2]engine.USD{5, 0}, w.books(slot), "the difference, on the day of the settle")
}

func TestFullTablesRefuseNewHolds(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.Holds = 1 })
	w.held(slot, 1, 60, 1)
	hold := w.screening(slot, 1)
	hold.Hold = 60
	r := w.do(wire.KindScreen, hold)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableHolds, r.Value)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 1)), "other calls go on")
}

// TestOldEndingsAreFoundByTheEdge: nothing refuses the end of a payment. The state keeps the newest
// endings; a call about a payment that ended before says what its edge found, and up to where it
// looked. If that is too little, it is stale and changes nothing.
func TestOldEndingsAreFoundByTheEdge(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.Outcomes = 2 })
	first, second, third := w.held(slot, 10, 60, 0), w.held(slot, 5, 60, 0), w.held(slot, 3, 0, 0)
	open := w.held(slot, 2, 600, 0)
	at, released := w.now, w.release(first)
	require.Equal(t, wire.Applied, released.Code)
	require.Contains(t, w.out.Leaves[len(w.out.Leaves)-1].Filters, engine.EndingFilter(first.Leaf))
	require.Equal(t, wire.Applied, w.settle(second, 5).Code)
	require.Zero(t, w.out.EndedFrom)
	require.Equal(t, wire.Applied, w.settle(third, 3).Code)
	require.Equal(t, released.Leaf+1, w.out.EndedFrom)
	books := w.books(slot)

	stale := w.settle(first, 10)
	require.Equal(t, wire.Stale, stale.Code)
	require.Equal(t, released.Leaf+1, stale.Value)
	require.Equal(t, books, w.books(slot))
	first.Past = &wire.Past{Looked: released.Leaf + 1, State: uint8(HoldReleased), Later: released.Leaf, At: at}
	again := w.release(first)
	require.Equal(t, [2]any{wire.Unchanged, released.Leaf}, [2]any{again.Code, again.Leaf})
	require.Equal(t, at, again.Time)
	wrong := first
	wrong.Past = &wire.Past{Looked: released.Leaf + 1, State: uint8(HoldUnresolved), Later: released.Leaf}
	require.Equal(t, wire.RefusedMalformed, w.release(wrong).Refusal)
	wrong.Past = &wire.Past{Looked: released.Leaf + 1, State: uint8(HoldReleased), Later: w.m.size}
	require.Equal(t, wire.RefusedMalformed, w.release(wrong).Refusal)

	late := w.settle(first, 10)
	require.Equal(t, wire.Applied, late.Code)
	require.Contains(t, string(late.Data), `"late":true`)
	require.Contains(t, string(late.Data), fmt.Sprintf(`"recordPrevious":%d,`, released.Leaf), "it names the leaf before it")
	require.Equal(t, []LeafLink{{Leaf: first.Leaf, Later: released.Leaf}, {Leaf: first.Leaf, Later: late.Leaf, Late: true}}, w.out.Outcomes)
	require.Equal(t, [2]engine.USD{books[0] + 10, books[1]}, w.books(slot))
	require.Equal(t, wire.Unchanged, w.settle(first, 10).Code, "the state knows it again")

	require.Equal(t, wire.Stale, w.settle(second, 5).Code)
	require.Equal(t, wire.Applied, w.settle(open, 2).Code, "an open hold has not ended")
	require.Equal(t, wire.Applied, w.settle(w.held(slot, 1, 0, 0), 1).Code, "nor has a payment of now")
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.ledger.endedFrom, m.ledger.endedFrom)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
}

// TestALateSettleIsTheNewestEnding: its row stands behind those that were there, so that the state
// forgets it when all leaves before it are in the files.
func TestALateSettleIsTheNewestEnding(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.Outcomes = 3 })
	first := w.held(slot, 10, 60, 0)
	require.Equal(t, wire.Applied, w.release(first).Code)
	require.Equal(t, wire.Applied, w.settle(w.held(slot, 1, 60, 0), 1).Code)
	late := w.settle(first, 10)
	require.Equal(t, wire.Applied, late.Code)
	for range 2 {
		require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
		require.Equal(t, wire.Applied, w.settle(w.held(slot, 1, 60, 0), 1).Code)
		require.Equal(t, wire.Unchanged, w.settle(first, 10).Code)
		require.LessOrEqual(t, w.m.ledger.endedFrom, late.Leaf)
	}
	require.Equal(t, wire.Applied, w.settle(w.held(slot, 1, 60, 0), 1).Code)
	require.Equal(t, late.Leaf+1, w.m.ledger.endedFrom)
	require.Equal(t, wire.Stale, w.settle(first, 10).Code)
}

// TestApprovalWithoutRoomForAHoldSaysSo: an approval that finds no room for its hold counts
// as spent.
func TestApprovalWithoutRoomForAHoldSaysSo(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	w.narrow(func(l *engine.Limits) { l.Holds = 1 })
	b := w.held(slot, 20, 60, 0)
	require.Equal(t, engine.Review, b.Verdict)
	w.held(slot, 1, 60, 0)
	r := w.do(wire.KindDisposition, &wire.Disposition{Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Amount: b.Recorded, Hold: 60})
	require.Contains(t, string(r.Data), `"notHeld":true`)
	require.Equal(t, [2]engine.USD{20, 1}, w.books(slot))
}

func TestHoldsAreChecked(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for _, seconds := range []uint32{1, 29, 604_801, 1<<32 - 1} {
		s := w.screening(slot, 1)
		s.Hold = seconds
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindScreen, s).Refusal, seconds)
	}
	b := w.held(slot, 1, 604_800, 0)
	for name, spoil := range map[string]func(*wire.Hold){
		"no operation": func(b *wire.Hold) { b.Op = 0 }, "unknown operation": func(b *wire.Hold) { b.Op = 3 },
		"leaf to come": func(b *wire.Hold) { b.Leaf = w.m.size }, "negative": func(b *wire.Hold) { b.Amount = -1 },
		"release of an amount": func(b *wire.Hold) { b.Op, b.Amount = wire.HoldRelease, 1 }, "no verdict": func(b *wire.Hold) { b.Verdict = 9 },
	} {
		bad := b
		bad.Op = wire.HoldSettle
		spoil(&bad)
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindHold, &bad).Refusal, name)
	}
	strange := wire.Hold{Op: wire.HoldSettle, Leaf: b.Leaf - 1, Agent: 4_000_000, Fleet: 4_000_000, Amount: 5, Verdict: engine.Block}
	require.Equal(t, wire.Applied, w.do(wire.KindHold, &strange).Code, "an agent that is not there has no books")
	require.Equal(t, 1, w.m.ledger.holds.Len())
}

// TestHoldsSurviveASnapshot: a restored state continues exactly like one that was never
// stopped.
func TestHoldsSurviveASnapshot(t *testing.T) {
	for seed := range uint64(3) {
		w := payments(t, seed, 300)
		require.Greater(t, w.m.ledger.holds.Len()+w.m.ledger.outcomes.Len(), 20)
		m := restoredFrom(t, w.m)
		require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
		require.Equal(t, w.m.ledger.holdAt, m.ledger.holdAt)
		require.Equal(t, w.m.ledger.outcomeAt, m.ledger.outcomeAt)
		require.Equal(t, w.m.ledger.referenceAt, m.ledger.referenceAt)
		var out, again Effects
		for n := range 17 { // What was confirmed without a hold has time until the end of the next day.
			w.now += 3 * engine.Hour
			tick := w.entry(w.record(wire.KindTick, &wire.Tick{}))
			w.m.Apply(w.index+1+uint64(n), w.term, tick, &out)
			m.Apply(w.index+1+uint64(n), w.term, tick, &again)
			require.Equal(t, out.Leaves, again.Leaves)
		}
		require.Equal(t, w.m.ledger.unresolvedTotal, m.ledger.unresolvedTotal)
		require.Equal(t, w.m.ledger.unresolvedOf, m.ledger.unresolvedOf)
		require.EqualValues(t, m.ledger.holds.Len(), m.ledger.unresolvedTotal.Count)
		require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	}
}

// TestBrokenTablesOfPaymentsAreRefused: Restore refuses tables that Apply could not rely on.
func TestBrokenTablesOfPaymentsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Machine){
		"heap":          func(m *Machine) { m.ledger.holds.Edit(1).ExpiresAt += 1000 * engine.DayLength },
		"agent":         func(m *Machine) { m.ledger.holds.Edit(1).Agent = 99 },
		"hold's leaf":   func(m *Machine) { m.ledger.holds.Edit(2).Leaf = m.size },
		"twice":         func(m *Machine) { *m.ledger.holds.Edit(2) = *m.ledger.holds.At(1) },
		"outcome":       func(m *Machine) { m.ledger.outcomes.Edit(0).Later = m.size },
		"open":          func(m *Machine) { m.ledger.outcomes.Edit(0).Leaf = m.ledger.holds.At(1).Leaf },
		"no state":      func(m *Machine) { m.ledger.outcomes.Edit(0).State = HoldOpen },
		"reference":     func(m *Machine) { m.ledger.references.Edit(1).Key = engine.ReferenceKey{} },
		"told":          func(m *Machine) { m.ledger.references.Edit(1).Told = m.ledger.references.At(0).Told },
		"told early":    func(m *Machine) { m.ledger.references.Edit(1).Told = m.ledger.references.At(1).Leaf - 1 },
		"used from":     func(m *Machine) { m.ledger.usedFrom = m.ledger.references.At(0).Told + 1 },
		"negative hold": func(m *Machine) { m.ledger.holds.Edit(1).Amount = -1 },
	} {
		w := newWorld(t)
		slot, _ := w.register("a")
		ended := w.held(slot, 1, 60, 1)
		w.held(slot, 1, 90, 2)
		w.held(slot, 1, 60, 3)
		w.settle(ended, 1)
		spoil(w.m)
		var data bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&data)
		require.NoError(t, err)
		_, err = Restore(&data)
		require.ErrorIs(t, err, ErrSnapshot, name)
	}
}

func TestDueNames(t *testing.T) {
	for due := leaf.DueHold; due <= leaf.DueApproval; due++ {
		require.NotEmpty(t, due.String())
	}
	require.Empty(t, leaf.Due(200).String())
}

// TestPermitHoldsItsPayment: a permit holds its payment until a minute after its end. Then the hold is
// as any other: it counts until somebody says what became of it, unless the policy lets holds return.
func TestPermitHoldsItsPayment(t *testing.T) {
	for _, returns := range []bool{false, true} {
		w := newWorld(t)
		if returns {
			policy := *engine.DefaultPolicy()
			policy.HoldsReturn = true
			w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy})
		}
		slot, _ := w.register("payer", dailyLimit(100))
		s := w.screening(slot, 40*engine.Dollar)
		s.Permit = 120
		r := w.do(wire.KindScreen, s)
		require.Equal(t, wire.Applied, r.Code)
		var written leaf.Screen
		require.NoError(t, leaf.DecodeScreen(r.Data, &written))
		require.Equal(t, w.m.now+180*engine.Second, written.HoldUntil)
		require.EqualValues(t, 120, written.PermitSeconds)
		require.Equal(t, w.m.now-w.m.settings.ListSynced, written.ListAge)
		require.Equal(t, [2]engine.USD{0, 40}, w.books(slot))
		w.now += 179 * engine.Second
		w.tick()
		require.Equal(t, [2]engine.USD{0, 40}, w.books(slot))
		w.now += 2 * engine.Second
		w.tick()
		left := map[bool]engine.USD{false: 40, true: 0}[returns]
		require.Equal(t, [2]engine.USD{0, left}, w.books(slot))
	}
	w := newWorld(t)
	slot, _ := w.register("payer", dailyLimit(100))
	for _, seconds := range []uint32{1, 59, 301} {
		s := w.screening(slot, engine.Dollar)
		s.Permit = seconds
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindScreen, s).Refusal, "%d seconds", seconds)
	}
	review := w.screening(slot, 1_000_000*engine.Dollar)
	review.Permit = 120
	var written leaf.Screen
	require.NoError(t, leaf.DecodeScreen(w.do(wire.KindScreen, review).Data, &written))
	require.NotEqual(t, engine.Proceed, written.Verdict)
	require.Zero(t, written.PermitSeconds, "a permit is for a PROCEED alone")
}
