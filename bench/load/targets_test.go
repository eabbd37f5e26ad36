package load

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func TestRowsAreJudged(t *testing.T) {
	r := &Report{
		Suites: []string{"cluster"}, Skipped: map[string]string{"single": "no disk"},
		Measures: map[string]*Measure{"a": {Unit: "ms", Value: 3}, "base": {Unit: "ms", Value: 2}, "nil": {}},
	}
	for _, c := range []struct {
		name    string
		target  Target
		outcome string
		judged  float64
	}{
		{"at the must", Target{Measure: "a", Must: 3}, Met, 3},
		{"over it", Target{Measure: "a", Must: 2.999}, Missed, 3},
		{"at the aim", Target{Measure: "a", Must: 4, Aim: 3}, AimMet, 3},
		{"ratio", Target{Measure: "a", Per: "base", Must: 1.5}, Met, 1.5},
		{"ratio missed", Target{Measure: "a", Per: "base", Must: 1.4}, Missed, 1.5},
		{"at least", Target{Measure: "a", Must: 3, Aim: 4, AtLeast: true}, Met, 3},
		{"at least, missed", Target{Measure: "a", Must: 4, AtLeast: true}, Missed, 3},
		{"not measured", Target{Measure: "b", Must: 1}, NotMeasured, 0},
		{"no base line", Target{Measure: "a", Per: "b", Must: 1}, NotMeasured, 3},
		{"base line of nothing", Target{Measure: "a", Per: "nil", Must: 1}, NotMeasured, 3},
		{"suite that could not run", Target{Suite: "single", Measure: "b", Must: 1}, NotMeasured, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := r.row(c.target)
			require.Equal(t, c.outcome, row.Outcome)
			require.InDelta(t, c.judged, row.Judged, 1e-9)
			if c.outcome == NotMeasured {
				require.NotEmpty(t, row.Why)
			}
			require.Len(t, row.cells(), 7)
		})
	}
	r.judgeRows([]Target{{Suite: "cluster", Measure: "b"}, {Suite: "single", Measure: "a"}})
	require.Len(t, r.Rows, 1, "only suites that were asked for")
	require.Len(t, r.Misses(), 1, "what was not measured is not met")
}

func TestTargetsFile(t *testing.T) {
	targets, err := LoadTargets("")
	require.NoError(t, err)
	require.NotEmpty(t, targets)
	for name, text := range map[string]string{
		"unknown suite":  `[{"suite":"speed","name":"x","measure":"x","must":1}]`,
		"unknown member": `[{"suite":"cluster","name":"x","measure":"x","most":1}]`,
		"no measure":     `[{"suite":"cluster","name":"x","must":1}]`,
		"no list":        `{}`,
	} {
		path := filepath.Join(t.TempDir(), "targets.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := LoadTargets(path)
		require.Error(t, err, name)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 2: "2", 1.5: "1.50", 12.34: "12.3", 123.4: "123", 6234.5: "6234", 0.0123: "0.0123"} {
		require.Equal(t, want, number(value))
	}
}
