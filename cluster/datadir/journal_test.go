package datadir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"railguard/engine"
)

const testRoom = 64 * engine.KiB // Small, so that tests reach the ends of files.

func openJournalIn(t require.TestingT, dir string) *journal {
	store, err := openLog(Seams{Disk: SystemDisk{}, Room: testRoom}, dir, true, &bbolt.Options{NoFreelistSync: true, NoSync: true})
	require.NoError(t, err)
	return store.(*journal)
}

var entriesFrom = time.Now().Round(0)

func entryFor(index, term uint64, size int) *raft.Log {
	return &raft.Log{
		Index: index, Term: term, Type: raft.LogType(index % 3), AppendedAt: entriesFrom.Add(time.Duration(index)),
		Data: bytes.Repeat([]byte{byte(index), byte(term), 7}, size/3+1)[:size],
	}
}

func requireEntry(t require.TestingT, store raft.LogStore, want *raft.Log) {
	var got raft.Log
	require.NoError(t, store.GetLog(want.Index, &got))
	require.True(t, got.AppendedAt.Equal(want.AppendedAt))
	got.AppendedAt = want.AppendedAt
	require.Equal(t, *want, got)
}

// fill stores entries in appends of one to three.
func fill(t require.TestingT, store LogStore, from, to uint64, size int) {
	for at := from; at <= to; {
		var logs []*raft.Log
		for range at%3 + 1 {
			if at <= to {
				logs = append(logs, entryFor(at, 1, size))
				at++
			}
		}
		require.NoError(t, store.StoreLogs(logs))
	}
}

func segmentsIn(t require.TestingT, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	require.NoError(t, err)
	return paths
}

// TestJournalAgreesWithAMap: after any appends, cuts and reopenings the log has what a map
// would have. Files are small, so that operations reach their ends.
func TestJournalAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		j := openJournalIn(t, dir)
		defer func() { require.NoError(t, j.Close()) }()
		model, first, last, term := map[uint64]*raft.Log{}, uint64(0), uint64(0), uint64(1)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "append", "large", "front", "end", "all", "again"}).Draw(t, "step") {
			case "append":
				first, last = appendSome(t, j, model, first, last, term, rapid.IntRange(0, 3000).Draw(t, "size"))
			case "large":
				first, last = appendSome(t, j, model, first, last, term, testRoom/3)
			case "front":
				if last > first {
					cut := rapid.Uint64Range(first, last-1).Draw(t, "cut")
					require.NoError(t, j.DeleteRange(first, cut))
					for ; first <= cut; first++ {
						delete(model, first)
					}
				}
			case "end":
				if last > 0 {
					cut := rapid.Uint64Range(first, last).Draw(t, "cut")
					require.NoError(t, j.DeleteRange(cut, last))
					for index := cut; index <= last; index++ {
						delete(model, index)
					}
					if last = cut - 1; last < first {
						first, last = 0, 0
					}
					term++
				}
			case "all":
				require.NoError(t, j.DeleteRange(first, last))
				clear(model)
				first, last = 0, 0
			case "again":
				require.NoError(t, j.Close())
				j = openJournalIn(t, dir)
			}
			gotFirst, err := j.FirstIndex()
			require.NoError(t, err)
			gotLast, err := j.LastIndex()
			require.NoError(t, err)
			require.Equal(t, []uint64{first, last}, []uint64{gotFirst, gotLast})
			for _, entry := range model {
				requireEntry(t, j, entry)
			}
			require.ErrorIs(t, j.GetLog(last+1, new(raft.Log)), raft.ErrLogNotFound)
			if first > 0 {
				require.ErrorIs(t, j.GetLog(first-1, new(raft.Log)), raft.ErrLogNotFound)
			}
		}
	})
}

func appendSome(t *rapid.T, j *journal, model map[uint64]*raft.Log, first, last, term uint64, size int) (uint64, uint64) {
	if last == 0 {
		last = rapid.Uint64Range(0, 50).Draw(t, "before")
		first = last + 1
	}
	var logs []*raft.Log
	for range rapid.IntRange(1, 4).Draw(t, "entries") {
		last++
		logs = append(logs, entryFor(last, term, size))
		model[last] = logs[len(logs)-1]
	}
	require.NoError(t, j.StoreLogs(logs))
	return first, last
}

