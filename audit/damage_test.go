package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// catchUp fetches what a store lacks from a peer, as the cluster does. It returns the number
// of ranges fetched.
func catchUp(t tester, s, peer *audit.Store) int {
	t.Helper()
	size := peer.Size()
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	require.NoError(t, s.Adopt(size, frontier))
	roots, err := peer.SegmentRoots(size)
	require.NoError(t, err)
	require.NoError(t, s.ImportRoots(roots))
	root, err := peer.Root(size)
	require.NoError(t, err)
	trust := audit.Trust{Size: size, Root: root}
	fetched := 0
	for {
		missing := s.Missing(5)
		if len(missing) == 0 {
			return fetched
		}
		for _, r := range missing {
			fetched++
			require.Less(t, fetched, 1000, "no progress on %v", missing)
			if importWhole(t, s, peer, r) {
				continue
			}
			for bundle := r.First / 256; bundle*256 < r.End; bundle++ {
				importBundle(t, s, peer, bundle, trust)
			}
		}
	}
}

func importWhole(t tester, s, peer *audit.Store, r audit.Range) bool {
	t.Helper()
	if r.First%smallSegment != 0 || r.End-r.First != smallSegment {
		return false
	}
	file, err := peer.ExportSegment(r.First / smallSegment)
	if errors.Is(err, audit.ErrMissing) {
		return false
	}
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, s.ImportSegment(r.First/smallSegment, file, file.Size()))
	return true
}

func importBundle(t tester, s, peer *audit.Store, bundle uint64, trust audit.Trust) {
	t.Helper()
	width := int(min(256, trust.Size-bundle*256))
	leaves, err := peer.Bundle(bundle, width)
	require.NoError(t, err)
	raw, err := audit.AppendBundle(nil, leaves) // as if sent over the wire
	require.NoError(t, err)
	leaves, err = audit.ParseBundle(raw, width)
	require.NoError(t, err)
	path, err := peer.BundleProof(bundle, width, trust.Size)
	require.NoError(t, err)
	require.NoError(t, s.ImportBundle(bundle, leaves, trust, path))
}

// damagedDisk returns the disk of a node with two sealed segments and a synced tail, which a
// test can damage.
func damagedDisk(t tester) (d *audittest.MemDir, peer *audit.Store, size uint64) {
	t.Helper()
	size = 2*smallSegment + 150
	d = audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, size)
	require.NoError(t, s.SyncTo(size))
	require.NoError(t, s.Close())
	return d, open(t, d.CrashClone(audittest.LoseNone, nil), small), size
}

// A flipped bit anywhere on the disk is detected: either the store never returns wrong bytes
// and is whole again after catching up from a peer, or it refuses to open.
func TestFlippedBitAnywhere(t *testing.T) {
	d, peer, size := damagedDisk(t)
	h := newHistory(t, size)
	for _, name := range slices.Sorted(fileNames(d)) {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			length := d.Files()[name]
			step := max(1, length/160)
			for at := int64(0); at < length; at += step {
				clone := d.CrashClone(audittest.LoseNone, nil)
				require.NoError(t, clone.FlipBit(name, 8*at+at%8))
				s, err := audit.Open(clone, small)
				if err != nil {
					require.Equal(t, "format", name, "byte %d: %v", at, err)
					continue
				}
				noticed := noticedAt(t, h, s, size)
				if name != "segments.idx" && name != "filters.idx" { // Caches are rebuilt silently.
					require.True(t, noticed, "byte %d of %s", at, name)
				}
				catchUp(t, s, peer)
				h.requireLeaves(t, s, 0, size)
				root, err := s.Root(size)
				require.NoError(t, err)
				require.Equal(t, h.roots[size], root)
				sum, err := s.Verify(context.Background(), func(d *audit.DamageError) { t.Errorf("byte %d, repaired: %v", at, d) })
				require.NoError(t, err)
				require.Zero(t, sum.Damaged+sum.Missing)
				require.NoError(t, s.Close())
			}
		})
	}
}

func fileNames(d *audittest.MemDir) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range d.Files() {
			if !yield(name) {
				return
			}
		}
	}
}

// noticedAt reads every leaf, which must be right or be refused with its index. It reports
// whether reading or Verify noticed damage.
func noticedAt(t tester, h *history, s *audit.Store, size uint64) bool {
	noticed := len(s.Missing(1)) > 0 || s.Size() != size
	for _, tail := range s.Report().Tails {
		noticed = noticed || tail.Cut > 0 || tail.Damaged+tail.Settled > 0
	}
	for i := range s.Size() {
		got, err := s.Record(i)
		var damage *audit.DamageError
		switch {
		case err == nil:
			require.Equal(t, string(h.leaves[i].Data), string(got.Data), "leaf %d", i)
		case errors.As(err, &damage):
			require.ErrorIs(t, err, audit.ErrCorrupt)
			require.LessOrEqual(t, damage.First, i)
			require.GreaterOrEqual(t, damage.Last, i)
			noticed = true
		default:
			require.ErrorIs(t, err, audit.ErrMissing)
			noticed = true
		}
	}
	if _, err := s.Root(s.Size()); err != nil {
		noticed = true
	}
	sum, err := s.Verify(context.Background(), nil)
	require.NoError(t, err)
	return noticed || sum.Damaged > 0
}

