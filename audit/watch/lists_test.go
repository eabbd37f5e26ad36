package watch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
)

// A watcher tells which sanctions list came in force, and raises an alarm where the log says
// something else of a list than before.
func TestListsAreWatched(t *testing.T) {
	line := func(version uint64, of byte) []string {
		return []string{note.List{Version: version, Digest: note.Hash{of}}.Line()}
	}
	for _, c := range []struct {
		name       string
		was, is    []string
		grows      int
		want, text string
	}{
		{"the first list", nil, line(1, 1), 1, KindGrown + " " + KindListed, "version 1 of the sanctions list is in force: 01000000"},
		{"the next list", line(1, 1), line(2, 2), 1, KindGrown + " " + KindListed, "version 2"},
		{"the same list", line(1, 1), line(1, 1), 1, KindGrown, ""},
		{"a doctored list as the same version", line(1, 1), line(1, 2), 1, KindList, "version 1 of the sanctions list was 01"},
		{"the same tree with another list", line(1, 1), line(1, 2), 0, KindList, ""},
		{"a list of before", line(2, 2), line(1, 1), 1, KindList, "before it was version 2"},
		{"no list any more", line(2, 2), nil, 1, KindList, "names no sanctions list any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeLog(t, 5)
			f.lists = c.was
			w := follow(t, f, f.signer.VerifierKeys(), Options{})
			require.Equal(t, KindFirst, w.look())
			f.lists = c.is
			f.grow(c.grows)
			found, err := w.Step(t.Context(), w.now)
			require.NoError(t, err)
			var kinds []string
			for _, f := range found {
				kinds = append(kinds, f.Kind)
			}
			require.Equal(t, c.want, strings.Join(kinds, " "))
			last := found[len(found)-1]
			require.Contains(t, last.Text, c.text)
			require.Equal(t, c.want == KindList, last.Alarm())
		})
	}
}
