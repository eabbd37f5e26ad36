package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/bench/names"
	"railguard/ofac"
)

func load(t testing.TB) *names.Data {
	dir, err := names.Find()
	if err != nil {
		t.Skip("labelled data absent: ", err)
	}
	data, err := names.Load(dir)
	if err != nil {
		t.Skip("labelled data unreadable: ", err)
	}
	return data
}

func TestMatcherHoldsItsFloors(t *testing.T) {
	if testing.Short() {
		t.Skip("screens 40,000 names")
	}
	data := load(t)
	outcomes, err := names.Run(data)
	require.NoError(t, err)
	var report strings.Builder
	names.Write(&report, data, outcomes)
	t.Log("\n" + report.String())

	s := names.Summarise(data, outcomes, ofac.ReviewDefault, ofac.BlockDefault)
	require.Equal(t, s.Exact.Rows, s.Exact.Flagged, "exact forms are found by construction")
	// docs/matching.md says which of these are aims. There is none for Innocent, because decision 44
	// blocks an equal name.
	require.GreaterOrEqual(t, s.Must.FlaggedPercent(), 99.5)
	require.GreaterOrEqual(t, s.Should.FlaggedPercent(), 97.0)
	require.GreaterOrEqual(t, s.NaturalMust.FlaggedPercent(), 96.0)
	require.GreaterOrEqual(t, s.UNMust.FlaggedPercent(), 97.0)
	require.LessOrEqual(t, s.Ordinary.FlaggedPercent(), 0.31)
	require.LessOrEqual(t, s.Ordinary.BlockedPercent(), 0.0)
	require.LessOrEqual(t, s.Hard.FlaggedPercent(), 4.0)
	require.LessOrEqual(t, s.Hard.BlockedPercent(), 0.2)
	require.LessOrEqual(t, s.Innocent.Blocked, 2)
	require.Equal(t, s.Same.Rows, s.Same.Flagged)
	require.GreaterOrEqual(t, s.Added.FlaggedPercent(), 99.5)
	require.GreaterOrEqual(t, s.F1, 0.82)
}
