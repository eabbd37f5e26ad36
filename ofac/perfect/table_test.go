package perfect

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	for _, count := range []int{0, 1, 2, 3, 10, 1000, 20000} {
		keys := make([]Key, count)
		for i := range keys {
			keys[i] = KeyOf(fmt.Appendf(nil, "key %d", i))
		}
		hash, slotOf, err := Build(keys)
		require.NoError(t, err)
		seen := make([]bool, count)
		for i, key := range keys {
			slot, ok := hash.Find(key)
			require.True(t, ok)
			require.Equal(t, slotOf[i], slot)
			require.False(t, seen[slot], "minimal and perfect")
			seen[slot] = true
		}
		for i := range 1000 {
			_, ok := hash.Find(KeyOf(fmt.Appendf(nil, "stranger %d", i)))
			require.False(t, ok)
		}
	}
}

// Each key has its values in their order, and a key that is not in the map has none.
func TestMultimap(t *testing.T) {
	one, two := KeyOf([]byte("one")), KeyOf([]byte("two"))
	m, err := BuildMultimap([]Key{one, one, two}, []uint32{7, 5, 9})
	require.NoError(t, err)
	require.Equal(t, []uint32{7, 5}, m.Of(one))
	require.Equal(t, []uint32{9}, m.Of(two))
	require.Empty(t, m.Of(KeyOf([]byte("three"))))
	require.Equal(t, 2, m.Count())
	require.Positive(t, m.Size())
	none, err := BuildMultimap(nil, nil)
	require.NoError(t, err)
	require.Empty(t, none.Of(one))
}
