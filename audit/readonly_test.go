package audit

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) (all []string) {
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all = append(all, path+" "+strconv.FormatInt(info.Size(), 10))
		}
		return err
	}))
	return all
}

// TestOpenReadOnlyBesideAWriter opens a folder while its store writes, seals and has an
// unfinished file. Nothing is changed, and the writer goes on.
func TestOpenReadOnlyBesideAWriter(t *testing.T) {
	dir := t.TempDir()
	options := Options{SegmentLevel: SegmentLevelMin, SealInline: true}
	writer, err := Open(OSDir(dir), options)
	require.NoError(t, err)
	defer func() { require.NoError(t, writer.Close()) }()
	leaf := func(i uint64) []Leaf {
		return []Leaf{{Time: int64(i), Data: []byte("leaf " + strconv.FormatUint(i, 10))}}
	}
	half := filepath.Join(dir, "000.seg"+temporarySuffix) // The sealer is writing this file.
	require.NoError(t, os.WriteFile(half, []byte("half"), 0o600))
	for i := range uint64(3<<SegmentLevelMin + 5) {
		require.NoError(t, writer.Append(i, leaf(i)))
		if i%100 != 50 {
			continue
		}
		before := names(t, dir)
		reader, err := OpenReadOnly(OSDir(dir), options)
		require.NoError(t, err)
		require.Equal(t, i+1, reader.Size())
		root, err := reader.Root(i + 1)
		require.NoError(t, err)
		own, err := writer.Root(i + 1)
		require.NoError(t, err)
		require.Equal(t, own, root)
		summary, err := reader.Verify(t.Context(), func(d *DamageError) { t.Error(d) })
		require.NoError(t, err)
		require.Equal(t, i+1, summary.Leaves)
		require.ErrorIs(t, reader.Append(i+1, leaf(i+1)), ErrReadOnly)
		require.NoError(t, reader.Close())
		require.Equal(t, before, names(t, dir), "nothing was made, cut or removed")
	}
	require.FileExists(t, half)
}

// TestOpenReadOnlyLeavesATornEnd: a frame that is still being written is not read, and not
// removed.
func TestOpenReadOnlyLeavesATornEnd(t *testing.T) {
	dir := t.TempDir()
	writer, err := Open(OSDir(dir), Options{SegmentLevel: SegmentLevelMin})
	require.NoError(t, err)
	require.NoError(t, writer.Append(0, []Leaf{{Time: 1, Data: []byte("a")}}))
	require.NoError(t, writer.Close())
	name := filepath.Join(dir, filepath.FromSlash(tailName(0)))
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	torn := append(whole, whole[:len(whole)-1]...)
	require.NoError(t, os.WriteFile(name, torn, 0o600))
	reader, err := OpenReadOnly(OSDir(dir), Options{SegmentLevel: SegmentLevelMin})
	require.NoError(t, err)
	require.Equal(t, uint64(1), reader.Size())
	require.NoError(t, reader.Close())
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, torn, after)
}

func TestOpenReadOnlyOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	reader, err := OpenReadOnly(OSDir(dir), Options{})
	require.NoError(t, err)
	require.Zero(t, reader.Size())
	require.NoError(t, reader.Close())
	require.NoDirExists(t, dir)
}
