package audit_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/proof"
)

// small are options for segments of 512 leaves, which is two bundles.
var small = audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true}

const smallSegment = 1 << audit.SegmentLevelMin

// leafAt returns the leaf of an index. The history of every test is a prefix of the same
// leaves.
func leafAt(index uint64) audit.Leaf {
	random := rand.New(rand.NewPCG(index, 7))
	data := fmt.Appendf(nil, `{"txnId":"txn_%08d","agentId":"agt_%03d","note":"`, index, random.IntN(50))
	for range random.IntN(40) {
		data = append(data, byte('a'+random.IntN(26)))
	}
	return audit.Leaf{Time: timeOf(index), Data: append(data, `"}`...), Keys: keysOf(index)}
}

func timeOf(index uint64) int64 { return 1_700_000_000_000_000_000 + int64(index/3)*1000 }

func keysOf(index uint64) []uint64 {
	keys := []uint64{agentKey(index % 7)}
	if index%100 == 13 {
		keys = append(keys, reviewKey)
	}
	if index%997 == 5 {
		keys = append(keys, rareKey(index))
	}
	return keys
}

const reviewKey = 0x5e1f

func agentKey(n uint64) uint64 { return 0xa000 + n }
func rareKey(n uint64) uint64  { return 0xbeef_0000_0000 + n }

func leavesAt(first, end uint64) []audit.Leaf {
	out := make([]audit.Leaf, 0, end-first)
	for i := first; i < end; i++ {
		out = append(out, leafAt(i))
	}
	return out
}

func open(t tester, d audit.Dir, o audit.Options) *audit.Store {
	t.Helper()
	s, err := audit.Open(d, o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// fill appends the leaves up to end, in batches.
func fill(t tester, s *audit.Store, end uint64) {
	t.Helper()
	for first := s.Size(); first < end; {
		stop := min(end, first+100)
		require.NoError(t, s.Append(first, leavesAt(first, stop)))
		first = stop
	}
}

// rangeOf computes the tree with the library's compact range, as the replicated state does.
func rangeOf(t tester, size uint64) *compact.Range {
	t.Helper()
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	r := factory.NewEmptyRange(0)
	for i := range size {
		require.NoError(t, r.Append(rfc6962.DefaultHasher.HashLeaf(leafAt(i).Data), nil))
	}
	return r
}

func rootOf(t tester, size uint64) audit.Hash {
	t.Helper()
	if size == 0 {
		return sha256.Sum256(nil)
	}
	root, err := rangeOf(t, size).GetRootHash(nil)
	require.NoError(t, err)
	return audit.Hash(root)
}

func requireLeaves(t tester, s *audit.Store, from, to uint64) {
	t.Helper()
	for i := from; i < to; i++ {
		got, err := s.Record(i)
		require.NoError(t, err, "leaf %d", i)
		want := leafAt(i)
		require.Equal(t, string(want.Data), string(got.Data), "leaf %d", i)
		require.Equal(t, want.Time, got.Time)
		require.Equal(t, want.Keys, got.Keys)
	}
}

func TestStoreServesWhatItAppends(t *testing.T) {
	for _, size := range []uint64{0, 1, 2, 255, 256, 257, smallSegment - 1, smallSegment, smallSegment + 1, 3*smallSegment + 300} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			d := audittest.NewMemDir()
			s := open(t, d, small)
			fill(t, s, size)
			check := func(s *audit.Store) {
				require.Equal(t, size, s.Size())
				requireLeaves(t, s, 0, size)
				root, err := s.Root(size)
				require.NoError(t, err)
				require.Equal(t, rootOf(t, size), root)
				_, err = s.Leaf(size)
				require.ErrorIs(t, err, audit.ErrNotYet)
				_, err = s.Root(size + 1)
				require.ErrorIs(t, err, audit.ErrNotYet)
				require.Empty(t, s.Missing(10))
			}
			check(s)
			require.NoError(t, s.Close())
			check(open(t, d, small)) // clean restart
		})
	}
}

// The reference is golang.org/x/mod/sumdb/tlog, another implementation of RFC 6962.
type oracle []tlog.Hash

func (o oracle) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = o[n]
	}
	return out, nil
}

func newOracle(t tester, size uint64) oracle {
	t.Helper()
	var o oracle
	for i := range size {
		hashes, err := tlog.StoredHashes(int64(i), leafAt(i).Data, o)
		require.NoError(t, err)
		o = append(o, hashes...)
	}
	return o
}

