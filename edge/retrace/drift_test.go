package retrace

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leafjson"
)

const today = engine.Time(20_000) * engine.DayLength

// caseOf returns a payment of one agent with a given decision.
func caseOf(leaf uint64, at engine.Time, was engine.Verdict) *Case {
	c := &Case{Record: &leafjson.Screen{}, Recorded: engine.Decision{Verdict: was}}
	c.Record.Leaf, c.Facts.Request = leaf, new(engine.Request)
	c.Facts.Chain[0], c.Facts.ChainSize = &engine.AgentProfile{Slot: 1}, 1
	c.Moment = engine.Moment{Now: at, Amount: engine.Dollar, LevelCount: 1}
	c.Moment.Levels[0].Row = new(engine.AgentRow)
	return c
}

func booked(b *counterDrift, leaf uint64, at engine.Time, was, now engine.Verdict) {
	b.beginDay(at.Day())
	b.keepOutcome(caseOf(leaf, at, was), &engine.Decision{Verdict: now}, engine.ReferenceKey{byte(leaf), byte(leaf >> 8), byte(leaf >> 16), 1})
}

// The memory of payments is bounded. Payments that nothing can happen to make room. If that is
// not enough, all are dropped and the tally says that it is not exact.
func TestBooksAreBounded(t *testing.T) {
	filled := func(ch *divergentPayment) *counterDrift {
		b := newCounterDrift()
		b.beginDay(today.Day())
		for i := range uint64(changesMax) {
			b.changed[i] = ch
		}
		return b
	}
	settledBy := engine.HoldMax + 2*engine.DayLength
	b := filled(&divergentPayment{was: dayAmount{today.Day(), engine.Dollar}})
	booked(b, changesMax, today+settledBy, engine.Proceed, engine.Block)
	require.False(t, b.full, "they were older than the longest hold")
	require.Len(t, b.changed, 1)

	for name, ch := range map[string]*divergentPayment{
		"young":   {now: dayAmount{today.Day() + 1, engine.Dollar}},
		"waiting": {was: dayAmount{today.Day(), engine.Dollar}, undecided: true},
	} {
		b = filled(ch)
		b.used[engine.ReferenceKey{9}] = referenceUse{leaf: 9}
		booked(b, changesMax, today+settledBy, engine.Proceed, engine.Block)
		require.True(t, b.full, name)
		require.Len(t, b.changed, 1)
		require.Empty(t, b.used)
	}
	b = newCounterDrift()
	for i := range changesMax {
		b.used[engine.ReferenceKey{byte(i), byte(i >> 8), byte(i >> 16), 2}] = referenceUse{}
	}
	booked(b, 1, today, engine.Block, engine.Proceed)
	require.Len(t, b.used, changesMax, "no reference more is remembered")
}

// A REVIEW is remembered until an officer has decided it, even if it is decided otherwise under
// the tried terms: an approval counts in history from then on.
func TestBooksRememberReviews(t *testing.T) {
	b := newCounterDrift()
	booked(b, 1, today, engine.Review, engine.Review)
	booked(b, 2, today, engine.Proceed, engine.Proceed)
	booked(b, 3, today, engine.Block, engine.Unknown)
	require.Empty(t, b.changed, "the same in both worlds")
	booked(b, 4, today, engine.Review, engine.Block)
	booked(b, 5, today, engine.Review, engine.Block)
	booked(b, 6, today, engine.Review, engine.Proceed)
	require.Equal(t, engine.Dollar, b.agents[1], "of the one that proceeds now")
	b.followApproval(4, today)
	require.Zero(t, b.agents[1], "history has counted one, too")
	b.followRefusal(5)
	b.followRefusal(6)
	require.NotContains(t, b.changed, uint64(5), "nothing will come of it")
	require.Contains(t, b.changed, uint64(6))
	b.followApproval(99, today+engine.DayLength)
	require.Empty(t, b.agents, "a day begins anew")
}

// Counters neither wrap nor fall below zero.
func TestCountersAreBounded(t *testing.T) {
	for _, c := range []struct{ amount, by, want engine.USD }{
		{1, 2, 3}, {3, -1, 2}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64 - 1, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64}, {math.MinInt64 + 1, -1, math.MinInt64},
		{math.MaxInt64, -1, math.MaxInt64 - 1},
	} {
		require.Equal(t, c.want, addBounded(c.amount, c.by), "%+v", c)
	}
	s := engine.Spend{Day: 5, Spent: 3}
	shiftCounter(&s, 5, -4)
	require.Zero(t, s.Counted(5))
	s = engine.Spend{Day: 5, Spent: 3, Held: 2}
	shiftCounter(&s, 5, 0)
	require.Equal(t, engine.USD(2), s.Held, "nothing to move")
	shiftCounter(&s, 5, 1)
	require.Equal(t, engine.Spend{Day: 5, Spent: 6}, s, "what is spent and what is held weigh alike")
}

