package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// openVotes opens the bbolt file alone. It can have entries too, and so many pages.
func openVotes(dir string) (LogStore, error) {
	return openBolt(filepath.Join(dir, LogFile), &bbolt.Options{Timeout: boltOpenPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
}

// mixedLog returns a folder with a log of small and large entries and votes that was cut at the
// front, and the bytes in use.
func mixedLog(t *testing.T) (dir string, data []byte, pageSize int) {
	dir = t.TempDir()
	store, err := openVotes(dir)
	require.NoError(t, err)
	for i := range uint64(400) {
		size := 50
		if i%9 == 0 {
			size = 20_000
		}
		require.NoError(t, store.StoreLogs([]*raft.Log{{Index: i + 1, Term: 1, Data: make([]byte, size)}}))
	}
	require.NoError(t, store.DeleteRange(1, 100))
	require.NoError(t, store.SetUint64(RaftTermKey, 7))
	require.NoError(t, store.Set([]byte("LastVoteCand"), []byte("n1")))
	require.NoError(t, store.SetUint64([]byte("LastVoteTerm"), 7))
	require.NoError(t, store.Close())
	path := filepath.Join(dir, LogFile)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	meta, err := newestMeta(file, info.Size())
	require.NoError(t, err)
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	return dir, data[:int64(meta.pages)*meta.pageSize], int(meta.pageSize)
}

// readAll reads what raft reads at its start. A panic ends the test.
func readAll(dir string) error {
	store, err := openVotes(dir)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	term, err := store.GetUint64(RaftTermKey)
	if err != nil || term == 0 {
		return errors.Join(fmt.Errorf("term %d", term), err)
	}
	if first != 101 || last != 400 {
		return fmt.Errorf("entries %d to %d", first, last)
	}
	for i := first; i <= last; i++ {
		var entry raft.Log
		if err := store.GetLog(i, &entry); err != nil {
			return err
		}
	}
	return nil
}

// headPages returns the pages in use that have a head.
func headPages(t *testing.T, data []byte) (heads []int) {
	meta, err := newestMeta(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	w := &logBlocks{file: bytes.NewReader(data), meta: meta, used: map[uint64]bool{}}
	followed := map[uint64]bool{}
	ignore := func(_, _ []byte, _ bool) error { return nil }
	require.NoError(t, w.walkTree(meta.root, func(_, value []byte, table bool) error { return w.walkTable(value, ignore) }))
	for number := uint64(2); number < meta.pages; number++ {
		if !w.used[number] || followed[number] {
			continue
		}
		p, err := readPage(w.file, int64(number)*meta.pageSize, meta.pageSize)
		require.NoError(t, err)
		for i := range p.more {
			followed[number+i+1] = true
		}
		heads = append(heads, int(number))
	}
	return heads
}

// TestSpoiltPages: after a flip of any bit in the head or an element of a page in use, either
// the error names the log and leaves it as it is, or all of it can be read. The flip never ends
// the process, and the log never counts as a new one.
func TestSpoiltPages(t *testing.T) {
	dir, data, pageSize := mixedLog(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, LogFile), data, 0o600))
	require.NoError(t, readAll(dir))
	path, refused, atOpen, harmless := filepath.Join(dir, LogFile), 0, 0, 0
	random := rand.New(rand.NewPCG(1, 2))
	flip := func(at, bit int) {
		spoilt := append([]byte(nil), data...)
		spoilt[at] ^= 1 << bit
		require.NoError(t, os.WriteFile(path, spoilt, 0o600))
		err := readAll(dir)
		if err == nil {
			harmless++
			return
		}
		refused++
		require.ErrorIs(t, err, ErrDamaged, "byte %d", at)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "join anew")
		if store, err := openVotes(dir); err == nil { // The bit was in the bytes of an entry.
			require.NoError(t, store.Close())
			return
		}
		atOpen++
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(spoilt, kept), "byte %d: something is changed", at)
	}
	try := func(at int) { flip(at, random.IntN(8)) }
	heads := headPages(t, data)
	for _, head := range heads {
		for bit := range 3 { // A page that counts too few elements would hide the end of the log.
			flip(head*pageSize+10, bit)
		}
	}
	for i := range 160 {
		at := []int{0, 8, 10, 12, pageHead, pageHead + 4, pageHead + 8, pageHead + 12}[i%8]
		try(heads[random.IntN(len(heads))]*pageSize + at)
	}
	for range 30 {
		try(2*pageSize + random.IntN(len(data)-2*pageSize))
	}
	t.Logf("%d refused, %d of them at once, %d in what nothing leads to", refused, atOpen, harmless)
	require.Greater(t, atOpen, 100)
	require.Positive(t, harmless)
}

// TestDamageWhileRunning: damage under a running node ends it with an error that names the
// file, before raft learns of it.
func TestDamageWhileRunning(t *testing.T) {
	dir, data, pageSize := mixedLog(t)
	path := filepath.Join(dir, LogFile)
	store, err := openVotes(dir)
	require.NoError(t, err)
	gave := make(fatalities, 8)
	guarded := Guard(store, NewStalls(func() Patience { return Patience{Lead: time.Minute, End: time.Minute, Never: time.Minute} }, nil), gave.fatal)
	defer guarded.Release()
	require.NoError(t, os.WriteFile(path, make([]byte, len(data)), 0o600), "the mapped file itself")
	standsStill(t, guarded, "raft panics if it cannot read an entry", func() error { var entry raft.Log; return guarded.GetLog(200, &entry) })
	require.Eventually(t, func() bool { return len(gave) == 1 }, 10*time.Second, time.Millisecond)
	require.Contains(t, gave.all()[0], "the raft log is damaged")
	require.Contains(t, gave.all()[0], path)
	require.Contains(t, gave.all()[0], "join anew")
	standsStill(t, guarded, "nothing is written any more", func() error { return guarded.StoreLog(&raft.Log{Index: 401}) })
	require.Len(t, gave, 1)
	require.Positive(t, pageSize)
}
