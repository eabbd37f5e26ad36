package names

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/sample"
)

func TestOwnSetFindsTheSampleAndNobodyElse(t *testing.T) {
	d := Own(sample.Entities())
	require.NotEmpty(t, d.Positives)
	o, err := Run(d)
	require.NoError(t, err)
	s := Summarise(d, o, ofac.ReviewDefault, ofac.BlockDefault)
	require.InDelta(t, 100, s.Must.FlaggedPercent(), 0.001)
	require.Greater(t, s.Should.FlaggedPercent(), 85.0)
	require.Zero(t, s.Ordinary.Blocked)
	require.Zero(t, s.Ordinary.Flagged)
}