// TestTornAppend: whatever a crash left of the last append, all that was acknowledged before it
// is there, no entry of it is there in part, and the log can go on.
func TestTornAppend(t *testing.T) {
	dir := t.TempDir()
	j := openJournalIn(t, dir)
	fill(t, j, 1, 20, 700)
	acknowledged := j.segments[0].end
	require.NoError(t, j.StoreLogs([]*raft.Log{entryFor(21, 1, 1500), entryFor(22, 1, 10), entryFor(23, 1, 1500)}))
	end := j.segments[0].end
	require.NoError(t, j.Close())
	path := segmentsIn(t, dir)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for state := range 1 << 7 { // Each bit is a sector of the append that reached the disk.
		torn := bytes.Clone(whole)
		for at := acknowledged; at < end; at++ {
			if state>>(at/512%7)&1 == 0 {
				torn[at] = 0
			}
		}
		require.NoError(t, os.WriteFile(path, torn, 0o600))
		read, err := OpenLogToRead(dir)
		require.NoError(t, err)
		requireEntry(t, read, entryFor(20, 1, 700))
		require.NoError(t, read.Close())
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(torn, kept), "reading changes nothing")

		again := openJournalIn(t, dir)
		last, err := again.LastIndex()
		require.NoError(t, err)
		require.GreaterOrEqual(t, last, uint64(20))
		for index := uint64(21); index <= last; index++ {
			requireEntry(t, again, entryFor(index, 1, []int{1500, 10, 1500}[index-21]))
		}
		require.NoError(t, again.StoreLog(entryFor(last+1, 2, 30)))
		require.NoError(t, again.Close())
		again = openJournalIn(t, dir)
		requireEntry(t, again, entryFor(last+1, 2, 30))
		after, err := again.LastIndex()
		require.NoError(t, err)
		require.Equal(t, last+1, after, "nothing of the torn append comes back behind it")
		require.NoError(t, again.Close())
	}
}

// TestDamagedSegments: what was acknowledged is there, or the error names the file.
func TestDamagedSegments(t *testing.T) {
	dir := t.TempDir()
	j := openJournalIn(t, dir)
	fill(t, j, 1, 60, testRoom/25)
	ends := []int64{j.segments[0].end, j.segments[1].end, j.segments[2].end}
	lastAppend := int64(binary.LittleEndian.Uint64(lastRecord(t, j)[atAppend:]))
	lastAt := int64(j.segments[2].offsets[uint64(lastAppend)-j.segments[2].first])
	require.NoError(t, j.Close())
	paths := segmentsIn(t, dir)
	require.Len(t, paths, 3)
	for n, path := range paths {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		refused := func(name string, spoilt []byte) {
			if spoilt == nil {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, spoilt, 0o600))
			}
			for _, open := range []func(string) (LogStore, error){OpenLog, OpenLogToRead} {
				_, err := open(dir)
				require.ErrorIs(t, err, ErrDamaged, "%s of file %d", name, n)
				require.ErrorContains(t, err, dir)
				require.ErrorContains(t, err, "join anew")
			}
		}
		for _, size := range []int{0, 1, segmentHead - 1, segmentHead, 9000, len(whole) / 2, len(whole) - 1} {
			refused(fmt.Sprintf("first %d bytes", size), whole[:size])
		}
		refused("zeros", make([]byte, len(whole)))
		refused("no file", nil)
		end := ends[n]
		if n == len(paths)-1 {
			end = lastAt // Damage in the last append looks like an append that a crash tore.
		}
		for at := int64(0); at < end; at += end/97 + 1 {
			spoilt := bytes.Clone(whole)
			spoilt[at] ^= 0x10
			refused(fmt.Sprintf("flipped byte %d", at), spoilt)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	j = openJournalIn(t, dir)
	requireEntry(t, j, entryFor(60, 1, testRoom/25))
	require.NoError(t, j.Close())
}

func lastRecord(t *testing.T, j *journal) []byte {
	s := j.segments[len(j.segments)-1]
	data := make([]byte, s.end)
	_, err := s.file.ReadAt(data, 0)
	require.NoError(t, err)
	return recordAt(data, int64(s.offsets[len(s.offsets)-1]), s.seed)
}

