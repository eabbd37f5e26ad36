package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// history is the expected content for the crash tests, computed once.
type history struct {
	leaves    []audit.Leaf
	frontiers map[uint64][]audit.Hash
	roots     map[uint64]audit.Hash
}

func newHistory(t tester, size uint64) *history {
	h := &history{leaves: leavesAt(0, size), frontiers: map[uint64][]audit.Hash{}, roots: map[uint64]audit.Hash{}}
	r := rangeOf(t, 0)
	for i := range size + 1 {
		for _, hash := range r.Hashes() {
			h.frontiers[i] = append(h.frontiers[i], audit.Hash(hash))
		}
		h.roots[i] = emptyRoot
		if i > 0 {
			root, err := r.GetRootHash(nil)
			require.NoError(t, err)
			h.roots[i] = audit.Hash(root)
		}
		if i < size {
			require.NoError(t, r.Append(leafHash(h.leaves[i].Data), nil))
		}
	}
	return h
}

func (h *history) requireLeaves(t tester, s *audit.Store, from, to uint64) {
	t.Helper()
	for i := from; i < to; i++ {
		got, err := s.Record(i)
		if err != nil || string(got.Data) != string(h.leaves[i].Data) || got.Time != h.leaves[i].Time || len(got.Keys) != len(h.leaves[i].Keys) {
			t.Fatalf("leaf %d: %q, %v", i, got.Data, err)
		}
	}
}

// promise is what the store has guaranteed at the moment of a crash.
type promise struct {
	synced uint64 // size for which SyncTo returned
	oldest uint64 // retention mark from the replicated state
	erased uint64 // index up to which Erase returned
}

// restart does what a node does after a crash: it opens the store, hands over the tree head
// and the retention from the state, and replays the log from its snapshot on.
func (h *history) restart(t tester, d audit.Dir, p promise, target uint64) *audit.Store {
	t.Helper()
	s, err := audit.Open(d, small)
	require.NoError(t, err)
	for _, tail := range s.Report().Tails {
		require.Zero(t, tail.Damaged, "a crash is not damage: %+v", tail)
	}
	require.GreaterOrEqual(t, s.Size(), p.synced, "what was synced is there")
	s.Prune(p.oldest)
	if disk, ok := d.(*audittest.MemDir); ok {
		requireErased(t, disk, p.erased)
	}
	h.requireLeaves(t, s, max(p.oldest, s.Oldest()), p.synced)
	root, err := s.Root(p.synced)
	require.NoError(t, err)
	require.Equal(t, h.roots[p.synced], root)
	require.NoError(t, s.Adopt(p.synced, h.frontiers[p.synced]))

	for at := p.synced; at < target; {
		end := min(target, at+70)
		require.NoError(t, s.Append(at, h.leaves[at:end]))
		at = end
	}
	require.Equal(t, target, s.Size())
	h.requireLeaves(t, s, max(p.oldest, s.Oldest()), target)
	root, err = s.Root(target)
	require.NoError(t, err)
	require.Equal(t, h.roots[target], root)
	require.Empty(t, s.Missing(10))
	sum, err := s.Verify(context.Background(), func(d *audit.DamageError) { t.Errorf("%v", d) })
	require.NoError(t, err)
	require.Zero(t, sum.Damaged)
	return s
}

// The power is cut at every disk operation of a store's life, with three kinds of loss, and
// the node restarts from what is left.
func TestPowerCutAtEveryOperation(t *testing.T) {
	const target = 2*smallSegment + 200
	h := newHistory(t, target)
	var p promise
	d := audittest.NewMemDir()
	random := rand.New(rand.NewPCG(5, 5))
	cuts := 0
	d.Hook = func(operation, name string) error {
		for _, loss := range []audittest.Loss{audittest.LoseAll, audittest.LoseNone, audittest.LoseSome, audittest.LoseSome} {
			clone := d.CrashClone(loss, random)
			if !t.Run(fmt.Sprintf("%d %s %s %d", cuts, operation, name, loss), func(t *testing.T) {
				s := h.restart(t, clone, p, target)
				require.NoError(t, s.Close())
			}) {
				t.FailNow()
			}
		}
		cuts++
		return nil
	}
	life(t, h, d, &p, target)
	require.Greater(t, cuts, 60)
}

// life does all the work of a node: append, sync, seal, restart, prune, erase.
func life(t tester, h *history, d audit.Dir, p *promise, target uint64) {
	s, err := audit.Open(d, small)
	require.NoError(t, err)
	sync := func(size uint64) {
		require.NoError(t, s.SyncTo(size))
		p.synced = size
	}
	appendTo := func(end uint64) {
		for at := s.Size(); at < end; {
			stop := min(end, at+130)
			require.NoError(t, s.Append(at, h.leaves[at:stop]))
			at = stop
		}
	}
	appendTo(100)
	sync(60) // the snapshot is older than the log's end
	appendTo(300)
	sync(300)
	appendTo(smallSegment + 90) // seals a segment
	sync(smallSegment + 40)
	require.NoError(t, s.Close())
	s, err = audit.Open(d, small)
	require.NoError(t, err)
	appendTo(target - 50)
	sync(target - 90)
	erase := func(oldest uint64, segments int) {
		p.oldest = oldest
		s.Prune(p.oldest)
		erased, err := s.Erase(p.oldest, 10)
		require.NoError(t, err)
		require.Equal(t, segments, erased)
		p.erased = oldest
	}
	erase(9, 1)                // cuts the first segment
	erase(smallSegment+3, 2)   // makes it a hash file and cuts the next segment
	erase(2*smallSegment+5, 2) // does the same to the next segment and cuts a tail
	appendTo(target)
	sync(target)
	require.NoError(t, s.Close())
}

