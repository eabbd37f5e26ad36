package names

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac/sample"
)

// A fit screens each row in one half alone, keeps what does not lower its objective, and prints all
// numbers and both halves.
func TestFitKeepsWhatIsBetter(t *testing.T) {
	d := Own(sample.Entities())
	f, err := NewFit(d, sample.Entities())
	require.NoError(t, err)
	fitted, err := f.count(false)
	require.NoError(t, err)
	held, err := f.count(true)
	require.NoError(t, err)
	rows := 0
	for _, counts := range []map[string]Share{fitted, held} {
		for _, share := range counts {
			rows += share.Rows
		}
	}
	require.Equal(t, len(f.rows), rows)
	start := f.worth(fitted)

	f.values["neededPerson"] *= 3 // Hardly anything is found so.
	var out strings.Builder
	require.NoError(t, f.Climb(&out, time.Now().Add(2*time.Second)))
	require.NoError(t, f.WriteFit(&out))
	require.Contains(t, out.String(), "at the start")
	for _, name := range f.names {
		require.Contains(t, out.String(), name)
	}
	require.Contains(t, out.String(), "all ordinary negatives")

	f.values["neededPerson"] *= 3
	worse, err := f.count(false)
	require.NoError(t, err)
	require.Less(t, f.worth(worse), start)
	f.values["bogus"] = 1
	_, err = f.count(false)
	require.Error(t, err)
}

func TestCountsAreOfTheFittedHalf(t *testing.T) {
	d := &Data{}
	for _, name := range []string{"Ada Alpha", "Ada Beta", "Ada Gamma", "Ada Delta", "Ada Epsilon", "Ada Zeta", "Ada Eta", "Ada Theta"} {
		d.Negatives = append(d.Negatives, Negative{"person_x", name}, Negative{"company_x", name + " Inc"}, Negative{"hard_x", name})
	}
	var people, companies strings.Builder
	require.NoError(t, WriteCounts(&people, d, true))
	require.NoError(t, WriteCounts(&companies, d, false))
	require.Equal(t, "0 ada\n", people.String())
	require.Equal(t, "0 ada inc\n", companies.String())
}
