package merkle

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"
)

func TestHashesAreTheStandards(t *testing.T) {
	var h Hasher
	for size := range 300 {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * size)
		}
		sum := h.Leaf(data)
		require.Equal(t, rfc6962.DefaultHasher.HashLeaf(data), sum[:])
		require.Equal(t, sum, Leaf(data))
		other := h.Leaf(append(data, 1))
		node := Node(sum[:], other[:])
		require.Equal(t, rfc6962.DefaultHasher.HashChildren(sum[:], other[:]), node[:])
	}
	leaf := make([]byte, 2000)
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Leaf(leaf) }))
}
