package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/fsm/wire"
)

// TestNothingCommittedIsCut: an old folder is put back on n1 and n3 lags, so the two form a quorum
// with another past than n2, which has all that was acknowledged. n2 ends before its log is cut,
// and the comparison of the folders names n2.
func TestNothingCommittedIsCut(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	propose(t, g.leader(), wire.KindRegister, register("before"))
	g.awaitEqual()
	g.close("n1")
	old := filepath.Join(g.dir, "old")
	require.NoError(t, os.CopyFS(old, os.DirFS(g.folder("n1"))))
	g.open("n1", hosts)
	g.awaitReady()
	g.close("n3")
	for i := range 10 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprint("acknowledged ", i)))
	}
	g.closeAll()
	require.NoError(t, os.RemoveAll(g.folder("n1")))
	require.NoError(t, os.Rename(old, g.folder("n1")))
	before := entriesOf(t, g.folder("n2"))

	g.open("n1", hosts)
	g.open("n3", hosts)
	g.awaitReady()
	for i := range 20 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprint("in the other past ", i)))
	}
	config := g.config("n2", hosts)
	n2, err := Open(config)
	require.NoError(t, err)
	g.nodes["n2"] = n2
	g.awaitEnd("n2", "")
	require.Contains(t, g.gave["n2"].all()[0], "diverged")
	g.closeAll()

	after, err := recovery.Inspect(recovery.Source{Dir: g.folder("n2"), Compare: []string{g.folder("n1"), g.folder("n3")}})
	require.NoError(t, err)
	require.NoError(t, err)
	require.Equal(t, before, entriesOf(t, g.folder("n2"))[:len(before)], "nothing was cut")
	require.NotEmpty(t, after.Problems, "two pasts: nobody recovers one of them unasked")
	require.Contains(t, after.Problems[0], "differ within their first")
}

// entriesOf returns the entries in a stopped node's log.
func entriesOf(t *testing.T, dir string) (entries []raft.Log) {
	store, err := datadir.OpenLogToRead(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	defer store.Close()
	last, err := store.LastIndex()
	require.NoError(t, err)
	for index := uint64(1); index <= last; index++ {
		var entry raft.Log
		require.NoError(t, store.GetLog(index, &entry))
		entries = append(entries, entry)
	}
	return entries
}

// TestVotesAreLost: a node that has entries and no votes does not start.
func TestVotesAreLost(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	propose(t, n, wire.KindRegister, register("a"))
	require.NoError(t, n.Close())
	votes := filepath.Join(dir, datadir.RaftFolder, datadir.LogFile)
	require.NoError(t, os.Remove(votes))
	_, err := Open(aloneConfig(t, dir))
	require.ErrorIs(t, err, datadir.ErrDamaged)
	require.ErrorContains(t, err, votes+" is missing")
	_, err = os.Stat(votes)
	require.ErrorIs(t, err, os.ErrNotExist, "asked a second time it says so again")
}

// TestSpoiltSnapshotIsNamed: if the only snapshot is spoilt, the error names its file and the
// remedy.
func TestSpoiltSnapshotIsNamed(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	propose(t, n, wire.KindRegister, register("a"))
	meta, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	name := filepath.Join(dir, datadir.RaftFolder, datadir.SnapshotFolder, meta.ID, datadir.SnapshotStateFile)
	data := mustRead(t, name)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o600))
	_, err = Open(aloneConfig(t, dir))
	require.ErrorIs(t, err, datadir.ErrDamaged)
	require.ErrorContains(t, err, "no snapshot can be loaded")
	require.ErrorContains(t, err, "failed to load any existing snapshots")
	require.ErrorContains(t, err, name+": its checksum is wrong")
	require.ErrorContains(t, err, "join anew")
}
