package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/ofac"
)

// stoppedFolder is the data folder of a cluster of one that took payments and was stopped.
func stoppedFolder(t *testing.T) string {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.leader()
	token := n.token(t)
	for range 20 {
		n.pay(t, token)
	}
	awaitLists(t, n.dir)
	g.close("n1")
	return n.dir
}

// tailOf is the file of the leaves that are not sealed yet.
func tailOf(t *testing.T, dir string) string {
	tails, err := filepath.Glob(filepath.Join(dir, datadir.AuditFolder, "tail", "*.log"))
	require.NoError(t, err)
	require.Len(t, tails, 1)
	return tails[0]
}

func flipByte(t *testing.T, path string, at int64) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func copyOf(t *testing.T, dir string) string {
	to := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// A folder is whole when all of it agrees: every leaf with the log, the tree head with the
// state, each list with its name. What does not is named, by file and byte, and nothing damaged is
// called whole.
func TestDamagedFoldersAreNotWhole(t *testing.T) {
	dir := stoppedFolder(t)
	t.Run("last resort", func(t *testing.T) { lastResort(t, dir) })
	for _, path := range []string{dir, filepath.Join(dir, "audit"), filepath.Join(dir, "raft"), filepath.Join(dir, "lists")} {
		text, _, err := run(t, "dump", path)
		require.NoError(t, err, text)
		require.True(t, strings.HasSuffix(text, "\nwhole\n"), text)
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	tail := size(tailOf(t, dir))
	for name, c := range map[string]struct {
		spoil func(dir string)
		says  []string
	}{
		"a byte flipped in the tail": {func(dir string) { flipByte(t, tailOf(t, dir), tail/3) }, []string{"000000000.log from byte ", "stand in the log alone"}},
		"a tail cut at a leaf's end": {func(dir string) { require.NoError(t, os.Truncate(tailOf(t, dir), tail/2)) }, []string{"stand in the log alone"}},
		"no history at all":          {func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "audit", "tail"))) }, []string{"leaves 0 to "}},
		"a list under another one's name": {func(dir string) {
			lists, err := filepath.Glob(filepath.Join(dir, "lists", "*.entities"))
			require.NoError(t, err)
			require.NoError(t, os.Rename(lists[0], filepath.Join(dir, "lists", strings.Repeat("ab", 32)+".entities")))
		}, []string{"which is not its name"}},
		"a byte flipped in the log": {func(dir string) {
			written, _, err := datadir.LogFiles(filepath.Join(dir, "raft"))
			require.NoError(t, err)
			flipByte(t, written[1], 9000)
		}, []string{".log", "byte "}},
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := copyOf(t, dir)
			c.spoil(spoilt)
			text, code, err := run(t, "dump", spoilt)
			require.Error(t, err, text)
			require.Equal(t, exitFailed, code, text)
			require.Contains(t, text, "DAMAGED: ")
			require.NotContains(t, text, "\nwhole")
			for _, says := range c.says {
				require.Contains(t, text, says)
			}
		})
	}
}

// lastResort: the backup of last resort takes what history lacks from the log. What neither has is named, and
// then there is no backup.
func lastResort(t *testing.T, dir string) {
	whole := filepath.Join(t.TempDir(), "whole")
	_, _, err := run(t, "backup", "create", "--folder", dir, "--file", whole, "--recipient", testBackupKeys.Recipients[0])
	require.NoError(t, err)
	want, err := backup.Verify(whole, testBackupKeys)
	require.NoError(t, err)
	info, err := os.Stat(tailOf(t, dir))
	require.NoError(t, err)
	for name, spoil := range map[string]func(dir string){
		"flipped": func(dir string) { flipByte(t, tailOf(t, dir), info.Size()/3) },
		"cut":     func(dir string) { require.NoError(t, os.Truncate(tailOf(t, dir), info.Size()/4)) },
		"gone":    func(dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "audit", "tail"))) },
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := copyOf(t, dir)
			spoil(spoilt)
			path := filepath.Join(t.TempDir(), "last")
			_, _, err := run(t, "backup", "create", "--folder", spoilt, "--file", path, "--recipient", testBackupKeys.Recipients[0])
			require.NoError(t, err)
			is, err := backup.Verify(path, testBackupKeys)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want.TreeSize, want.TreeHead, want.Digest), fmt.Sprint(is.TreeSize, is.TreeHead, is.Digest))
		})
	}
	t.Run("neither has it", func(t *testing.T) {
		spoilt := copyOf(t, dir)
		require.NoError(t, os.RemoveAll(filepath.Join(spoilt, "audit", "tail")))
		require.NoError(t, os.RemoveAll(filepath.Join(spoilt, "raft")))
		_, _, err := run(t, "backup", "create", "--folder", spoilt, "--file", filepath.Join(t.TempDir(), "last"), "--recipient", testBackupKeys.Recipients[0])
		require.Error(t, err)
	})
}
