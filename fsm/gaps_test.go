package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// snapshotOf returns a machine's snapshot.
func snapshotOf(t testing.TB, m *Machine) []byte {
	t.Helper()
	var data bytes.Buffer
	_, err := m.Freeze().WriteTo(&data)
	require.NoError(t, err)
	return data.Bytes()
}

// TestAnEmptiedTableKeepsNothing (line K22a): 91 days without an issuance empty the status lists'
// table. After two more epochs no position that was never given out reads as a credential of long
// ago, and a restored machine agrees.
func TestAnEmptiedTableKeepsNothing(t *testing.T) {
	w := newWorld(t)
	for n := range 4 {
		w.register(fmt.Sprint("of long ago ", n))
	}
	w.now += w.m.limits.AgentValidity + w.m.limits.StatusEvery
	w.tick()
	require.Zero(t, w.m.registry.statuses.Len())
	for n := range 2 {
		require.Equal(t, wire.Applied, w.do(wire.KindRestored, &wire.Restored{Lineage: fmt.Sprint("line ", n)}).Code)
		w.register("since")
	}
	held := 0
	for at := w.m.registry.statuses.First(); at < w.m.registry.statuses.Next(); at++ {
		if row := w.m.registry.statuses.At(at); row.Slot != 0 {
			held++
			require.GreaterOrEqual(t, row.Slot, uint32(5), "position %d was never given out", at)
		}
	}
	require.Equal(t, 2, held)
	require.True(t, bytes.Equal(snapshotOf(t, w.m), snapshotOf(t, restoredFrom(t, w.m))))
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// TestDigestsInAGap (line K22b): an epoch leaves a gap of positions. While its rows are forgotten, some
// at each tick, a machine that lived through all of it has pages there and a restored one has none.
// Their digests are equal.
func TestDigestsInAGap(t *testing.T) {
	for _, step := range []int{2, 1024} { // In the gap of a page, and in that of a chunk.
		w := newWorld(t)
		w.register("before")
		require.Equal(t, wire.Applied, w.do(wire.KindRestored, &wire.Restored{Lineage: "line"}).Code)
		w.now += engine.DayLength
		slot, _ := w.register("after")
		w.now += w.m.limits.AgentValidity - engine.Hour
		w.narrow(func(l *engine.Limits) { l.ForgottenAtOneTime = step })
		digester := NewDigester()
		for tick := range 20 {
			w.now += engine.Second
			w.tick()
			require.EqualValues(t, 1+step*(tick+1), w.m.registry.statuses.First())
			require.Less(t, w.m.registry.statuses.First(), uint64(w.statusOf(slot)))
			view := w.m.Freeze()
			require.Equal(t, digester.Digest(view), restoredFrom(t, w.m).Freeze().Digest(), "tick %d of %d", tick, step)
			require.Equal(t, digester.Digest(view), view.Digest())
		}
		*w.m.registry.agents.Edit(1) = engine.AgentRow{}
		was := w.m.Freeze().Digest()
		w.m.registry.agents.Edit(1).Sequence = 7
		require.Equal(t, was, w.m.Freeze().Digest(), "what is left at a position without a row is no content")
	}
}

// TestARestoredMachineAgreesForEver: histories with epochs, long silences and retired parties. A
// machine that was restored from its own snapshot now and then, and driven on, writes the same
// snapshot as one that never was.
func TestARestoredMachineAgreesForEver(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 12
	}
	retired := 0
	for seed := range seeds {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 22))
		other, from := New(), 0
		var out Effects
		follow := func() {
			for ; from < len(w.entries); from++ {
				other.Apply(uint64(from+1), w.terms[from], w.entries[from], &out)
			}
		}
		for range 60 {
			switch random.IntN(12) {
			case 0:
				w.now += engine.Time(random.Int64N(int64(100 * engine.DayLength)))
				for range random.IntN(12) {
					w.now += engine.Second
					w.tick()
				}
			case 1:
				w.do(wire.KindRestored, &wire.Restored{Lineage: fmt.Sprint("line ", seed, random.Uint32())})
			case 2:
				retired += w.retireSome(random)
			case 3, 4:
				w.register("an agent")
			default:
				w.now += engine.Time(random.Int64N(int64(engine.Hour)))
				w.randomStep(random)
			}
			if random.IntN(8) == 0 {
				follow()
				other = restoredFrom(t, other)
				require.Equal(t, w.m.Freeze().Digest(), other.Freeze().Digest(), "seed %d, entry %d", seed, from)
			}
		}
		follow()
		require.Equal(t, w.m.Freeze().Digest(), other.Freeze().Digest(), "seed %d", seed)
		require.True(t, bytes.Equal(snapshotOf(t, w.m), snapshotOf(t, other)), "seed %d", seed)
		requireSameShares(t, other)
	}
	require.Greater(t, retired, int(seeds)/4)
}

// retireSome revokes and retires random parties, and returns how many it retired.
func (w *world) retireSome(random *rand.Rand) (retired int) {
	for slot := engine.AgentSlot(1); int(slot) <= w.m.registry.agents.Len(); slot++ {
		if random.IntN(2) == 0 {
			w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Revoked})
		}
		if r := w.do(wire.KindRetire, &wire.Retire{Agent: slot}); r.Code == wire.Applied {
			retired++
		}
	}
	for slot := engine.FleetSlot(1); int(slot) <= w.m.registry.fleets.Len(); slot++ {
		if r := w.do(wire.KindRetire, &wire.Retire{Fleet: slot}); r.Code == wire.Applied {
			retired++
		}
	}
	return retired
}
