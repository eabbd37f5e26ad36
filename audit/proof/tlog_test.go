package proof

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The text has the form of the standard, line by line.
func TestTlogProof(t *testing.T) {
	one, two := someHash("1"), someHash("2")
	p := Tlog{Extra: []byte("leaf"), Index: 73894, Path: [][]byte{one, two}, Checkpoint: []byte("example.com/log\n9\n\n— x y\n")}
	text := string(p.Bytes())
	lines := strings.Split(text, "\n")
	require.Equal(t, []string{"c2sp.org/tlog-proof@v1", "extra bGVhZg==", "index 73894"}, lines[:3])
	require.Equal(t, []string{"", "example.com/log", "9", "", "— x y", ""}, lines[5:])
	again, err := ParseTlog([]byte(text))
	require.NoError(t, err)
	require.Equal(t, &p, again)
	bare := Tlog{Checkpoint: []byte("c")}
	again, err = ParseTlog(bare.Bytes())
	require.NoError(t, err)
	require.Equal(t, &bare, again)
	for name, bad := range map[string]string{
		"another version":   strings.Replace(text, "@v1", "@v2", 1),
		"no index":          strings.Replace(text, "index 73894\n", "", 1),
		"index with a zero": strings.Replace(text, "index 7", "index 07", 1),
		"extra of nothing":  strings.Replace(text, "bGVhZg==", "", 1),
		"another spelling":  strings.Replace(text, "bGVhZg==", "bGVhZh==", 1),
		"a short hash":      strings.Replace(text, lines[3], lines[3][4:], 1),
		"no end":            strings.Join(lines[:5], "\n"),
		"too long a path":   string((&Tlog{Path: make([][]byte, 0), Index: 1}).Bytes()[:len(TlogMark)+9]) + strings.Repeat(lines[3]+"\n", 65) + "\nc",
	} {
		_, err := ParseTlog([]byte(bad))
		require.ErrorIs(t, err, ErrTlog, name)
	}
}

func FuzzParseTlog(f *testing.F) {
	f.Add((&Tlog{Extra: []byte("leaf"), Index: 5, Path: [][]byte{someHash("1")}, Checkpoint: []byte("c\n")}).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := ParseTlog(data); err == nil && !bytes.Equal(p.Bytes(), data) {
			t.Fatalf("%q is read as %q", data, p.Bytes())
		}
	})
}