// A process that merely dies loses nothing that it appended. The test does not call Adopt, which
// could hide a loss in the test above.
func TestKilledProcessLosesNothing(t *testing.T) {
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, smallSegment+300)
	again := open(t, d.CrashClone(audittest.LoseNone, nil), small)
	require.Equal(t, uint64(smallSegment+300), again.Size())
	requireLeaves(t, again, 0, smallSegment+300)
}

func TestFailingDiskEndsTheStore(t *testing.T) {
	broken := errors.New("input/output error")
	for _, operation := range []string{"write", "sync", "create", "rename", "syncdir"} {
		t.Run(operation, func(t *testing.T) {
			d := audittest.NewMemDir()
			s := open(t, d, small)
			fill(t, s, 300)
			fail := true
			d.Hook = func(op, name string) error {
				if op == operation && fail {
					return broken
				}
				return nil
			}
			err := errors.Join(s.Append(300, leavesAt(300, 700)), s.SyncTo(300))
			if operation == "create" { // a segment or the next tail could not be made
				require.Error(t, err)
			} else {
				require.ErrorIs(t, err, audit.ErrBroken)
			}
			require.ErrorIs(t, err, broken)
			fail = false
			require.ErrorIs(t, s.Append(s.Size(), leavesAt(s.Size(), s.Size()+1)), audit.ErrBroken, "not retried")
			require.ErrorIs(t, s.SyncTo(1), audit.ErrBroken)
			require.ErrorIs(t, s.Broken(), broken)
			requireLeaves(t, s, 0, 300)
		})
	}
}

// If the disk is full, sealing keeps the tail and is tried again.
func TestSealingIsTriedAgain(t *testing.T) {
	d := audittest.NewMemDir()
	s := open(t, d, small)
	full := true
	d.Hook = func(op, name string) error {
		if full && op == "write" && len(name) > 4 && name[len(name)-4:] == ".tmp" {
			return errors.New("no space left on device")
		}
		return nil
	}
	fill(t, s, smallSegment+10)
	_, err := s.ExportSegment(0)
	require.ErrorIs(t, err, audit.ErrMissing, "not sealed")
	requireLeaves(t, s, 0, smallSegment+10)
	require.NoError(t, s.Broken())
	require.NoError(t, s.Close())
	full = false
	s = open(t, d, small)
	_, err = s.ExportSegment(0)
	require.NoError(t, err)
	requireLeaves(t, s, 0, smallSegment+10)
}

// A synced tail with torn or missing bytes in the middle is distinguished from a torn end.
func TestTornTailIsCutAndDamageIsNot(t *testing.T) {
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, 200)
	require.NoError(t, s.SyncTo(200))
	fill(t, s, 250)
	require.NoError(t, s.Close())
	size := d.Files()["tail/000000000.log"]

	t.Run("torn end", func(t *testing.T) {
		clone := d.CrashClone(audittest.LoseNone, nil)
		require.NoError(t, clone.FlipBit("tail/000000000.log", 8*(size-100)))
		s := open(t, clone, small)
		tail := s.Report().Tails[0]
		require.Positive(t, tail.Cut)
		require.Zero(t, tail.Damaged)
		require.GreaterOrEqual(t, s.Size(), uint64(200))
		require.Less(t, s.Size(), uint64(250))
		require.Empty(t, s.Missing(10))
		fill(t, s, 250)
		requireLeaves(t, s, 0, 250)
	})
	t.Run("damage below the mark", func(t *testing.T) {
		clone := d.CrashClone(audittest.LoseNone, nil)
		require.NoError(t, clone.FlipBit("tail/000000000.log", 8*200))
		s := open(t, clone, small)
		require.Equal(t, 1, s.Report().Tails[0].Damaged)
		require.Zero(t, s.Report().Tails[0].Cut)
		require.Equal(t, uint64(250), s.Size())
		missing := 0
		for i := range uint64(250) {
			if got, err := s.Leaf(i); err != nil {
				require.ErrorIs(t, err, audit.ErrMissing)
				missing++
			} else {
				require.Equal(t, string(leafAt(i).Data), string(got))
			}
		}
		require.Equal(t, 1, missing)
		require.Equal(t, []audit.Range{{First: 0, End: 250}}, s.Missing(10), "its bundle is asked for")
		require.NoError(t, s.Append(0, leavesAt(0, 250)), "the log, where it has them, repairs")
		requireLeaves(t, s, 0, 250)
		require.Empty(t, s.Missing(10))
	})
}
