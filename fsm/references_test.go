package fsm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func TestReferenceIsUsedOnce(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	first := w.held(slot, 1, 60, 9)
	require.Equal(t, engine.Review, w.held(slot, 1, 60, 9).Verdict)
	text := string(shown(w.leaves[len(w.leaves)-1]))
	require.Contains(t, text, engine.NewestRules.Reason(25, engine.SubDuplicate, 0))
	require.Contains(t, text, `"referenceUsedBy":`)
	require.Equal(t, engine.Proceed, w.held(slot, 1, 60, 8).Verdict)
	require.Equal(t, wire.Applied, w.release(first).Code)
	second := w.held(slot, 1, 0, 9)
	require.Equal(t, engine.Proceed, second.Verdict, "what was released is free again")
	w.now += 30*engine.DayLength - 1
	w.confirmList()
	require.Equal(t, engine.Review, w.held(slot, 1, 0, 9).Verdict)
	w.now++
	require.Equal(t, engine.Proceed, w.held(slot, 1, 0, 9).Verdict)

	off := *engine.DefaultPolicy()
	off.ReferenceOff = true
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: off}).Code)
	require.Equal(t, engine.Proceed, w.held(slot, 1, 0, 9).Verdict)
	shadow := *engine.DefaultPolicy()
	shadow.Modes[25] = engine.ModeOff
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: shadow}).Code)
	require.Equal(t, engine.Review, w.held(slot, 1, 0, 9).Verdict, "the mode of R25 is another switch")
}

// referring returns a payment with a reference, judged by an edge that looked so far for it.
func (w *world) referring(slot engine.AgentSlot, reference byte, found wire.Used) *wire.Screen {
	s := w.screening(slot, engine.Dollar)
	s.Reference, s.Used = engine.ReferenceKey{reference}, found
	return s
}

// TestOldReferencesAreFoundByTheEdge: nobody is refused for references. The state keeps the newest
// uses; a call with another reference says what its edge found, and up to where it looked. If that
// is too little, it is stale and changes nothing.
func TestOldReferencesAreFoundByTheEdge(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.References = 2 })
	first := w.held(slot, 1, 0, 1)
	require.Contains(t, w.out.Leaves[len(w.out.Leaves)-1].Filters, engine.ReferenceFilter(first.Reference))
	w.held(slot, 1, 0, 2)
	require.Zero(t, w.out.UsedFrom)
	w.held(slot, 1, 0, 3)
	require.Equal(t, first.Leaf+1, w.out.UsedFrom)

	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
		_, _, known := m.ReferenceUsed(first.Reference)
		require.False(t, known)
		_, used, known := m.ReferenceUsed(engine.ReferenceKey{2})
		require.True(t, used && known)
	}
	books := w.books(slot)
	stale := w.do(wire.KindScreen, w.referring(slot, 1, wire.Used{}))
	require.Equal(t, [2]any{wire.Stale, first.Leaf + 1}, [2]any{stale.Code, stale.Value})
	require.Equal(t, books, w.books(slot))
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindScreen, w.referring(slot, 1, wire.Used{Looked: w.m.size, By: w.m.size + 1})).Refusal)
	again := w.do(wire.KindScreen, w.referring(slot, 1, wire.Used{Looked: w.m.size, By: first.Leaf + 1}))
	require.Equal(t, `REVIEW "R25_STRUCTURING"`, verdict(again))
	require.NotContains(t, w.out.Leaves[len(w.out.Leaves)-1].Filters, engine.ReferenceFilter(first.Reference), "it does not use it")
	free := w.do(wire.KindScreen, w.referring(slot, 4, wire.Used{Looked: w.m.size}))
	require.Equal(t, `PROCEED null`, verdict(free))
	require.Equal(t, `REVIEW "R25_STRUCTURING"`, verdict(w.do(wire.KindScreen, w.referring(slot, 4, wire.Used{Looked: w.m.size}))), "what the state knows counts")
}

