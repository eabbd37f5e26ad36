package load

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The reference values come from tables and from counting by hand.
func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"nothing to compare", nil, []float64{1}, 1},
		{"one each", []float64{1}, []float64{2}, 1},
		{"three each, apart", []float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{"four each, apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		{"five each, apart, the other way", []float64{6, 7, 8, 9, 10}, []float64{1, 2, 3, 4, 5}, 2.0 / 252},
		{"one step from apart", []float64{1, 2, 4}, []float64{3, 5, 6}, 0.2},
		{"mixed", []float64{1, 4, 5}, []float64{2, 3, 6}, 1},
		{"all the same", []float64{7, 7, 7, 7}, []float64{7, 7, 7}, 1},
	} {
		t.Run(c.name, func(t *testing.T) { require.InDelta(t, c.want, MannWhitney(c.a, c.b), 1e-9) })
	}
}

// The test also judges many samples, and samples that have values in common.
func TestMannWhitneyOfManySamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b, far []float64
	for range 40 {
		a, b, far = append(a, random.NormFloat64()), append(b, random.NormFloat64()), append(far, 3+random.NormFloat64())
	}
	require.Greater(t, MannWhitney(a, b), significance)
	require.Less(t, MannWhitney(a, far), 1e-6)
	require.InDelta(t, MannWhitney(a[:20], b[:20]), MannWhitney(append(a[:20:20], a[19]), b[:20]), 0.2, "one value twice changes little")
}

func TestCompare(t *testing.T) {
	report := func(rate, latency []float64) *Report {
		return &Report{Measures: map[string]*Measure{
			"rate": {Unit: "/s", More: true, Samples: rate, Value: median(rate)},
			"p50":  {Unit: "ms", Samples: latency, Value: median(latency)},
		}}
	}
	low, high := []float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15}
	changes := Compare(report(low, low), report(high, high))
	require.Len(t, changes, 2)
	require.Equal(t, "p50", changes[0].Key)
	require.True(t, changes[0].Worse, "more latency is worse")
	require.True(t, changes[1].Better, "more calls are better")
	var out bytes.Buffer
	require.Equal(t, 1, WriteChanges(&out, changes))
	require.Contains(t, out.String(), "WORSE")

	same := Compare(report(low, low), report(low, low))
	require.False(t, same[0].Worse || same[0].Better || same[1].Worse || same[1].Better)
}
