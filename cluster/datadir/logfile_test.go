package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// writtenLog returns a folder with a log of some hundred entries, and the file's bytes in use.
func writtenLog(t *testing.T) (dir string, data []byte) {
	dir = t.TempDir()
	store, err := openVotes(dir)
	require.NoError(t, err)
	for i := range uint64(300) {
		require.NoError(t, store.StoreLogs([]*raft.Log{{Index: i + 1, Term: 1, Data: make([]byte, 4096)}}))
	}
	require.NoError(t, store.Close())
	data, err = os.ReadFile(filepath.Join(dir, LogFile))
	require.NoError(t, err)
	return dir, data
}

// TestTruncatedLog: wherever the file of the log is cut off, an error names it, or all bytes in
// use are there.
func TestTruncatedLog(t *testing.T) {
	dir, data := writtenLog(t)
	path := filepath.Join(dir, LogFile)
	file, err := os.Open(path)
	require.NoError(t, err)
	meta, err := newestMeta(file, int64(len(data)))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	used := int(meta.pages) * int(meta.pageSize)
	require.Less(t, used, len(data), "the file grows in large steps")
	for _, size := range []int{1, 15, 79, 80, 4095, 4096, 4175, 8191, 8192, used / 2, used - 4096, used - 1} {
		require.NoError(t, os.WriteFile(path, data[:size], 0o600))
		for _, open := range []func(string) (LogStore, error){openVotes, OpenLog, OpenLogToRead} {
			_, err := open(dir)
			require.ErrorIs(t, err, ErrDamaged, size)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "join anew")
		}
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, data[:size], kept, "nothing is changed")
	}
	for _, size := range []int{used, used + 1, len(data)} {
		require.NoError(t, os.WriteFile(path, data[:size], 0o600))
		store, err := openVotes(dir)
		require.NoError(t, err, size)
		last, err := store.LastIndex()
		require.NoError(t, err)
		require.EqualValues(t, 300, last)
		require.NoError(t, store.Close())
	}
}

// TestSpoiltHeaders: either of the two headers is enough. Without any, or with another file in
// its place, the log is refused.
func TestSpoiltHeaders(t *testing.T) {
	dir, data := writtenLog(t)
	path := filepath.Join(dir, LogFile)
	page := os.Getpagesize()
	write := func(offsets ...int) {
		spoilt := append([]byte(nil), data...)
		for _, at := range offsets {
			spoilt[at] ^= 0x40
		}
		require.NoError(t, os.WriteFile(path, spoilt, 0o600))
	}
	for _, at := range []int{metaOffset, page + metaOffset + metaTxAt} {
		write(at)
		store, err := openVotes(dir)
		require.NoError(t, err)
		require.NoError(t, store.Close())
	}
	write(metaOffset+metaTxAt, page+metaOffset+metaTxAt)
	_, err := openVotes(dir)
	require.ErrorIs(t, err, ErrDamaged)
	require.NoError(t, os.WriteFile(path, make([]byte, len(data)), 0o600))
	_, err = openVotes(dir)
	require.ErrorIs(t, err, ErrDamaged)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	store, err := openVotes(dir)
	require.NoError(t, err, "empty: new")
	require.NoError(t, store.Close())
}
