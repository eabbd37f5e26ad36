package index

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLog2FixedAgreesWithMath(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 7, 1000, 18809, 45145, 1 << 20, math.MaxUint32} {
		require.InDelta(t, math.Log2(float64(n)), float64(log2Fixed(n))/65536, 0.0001)
	}
}

// A word says the more the fewer ordinary names and listed entries have it, and the longer it is.
func TestWordBitsGrowWithRarity(t *testing.T) {
	bits := func(word string, entries uint32, person bool) int32 {
		return WordBits([]byte(word), entries, 20000, person)
	}
	require.Less(t, bits("mohammad", 1, true), bits("prigozhin", 1, true))
	require.Less(t, bits("bank", 1, false), bits("garantex", 1, false))
	require.Less(t, bits("garantex", 500, false), bits("garantex", 1, false))
	require.Less(t, bits("garan", 1, false), bits("garantexes", 1, false))
	require.Equal(t, int32(GrammarBits), bits("al", 1, true))
	require.LessOrEqual(t, bits("transstroymekhanizatsiya", 1, false), int32(unseenMost))
}

func TestTablesOfOrdinaryWords(t *testing.T) {
	require.Panics(t, func() { readOrdinary("x mohammad\n") })
	ordinary := func(word string) bool { return OrdinaryOf([]byte(word)).Known() }
	generic := func(word string) bool { return OrdinaryOf([]byte(word)).IsGeneric([]byte(word)) }
	require.True(t, ordinary("ali"))
	require.True(t, ordinary("inc"))
	require.False(t, ordinary("garantex"))
	require.True(t, generic("exchange"))
	require.False(t, generic("garantex"))
}
