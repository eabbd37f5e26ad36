package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutantsFit: every mutant's old text is found once where it says, so a change of that
// text must change the mutant too. `make mutants` runs them.
func TestMutantsFit(t *testing.T) {
	all, err := load("testdata")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, m := range all {
		require.False(t, names[m.name], "%q twice", m.name)
		names[m.name] = true
		for i := range m.edits {
			if _, err := m.edits[i].find("../.."); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// TestParse reads a mutant of two changes, and refuses invalid ones.
func TestParse(t *testing.T) {
	const whole = "# remark\n== a name\nin: fsm\ntest: ./fsm -run X\nenv: A=1\nwant: word\n-- old\n\tone\ntwo\n-- new\n-- end\nin: engine\n-- old\nthree\n-- new\nfour"
	all, err := parse(whole)
	require.NoError(t, err)
	require.Equal(t, []*mutant{{
		name: "a name", test: "./fsm -run X", env: []string{"A=1"}, want: "word",
		edits: []edit{{in: "fsm", old: "\tone\ntwo"}, {in: "engine", old: "three", new: "four"}},
	}}, all)
	for _, bad := range []string{
		"in: fsm\n", "== a\nin: fsm\nwant: w\n-- old\nx\n-- new\n", "== a\ntest: t\nwant: w\n-- old\nx\n-- new\n",
		"== a\nin: fsm\ntest: t\nwant: w\n", "== a\nin: fsm\ntest: t\nwant: w\n-- old\nx\n-- new\nx\n", "== a\nhello\n",
	} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

// TestApplyAndUndo: a text that is not there exactly once is refused, and undo restores
// the file.
func TestApplyAndUndo(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "room", "deeper", "a.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	read := func() string {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(data)
	}
	require.NoError(t, os.WriteFile(file, []byte("one two two"), 0o600))
	m := &mutant{edits: []edit{{in: "room", old: "one", new: "three"}, {in: "room", old: "three two", new: "four"}}}
	undo, err := m.apply(root)
	require.NoError(t, err)
	require.Equal(t, "four two", read())
	require.NoError(t, undo())
	require.Equal(t, "one two two", read())
	for _, gone := range []string{"five", "two"} {
		m := &mutant{edits: []edit{{in: "room", old: "one", new: "x"}, {in: "room", old: gone, new: "y"}}}
		undo, err := m.apply(root)
		require.Error(t, err)
		require.NoError(t, undo())
		require.Equal(t, "one two two", read())
	}
}
