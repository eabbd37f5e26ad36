package eval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/eval"
)

func load(t testing.TB) *eval.Data {
	dir, err := eval.Find()
	if err != nil {
		t.Skip("labelled data absent: ", err)
	}
	data, err := eval.Load(dir)
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
	outcomes, err := eval.Run(data)
	require.NoError(t, err)
	var report strings.Builder
	eval.Write(&report, data, outcomes)
	t.Log("\n" + report.String())

	s := eval.Summarise(data, outcomes, ofac.ReviewDefault, ofac.BlockDefault)
	require.Equal(t, s.Exact.Rows, s.Exact.Flagged, "exact forms are found by construction")
	require.GreaterOrEqual(t, s.Must.FlaggedPercent(), 98.5)
	require.GreaterOrEqual(t, s.Should.FlaggedPercent(), 90.0)
	require.GreaterOrEqual(t, s.NaturalMust.FlaggedPercent(), 90.0)
	require.GreaterOrEqual(t, s.UNMust.FlaggedPercent(), 92.0)
	require.LessOrEqual(t, s.Ordinary.FlaggedPercent(), 0.5)
	require.LessOrEqual(t, s.Ordinary.BlockedPercent(), 0.05)
	require.LessOrEqual(t, s.Hard.FlaggedPercent(), 3.0)
	require.LessOrEqual(t, s.Hard.BlockedPercent(), 0.6)
	require.LessOrEqual(t, s.Innocent.Blocked, 4)
	require.Equal(t, s.Same.Rows, s.Same.Flagged)
	require.Greater(t, s.F1, 0.71)
}
