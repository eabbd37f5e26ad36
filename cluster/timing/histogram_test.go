package timing

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHistogram(t *testing.T) {
	h := New("test_seconds", `stage="a"`, []float64{1e-3, 0.25})
	New("test_seconds", `stage="b"`, []float64{1})
	h.Observe(time.Millisecond) // Upper bounds are included.
	h.Observe(-time.Second)
	h.Update(0.2)
	h.Update(3)
	var out strings.Builder
	require.NoError(t, Write(&out, func(family string) string { return "Help of " + family }))
	require.Equal(t, `# HELP test_seconds Help of test_seconds
# TYPE test_seconds histogram
test_seconds_bucket{stage="a",le="0.001"} 2
test_seconds_bucket{stage="a",le="0.25"} 3
test_seconds_bucket{stage="a",le="+Inf"} 4
test_seconds_sum{stage="a"} 3.201
test_seconds_count{stage="a"} 4
test_seconds_bucket{stage="b",le="1"} 0
test_seconds_bucket{stage="b",le="+Inf"} 0
test_seconds_sum{stage="b"} 0
test_seconds_count{stage="b"} 0
`, out.String())
	require.Panics(t, func() { New("test_seconds", `stage="a"`, []float64{1}) })
	require.Panics(t, func() { New("other_seconds", "", []float64{1, 1}) })
}

func BenchmarkObserve(b *testing.B) {
	h := New("bench_seconds", "", Call)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Observe(800 * time.Microsecond)
		}
	})
}