func TestDamageIsNamed(t *testing.T) {
	_, peer, size := damagedDisk(t)

	t.Run("a leaf of the tail, while running", func(t *testing.T) {
		d := audittest.NewMemDir()
		s := open(t, d, small)
		fill(t, s, 40)
		at := d.Files()["tail/000000000.log"] - 10 // in the last leaf
		require.NoError(t, d.FlipBit("tail/000000000.log", 8*at))
		_, err := s.Leaf(39)
		var damage *audit.DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, "audit: leaf 39 damaged in tail/000000000.log from byte 4324: frame checksum", err.Error())
		_, err = s.Leaf(38)
		require.NoError(t, err)
		require.Len(t, s.Damage(), 1)
		require.NoError(t, s.Append(39, leavesAt(39, 40)), "a replay repairs")
		requireLeaves(t, s, 0, 40)
	})

	t.Run("a bundle of a segment", func(t *testing.T) {
		d := audittest.NewMemDir()
		s := open(t, d, small)
		fill(t, s, smallSegment+1)
		require.NoError(t, d.FlipBit("000/000/000.seg", 8*200))
		_, err := s.Leaf(3)
		var damage *audit.DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, uint64(0), damage.First)
		require.Equal(t, uint64(255), damage.Last)
		_, err = s.Leaf(256)
		require.NoError(t, err, "the next bundle is served")
		require.Equal(t, []audit.Range{{First: 0, End: smallSegment}}, s.Missing(5))

		file, err := peer.ExportSegment(0)
		require.NoError(t, err)
		defer file.Close()
		require.NoError(t, s.ImportSegment(0, file, file.Size()))
		require.Empty(t, s.Missing(5))
		requireLeaves(t, s, 0, smallSegment+1)
	})
	require.Equal(t, uint64(2*smallSegment+150), size)
}

// A damaged filter may cost time but hides nothing.
func TestDamagedFilterHidesNothing(t *testing.T) {
	d, _, size := damagedDisk(t)
	s := open(t, d, small)
	want := scanAll(t, s, audit.Query{To: size, Keys: []uint64{agentKey(3)}})
	length := d.Files()["000/000/000.seg"]
	for at := int64(0); at < 1024; at += 8 {
		clone := d.CrashClone(audittest.LoseNone, nil)
		require.NoError(t, clone.FlipBit("000/000/000.seg", 8*(length-128-1-at)+at%8))
		s := open(t, clone, small)
		found := 0
		page, err := s.Scan(audit.Query{To: size, Keys: []uint64{agentKey(3)}}, func(uint64, audit.Leaf) bool { found++; return true })
		if err == nil {
			require.True(t, page.Done)
			require.Equal(t, len(want), found, "byte -%d", at)
		} else {
			require.ErrorIs(t, err, audit.ErrCorrupt)
		}
	}
}

