package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// segmentRuns are keys as the bundles of a segment of 65,536 leaves have them.
func segmentRuns() (runs [][]uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 256 {
		var keys []uint64
		for range BundleLeaves {
			for k := range 6 {
				keys = append(keys, random.Uint64N(1<<uint(8+8*k)))
			}
		}
		runs = append(runs, sortDistinct(keys))
	}
	return runs
}

// BenchmarkUnion tells what the keys of a full segment cost, and the longest stretch in
// which no other goroutine has the processor.
func BenchmarkUnion(b *testing.B) {
	runs := segmentRuns()
	b.Run("sorted at once", func(b *testing.B) {
		for b.Loop() {
			keys := slices.Concat(runs...)
			slices.Sort(keys)
			_ = slices.Compact(keys)
		}
	})
	b.Run("merged", func(b *testing.B) {
		var longest time.Duration
		pace := &pacer{rest: 1}
		pace.urgent = func() bool {
			longest = max(longest, time.Since(pace.since))
			return true
		}
		for b.Loop() {
			longest = 0
			_ = unionOf(slices.Clone(runs), pace)
		}
		b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
	})
}
