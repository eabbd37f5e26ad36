package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenExport reads an export that a release wrote, and the keys of its log.
func goldenExport(t *testing.T) (raw []byte, keys string) {
	t.Helper()
	folder := filepath.Join("..", "..", "cmd", "railguard", "testdata", "releases", "0.1.0")
	raw, err := os.ReadFile(filepath.Join(folder, "export.ndjson"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "keys.txt"))
	require.NoError(t, err)
	return raw, string(text)
}

// The export of another node that has the same bytes is not verified record by record again. One
// byte that differs, wherever it is, has it verified by itself, and then it is not proven.
func TestExportsOfOneLog(t *testing.T) {
	raw, keys := goldenExport(t)
	first, err := readExport("n1", raw, keys)
	require.NoError(t, err)
	require.Equal(t, uint64(len(first.leaves)), sizeOf(raw))

	x, err := first.readLike("n2", raw, keys)
	require.NoError(t, err)
	require.Equal(t, "n2", x.node)
	require.Equal(t, first.checkpoint, x.checkpoint)
	require.Same(t, &first.leaves[0], &x.leaves[0], "verified once more")

	for at := 0; at < len(raw); at += 1 + len(raw)/200 {
		forged := bytes.Clone(raw)
		if forged[at] ^= 1; forged[at] == '\n' || raw[at] == '\n' {
			continue
		}
		_, same := first.sameAs(forged)
		require.False(t, same, "byte %d", at)
		_, err = first.readLike("n2", forged, keys)
		require.Error(t, err, "byte %d: %s", at, raw[max(at-40, 0):min(at+40, len(raw))])
	}
	for name, forged := range map[string][]byte{
		"empty":           nil,
		"without its end": raw[:bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1],
		"only its head":   raw[:bytes.IndexByte(raw, '\n')+1],
		"a line more":     append(bytes.Clone(raw), raw[bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1:]...),
		"a later time":    bytes.Replace(raw, []byte(`"to":"2`), []byte(`"to":"3`), 1),
		"one more member": bytes.Replace(raw, []byte(`"version":1`), []byte(`"version":1,"note":1`), 1),
	} {
		_, same := first.sameAs(forged)
		require.False(t, same, name)
		_, err := first.readLike("n2", forged, keys)
		require.ErrorIs(t, err, errUnproven, name)
	}
}