func TestImportRefusesWhatIsNotProven(t *testing.T) {
	_, peer, size := damagedDisk(t)
	root, err := peer.Root(size)
	require.NoError(t, err)
	trust := audit.Trust{Size: size, Root: root}
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	roots, err := peer.SegmentRoots(size)
	require.NoError(t, err)

	fresh := func(t *testing.T) *audit.Store {
		s := open(t, audittest.NewMemDir(), small)
		require.NoError(t, s.Adopt(size, frontier))
		return s
	}
	t.Run("roots", func(t *testing.T) {
		s := fresh(t)
		bad := slices.Clone(roots)
		bad[1][5] ^= 1
		require.ErrorIs(t, s.ImportRoots(bad), audit.ErrUnproven)
		require.ErrorIs(t, s.ImportRoots(roots[:1]), audit.ErrMissing)
		require.NoError(t, s.ImportRoots(roots))
	})
	t.Run("segment", func(t *testing.T) {
		s := fresh(t)
		file, err := peer.ExportSegment(1)
		require.NoError(t, err)
		defer file.Close()
		good, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, s.ImportRoots(roots))
		for at := 0; at < len(good); at += 37 {
			bad := slices.Clone(good)
			bad[at] ^= 4
			require.Error(t, s.ImportSegment(1, bytes.NewReader(bad), int64(len(bad))), "byte %d", at)
		}
		require.ErrorIs(t, s.ImportSegment(0, bytes.NewReader(good), int64(len(good))), audit.ErrUnproven, "another segment")
		require.Error(t, s.ImportSegment(1, bytes.NewReader(good[:len(good)-1]), int64(len(good))), "short")
		require.Error(t, s.ImportSegment(1, bytes.NewReader(good), int64(len(good)-1)), "cut")
		_, err = s.Leaf(smallSegment)
		require.ErrorIs(t, err, audit.ErrMissing, "nothing was taken")
		require.NoError(t, s.ImportSegment(1, bytes.NewReader(good), int64(len(good))))
		requireLeaves(t, s, smallSegment, 2*smallSegment)
		require.NoError(t, s.ImportSegment(1, bytes.NewReader(good), int64(len(good))), "again")
	})
	t.Run("bundle", func(t *testing.T) {
		s := fresh(t)
		for bundle, width := range map[uint64]int{0: 256, 3: 256, 4: 150} {
			leaves, err := peer.Bundle(bundle, width)
			require.NoError(t, err)
			path, err := peer.BundleProof(bundle, width, size)
			require.NoError(t, err)
			bad := slices.Clone(leaves)
			bad[7].Data = append(slices.Clone(bad[7].Data), ' ')
			require.ErrorIs(t, s.ImportBundle(bundle, bad, trust, path), audit.ErrUnproven)
			late := slices.Clone(leaves)
			late[7].Time = late[6].Time - 1
			require.ErrorIs(t, s.ImportBundle(bundle, late, trust, path), audit.ErrUnproven)
			require.Error(t, s.ImportBundle(bundle+1, leaves, trust, path))
			require.Error(t, s.ImportBundle(bundle, leaves[:width-1], trust, path))
			require.ErrorIs(t, s.ImportBundle(bundle, leaves, trust, append(slices.Clone(path), make([]byte, 32))), audit.ErrUnproven)
			require.ErrorIs(t, s.ImportBundle(bundle, leaves, trust, [][]byte{{1}}), audit.ErrUnproven)
			require.ErrorIs(t, s.ImportBundle(bundle, leaves, audit.Trust{Size: size, Root: roots[0]}, path), audit.ErrUnproven)
			require.NoError(t, s.ImportBundle(bundle, leaves, trust, path))
			requireLeaves(t, s, bundle*256, bundle*256+uint64(width))
		}
	})
}

func TestAdopt(t *testing.T) {
	_, peer, size := damagedDisk(t)
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	bad := slices.Clone(frontier)
	bad[0][0] ^= 1

	t.Run("a store with all of it", func(t *testing.T) {
		require.NoError(t, peer.Adopt(size, frontier))
		require.ErrorIs(t, peer.Adopt(size, bad), audit.ErrDiverged)
		require.ErrorIs(t, peer.Adopt(size, frontier[1:]), audit.ErrLimit)
		require.NoError(t, peer.Adopt(0, nil))
	})
	t.Run("own history contradicts a later head", func(t *testing.T) {
		s := open(t, audittest.NewMemDir(), small)
		for i := range uint64(2 * smallSegment) {
			require.NoError(t, s.Append(i, []audit.Leaf{{Data: fmt.Append(nil, i)}}))
		}
		require.ErrorIs(t, s.Adopt(size, frontier), audit.ErrDiverged)
	})
	t.Run("an adopted head is durable at once", func(t *testing.T) {
		d := audittest.NewMemDir()
		require.NoError(t, open(t, d, small).Adopt(size, frontier))
		crashed := open(t, d.CrashClone(audittest.LoseAll, nil), small)
		require.Equal(t, size, crashed.Size())
		root, err := crashed.Root(size)
		require.NoError(t, err)
		require.Equal(t, rootOf(t, size), root)
	})
	t.Run("appends go on behind the hole", func(t *testing.T) {
		d := audittest.NewMemDir()
		s := open(t, d, small)
		fill(t, s, 100) // it was down when the other leaves came
		require.ErrorIs(t, s.Append(size, leavesAt(size, size+1)), audit.ErrGap)
		require.NoError(t, s.Adopt(size, frontier))
		require.Equal(t, size, s.Size())
		fill(t, s, size+400) // fills the segment of the tail after the hole
		_, err := s.Leaf(100)
		require.ErrorIs(t, err, audit.ErrMissing)
		_, err = s.Leaf(size - 1)
		require.ErrorIs(t, err, audit.ErrMissing)
		requireLeaves(t, s, 0, 100)
		requireLeaves(t, s, size, size+400)
		for _, n := range []uint64{size, size + 1, size + 399, size + 400} {
			root, err := s.Root(n)
			require.NoError(t, err, "root of %d, over the hole", n)
			require.Equal(t, rootOf(t, n), root)
		}
		_, err = s.Root(size - 1)
		require.ErrorIs(t, err, audit.ErrMissing)

		require.NoError(t, s.SyncTo(size+400))
		crashed := open(t, d.CrashClone(audittest.LoseAll, nil), small)
		require.Equal(t, size+400, crashed.Size())
		root, err := crashed.Root(size + 400)
		require.NoError(t, err, "the adopted head survives")
		require.Equal(t, rootOf(t, size+400), root)

		fill(t, peer, size+400)
		for _, s := range []*audit.Store{s, crashed} {
			require.Positive(t, catchUp(t, s, peer))
			requireLeaves(t, s, 0, size+400)
			root, err := s.Root(size - 1)
			require.NoError(t, err)
			require.Equal(t, rootOf(t, size-1), root)
			_, err = s.ExportSegment(2)
			require.NoError(t, err, "segments that were filled are sealed")
		}
	})
}

