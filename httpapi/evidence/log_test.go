package evidence

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTileIndex(t *testing.T) {
	for text, want := range map[string]uint64{"000": 0, "067": 67, "x001/067": 1067, "x001/x234/067": 1234067} {
		index, width, ok := parseTileIndex(text)
		require.True(t, ok, text)
		require.Equal(t, want, index)
		require.Equal(t, tileWidth, width)
	}
	index, width, ok := parseTileIndex("x001/067.p/8")
	require.True(t, ok)
	require.Equal(t, uint64(1067), index)
	require.Equal(t, 8, width)
	for _, text := range []string{"", "0", "67", "0067", "x067", "001/067", "x000/067", "067.p/0", "067.p/256", "067.p/08", "067.p/", "067.p/8/9",
		"-01", "x1/067", "a00", "x001/x001/x001/x001/x001/x001/x001/067"} {
		_, _, ok := parseTileIndex(text)
		require.False(t, ok, text)
	}
}

func FuzzParseTileIndex(f *testing.F) {
	f.Add("x001/x234/067.p/8")
	f.Fuzz(func(t *testing.T, text string) {
		_, width, ok := parseTileIndex(text)
		require.True(t, !ok || width >= 1 && width <= tileWidth)
	})
}
