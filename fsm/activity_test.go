package fsm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestIdleAgentsHaveNoRow: an agent that was not screened lately costs R16 nothing, neither
// in memory nor in the snapshot.
func TestIdleAgentsHaveNoRow(t *testing.T) {
	w := worldOfAgents(t, 300)
	require.Zero(t, w.m.ledger.activity.Len(), "none was screened")
	before, err := w.m.Freeze().WriteTo(discard{})
	require.NoError(t, err)
	for slot := engine.AgentSlot(1); slot <= 100; slot++ {
		w.screen(slot, 1)
	}
	require.Equal(t, 100, w.m.ledger.activity.Len())
	w.now += 23 * engine.Hour
	w.tick()
	require.Equal(t, 100, w.m.ledger.activity.Len(), "they count in the day's mean")
	for slot := engine.AgentSlot(1); slot <= 10; slot++ {
		w.screen(slot, 1)
	}
	w.now += 2 * engine.Hour
	w.tick()
	require.Equal(t, 10, w.m.ledger.activity.Len())
	for slot := engine.AgentSlot(1); slot <= 300; slot++ {
		at := uint64(w.m.registry.agents.At(uint64(slot)).Activity)
		require.Equal(t, slot <= 10, at != 0)
		if at != 0 {
			require.Equal(t, slot, w.m.ledger.activity.At(at).Agent)
		}
	}
	w.now += 25 * engine.Hour
	w.tick()
	require.Zero(t, w.m.ledger.activity.Len())
	after, err := w.m.Freeze().WriteTo(discard{})
	require.NoError(t, err)
	require.InDelta(t, before, after, 300*32, "counters alone")
}

// TestPaceOfForgottenRows: rows come and go, and yet every agent's pace is the same as with a
// permanent row.
func TestPaceOfForgottenRows(t *testing.T) {
	const agents = 40
	w := worldOfAgents(t, agents)
	random := rand.New(rand.NewPCG(3, 3))
	rows, from := [agents + 1]engine.VelocityRow{}, [agents + 1]int64{}
	least := agents
	for range 1500 {
		w.now += engine.Time(random.Int64N(int64(2 * engine.Hour)))
		slot := engine.AgentSlot(1 + random.IntN(agents))
		if random.IntN(3) == 0 {
			slot = 1
		}
		require.Equal(t, wire.Applied, w.screen(slot, 1).Code)
		if from[slot] == 0 {
			from[slot] = engine.UnixSecond(w.m.now)
		}
		want := rows[slot].Add(w.m.now, from[slot])
		require.Equal(t, want, w.m.Freeze().Pace(slot))
		require.Equal(t, want, engine.Pace{Minute: w.m.ledger.moment.Minute, PerHour: w.m.ledger.moment.PerHour, DayMeanX100: w.m.ledger.moment.DayMeanX100})
		w.tick()
		least = min(least, w.m.ledger.activity.Len())
		if random.IntN(200) == 0 {
			w.m = restoredFrom(t, w.m)
		}
	}
	require.Less(t, least, agents/2, "rows were forgotten")
}