func TestProofsAgainstOracle(t *testing.T) {
	const size = 3*smallSegment + 77
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, size)
	o := newOracle(t, size)
	sizes := []uint64{1, 2, 3, 7, 255, 256, 257, 300, 511, 512, 513, 768, 1000, 1024, 1025, 1537, size - 1, size}
	for _, n := range sizes {
		want, err := tlog.TreeHash(int64(n), o)
		require.NoError(t, err)
		root, err := s.Root(n)
		require.NoError(t, err)
		require.Equal(t, audit.Hash(want), root, "root of %d", n)
		for _, i := range []uint64{0, min(1, n-1), n / 3, n / 2, n - 1} {
			path, err := s.Inclusion(i, n)
			require.NoError(t, err)
			want, err := tlog.ProveRecord(int64(n), int64(i), o)
			require.NoError(t, err)
			require.Len(t, path, len(want))
			for k := range want {
				require.Equal(t, want[k][:], path[k], "inclusion of %d in %d", i, n)
			}
			require.NoError(t, proof.VerifyInclusion(leafAt(i).Data, i, n, path, root))
		}
		for _, m := range sizes {
			if m > n {
				continue
			}
			path, err := s.Consistency(m, n)
			require.NoError(t, err)
			want, err := tlog.ProveTree(int64(n), int64(m), o)
			require.NoError(t, err)
			require.Len(t, path, len(want))
			for k := range want {
				require.Equal(t, want[k][:], path[k], "consistency of %d and %d", m, n)
			}
			before, err := s.Root(m)
			require.NoError(t, err)
			require.NoError(t, proof.VerifyConsistency(m, n, before, root, path))
		}
	}
	_, err := s.Inclusion(size, size)
	require.ErrorIs(t, err, audit.ErrNotYet)
	_, err = s.Inclusion(0, size+1)
	require.ErrorIs(t, err, audit.ErrNotYet)
	_, err = s.Consistency(3, 2)
	require.Error(t, err)
}

func TestTilesAgainstOracle(t *testing.T) {
	const size = 2*smallSegment + 300
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, size)
	o := newOracle(t, size)
	for _, tile := range tlog.NewTiles(8, 0, size) {
		want, err := tlog.ReadTileData(tile, o)
		require.NoError(t, err)
		got, err := s.Tile(uint(tile.L), uint64(tile.N), tile.W)
		require.NoError(t, err)
		require.Equal(t, want, got, "tile %v", tile)
	}
	_, err := s.Tile(0, 5, 256)
	require.ErrorIs(t, err, audit.ErrNotYet)
	_, err = s.Tile(8, 0, 1)
	require.ErrorIs(t, err, audit.ErrLimit)

	for bundle, width := range map[uint64]int{0: 256, 3: 256, 4: 256, 5: 44, 2: 10} {
		raw, err := s.EntryBundle(bundle, width)
		require.NoError(t, err)
		for i := range uint64(width) {
			n := binary.BigEndian.Uint16(raw)
			require.Equal(t, string(leafAt(bundle*256+i).Data), string(raw[2:2+n]))
			raw = raw[2+n:]
		}
		require.Empty(t, raw)
	}
	_, err = s.EntryBundle(5, 45)
	require.ErrorIs(t, err, audit.ErrNotYet)
}

func TestAppendIsIdempotentAndStrict(t *testing.T) {
	s := open(t, audittest.NewMemDir(), small)
	const size = smallSegment + 300
	fill(t, s, size)

	require.NoError(t, s.Append(0, leavesAt(0, size)), "a full replay changes nothing")
	require.Equal(t, uint64(size), s.Size())
	require.NoError(t, s.Append(size-10, leavesAt(size-10, size+10)), "a replay that goes on")
	requireLeaves(t, s, 0, size+10)

	for name, index := range map[string]uint64{"sealed": 5, "tail": smallSegment + 5} {
		t.Run(name, func(t *testing.T) {
			other := leafAt(index)
			other.Data = append([]byte{}, other.Data...)
			other.Data[3] ^= 1
			require.ErrorIs(t, s.Append(index, []audit.Leaf{other}), audit.ErrDiverged)
		})
	}
	require.ErrorIs(t, s.Append(size+11, leavesAt(size+11, size+12)), audit.ErrGap)
	early := leafAt(size + 10)
	early.Time = 1
	require.ErrorIs(t, s.Append(size+10, []audit.Leaf{early}), audit.ErrTime)
	require.NoError(t, s.Append(size+10, leavesAt(size+10, size+11)))
	require.Equal(t, uint64(size+11), s.Size())
}

// A leaf that comes with its hash is not hashed again, neither when it is written nor when it
// is sealed. Only Verify finds that the two differ.
func TestHashesAreTakenAsGiven(t *testing.T) {
	s := open(t, audittest.NewMemDir(), small)
	leaves := leavesAt(0, smallSegment+256)
	for i := range leaves {
		leaves[i].Hash = audit.Hash{byte(i), byte(i >> 8), 1}
	}
	require.NoError(t, s.Append(0, leaves))
	for _, index := range []uint64{0, 255, smallSegment + 7} {
		tile, err := s.Tile(0, index/256, 256)
		require.NoError(t, err)
		require.Equal(t, leaves[index].Hash[:], tile[index%256*32:][:32])
	}
	sum, err := s.Verify(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, uint64(len(leaves)), sum.Leaves)
	require.NotZero(t, sum.Damaged)
}

