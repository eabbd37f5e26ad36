package audit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Distinct keys equal the sorted keys without duplicates, whatever the distribution.
func TestDistinctKeysAreSorted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		keys := make([]uint64, random.IntN(2000))
		for i := range keys {
			switch round % 4 {
			case 0:
				keys[i] = random.Uint64()
			case 1:
				keys[i] = random.Uint64N(300) // All keys have the same first byte, and many occur twice.
			case 2:
				keys[i] = 1<<64 - 1 - random.Uint64N(2)
			case 3:
				keys[i] = random.Uint64() & (3<<62 | 7)
			}
		}
		given, want := slices.Clone(keys), slices.Clone(keys)
		slices.Sort(want)
		require.Equal(t, append([]uint64{}, slices.Compact(want)...), append([]uint64{}, sortDistinct(keys)...))
		require.Equal(t, given, keys, "what was given stays as it was")
	}
}