// TestJournalCrashBetweenSteps: the bounds are written before files are deleted and after files
// are made. So every state between two steps opens, with all that counted before or after.
func TestJournalCrashBetweenSteps(t *testing.T) {
	size := segmentBytes / 5
	build := func(t *testing.T) (string, *journal) {
		dir := t.TempDir()
		j := openJournalIn(t, dir)
		fill(t, j, 1, 16, size)
		require.GreaterOrEqual(t, len(j.segments), 4)
		return dir, j
	}
	bounds := func(t *testing.T, j *journal, first, last uint64) {
		gotFirst, err := j.FirstIndex()
		require.NoError(t, err)
		gotLast, err := j.LastIndex()
		require.NoError(t, err)
		require.Equal(t, []uint64{first, last}, []uint64{gotFirst, gotLast})
	}
	t.Run("front", func(t *testing.T) {
		dir, j := build(t)
		require.NoError(t, j.setBounds(12, j.segments[len(j.segments)-1].first))
		require.NoError(t, j.Close())
		j = openJournalIn(t, dir)
		bounds(t, j, 12, 16)
		require.NoError(t, j.Close())
	})
	t.Run("all", func(t *testing.T) {
		dir, j := build(t)
		require.NoError(t, j.setBounds(17, 0))
		require.NoError(t, j.Close())
		j = openJournalIn(t, dir)
		bounds(t, j, 0, 0)
		require.Empty(t, segmentsIn(t, dir))
		require.NoError(t, j.StoreLog(entryFor(900, 3, 10)))
		require.NoError(t, j.Close())
		j = openJournalIn(t, dir)
		bounds(t, j, 900, 900)
		require.NoError(t, j.Close())
	})
	t.Run("end", func(t *testing.T) {
		dir, j := build(t)
		require.NoError(t, j.setBounds(1, j.segments[1].first))
		require.NoError(t, os.Remove(j.segments[len(j.segments)-1].path))
		before := j.segments[len(j.segments)-2].lastIndex()
		require.NoError(t, j.Close())
		j = openJournalIn(t, dir)
		bounds(t, j, 1, before)
		require.NoError(t, j.Close())
	})
	t.Run("new file", func(t *testing.T) {
		dir, j := build(t)
		s, err := createSegment(SystemDisk{}, dir, 17, 5, testRoom, time.Now(), nil)
		require.NoError(t, err)
		require.NoError(t, s.file.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "00000000000000000099.log.new"), []byte("half"), 0o600))
		require.NoError(t, j.Close())
		j = openJournalIn(t, dir)
		bounds(t, j, 1, 16)
		require.NoError(t, j.StoreLog(entryFor(17, 1, 10)))
		bounds(t, j, 1, 17)
		require.NoError(t, j.Close())
	})
}

// TestOldSegmentEnds: also on a quiet node, cut-off entries leave the disk when their file is
// old enough.
func TestOldSegmentEnds(t *testing.T) {
	dir := t.TempDir()
	j := openJournalIn(t, dir)
	defer func() { require.NoError(t, j.Close()) }()
	require.NoError(t, j.StoreLog(entryFor(1, 1, 10)))
	require.NoError(t, j.StoreLog(entryFor(2, 1, 10)))
	require.Len(t, segmentsIn(t, dir), 1)
	j.segments[0].born = time.Now().Add(-segmentAge)
	require.NoError(t, j.StoreLog(entryFor(3, 1, 10)))
	require.Len(t, segmentsIn(t, dir), 2)
	require.NoError(t, j.DeleteRange(1, 2))
	require.Len(t, segmentsIn(t, dir), 1)
	require.Error(t, j.StoreLog(entryFor(5, 1, 10)), "no holes")
	requireEntry(t, j, entryFor(3, 1, 10))
}

func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, 5, 3, entryFor(4, 2, 30)), uint64(5))
	f.Add([]byte("RGLOG"), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		record := recordAt(data, 0, seed)
		if record == nil {
			return
		}
		var entry raft.Log
		readRecord(record, &entry)
		again := appendRecord(nil, seed, binary.LittleEndian.Uint64(record[atAppend:]), &entry)
		require.Equal(t, record, again[:len(record)])
	})
}
