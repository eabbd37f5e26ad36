package examine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/leaf"
)

// The golden leaf of every kind can be read. If one of its members has another type, the leaf
// is of a release that this program does not know.
func TestEveryKindIsExamined(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "fsm", "leaf", "testdata", "events.txt"))
	require.NoError(t, err)
	goldens := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, golden, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		goldens[name] = golden
	}
	for _, kind := range leaf.Kinds {
		if kind.Members == nil {
			continue // The other fixtures of this package cover these forms.
		}
		stored := []byte(goldens[kind.Name])
		record, err := readLeaf(stored, nil)
		require.NoError(t, err, kind.Name)
		require.Equal(t, string(stored), string(record.Raw))
		name, _, _ := strings.Cut(kind.Name, ":")
		require.Equal(t, name, record.Kind)
		for _, m := range leaf.MembersOf(kind.Name) {
			other := bytes.Replace(stored, []byte(`,"`+m.Name+`":`), []byte(`,"`+m.Name+`":{"not":"it"},"x":`), 1)
			if m.Edge && bytes.Equal(other, stored) {
				continue
			}
			_, err := readLeaf(other, nil)
			require.Error(t, err, "%s of %s", m.Name, kind.Name)
		}
	}
}