// A wiped node fetches everything from a peer, including the hashes of expired segments.
func TestWipedNodeCatchesUp(t *testing.T) {
	const size = 5*smallSegment + 70
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	peer.Prune(2*smallSegment + 9)
	erased, err := peer.Erase(size, 10)
	require.NoError(t, err)
	require.Equal(t, 3, erased, "two whole ones, and the third is cut")

	d := audittest.NewMemDir()
	s := open(t, d, small)
	s.Prune(peer.Oldest())
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	require.NoError(t, s.Adopt(size, frontier))
	require.Equal(t, audit.Range{First: 0, End: smallSegment, HashesOnly: true}, s.Missing(1)[0])
	catchUp(t, s, peer)
	requireLeaves(t, s, peer.Oldest(), size)
	for _, i := range []uint64{0, 3, smallSegment + 5, size - 1} {
		want, err := peer.Inclusion(i, size)
		require.NoError(t, err)
		got, err := s.Inclusion(i, size)
		require.NoError(t, err, "leaf %d: expired leaves stay provable here too", i)
		require.Equal(t, want, got)
	}
	require.NoError(t, s.SyncTo(size))
	requireErased(t, d, peer.Oldest())
	again := open(t, d.CrashClone(audittest.LoseAll, nil), small)
	requireLeaves(t, again, peer.Oldest(), size)
	require.Equal(t, peer.Report().Sealed, 0)
	require.Equal(t, 3, again.Report().Sealed)
	require.Equal(t, 2, again.Report().Erased)
}

// A hash file is not accepted in place of leaves that are within retention.
func TestImportRefusesHashesInPlaceOfLeaves(t *testing.T) {
	const size = smallSegment + 1
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	peer.Prune(smallSegment)
	_, err := peer.Erase(size, 1)
	require.NoError(t, err)
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	roots, err := peer.SegmentRoots(size)
	require.NoError(t, err)

	s := open(t, audittest.NewMemDir(), small)
	require.NoError(t, s.Adopt(size, frontier))
	require.NoError(t, s.ImportRoots(roots))
	file, err := peer.ExportSegment(0)
	require.NoError(t, err)
	defer file.Close()
	require.ErrorIs(t, s.ImportSegment(0, file, file.Size()), audit.ErrUnproven)
}

// A node catches up while leaves are appended, segments are sealed and readers read (also
// under -race).
func TestCatchUpBesideTheAppender(t *testing.T) {
	const before, after = 6*smallSegment + 90, 12 * smallSegment
	options := audit.Options{SegmentLevel: audit.SegmentLevelMin}
	peer := open(t, audittest.NewMemDir(), options)
	fill(t, peer, before)
	frontier, err := peer.Frontier(before)
	require.NoError(t, err)

	s := open(t, audittest.NewMemDir(), options)
	fill(t, s, 300)
	require.NoError(t, s.Adopt(before, frontier))
	var work sync.WaitGroup
	work.Go(func() {
		for first := uint64(before); first < after; first += 6 {
			if err := s.Append(first, leavesAt(first, min(after, first+6))); err != nil {
				t.Error(err)
				return
			}
			if first%300 == 0 {
				if err := s.SyncTo(first); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	work.Go(func() {
		for i := uint64(0); s.Size() < after; i = (i + 61) % after {
			got, err := s.Leaf(i)
			switch {
			case err == nil && string(got) == string(leafAt(i).Data):
			case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrNotYet):
			default:
				t.Errorf("leaf %d: %q, %v", i, got, err)
				return
			}
		}
	})
	catchUp(t, s, peer)
	work.Wait()
	fill(t, peer, after)
	require.Empty(t, s.Missing(10))
	requireLeaves(t, s, 0, after)
	root, err := s.Root(after)
	require.NoError(t, err)
	require.Equal(t, rootOf(t, after), root)
}
