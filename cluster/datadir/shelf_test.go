package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShelf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	shelf := NewShelf(dir)
	all, err := shelf.All()
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, shelf.Put("a_n1", []byte("{}")))
	require.NoError(t, shelf.Put("a_n1", []byte(`{"x":1}`)))
	require.NoError(t, shelf.Put("b", []byte("b")))
	require.NoError(t, shelf.Drop("b"))
	require.NoError(t, shelf.Drop("b"))
	for _, name := range []string{"", ".hidden", "a/b", `a\b`, "../a"} {
		require.Error(t, shelf.Put(name, nil), name)
		require.Error(t, shelf.Drop(name), name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "foreign.txt"), nil, 0o600))
	again := NewShelf(dir)
	all, err = again.All()
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a_n1": []byte(`{"x":1}`)}, all)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "long.json"), make([]byte, shelfDocumentMax+1), 0o600))
	all, err = again.All()
	require.ErrorContains(t, err, "long.json")
	require.Len(t, all, 1, "the others are there")
}
