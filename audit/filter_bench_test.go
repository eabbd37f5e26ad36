package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// segmentRuns returns keys like those of the bundles of a segment of 65,536 leaves.
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

// BenchmarkUnion measures the merging of a full segment's keys, and the longest time for which
// it keeps the processor from other goroutines.
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
