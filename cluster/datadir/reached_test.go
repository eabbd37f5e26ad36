package datadir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func openNote(t *testing.T, dir string) *Reached {
	r, err := OpenReached(SystemDisk{}, dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestReached: the note is there after a kill, knows no way back, and says nothing when it cannot
// be read.
func TestReached(t *testing.T) {
	dir := t.TempDir()
	r := openNote(t, dir)
	require.NoError(t, r.NoteApplied(7))
	require.NoError(t, r.NoteTerm(3))
	require.NoError(t, r.NoteApplied(5))
	require.NoError(t, r.NoteTerm(2))
	again := openNote(t, dir) // The first one was not closed, as after a kill.
	require.Equal(t, []uint64{7, 3}, []uint64{again.Applied(), again.Term()})
	path := filepath.Join(dir, ReachedFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range data {
		spoilt := append([]byte(nil), data...)
		spoilt[at] ^= 1
		require.NoError(t, os.WriteFile(path, spoilt, 0o600))
		_, _, err := ReadReached(dir)
		require.ErrorIs(t, err, ErrDamaged, at)
	}
	fresh := openNote(t, dir)
	require.Zero(t, fresh.Applied()+fresh.Term())
}

// logOf makes a raft folder with entries 1 to last of term 4 and returns the data folder.
func logOf(t *testing.T, last uint64) (dir string) {
	dir = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, RaftFolder), 0o700))
	store, err := OpenLog(filepath.Join(dir, RaftFolder))
	require.NoError(t, err)
	require.NoError(t, store.SetUint64(RaftTermKey, 4))
	for i := range last {
		require.NoError(t, store.StoreLog(&raft.Log{Index: i + 1, Term: 4, Data: []byte("x")}))
	}
	require.NoError(t, store.Close())
	return dir
}

// TestLostVotesAreDamage: a node that has entries, or was in a term, does not start without its
// votes or with older ones.
func TestLostVotesAreDamage(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, votes string)
		says  string
	}{
		"missing": {func(t *testing.T, votes string) { require.NoError(t, os.Remove(votes)) }, "raft.db is missing"},
		"empty":   {func(t *testing.T, votes string) { require.NoError(t, os.Truncate(votes, 0)) }, "raft.db is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := logOf(t, 100)
			c.spoil(t, filepath.Join(dir, RaftFolder, LogFile))
			_, err := OpenLog(filepath.Join(dir, RaftFolder))
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "join anew")
			_, err = os.Stat(filepath.Join(dir, RaftFolder, LogFile))
			require.Equal(t, name == "missing", os.IsNotExist(err), "nothing is made in its place")
		})
	}
	for name, c := range map[string]struct {
		term, applied, snapshot uint64
		says                    string
	}{
		"votes of an older term":        {5, 100, 0, "was in term 5"},
		"a log that ends too early":     {4, 101, 0, "they are lost, or an older copy"},
		"one that a snapshot continues": {4, 101, 101, ""},
		"as it was":                     {4, 100, 0, ""},
		"a note that a power cut took":  {0, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := logOf(t, 100)
			r := openNote(t, dir)
			require.NoError(t, r.NoteTerm(c.term))
			require.NoError(t, r.NoteApplied(c.applied))
			store, err := OpenLog(filepath.Join(dir, RaftFolder))
			require.NoError(t, err)
			defer store.Close()
			err = r.CheckLog(dir, store, c.snapshot)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, c.says)
		})
	}
	t.Run("entries of a newer term than the votes", func(t *testing.T) {
		dir := logOf(t, 100)
		store, err := OpenLog(filepath.Join(dir, RaftFolder))
		require.NoError(t, err)
		defer store.Close()
		require.NoError(t, store.SetUint64(RaftTermKey, 3))
		require.ErrorContains(t, openNote(t, dir).CheckLog(dir, store, 0), "votes are lost")
	})
}

// TestCutsOfTheLog: what is applied and in no snapshot is not cut away; the rest may go.
func TestCutsOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		low, high         uint64
		applied, snapshot uint64
		refused           bool
	}{
		"an end that nobody committed":           {low: 81, high: 100, applied: 80},
		"an end that is applied":                 {low: 80, high: 100, applied: 80, refused: true},
		"an end that is in a snapshot":           {low: 60, high: 100, applied: 50, snapshot: 70, refused: true},
		"a front that is in a snapshot":          {low: 1, high: 70, applied: 80, snapshot: 70},
		"a front beyond the snapshot":            {low: 1, high: 71, applied: 80, snapshot: 70, refused: true},
		"all of it before an installed snapshot": {low: 1, high: 100, applied: 80, snapshot: 120},
		"all of it, with an uncommitted end":     {low: 1, high: 100, applied: 80, snapshot: 80},
		"all of it, with an applied end":         {low: 1, high: 100, applied: 90, snapshot: 80, refused: true},
		"nothing that is there":                  {low: 101, high: 110, applied: 100},
	} {
		t.Run(name, func(t *testing.T) {
			memory := newMemoryLog()
			for i := range uint64(100) {
				require.NoError(t, memory.StoreLogs([]*raft.Log{{Index: i + 1, Term: 1}}))
			}
			r := openNote(t, t.TempDir())
			require.NoError(t, r.NoteApplied(c.applied))
			store, gave := guardOver(t, memory, time.Minute)
			store.KeepReached(r, func() (uint64, error) { return c.snapshot, nil })
			if !c.refused {
				require.NoError(t, store.DeleteRange(c.low, c.high))
				require.Empty(t, gave.all())
				return
			}
			standsStill(t, store, "raft would write what contradicts it", func() error { return store.DeleteRange(c.low, c.high) })
			require.Len(t, gave.all(), 1)
			require.Contains(t, gave.all()[0], "history diverged: the group would cut entries ")
			first, err := memory.FirstIndex()
			require.NoError(t, err)
			last, err := memory.LastIndex()
			require.NoError(t, err)
			require.Equal(t, []uint64{1, 100}, []uint64{first, last}, "nothing was cut")
		})
	}
}

// TestTermsAreNoted: a term is in the note once it is in the file of votes.
func TestTermsAreNoted(t *testing.T) {
	r := openNote(t, t.TempDir())
	store, gave := guardOver(t, newMemoryLog(), time.Minute)
	store.KeepReached(r, func() (uint64, error) { return 0, nil })
	require.NoError(t, store.SetUint64([]byte("LastVoteTerm"), 9))
	require.Zero(t, r.Term())
	require.NoError(t, store.SetUint64(RaftTermKey, 8))
	require.Equal(t, uint64(8), r.Term())
	require.Empty(t, gave.all())
}
