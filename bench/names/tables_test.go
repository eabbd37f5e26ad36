package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/sample"
)

// The table has each constant twice, down and up. Exact forms depend on none.
func TestSensitivitiesNameEveryConstant(t *testing.T) {
	d := Own(sample.Entities())
	table, err := Sensitivities(d)
	require.NoError(t, err)
	require.Len(t, table, 2*len(ofac.Constants()))
	for i, constant := range ofac.Constants() {
		require.Equal(t, constant, table[2*i].Constant)
		require.Less(t, table[2*i].Value, constant.Value)
		require.Greater(t, table[2*i+1].Value, constant.Value)
		require.InDelta(t, 0, table[2*i].Must, 0.001, "exact forms hang on no constant")
	}
	var text strings.Builder
	WriteSensitivities(&text, table)
	require.Equal(t, 2+len(table), strings.Count(text.String(), "\n"))
}

func TestPeersAreHeldAgainstTheSameRows(t *testing.T) {
	d := Own(sample.Entities())
	d.Pairs = append(d.Pairs, Pair{Source: "nomenklatura_name_bench", Query: "Emma Thompson", Target: "Emma Thomson", Expected: expectedMatch, LogicV2: 0.9})
	o, err := Run(d)
	require.NoError(t, err)
	figures := Peers(d, o, 10)
	require.Len(t, figures, len(peers)+2)
	for _, f := range figures[1 : len(peers)+1] {
		require.Equal(t, figures[0].Must.Rows, f.Must.Rows)
		require.Equal(t, figures[0].Ordinary.Rows, f.Ordinary.Rows)
		require.Positive(t, f.Must.Flagged)
	}
	require.InDelta(t, 1, figures[len(figures)-1].Pairs.F1, 1e-9)
	var text strings.Builder
	WritePeers(&text, figures)
	require.Contains(t, text.String(), "Watchman's way")

	require.InDelta(t, 0.961, jaroWinkler("martha", "marhta", 0.7), 0.001)
	require.InDelta(t, 0.840, jaroWinkler("dwayne", "duane", 0.7), 0.001)
	require.Zero(t, jaroWinkler("", "x", 0))
}
