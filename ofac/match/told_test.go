package match

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two tellings of one fact are compared as they are meant, and what cannot be read is never alike.
func TestTellingsAreCompared(t *testing.T) {
	for _, c := range []struct {
		compare func(a, b string) Likeness
		a, b    string
		want    Likeness
	}{
		{CompareBirths, "", "1974", Untold},
		{CompareBirths, "1974", " ", Untold},
		{CompareBirths, "1974", "1974", Same},
		{CompareBirths, "2 May 1974", "1974-05-02", Same},
		{CompareBirths, "1974", "1974-05-02", Alike},
		{CompareBirths, "1974-05", "1974-06", Unlike},
		{CompareBirths, "1974", "1980", Unlike},
		{CompareBirths, "1974", "1974 to 1980", Unlike},
		{CompareBirths, "1974", "not known", Unlike},
		{CompareBirths, "not known", "Not known", Same},
		{CompareBirths, "?", "!", Unlike},
		{CompareCountries, "JO", "Jordan", Same},
		{CompareCountries, "JO", "SO", Unlike},
		{CompareCountries, "JO", "Atlantis", Unlike},
		{CompareCountries, "Atlantis", "atlantis", Same},
		{CompareCountries, "", "JO", Untold},
		{CompareAddresses, "12 Rue Haute, Lyon", "12, rue haute LYON", Same},
		{CompareAddresses, "12 Rue Haute, Lyon", "Rue Haute 12, 69001 Lyon, France", Alike},
		{CompareAddresses, "Lyon", "Rue Haute 12, 69001 Lyon, France", Unlike},
		{CompareAddresses, "12 Rue Haute, Lyon", "12 Rue Basse, Lyon", Unlike},
		{CompareAddresses, "", "Lyon", Untold},
	} {
		require.Equal(t, c.want, c.compare(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, c.compare(c.b, c.a), "%q %q", c.b, c.a)
	}
}
