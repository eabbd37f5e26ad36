package watch

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/audit/proof"
)

// Tiles alone prove the same as the definition, at sizes around that of a tile.
func TestTilesProve(t *testing.T) {
	f := newFakeLog(t, 600)
	f.noProofs = true
	points := map[int]*note.Checkpoint{}
	for _, size := range []int{1, 2, 255, 256, 257, 511, 512, 513, 600} {
		points[size] = &note.Checkpoint{Size: uint64(size), Root: rootOf(f.leaves[:size])}
	}
	all := f.leaves
	for to, newer := range points {
		f.leaves = all[:to]
		for from, older := range points {
			if from > to {
				continue
			}
			_, err := Prove(context.Background(), f.source(), older, newer)
			require.NoError(t, err, "%d to %d", from, to)
			forged := *older
			forged.Root[5] ^= 1
			_, err = Prove(context.Background(), f.source(), &forged, newer)
			require.ErrorIs(t, err, ErrFork, "%d to %d", from, to)
		}
	}
}

// Tiles alone show which record stands at an index, and at no other.
func TestTilesShowALeaf(t *testing.T) {
	f := newFakeLog(t, 600)
	all := f.leaves
	for _, size := range []int{1, 2, 255, 256, 257, 511, 512, 513, 600} {
		f.leaves = all[:size]
		point := &note.Checkpoint{Size: uint64(size), Root: rootOf(f.leaves)}
		for _, index := range []int{0, 1, 254, 255, 256, 510, 511, 512, size - 1} {
			err := Include(context.Background(), f.source(), point, uint64(index), f.leaves[min(index, size-1)])
			if index >= size {
				require.ErrorIs(t, err, ErrAbsent, "%d of %d", index, size)
				continue
			}
			require.NoError(t, err, "%d of %d", index, size)
			other := f.leaves[index]
			other[5] ^= 1
			require.ErrorIs(t, Include(context.Background(), f.source(), point, uint64(index), other), proof.ErrInvalid)
			forged := *point
			forged.Root[5] ^= 1
			require.ErrorIs(t, Include(context.Background(), f.source(), &forged, uint64(index), f.leaves[index]), proof.ErrInvalid)
		}
	}
	f.leaves = nil // It has no tile any more.
	err := Include(context.Background(), f.source(), &note.Checkpoint{Size: 600, Root: rootOf(all)}, 3, all[3])
	require.ErrorIs(t, err, ErrAway)
}
