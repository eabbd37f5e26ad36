package audit_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// scanAll follows the cursor to the end.
func scanAll(t tester, s *audit.Store, q audit.Query) []uint64 {
	t.Helper()
	var out []uint64
	for range 100_000 {
		page, err := s.Scan(q, func(index uint64, leaf audit.Leaf) bool {
			require.Equal(t, string(leafAt(index).Data), string(leaf.Data))
			out = append(out, index)
			return true
		})
		require.NoError(t, err)
		if page.Done {
			return out
		}
		if q.Newest {
			require.Less(t, page.Next, q.To, "progress")
			q.To = page.Next
		} else {
			require.Greater(t, page.Next, q.From, "progress")
			q.From = page.Next
		}
	}
	t.Fatal("a scan without an end")
	return nil
}

// plain finds the expected leaves by looking at every one.
func plain(q audit.Query, oldest, size uint64) []uint64 {
	var out []uint64
	for i := max(q.From, oldest); i < min(q.To, size); i++ {
		has := true
		for _, k := range q.Keys {
			has = has && slices.Contains(keysOf(i), k)
		}
		if has {
			out = append(out, i)
		}
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out
}

func TestScan(t *testing.T) {
	const size = 4*smallSegment + 333
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, size)
	s.Prune(smallSegment + 100)
	_, err := s.Erase(size, 10)
	require.NoError(t, err)
	for name, q := range map[string]audit.Query{
		"everything":     {To: math.MaxUint64},
		"nothing":        {},
		"backwards":      {From: 9, To: 3},
		"part":           {From: 700, To: 1300},
		"within bundle":  {From: 1030, To: 1031},
		"past retention": {From: 0, To: smallSegment + 100},
		"one agent":      {To: size, Keys: []uint64{agentKey(4)}},
		"two keys":       {To: size, Keys: []uint64{agentKey(2), reviewKey}},
		"contradiction":  {To: size, Keys: []uint64{agentKey(2), agentKey(3)}},
		"absent key":     {To: size, Keys: []uint64{0xdead}},
		"rare key":       {To: size, Keys: []uint64{rareKey(5 + 997)}},
		"same key twice": {To: size, Keys: []uint64{reviewKey, reviewKey}},
	} {
		for _, newest := range []bool{false, true} {
			for _, budget := range []int{0, 1, 50, 300} {
				t.Run(fmt.Sprintf("%s/newest=%v/budget=%d", name, newest, budget), func(t *testing.T) {
					q := q
					q.Newest, q.Examine = newest, budget
					require.Equal(t, plain(q, s.Oldest(), size), scanAll(t, s, q))
				})
			}
		}
	}
}

func TestScanStopsAndGoesOn(t *testing.T) {
	const size = 2*smallSegment + 100
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, size)
	for _, newest := range []bool{false, true} {
		q := audit.Query{To: size, Keys: []uint64{agentKey(1)}, Newest: newest}
		want := plain(q, 0, size)
		var got []uint64
		for len(got) < len(want) {
			page, err := s.Scan(q, func(index uint64, _ audit.Leaf) bool {
				got = append(got, index)
				return len(got)%5 != 0 // pages of five
			})
			require.NoError(t, err)
			if q.From = page.Next; newest {
				q.From, q.To = 0, page.Next
			}
		}
		require.Equal(t, want, got)
	}
	_, err := s.Scan(audit.Query{Keys: make([]uint64, audit.LeafKeysMax+1)}, nil)
	require.ErrorIs(t, err, audit.ErrLimit)
}

// Filters save reading: for an absent key each segment costs a few units of the budget.
func TestScanByFilterIsCheap(t *testing.T) {
	const size = 20 * smallSegment
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, size)
	page, err := s.Scan(audit.Query{To: size, Keys: []uint64{0x123456789}}, nil)
	require.NoError(t, err)
	require.True(t, page.Done)
	require.Less(t, page.Examined, size/8)
}

func TestScanMeetsAHole(t *testing.T) {
	_, peer, size := damagedDisk(t)
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	s := open(t, audittest.NewMemDir(), small)
	fill(t, s, 100)
	require.NoError(t, s.Adopt(size, frontier))
	var seen []uint64
	page, err := s.Scan(audit.Query{To: size}, func(i uint64, _ audit.Leaf) bool { seen = append(seen, i); return true })
	require.ErrorIs(t, err, audit.ErrMissing)
	require.False(t, page.Done)
	require.LessOrEqual(t, page.Next, uint64(100), "a peer goes on from here")
	require.Len(t, seen, int(page.Next))
}

