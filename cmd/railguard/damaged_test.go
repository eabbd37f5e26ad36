package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

// TestDamagedLogIsFatal: a restart does not mend a log that was cut short or has a damaged
// page, so a supervisor must not try. The exit code is 70, and the error names the file and
// what to do.
func TestDamagedLogIsFatal(t *testing.T) {
	dir := t.TempDir()
	node, err := datadir.Open(datadir.SystemDisk{}, dir, "n1")
	require.NoError(t, err)
	folder := node.Sub(datadir.RaftFolder)
	store, err := datadir.OpenLog(folder)
	require.NoError(t, err)
	require.NoError(t, store.SetUint64([]byte("CurrentTerm"), 1))
	require.NoError(t, store.StoreLogs([]*raft.Log{{Index: 1, Term: 1}}))
	require.NoError(t, store.Close())
	require.NoError(t, node.Close())
	written, _, err := datadir.LogFiles(folder)
	require.NoError(t, err)
	require.Len(t, written, 2)
	votes, entries := written[0], written[1]
	whole, err := os.ReadFile(votes)
	require.NoError(t, err)
	spoilt := bytes.ReplaceAll(whole, []byte("logs"), []byte("mogs")) // This damages a table's name in every page that contains it. If the log were taken for a new one, the node would forget its votes.
	log, err := os.ReadFile(entries)
	require.NoError(t, err)

	for _, damage := range []struct {
		path  string
		bytes []byte
		says  string
	}{
		{votes, nil, votes + " is empty"},
		{votes, whole[:9000], votes + " is cut short: 9000 of "},
		{votes, spoilt, votes + ": page "},
		{votes, append(bytes.Clone(whole[:2*os.Getpagesize()]), make([]byte, len(whole)-2*os.Getpagesize())...), votes + ": page "},
		{entries, log[:9000], entries + " is cut short: 9000 of "},
		{entries, make([]byte, len(log)), entries + ": no header"},
	} {
		sound, err := os.ReadFile(damage.path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(damage.path, damage.bytes, 0o600))
		root := newRoot()
		root.SetArgs([]string{"serve", "--id", "n1", "--data", dir, "--http", "127.0.0.1:0", "--admin", "", "--bootstrap-expect", "1"})
		err = root.ExecuteContext(t.Context())
		var coded *exitError
		require.ErrorAs(t, err, &coded)
		require.Equal(t, exitFatal, coded.code, err)
		require.ErrorContains(t, err, "the raft log is damaged")
		require.ErrorContains(t, err, damage.says)
		require.ErrorContains(t, err, "join anew")
		require.NoError(t, os.WriteFile(damage.path, sound, 0o600))
	}
}
