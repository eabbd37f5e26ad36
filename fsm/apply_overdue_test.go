package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func (w *world) waitAtMost(wait engine.Time) {
	policy := *engine.DefaultPolicy()
	policy.ReviewSLA = wait
	require.Equal(w.t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
}

// overdue returns the reviews that the newest entry's leaves call overdue.
func (w *world) overdue() (reviews []string) {
	for _, l := range w.out.Leaves {
		if between(l.Data, `"type":"`, `"`) == "review.sla_breached" {
			reviews = append(reviews, between(l.Data, `"txnId":"`, `"`))
		}
	}
	return reviews
}

// TestOverdueReviewsAreToldOnce: a leaf tells of each review that is open when its time is
// over, once and in order, also after a restore in between.
func TestOverdueReviewsAreToldOnce(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	first := w.held(slot, 20, 0, 0)
	w.now += engine.Hour
	decided, last := w.held(slot, 20, 0, 0), w.held(slot, 20, 0, 0)
	w.now += 10 * engine.Hour
	w.tick()
	require.Empty(t, w.overdue(), "no time is set")
	require.Zero(t, w.m.Freeze().Overdue())
	w.waitAtMost(12 * engine.Hour)
	w.now += engine.Hour
	w.tick()
	require.Equal(t, []string{w.m.ids.TxnID(first.Leaf)}, w.overdue())
	require.Equal(t, 1, w.m.Freeze().Overdue())
	w.tick()
	require.Empty(t, w.overdue(), "once")

	require.Equal(t, wire.Applied, w.decide(decided, w.makeKey(nil, "ann", wire.RoleReviewer), wire.Rejected).Code)
	w.m = restoredFrom(t, w.m)
	w.now += engine.Hour
	w.tick()
	require.Equal(t, []string{w.m.ids.TxnID(last.Leaf)}, w.overdue(), "what is decided is not overdue")
	require.Equal(t, 2, w.m.Freeze().Overdue())
	w.waitAtMost(30 * engine.DayLength)
	require.Zero(t, w.m.Freeze().Overdue())
	w.now += 31 * engine.DayLength
	w.tick()
	require.Empty(t, w.overdue(), "told before")
	require.Equal(t, 2, w.m.Freeze().Overdue())
	require.Equal(t, wire.Applied, w.decide(first, w.makeKey(nil, "ann", wire.RoleReviewer), wire.Rejected).Code)
	require.Equal(t, 1, w.m.Freeze().Overdue())
}

func TestOverdueIsABoundedWork(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	for range 70 {
		w.held(slot, 20, 0, 0)
	}
	w.narrow(func(l *engine.Limits) { l.ExpiredAtOneTick = 32 })
	w.waitAtMost(engine.Minute)
	w.now += engine.Hour
	for _, told := range []int{32, 32, 6, 0} {
		w.tick()
		require.Len(t, w.overdue(), told)
	}
	require.Equal(t, 70, w.m.Freeze().Overdue())
}