func TestFindTime(t *testing.T) {
	const size = 3*smallSegment + 100
	s := open(t, audittest.NewMemDir(), small)
	require.Equal(t, uint64(0), s.FindTime(5), "empty")
	fill(t, s, size)
	check := func(oldest uint64) {
		for i := uint64(0); i < size; i += 7 {
			first := i / 3 * 3 // three leaves share a time
			require.Equal(t, max(first, oldest), s.FindTime(timeOf(i)), "time of %d", i)
			require.Equal(t, max(min(first+3, size), oldest), s.FindTime(timeOf(i)+1), "just after %d", i)
		}
		require.Equal(t, oldest, s.FindTime(math.MinInt64))
		require.Equal(t, uint64(size), s.FindTime(math.MaxInt64))
	}
	check(0)
	s.Prune(smallSegment + 50)
	check(smallSegment + 50)
	_, err := s.Erase(size, 10)
	require.NoError(t, err)
	check(smallSegment + 50)
}

func TestPruneAndErase(t *testing.T) {
	const size = 3*smallSegment + 10
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, size)
	before, err := s.Inclusion(7, size)
	require.NoError(t, err)

	s.Prune(2*smallSegment + 5)
	s.Prune(3) // the result never goes back
	require.Equal(t, uint64(2*smallSegment+5), s.Oldest())
	_, err = s.Leaf(2*smallSegment + 4)
	require.ErrorIs(t, err, audit.ErrPruned, "at once, before anything is deleted")
	_, err = s.EntryBundle(4, 256)
	require.ErrorIs(t, err, audit.ErrPruned, "a bundle with an expired leaf")
	requireLeaves(t, s, 2*smallSegment+5, size)

	n, err := s.Erase(0, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = s.Erase(smallSegment-1, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n, "all of a segment but its last leaf")
	requireErased(t, d, smallSegment-1)
	n, err = s.Erase(math.MaxUint64, 1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NotContains(t, d.Files(), "000/000/000.seg")
	require.Contains(t, d.Files(), "000/000/001.seg")
	n, err = s.Erase(math.MaxUint64, 10)
	require.NoError(t, err)
	require.Equal(t, 2, n, "the segment with the oldest living leaf is cut")
	require.Contains(t, d.Files(), "000/000/002.seg")
	requireErased(t, d, 2*smallSegment+5)
	requireLeaves(t, s, 2*smallSegment+5, size)
	for name, content := range map[string]string{"agent": "agt_", "id": "txn_"} {
		for file, length := range d.Files() {
			if length > 0 && file[len(file)-4:] == ".hsh" {
				require.NotContains(t, contentOf(t, d, file), content, name)
			}
		}
	}

	after, err := s.Inclusion(7, size)
	require.NoError(t, err)
	require.Equal(t, before, after, "exported copies stay provable")
	_, err = s.Tile(0, 1, 256)
	require.NoError(t, err, "hash tiles stay")
	require.NoError(t, s.Append(0, leavesAt(0, size)), "a replay is still compared")
	other := leafAt(9)
	other.Data = []byte("{}")
	require.ErrorIs(t, s.Append(9, []audit.Leaf{other}), audit.ErrDiverged)
	require.NoError(t, s.Close())

	s = open(t, d, small)
	require.Equal(t, uint64(2*smallSegment+5), s.Oldest(), "what was erased is past retention for sure")
	root, err := s.Root(size)
	require.NoError(t, err)
	require.Equal(t, rootOf(t, size), root)
	_, err = s.Leaf(7)
	require.ErrorIs(t, err, audit.ErrPruned)
}

func contentOf(t tester, d *audittest.MemDir, name string) string {
	t.Helper()
	f, err := d.Open(name)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	return string(b)
}

// Retention is enforced even if a segment is too damaged to save its hashes.
func TestEraseOfADamagedSegment(t *testing.T) {
	const size = 2*smallSegment + 10
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	peer.Prune(smallSegment)
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, size)
	require.NoError(t, s.Close())
	require.NoError(t, d.FlipBit("000/000/000.seg", 8*(d.Files()["000/000/000.seg"]-5))) // the trailer
	s = open(t, d, small)
	s.Prune(smallSegment)
	n, err := s.Erase(size, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NotContains(t, d.Files(), "000/000/000.seg")
	_, err = peer.Erase(size, 10)
	require.NoError(t, err)
	catchUp(t, s, peer)
	path, err := s.Inclusion(3, size)
	require.NoError(t, err)
	want, err := peer.Inclusion(3, size)
	require.NoError(t, err)
	require.Equal(t, want, path)
}
