package fsm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// narrow gives the world's Machine smaller limits.
func (w *world) narrow(change func(*engine.Limits)) {
	limits := *w.m.limits
	change(&limits)
	w.m.limits = &limits
}

// near screens a call to one counterparty, just below the threshold, and returns R25's count.
func (w *world) near(slot engine.AgentSlot, party byte) uint8 {
	s := w.screening(slot, 9_500*engine.Dollar)
	s.Party = engine.PartyKey{party}
	require.Equal(w.t, wire.Applied, w.do(wire.KindScreen, s).Code)
	return w.m.ledger.moment.Structuring
}

// TestOldestCallMakesRoom: a pair that goes on paying is not dropped because it began early.
// Pairs dropped too soon are counted.
func TestOldestCallMakesRoom(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.Structuring = 3 })
	for party := byte(1); party <= 3; party++ {
		require.EqualValues(t, 1, w.near(slot, party))
		w.now += engine.Minute
	}
	require.EqualValues(t, 2, w.near(slot, 1))
	require.Zero(t, w.out.PairsDisplaced)
	require.EqualValues(t, 1, w.near(slot, 4))
	require.Equal(t, 1, w.out.PairsDisplaced, "2 still counted")
	require.EqualValues(t, 3, w.near(slot, 1), "begun first, called last")
	require.EqualValues(t, 2, w.near(slot, 3))
	w.now += w.m.settings.Policy.StructuringWindow
	w.tick()
	require.Zero(t, w.m.ledger.structuring.Len(), "their windows are over")
	require.Zero(t, w.out.PairsDisplaced)
	require.Equal(t, bandEnds{}, w.m.ledger.bandEnds)
	require.EqualValues(t, 1, w.near(slot, 1))
}

// TestBandsAgainstModel drives the table with random calls, restores in between, and compares
// it with a plain map that drops the pair whose newest call is the oldest.
func TestBandsAgainstModel(t *testing.T) {
	const most = 6
	for seed := range uint64(4) {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 25))
		slot, _ := w.register("a")
		narrow := func() { w.narrow(func(l *engine.Limits) { l.Structuring = most }) }
		narrow()
		window := w.m.settings.Policy.StructuringWindow
		model := map[byte][]engine.Time{}
		newest := func(party byte) engine.Time { return model[party][len(model[party])-1] }
		displaced, counted := 0, 0
		for range 400 {
			w.now += 1 + engine.Time(random.Int64N(int64(3*engine.Hour)))
			party := byte(1 + random.IntN(12))
			if model[party] == nil && len(model) == most {
				oldest := byte(0)
				for p := range model {
					if oldest == 0 || newest(p) < newest(oldest) {
						oldest = p
					}
				}
				if newest(oldest)+window > w.now {
					displaced++
				}
				delete(model, oldest)
			}
			model[party] = append(model[party], w.now)
			want := uint8(0)
			for n, at := range model[party] {
				if at > w.now-window && n >= len(model[party])-engine.StructuringCallsMax {
					want++
				}
			}
			require.Equal(t, want, w.near(slot, party))
			counted += w.out.PairsDisplaced
			for p := range model {
				if newest(p)+window <= w.now {
					delete(model, p)
				}
			}
			require.Equal(t, len(model), w.m.ledger.structuring.Len())
			if random.IntN(20) == 0 {
				w.m = restoredFrom(t, w.m)
				narrow()
			}
		}
		require.NotZero(t, displaced)
		require.Equal(t, displaced, counted)
	}
}

// TestDispositionsAreBounded: a disposition beyond the limit is refused and books nothing. It
// is accepted once older ones have expired with their records.
func TestDispositionsAreBounded(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	w.narrow(func(l *engine.Limits) { l.ClosedReviews = 1 })
	one := w.screen(slot, 5)
	decide := func(leaf uint64) wire.Result {
		return w.do(wire.KindDisposition, &wire.Disposition{Leaf: leaf, Disposition: wire.Approved, Agent: slot, Amount: 5 * engine.Dollar})
	}
	require.Equal(t, wire.Applied, decide(one.Leaf).Code)
	w.live(engine.DayLength)
	two := w.screen(slot, 6)
	require.Equal(t, wire.RefusedFull, decide(two.Leaf).Refusal)
	require.Zero(t, w.m.registry.agents.At(uint64(slot)).Spend.SpentOn(w.m.now.Day()))
	require.Equal(t, 1, w.m.desk.openReviews)
	w.liveUntil(start.Day().Start() + engine.DayLength + engine.Retention)
	w.tick()
	require.Equal(t, wire.Applied, decide(two.Leaf).Code)
}
