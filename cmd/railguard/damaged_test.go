package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

// TestDamagedLogIsFatal: no restart mends a log that was cut short, so a supervisor
// must not try: exit code 70, the file's name and what to do.
func TestDamagedLogIsFatal(t *testing.T) {
	dir := t.TempDir()
	node, err := datadir.Open(datadir.SystemDisk{}, dir, "n1")
	require.NoError(t, err)
	folder := node.Sub(datadir.RaftFolder)
	store, err := datadir.OpenLog(folder)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, node.Close())
	require.NoError(t, os.Truncate(filepath.Join(folder, datadir.LogFile), 9000))

	root := newRoot()
	root.SetArgs([]string{"serve", "--id", "n1", "--data", dir, "--http", "127.0.0.1:0", "--admin", "", "--bootstrap-expect", "1"})
	err = root.ExecuteContext(t.Context())
	var coded *exitError
	require.ErrorAs(t, err, &coded)
	require.Equal(t, exitFatal, coded.code, err)
	require.ErrorContains(t, err, filepath.Join(folder, datadir.LogFile)+" is cut short: 9000 of ")
	require.ErrorContains(t, err, "join anew")
}
