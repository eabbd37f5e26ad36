package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestALeapErasesNothing (line K1): log time that leaps brings no leaf nearer to its end, however
// far and however often. A leaf is erased when the group has lived through its 90 days.
func TestALeapErasesNothing(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	w.screen(slot, 5)
	w.live(engine.DayLength)
	require.Equal(t, 1, w.m.Freeze().OpenReviews())
	for range 5 {
		w.now += 100 * engine.DayLength
		w.tick()
		w.tick()
	}
	require.Zero(t, w.out.Oldest, "500 days by the clocks, and one day and five hours of life")
	require.Equal(t, 1, w.m.Freeze().OpenReviews(), "what hangs on the leaf stays with it")
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.lived, m.lived)
	w.live(engine.Retention - engine.DayLength)
	require.Zero(t, w.out.Oldest, "five hours of the leaps at most count")
	w.live(engine.DayLength)
	require.NotZero(t, w.out.Oldest, "lived through, it is erased")
	w.tick()
	require.Zero(t, w.m.Freeze().OpenReviews())
	replayAgrees(t, w, 1)
}

// TestLivedTime: an hour at most of what lies between two entries, and never more than log time
// moved.
func TestLivedTime(t *testing.T) {
	w := newWorld(t)
	w.tick()
	for name, c := range map[string]struct{ step, lived engine.Time }{
		"a second":       {engine.Second, engine.Second},
		"an hour":        {engine.Hour, engine.Hour},
		"one past it":    {engine.Hour + 1, engine.Hour},
		"a century":      {36_500 * engine.DayLength, engine.Hour},
		"the same stamp": {0, 0},
	} {
		before := w.m.lived
		w.now += c.step
		w.tick()
		require.Equal(t, c.lived, w.m.lived-before, name)
	}
	before := w.m.lived
	w.now -= engine.DayLength
	w.tick()
	require.Equal(t, before, w.m.lived, "log time does not go back, and neither does this")
}

// TestUnresolvedWaitsThroughALeap: a payment that nobody knows the end of goes on counting as long
// as its record is kept, although log time leapt past the record's 90 days.
func TestUnresolvedWaitsThroughALeap(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	w.held(slot, 60, 60, 1)
	w.live(engine.Minute)
	require.EqualValues(t, 1, w.m.Freeze().UnresolvedTotal().Count)
	w.now += 100 * engine.DayLength
	w.tick()
	w.tick()
	require.EqualValues(t, 1, w.m.Freeze().UnresolvedTotal().Count)
	require.NotZero(t, w.m.registry.agents.At(uint64(slot)).Spend.Held)
	w.live(engine.Retention + 2*engine.DayLength)
	require.Zero(t, w.m.Freeze().UnresolvedTotal().Count)
	require.Zero(t, w.m.registry.agents.At(uint64(slot)).Spend.Held)
}
