package index

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/text"
)

func TestLog2FixedAgreesWithMath(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 7, 1000, 18809, 45145, 1 << 20, math.MaxUint32} {
		require.InDelta(t, math.Log2(float64(n)), float64(log2Fixed(n))/65536, 0.0001)
	}
	require.Equal(t, int32(text.ScoreOne), rarityOf(0, 20000))
	require.Equal(t, int32(WeightFloor), rarityOf(20000, 20000))
	require.Greater(t, rarityOf(5, 20000), rarityOf(50, 20000))
}