// The counted pairs of R25 are bounded too.
func TestBandsAreBounded(t *testing.T) {
	b := bands{rows: map[bandKey]*engine.BandRow{}, near: map[nearKey]*engine.NearRow{}}
	fill := func(window engine.Time) {
		row := new(engine.BandRow)
		row.Add(today, window)
		for i := range bandsMax {
			b.rows[bandKey{root: engine.AgentSlot(i)}] = row
		}
	}
	fill(engine.Hour)
	require.Equal(t, uint8(2), b.countCall(bandKey{root: 7}, today, engine.Hour))
	b.countCall(bandKey{root: bandsMax}, today+engine.Hour, engine.Hour)
	require.False(t, b.full)
	require.Len(t, b.rows, 1, "what had left the window made room")
	fill(2 * engine.Hour)
	b.countCall(bandKey{root: bandsMax + 1}, today+engine.Hour, 2*engine.Hour)
	require.True(t, b.full)
	require.Len(t, b.rows, 1)
}

// sameBand compares every member of a policy's band: with another band the records' counts
// cannot be used.
func TestSameBand(t *testing.T) {
	a := engine.Policy{StructuringLow: 1, StructuringHigh: 2, StructuringWindow: 3, StructuringCount: 4}
	for _, c := range []struct {
		change func(*engine.Policy)
		same   bool
	}{
		{func(p *engine.Policy) {}, true}, {func(p *engine.Policy) { p.StructuringCount++ }, true},
		{func(p *engine.Policy) { p.StructuringLow++ }, false}, {func(p *engine.Policy) { p.StructuringHigh++ }, false}, {func(p *engine.Policy) { p.StructuringWindow++ }, false},
	} {
		b := a
		c.change(&b)
		require.Equal(t, c.same, sameBand(&a, &b))
	}
}

// Counterparties without a match are remembered for one basis, up to a bound. They are
// distinguished by everything that the list is asked.
func TestSeen(t *testing.T) {
	var s seenParties
	policy := new(engine.Policy)
	s.useBasis(answerBasis{policy: policy})
	asked := partyQuery{name: "a", kind: "b", wallet: "c"}
	s.addParty(asked)
	require.True(t, s.leadsToNobody(asked))
	for _, other := range []partyQuery{{name: "ab", wallet: "c"}, {name: "a", kind: "bc"}, {name: "a", kind: "b", wallet: "c", cons: true}, {kind: "a", wallet: "b"}, {}} {
		require.False(t, s.leadsToNobody(other), "%+v", other)
	}
	s.useBasis(answerBasis{policy: policy})
	require.True(t, s.leadsToNobody(asked))
	s.useBasis(answerBasis{policy: new(engine.Policy)})
	require.False(t, s.leadsToNobody(asked), "another policy may find them")
}

// A tally is bounded. It says that there were more agents, and keeps the first of similar
// examples.
func TestTallyIsBounded(t *testing.T) {
	tally := newTally()
	one := caseOf(1, today, engine.Review)
	one.Record.Agent = nil
	for i := range examplesAlike + 1 {
		c := caseOf(uint64(i), today+engine.Time(i)*engine.DayLength, engine.Review)
		c.Record.At = c.Moment.Now
		tally.noteCase(c, &Outcome{Decision: engine.Decision{Verdict: engine.Block}}, false)
	}
	require.Len(t, tally.examples, examplesAlike)
	full := newTally()
	full.examples = make([]example, examplesMax)
	full.noteCase(one, &Outcome{Decision: engine.Decision{Verdict: engine.Block}}, false)
	require.Len(t, full.examples, examplesMax)
	for i := range agentsMax {
		tally.agents[engine.AgentSlot(10+i)] = true
	}
	c := caseOf(99, today, engine.Review)
	c.Known, c.Facts.Chain[0] = true, &engine.AgentProfile{Slot: 5}
	tally.noteCase(c, &Outcome{Decision: c.Recorded}, false)
	require.True(t, tally.more)
	require.False(t, tally.agents[5])
	for i := range daysMax + 9 {
		tally.countReview(engine.Day(i), true, true)
	}
	require.LessOrEqual(t, len(tally.days), daysMax)
}
