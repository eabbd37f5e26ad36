package plan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func load(rate float64) Load {
	return Load{Rate: rate, Days: 90, Years: 5, Agents: 100_000, Keyed: 1, Failures: 1, Reserve: 0.5}
}

// The figures agree with the pages that they come from.
func TestPlanAgreesWithThePages(t *testing.T) {
	n, err := Compute(load(500))
	require.NoError(t, err)
	require.Equal(t, 3, n.Nodes)
	require.Equal(t, 2, n.Cores)
	require.InDelta(t, 0.77e12, n.HistoryBytes, 0.01e12, "OPERATING.md rounds up to 1 TB")
	require.InDelta(t, 2.5e12, n.HashBytes, 0.1e12, "half a terabyte a year")
	require.InDelta(t, 19.6, n.FetchHours, 0.1, "20 hours")
	require.InDelta(t, 0.78e9, n.KeyBytes, 0.01e9)
	require.InDelta(t, 1.14e9, n.MemoryBytes, 0.01e9)
	busy, err := Compute(load(13_828))
	require.NoError(t, err)
	require.InDelta(t, 13_828*(72.0/2+9)/1e6, busy.CPU, 0.01)
	require.Greater(t, n.CPU/500, busy.CPU/13_828, "a verdict alone in its entry is dearer")
	require.NotEmpty(t, busy.Warnings)
}

// More load never needs less.
func TestPlanRises(t *testing.T) {
	last := Need{}
	for _, rate := range []float64{0.1, 1, 50, 99, 100, 101, 500, 1000, 1001, 5000, 13_828, 20_000, 100_000} {
		n, err := Compute(load(rate))
		require.NoError(t, err)
		for _, pair := range [][2]float64{{last.CPU, n.CPU}, {float64(last.Cores), float64(n.Cores)}, {last.DiskBytes, n.DiskBytes}, {last.LeaderOut, n.LeaderOut}, {last.FetchHours, n.FetchHours}} {
			require.LessOrEqual(t, pair[0], pair[1], "%v verdicts a second", rate)
		}
		last = n
	}
	five := load(500)
	five.Failures = 2
	n, err := Compute(five)
	require.NoError(t, err)
	require.Equal(t, 5, n.Nodes)
}

func TestPlanRefuses(t *testing.T) {
	for name, change := range map[string]func(*Load){
		"no rate": func(l *Load) { l.Rate = 0 }, "not a number": func(l *Load) { l.Rate = math.NaN() }, "endless": func(l *Load) { l.Rate = math.Inf(1) },
		"mean above": func(l *Load) { l.Mean = 501 }, "no days": func(l *Load) { l.Days = 0 }, "many years": func(l *Load) { l.Years = 101 },
		"agents": func(l *Load) { l.Agents = 2e7 }, "keyed": func(l *Load) { l.Keyed = 1.1 }, "failures": func(l *Load) { l.Failures = 0 },
		"no processor left": func(l *Load) { l.Reserve = 1 }, "too fast": func(l *Load) { l.Rate = 140_000 },
	} {
		l := load(500)
		change(&l)
		_, err := Compute(l)
		require.Error(t, err, name)
	}
}
