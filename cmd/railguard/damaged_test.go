package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

// TestDamagedLogIsFatal: no restart mends a log that was cut short, or has a page that is none, so a supervisor
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
	log := filepath.Join(folder, datadir.LogFile)
	whole, err := os.ReadFile(log)
	require.NoError(t, err)
	spoilt := append([]byte(nil), whole...)
	name := bytes.LastIndex(spoilt, []byte("logs")) // Of a table: taken for a new log it would have no votes.
	spoilt[name] ^= 1

	for _, damage := range []struct {
		bytes []byte
		says  string
	}{
		{whole[:9000], log + " is cut short: 9000 of "},
		{spoilt, log + ": page "},
		{append(append([]byte(nil), whole[:2*os.Getpagesize()]...), make([]byte, len(whole)-2*os.Getpagesize())...), log + ": page "},
	} {
		require.NoError(t, os.WriteFile(log, damage.bytes, 0o600))
		root := newRoot()
		root.SetArgs([]string{"serve", "--id", "n1", "--data", dir, "--http", "127.0.0.1:0", "--admin", "", "--bootstrap-expect", "1"})
		err = root.ExecuteContext(t.Context())
		var coded *exitError
		require.ErrorAs(t, err, &coded)
		require.Equal(t, exitFatal, coded.code, err)
		require.ErrorContains(t, err, damage.says)
		require.ErrorContains(t, err, "join anew")
	}
}
