package audit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// sickDir is a disk with one unreadable sector, until the sector's file is replaced.
type sickDir struct {
	*audittest.MemDir
	name  string
	first int64 // Offset at which the sector begins.
}

const sickBytes = 512

func (d *sickDir) Open(name string) (audit.File, error) {
	f, err := d.MemDir.Open(name)
	if err == nil && name == d.name {
		f = &sickFile{f, d.first}
	}
	return f, err
}

func (d *sickDir) Rename(from, to string) error {
	if to == d.name {
		d.name = ""
	}
	return d.MemDir.Rename(from, to)
}

type sickFile struct {
	audit.File
	first int64
}

func (f *sickFile) ReadAt(b []byte, offset int64) (int, error) {
	if offset < f.first+sickBytes && f.first < offset+int64(len(b)) {
		return 0, errors.New("input/output error")
	}
	return f.File.ReadAt(b, offset)
}

// An unreadable sector of a segment and a missing segment file are treated like wrong bytes:
// the damage is named and fetched from a peer, wherever it is and whoever finds it first.
func TestUnreadableSectorAnywhere(t *testing.T) {
	d, peer, size := damagedDisk(t)
	h := newHistory(t, size)
	const name = "000/000/000.seg"
	length := d.Files()[name]
	require.NotZero(t, length, "%v", d.Files())
	come := map[string]func(*audit.Store) error{
		"leaf":  func(s *audit.Store) error { _, err := s.Leaf(7); return err },
		"proof": func(s *audit.Store) error { _, err := s.Inclusion(7, size); return err },
		"scan": func(s *audit.Store) error {
			_, err := s.Scan(audit.Query{To: size, Keys: []uint64{1}}, func(uint64, audit.Leaf) bool { return true })
			return err
		},
	}
	for who, read := range come {
		for at := int64(0); at < length; at += max(sickBytes, length/40) {
			at = min(at, length-sickBytes)
			sick := &sickDir{MemDir: d.CrashClone(audittest.LoseNone, nil), name: name, first: at}
			s := open(t, sick, small)
			if err := read(s); err != nil {
				require.ErrorIs(t, err, audit.ErrCorrupt, "%s, byte %d", who, at)
				require.NotEmpty(t, s.Missing(1), "%s, byte %d", who, at)
			}
			_, err := s.VerifySegment(0, nil)
			require.NoError(t, err, "byte %d: a scrub goes on", at)
			require.NotEmpty(t, s.Missing(1), "byte %d", at)
			catchUp(t, s, peer)
			h.requireLeaves(t, s, 0, size)
			require.Empty(t, s.Damage(), "byte %d", at)
			require.NoError(t, s.Close())
		}
	}
	gone := d.CrashClone(audittest.LoseNone, nil)
	s := open(t, gone, small)
	require.NoError(t, gone.Remove(name))
	_, err := s.Leaf(7)
	require.ErrorIs(t, err, audit.ErrCorrupt)
	catchUp(t, s, peer)
	h.requireLeaves(t, s, 0, size)
}

// A scan returns all leaves that it reaches before a damaged leaf of the tail, in both
// directions.
func TestScanUpToDamage(t *testing.T) {
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fill(t, s, 10)
	sizes := []int64{d.Files()["tail/000000000.log"]}
	for i := uint64(10); i < 30; i++ {
		require.NoError(t, s.Append(i, leavesAt(i, i+1)))
		sizes = append(sizes, d.Files()["tail/000000000.log"])
	}
	for _, bad := range []uint64{13, 20} {
		require.NoError(t, d.FlipBit("tail/000000000.log", 8*(sizes[bad-9]-5)))
	}
	for _, newest := range []bool{false, true} {
		var had []uint64
		visit := func(index uint64, _ audit.Leaf) bool {
			had = append(had, index)
			return true
		}
		page, err := s.Scan(audit.Query{To: 30, Newest: newest}, visit)
		require.ErrorIs(t, err, audit.ErrCorrupt)
		require.False(t, page.Done)
		if newest {
			require.EqualValues(t, 21, page.Next)
			require.Len(t, had, 9)
			require.EqualValues(t, []uint64{29, 21}, []uint64{had[0], had[8]})
		} else {
			require.EqualValues(t, 13, page.Next)
			require.Len(t, had, 13)
		}
		page, err = s.Scan(audit.Query{From: page.Next, To: page.Next, Newest: newest}, visit)
		require.NoError(t, err)
		require.True(t, page.Done)
	}
	require.NoError(t, s.Append(13, leavesAt(13, 21)), "a replay repairs")
	page, err := s.Scan(audit.Query{To: 30}, func(uint64, audit.Leaf) bool { return true })
	require.NoError(t, err)
	require.True(t, page.Done)
}
