package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// leavesOf returns the paths of the commands that do something.
func leavesOf(cmd *cobra.Command) (paths []string) {
	if cmd.Runnable() && cmd.Name() != "help" && !strings.HasPrefix(cmd.CommandPath(), "railguard completion") {
		paths = append(paths, cmd.CommandPath())
	}
	for _, inner := range cmd.Commands() {
		paths = append(paths, leavesOf(inner)...)
	}
	return paths
}

// An unexpected argument or an unknown flag ends every verb in the same way: exit code 64, and
// where to find help.
func TestWrongArgumentsAreUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	paths := leavesOf(newRoot())
	require.Greater(t, len(paths), 150)
	for _, path := range paths {
		for _, wrong := range [][]string{strings.Fields(strings.Repeat("x ", 30)), {"--no-such-flag"}} {
			root := newRoot()
			root.SetArgs(append(strings.Fields(path)[1:], wrong...))
			root.SetOut(io.Discard)
			root.SetErr(io.Discard)
			err := root.ExecuteContext(t.Context())
			var coded *exitError
			require.ErrorAs(t, err, &coded, path)
			require.Equal(t, exitUsage, coded.code, "%s: %v", path, err)
		}
	}
}

// A missing argument is a usage error, too.
func TestMissingArgumentsAreUsage(t *testing.T) {
	for _, path := range []string{"backup restore", "backup verify", "verify", "dump", "agent get", "audit get", "policy put", "log watch", "ofac import"} {
		_, code, err := runCommand(t, strings.Fields(path)...)
		require.Error(t, err, path)
		require.Equal(t, exitUsage, code, "%s: %v", path, err)
	}
}

// A development node that ends while it starts says why, if it still can.
func TestWhyADevelopmentNodeEnded(t *testing.T) {
	dir := t.TempDir()
	c := &devCluster{flags: &devFlags{data: dir}}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "n1"), 0o700))
	require.Empty(t, c.lastWords("n1"), "it said nothing")
	for text, want := range map[string]string{
		"level=INFO msg=x\nrailguard: --http: taken\n":                                 ": --http: taken",
		`level=ERROR msg="FATAL: this node stops" reason="disk failed: append"` + "\n": ": disk failed: append",
		strings.Repeat("x", 3000) + "\nlevel=INFO msg=stopping\n":                      "",
	} {
		require.NoError(t, os.WriteFile(c.logPath("n1"), []byte(text), 0o600))
		require.Equal(t, want, c.lastWords("n1"), fmt.Sprintf("%.60s", text))
	}
}

// Files of a bundle that broke off do not get into the next bundle.
func TestBegunBundleIsCleared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "may.part")
	require.NoError(t, clearBegun(dir), "nothing was begun")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "lists"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "policies"), 0o700))
	begun := []string{"records.ndjson", "records.ndjson.part", "records.ndjson.part.json", "keys.txt", "SHA256SUMS", "policies/7.json", "lists/" + strings.Repeat("a", 64) + ".entities"}
	for _, name := range begun {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600))
	}
	require.NoError(t, clearBegun(dir))
	for _, name := range begun {
		require.NoFileExists(t, filepath.Join(dir, name))
	}
	own := filepath.Join(dir, "my-notes.doc")
	require.NoError(t, os.WriteFile(own, []byte("mine"), 0o600))
	require.ErrorContains(t, clearBegun(dir), "my-notes.doc")
	require.FileExists(t, own)
}
