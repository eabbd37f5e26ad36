package sample_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/sample"
)

func TestSampleIsAWorkingList(t *testing.T) {
	list, err := ofac.Build(sample.Entities(), sample.Meta())
	require.NoError(t, err)
	require.True(t, list.Meta().Sample)
	require.Equal(t, sample.Source, list.Meta().Source)
	require.GreaterOrEqual(t, list.Counts().Entries, 60)

	wallet, ok := list.Wallet("0x098B716B8Aaf21512996dC57EB0615e2383E2f96")
	require.True(t, ok)
	require.Equal(t, uint32(27307), wallet.UID)

	for name, want := range map[string]ofac.Outcome{
		"Lazarus Group": ofac.Listed, "Nicolas Maduro Moros": ofac.Listed, "MADURO MOROS, Nicolas": ofac.Listed,
		"Sberbank of Russia": ofac.Listed, "Garantex": ofac.Listed, "Blender.io": ofac.Listed, "Dover": ofac.Possible,
		"Acme Payments Ltd": ofac.Clear,
	} {
		got := list.Screen(&ofac.Query{Name: name, NonSDNPossible: true}, ofac.NewScratch())
		require.Equal(t, want, got.Outcome, name)
	}
}
