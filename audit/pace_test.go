package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// denseSegment writes a segment of 4,096 leaves of a kilobyte that cannot be compressed.
func denseSegment(t *testing.T, pace *pacer) (*memFile, *segmentFooter, error) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	leaves := make([]Leaf, BundleLeaves)
	f := &memFile{}
	parts, err := writeSegment(f, geometry{12}, 0, 0, func(int) (*bundleInput, error) {
		for i := range leaves {
			data := make([]byte, 0, 1024)
			for len(data) < 1024 {
				data = binary.LittleEndian.AppendUint64(data, random.Uint64())
			}
			leaves[i] = Leaf{Time: 1, Data: data, Keys: []uint64{random.Uint64N(1000)}}
		}
		return newBundleInput(leaves, nil)
	}, pace)
	return f, parts, err
}

// While a segment is sealed on the log's disk, it is synced in steps of at most two buffers.
// Its bytes are the same as without steps. An error of sync ends the sealing.
func TestSealingSyncsInSteps(t *testing.T) {
	whole, _, err := denseSegment(t, &pacer{})
	require.NoError(t, err)
	synced, most := 0, 0
	stepped, parts, err := denseSegment(t, &pacer{sync: func(f File) error {
		size := len(f.(*memFile).data)
		most, synced = max(most, size-synced), size
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, whole.data, stepped.data)
	require.Greater(t, len(whole.data), 4*segmentBuffer)
	require.LessOrEqual(t, max(most, len(stepped.data)-synced), 2*segmentBuffer)
	require.Equal(t, 4096, len(parts.hashes))

	lost := errors.New("lost")
	_, _, err = denseSegment(t, &pacer{sync: func(File) error { return lost }})
	require.ErrorIs(t, err, lost)
}

// Merging a segment's keys bundle by bundle, with rests between, gives the same as sorting all
// of them.
func TestUnionOf(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for count := range 20 {
		var runs [][]uint64
		var all []uint64
		for range count {
			keys := make([]uint64, random.IntN(200))
			for i := range keys {
				keys[i] = random.Uint64N(500)
			}
			all = append(all, keys...)
			runs = append(runs, sortDistinct(keys))
		}
		slices.Sort(all)
		require.Equal(t, append([]uint64{}, slices.Compact(all)...), append([]uint64{}, unionOf(runs, &pacer{})...), count)
	}
}

// The verification of history in the background makes way for verdicts after each rest; the one that
// somebody waits for does not.
func TestVerificationMakesWay(t *testing.T) {
	ways := 0
	s, err := Open(OSDir(t.TempDir()), Options{SegmentLevel: SegmentLevelMin, SealInline: true, MakeWay: func() { ways++ }})
	require.NoError(t, err)
	defer s.Close()
	var leaves []Leaf
	for i := range int64(600) {
		leaves = append(leaves, Leaf{Time: i, Data: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	require.NoError(t, s.Append(0, leaves))
	_, err = s.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, ways)
	_, err = s.VerifySegment(0, nil)
	require.NoError(t, err)
	require.NotZero(t, ways)
}

// The filter of many keys is made in steps, with a rest after each.
func TestFilterRests(t *testing.T) {
	keys := make([]uint64, 10*filterKeysStep)
	for i := range keys {
		keys[i] = uint64(i)
	}
	rests := 0
	pace := &pacer{rest: sealRest, urgent: func() bool {
		rests++
		return true
	}}
	paced, _ := appendFilterOf(nil, keys, pace)
	require.Equal(t, 10, rests)
	once, _ := appendFilter(nil, keys)
	require.Equal(t, once, paced)
	rests = 0
	require.Len(t, unionOf([][]uint64{keys[:filterKeysStep], {7}, keys[filterKeysStep : 3*filterKeysStep]}, pace), 3*filterKeysStep)
	require.GreaterOrEqual(t, rests, 6, "of each step of two rounds")
}
