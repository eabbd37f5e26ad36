package timing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// work makes so many steps of one length. It returns how long it took and the longest stretch
// without a rest.
func work(p *Pace, steps int, length time.Duration, each func()) (took, longest time.Duration) {
	began := time.Now()
	w := p.Begin(time.Now(), time.Hour)
	stretch := time.Duration(0)
	for range steps {
		time.Sleep(length) // In this test's time this stands for computing.
		stretch += length
		longest = max(longest, stretch)
		each()
		before := time.Now()
		if w.Between(); time.Now().After(before) {
			stretch = 0
		}
	}
	return time.Since(began), longest
}

// While the node applies entries, expensive work computes for at most a slice and a step
// without a rest. It rests so long that all scans of a node together leave most of the time to
// verdicts.
func TestWorkRestsWhileTheNodeIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			processors int
			share      float64 // The part of the time in which one scan computes.
		}{{1, 1. / 5}, {2, 1. / 3}, {4, 1. / 2}, {8, 2. / 3}} {
			applied := uint64(0)
			p := NewPace(c.processors, Slice, func() uint64 { return applied }, nil)
			const steps, length = 1000, 100 * time.Microsecond
			took, longest := work(p, steps, length, func() { applied++ })
			require.LessOrEqual(t, longest, Slice+length)
			require.InDelta(t, c.share, float64(steps*length)/float64(took), 0.02, c.processors)
		}
	})
}

// A node that applies nothing does not make work rest, and stops doing so as soon as verdicts
// have ended.
func TestWorkDoesNotRestOnAnIdleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		applied := uint64(7)
		p := NewPace(2, Slice, func() uint64 { return applied }, nil)
		took, _ := work(p, 1000, 100*time.Microsecond, func() {})
		require.Equal(t, 100*time.Millisecond, took)
		applied++
		require.True(t, p.Busy())
		time.Sleep(BusyFor)
		require.False(t, p.Busy())
		took, _ = work(p, 1000, 100*time.Microsecond, func() {})
		require.Equal(t, 100*time.Millisecond, took)
	})
}

// The rest after a step that took long on a busy machine is bounded, and work without a pace
// never rests.
func TestRestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		applied := uint64(0)
		p := NewPace(1, Slice, func() uint64 { applied++; return applied }, nil)
		took, _ := work(p, 1, time.Second, func() {})
		require.Equal(t, time.Second+RestMax, took)
		var none Work
		began := time.Now()
		none.Between()
		require.Zero(t, time.Since(began))
	})
}