// TestAForgottenReferenceBecomesFree: the end of a payment frees its reference, whether the state
// has it or not, and the leaf of the end says so to whoever looks in the files.
func TestAForgottenReferenceBecomesFree(t *testing.T) {
	w := newWorld(t).returning()
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.References = 1 })
	held, plain := w.held(slot, 1, 60, 1), w.held(slot, 1, 0, 2)
	lapsing := w.held(slot, 1, 60, 3)
	w.held(slot, 1, 0, 4)
	frees := func(b *wire.Hold) bool {
		return slices.Contains(w.out.Leaves[0].Filters, engine.ReferenceFilter(b.Reference))
	}
	require.Equal(t, wire.Stale, w.release(held).Code)
	held.Used, plain.Used = wire.Used{Looked: w.m.size, By: held.Leaf + 1}, wire.Used{Looked: w.m.size, By: plain.Leaf + 1}
	require.Equal(t, wire.Applied, w.release(held).Code)
	require.True(t, frees(&held))
	_, used, known := w.m.ReferenceUsed(held.Reference)
	require.True(t, known && !used)
	require.Equal(t, wire.Applied, w.release(plain).Code)
	require.True(t, frees(&plain))
	require.Equal(t, `PROCEED null`, verdict(w.do(wire.KindScreen, w.referring(slot, 2, wire.Used{}))), "the state knows that it is free")

	w.now += 61 * engine.Second
	w.tick()
	require.Contains(t, string(w.out.Leaves[0].Data), `"type":"hold.expired"`)
	require.True(t, frees(&lapsing))
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// TestAnotherPaymentsReferenceStaysUsed: a payment frees only what it uses itself.
func TestAnotherPaymentsReferenceStaysUsed(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	off := *engine.DefaultPolicy()
	off.ReferenceOff = true
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: off}).Code)
	first, second, third := w.held(slot, 1, 0, 1), w.held(slot, 1, 0, 1), w.held(slot, 1, 60, 1)
	for _, b := range []wire.Hold{second, third} {
		require.Equal(t, wire.Applied, w.release(b).Code)
		by, used, _ := w.m.ReferenceUsed(first.Reference)
		require.True(t, used && by == first.Leaf)
	}
	w.narrow(func(l *engine.Limits) { l.References = 1 })
	w.held(slot, 1, 0, 2)
	fourth := w.held(slot, 1, 0, 3)
	fourth.Reference, fourth.Used = first.Reference, wire.Used{Looked: w.m.size, By: first.Leaf + 1}
	require.Equal(t, wire.Applied, w.release(fourth).Code)
	_, _, known := w.m.ReferenceUsed(first.Reference)
	require.False(t, known, "the files go on saying who uses it")
}

// TestAnApprovalLooksForItsReference: an approval whose edge looked less far than it has to is
// stale; it does not take what another payment uses.
func TestAnApprovalLooksForItsReference(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	w.narrow(func(l *engine.Limits) { l.References = 1 })
	b := w.held(slot, 130, 60, 7)
	require.Equal(t, engine.Review, b.Verdict)
	used := w.held(slot, 1, 0, 7)
	w.held(slot, 1, 0, 8)
	approval := wire.Disposition{Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Amount: b.Recorded, Hold: 60, Reference: b.Reference}
	stale := w.do(wire.KindDisposition, &approval)
	require.Equal(t, [2]any{wire.Stale, used.Leaf + 1}, [2]any{stale.Code, stale.Value})
	approval.Used = wire.Used{Looked: w.m.size, By: w.m.size + 1}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindDisposition, &approval).Refusal)
	approval.Used = wire.Used{Looked: w.m.size, By: used.Leaf + 1}
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &approval).Code)
	require.NotContains(t, w.out.Leaves[0].Filters, engine.ReferenceFilter(b.Reference))
	b.Used = approval.Used
	require.Equal(t, wire.Applied, w.release(b).Code)
	require.NotContains(t, w.out.Leaves[0].Filters, engine.ReferenceFilter(b.Reference), "it was never its own")
}
