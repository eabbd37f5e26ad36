package keyindex_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/keyindex"
)

// isKey takes one of sixteen keys, as the marks of keys do.
func isKey(filter uint64) bool { return filter&15 == 3 }

// spread makes a key of a small number; keys are hashes.
func spread(n uint64) uint64 { return n*0x9e3779b97f4a7c15&^15 | 3 }

const kept = 1000 * time.Second

func options() keyindex.Options {
	return keyindex.Options{IsKey: isKey, Kept: kept, Leaves: 16, Inline: true}
}

var errFull = errors.New("no space left")

// world is a history with its index, and what is known about both.
type world struct {
	*testing.T
	random  *rand.Rand
	history *audit.Store
	disk    *audittest.MemDir
	index   *keyindex.Index
	keys    [][]uint64 // Of each leaf.
	times   []int64
	salt    uint64
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, random: rand.New(rand.NewPCG(seed, 7)), disk: audittest.NewMemDir()}
	var err error
	w.history, err = audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(t, err)
	w.open()
	return w
}

func (w *world) open() {
	var err error
	w.index, err = keyindex.Open(w.disk, w.history, options())
	require.NoError(w, err)
}

// add appends leaves with few different keys, so that keys come again.
func (w *world) add(n int) {
	first := uint64(len(w.keys))
	var leaves []audit.Leaf
	for range n {
		at := int64(0)
		if len(w.times) > 0 {
			at = w.times[len(w.times)-1] + w.random.Int64N(int64(5*time.Second))
		}
		var keys []uint64
		for range w.random.IntN(3) {
			keys = append(keys, spread(uint64(w.random.IntN(400))))
		}
		keys = append(keys, w.random.Uint64()&^15) // No key.
		w.keys, w.times = append(w.keys, keys), append(w.times, at)
		leaves = append(leaves, audit.Leaf{Time: at, Keys: keys, Data: binary.BigEndian.AppendUint64(nil, w.salt<<32|uint64(len(w.keys)))})
	}
	require.NoError(w, w.history.Append(first, leaves))
	w.index.Add(first, leaves)
}

// check compares the answers for all keys with what was added.
func (w *world) check() {
	oldest := w.times[len(w.times)-1] - int64(kept)
	for n := range uint64(420) {
		key := spread(n)
		var want []uint64
		for i := range w.keys {
			if w.times[i] > oldest && slices.Contains(w.keys[i], key) {
				want = append(want, uint64(i))
			}
		}
		slices.Reverse(want)
		found, err := w.index.Find(key, 1000)
		require.NoError(w, err)
		require.EqualValues(w, len(w.keys), found.Looked)
		got := slices.Compact(slices.DeleteFunc(found.Leaves, func(leaf uint64) bool { return w.times[leaf] <= oldest }))
		require.True(w, slices.Equal(want, got), "key %d: %v, not %v", n, got, want)
	}
}

// TestIndexFindsWhatHistoryHas: whatever was added, settled, lost in a crash or closed, each search
// finds the leaves of a key that are young enough, newest first.
func TestIndexFindsWhatHistoryHas(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed)
		for range 40 {
			w.add(1 + w.random.IntN(90))
			switch w.random.IntN(5) {
			case 0: // The newest leaves are not in files yet.
			case 1:
				require.NoError(t, w.index.Close())
				w.open()
				w.index.Settle()
			case 2:
				w.disk = w.disk.CrashClone(audittest.Loss(w.random.IntN(3)), w.random)
				w.open()
				w.index.Settle()
			default:
				w.index.Settle()
			}
			w.check()
		}
		require.LessOrEqual(t, len(w.disk.Files()), 40, "neighbours are merged, and what is old is forgotten")
	}
}

// TestIndexNeverSaysNoUnread: as long as leaves are lacking, a search fails.
func TestIndexNeverSaysNoUnread(t *testing.T) {
	w := newWorld(t, 1)
	w.add(200)
	w.index.Settle()
	require.NoError(t, w.index.Close())
	w.disk = audittest.NewMemDir()
	w.open()
	_, err := w.index.Find(spread(1), 10)
	require.ErrorIs(t, err, keyindex.ErrIncomplete)
	require.NotZero(t, w.index.Lacks())
	w.index.Settle()
	require.Zero(t, w.index.Lacks())
	w.check()
}

// TestDamagedFilesAreMadeAgain: a flipped bit costs a search, never an answer.
func TestDamagedFilesAreMadeAgain(t *testing.T) {
	w := newWorld(t, 2)
	w.add(300)
	w.index.Settle()
	for range 40 {
		for name, size := range w.disk.Files() {
			require.NoError(t, w.disk.FlipBit(name, w.random.Int64N(8*size)))
			break
		}
		for n := range uint64(420) {
			_, err := w.index.Find(spread(n), 10)
			if err != nil {
				require.ErrorIs(t, err, keyindex.ErrIncomplete)
				w.index.Settle()
			}
		}
		w.check()
	}
}

// TestFilesOfAnotherHistory: files that were made of other leaves are made again.
func TestFilesOfAnotherHistory(t *testing.T) {
	w := newWorld(t, 3)
	w.add(300)
	w.index.Settle()
	require.NoError(t, w.index.Close())
	other := newWorld(t, 4)
	other.salt = 1
	other.add(300)
	other.disk = w.disk
	other.open()
	_, err := other.index.Find(spread(1), 10)
	require.ErrorIs(t, err, keyindex.ErrIncomplete)
	other.index.Settle()
	other.check()
}

// TestAFullDiskIsTriedAgain: what cannot be written stays in memory and is found there.
func TestAFullDiskIsTriedAgain(t *testing.T) {
	w := newWorld(t, 5)
	fails := true
	w.disk.Hook = func(operation, _ string) error {
		if fails && operation == "write" {
			return errFull
		}
		return nil
	}
	w.add(200)
	w.index.Settle()
	w.check()
	fails = false
	w.index.Settle()
	w.check()
	require.NotEmpty(t, w.disk.Files())
}