func TestLimits(t *testing.T) {
	s := open(t, audittest.NewMemDir(), small)
	largest := audit.Leaf{Data: make([]byte, audit.LeafSizeMax), Keys: make([]uint64, audit.LeafKeysMax)}
	require.NoError(t, s.Append(0, []audit.Leaf{largest}))
	got, err := s.Record(0)
	require.NoError(t, err)
	require.Equal(t, largest, got)
	tooLong := audit.Leaf{Data: make([]byte, audit.LeafSizeMax+1)}
	require.ErrorIs(t, s.Append(1, []audit.Leaf{tooLong}), audit.ErrLimit)
	tooMany := audit.Leaf{Keys: make([]uint64, audit.LeafKeysMax+1)}
	require.ErrorIs(t, s.Append(1, []audit.Leaf{tooMany}), audit.ErrLimit)
	require.Equal(t, uint64(1), s.Size(), "a refused leaf leaves nothing")

	empty := audit.Leaf{}
	require.NoError(t, s.Append(1, []audit.Leaf{empty}), "a leaf may be empty")
	data, err := s.Leaf(1)
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestSealingASegmentOfLargestLeaves(t *testing.T) {
	s := open(t, audittest.NewMemDir(), small)
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, audit.LeafSizeMax)
	for i := range data {
		data[i] = byte(random.Uint32()) // incompressible
	}
	for i := range uint64(smallSegment) {
		binary.LittleEndian.PutUint64(data, i)
		require.NoError(t, s.Append(i, []audit.Leaf{{Data: data}}))
	}
	_, err := s.ExportSegment(0)
	require.NoError(t, err, "sealed")
	got, err := s.Leaf(300)
	require.NoError(t, err)
	binary.LittleEndian.PutUint64(data, 300)
	require.Equal(t, data, got)
}

func TestOpenRefusesAnotherShape(t *testing.T) {
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, 10)
	require.NoError(t, s.Close())
	_, err := audit.Open(d, audit.Options{SegmentLevel: 10})
	require.ErrorContains(t, err, "format")
	requireLeaves(t, open(t, d, small), 0, 10)

	require.NoError(t, d.Remove("format"))
	_, err = audit.Open(d, small)
	require.ErrorContains(t, err, "no \"format\" file")
	_, err = audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: 17})
	require.ErrorIs(t, err, audit.ErrLimit)
}

func TestRealDisk(t *testing.T) {
	d := audit.OSDir(t.TempDir())
	s := open(t, d, audit.Options{SegmentLevel: 9})
	const size = 4*smallSegment + 10
	fill(t, s, size)
	requireLeaves(t, s, 0, size)
	require.NoError(t, s.SyncTo(size))
	require.ErrorIs(t, s.SyncTo(size+1), audit.ErrNotYet)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Append(size, leavesAt(size, size+1)), audit.ErrClosed)

	s = open(t, d, audit.Options{SegmentLevel: 9})
	require.Equal(t, uint64(size), s.Size())
	requireLeaves(t, s, 0, size)
	root, err := s.Root(size)
	require.NoError(t, err)
	require.Equal(t, rootOf(t, size), root)
}

// Readers run while the appender appends and the sealer seals (also under -race).
func TestReadersBesideTheAppender(t *testing.T) {
	s := open(t, audit.OSDir(t.TempDir()), audit.Options{SegmentLevel: 9})
	const size = 8 * smallSegment
	want := make([]audit.Hash, size+1)
	r := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for i := range uint64(size) {
		require.NoError(t, r.Append(rfc6962.DefaultHasher.HashLeaf(leafAt(i).Data), nil))
		root, err := r.GetRootHash(nil)
		require.NoError(t, err)
		want[i+1] = audit.Hash(root)
	}
	var readers sync.WaitGroup
	for n := range uint64(3) {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(n, 3))
			for have := uint64(0); have < size; {
				if have = s.Size(); have == 0 {
					continue
				}
				i := have - 1
				if random.IntN(2) == 0 {
					i = random.Uint64N(have)
				}
				got, err := s.Leaf(i)
				if err != nil || string(got) != string(leafAt(i).Data) {
					t.Errorf("leaf %d: %q, %v", i, got, err)
					return
				}
				path, err := s.Inclusion(i, have)
				if err != nil {
					t.Errorf("inclusion of %d in %d: %v", i, have, err)
					return
				}
				if err := proof.VerifyInclusion(got, i, have, path, want[have]); err != nil {
					t.Errorf("inclusion of %d in %d: %v", i, have, err)
					return
				}
			}
		})
	}
	fill(t, s, size)
	readers.Wait()
}

var emptyRoot = sha256.Sum256(nil)

func leafHash(data []byte) []byte { return rfc6962.DefaultHasher.HashLeaf(data) }

// tester has the common methods of *testing.T, *testing.B and *rapid.T.
type tester interface {
	require.TestingT
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}
