package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
)

// TestFilesLoseWhatWasNotSynced: a power cut takes back what was not synced, content and names, and
// brings back a segment whose removal was not. A killed process loses nothing; what it had not
// synced, a later power cut takes.
func TestFilesLoseWhatWasNotSynced(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	base := memoryDir(t)
	f, err := openFiles(filepath.Join(base, "a"))
	require.NoError(t, err)
	at := func(f *files, name string) string { return filepath.Join(f.root, name) }
	write := func(name string, data []byte) {
		file, err := os.OpenFile(at(f, name), os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		_, err = file.WriteAt(data, 0)
		require.NoError(t, err)
		require.NoError(t, f.SyncFile(file))
		require.NoError(t, file.Close())
	}
	read := func(f *files, name string) []byte {
		data, err := os.ReadFile(at(f, name))
		if err != nil {
			return nil
		}
		return data
	}
	old, young := bytes.Repeat([]byte{1}, 8*sectorBytes), bytes.Repeat([]byte{2}, 8*sectorBytes)
	write("kept.log.new", old)
	require.NoError(t, f.Rename(at(f, "kept.log.new"), at(f, "kept.log")))
	write("gone.log", old)
	require.NoError(t, f.SyncFolder(f.root))
	require.NoError(t, os.WriteFile(at(f, "kept.log"), young, 0o600)) // The same file, not synced.
	require.NoError(t, os.Remove(at(f, "gone.log")))
	write("unnamed.log", old)

	killed, err := f.cut(filepath.Join(base, "b"), audittest.LoseNone, random)
	require.NoError(t, err)
	require.Equal(t, young, read(killed, "kept.log"))
	require.Nil(t, read(killed, "gone.log"))
	require.Equal(t, old, read(killed, "unnamed.log"))
	for i, before := range []*files{f, killed} {
		cut, err := before.cut(filepath.Join(base, []string{"c", "d"}[i]), audittest.LoseAll, random)
		require.NoError(t, err)
		require.Equal(t, old, read(cut, "kept.log"))
		require.Equal(t, old, read(cut, "gone.log"))
		require.Nil(t, read(cut, "unnamed.log"))
	}
	torn := false
	for i := range 20 {
		cut, err := f.cut(filepath.Join(base, "e", string(rune('a'+i))), audittest.LoseSome, random)
		require.NoError(t, err)
		data := read(cut, "kept.log")
		require.Len(t, data, len(old))
		torn = torn || bytes.Contains(data, old[:sectorBytes]) && bytes.Contains(data, young[:sectorBytes])
	}
	require.True(t, torn, "a write is never torn")
}

// TestFilesAreNeverMixed: a file takes the name of another one of the same size, as a segment that is
// cut does, and the power goes away before its folder is synced. Then the name leads to the one or to
// the other, and never to sectors of both: not even a disk that tears does that.
func TestFilesAreNeverMixed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	base := memoryDir(t)
	f, err := openFiles(filepath.Join(base, "a"))
	require.NoError(t, err)
	path := filepath.Join(f.root, "1.log")
	old, young := bytes.Repeat([]byte{1}, 8*sectorBytes), bytes.Repeat([]byte{2}, 8*sectorBytes)
	put := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(name, data, 0o600))
		require.NoError(t, f.syncPath(name))
	}
	put(path, old)
	require.NoError(t, f.SyncFolder(f.root))
	put(path+".new", young)
	require.NoError(t, f.Rename(path+".new", path))
	found := map[byte]int{}
	for i := range 40 {
		cut, err := f.cut(filepath.Join(base, fmt.Sprint(i)), audittest.LoseSome, random)
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(cut.root, "1.log"))
		require.NoError(t, err)
		require.Equal(t, len(data), bytes.Count(data, data[:1]), "a mixture of two files")
		found[data[0]]++
	}
	require.Len(t, found, 2, "each of the two is found at times")
}

// TestNothingIsDurableAfterTheCut: the power goes away while a process syncs. Whatever of it comes after
// that moment fails, so that the process concludes nothing from what the host has lost.
func TestNothingIsDurableAfterTheCut(t *testing.T) {
	base := memoryDir(t)
	f, err := openFiles(filepath.Join(base, "a"))
	require.NoError(t, err)
	file, err := os.Create(filepath.Join(f.root, "1.log"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, f.SyncFile(file))
	_, err = f.cut(filepath.Join(base, "b"), audittest.LoseAll, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	require.Error(t, f.SyncFile(file))
	require.Error(t, f.SyncFolder(f.root))
	require.Error(t, f.Rename(file.Name(), file.Name()+".new"))
	require.Error(t, f.change(func() error { return nil }), "a vote")
}
