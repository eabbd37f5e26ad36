package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/cluster/testcluster"
	"railguard/ofac"
)

// TestARestoredFolderAsksTheLiving: a backup is restored while two of three nodes live. The node
// does not start before both are gone, whether it takes the name of the third or a new one, and
// the living do not end.
func TestARestoredFolderAsksTheLiving(t *testing.T) {
	t.Parallel() // The test mostly waits.
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	token := g.leader().token(t)
	verdict, txn := g.leader().pay(t, token)
	require.Equal(t, "PROCEED", verdict)
	path := filepath.Join(t.TempDir(), "a")
	g.leader().takeBackup(t, path, 0)

	gone := "n1"
	if g.leader() == g.nodes[gone] {
		gone = "n2"
	}
	g.close(gone)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, gone)))
	ports, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	defer testcluster.ReleasePorts(ports[0])
	restored := map[string]string{gone: g.hosts[gone], "n9": ports[0]}
	start := func(id string) (*cluster.Node, error) {
		return cluster.Open(cluster.Config{
			ID: id, DataDir: filepath.Join(g.dir, id), ListenCluster: restored[id], Secret: []byte(groupSecret), Version: "test",
			Logger: slog.New(slog.DiscardHandler),
		})
	}
	for id, address := range restored {
		order := backup.Order{Dir: filepath.Join(g.dir, id), ID: id, Address: address, Now: time.Now()}
		_, err := backup.Restore([]string{path}, testBackupKeys, order)
		require.NoError(t, err)
		_, err = start(id)
		require.ErrorContains(t, err, "and yet they answer as the old group")
		for living := range g.nodes {
			require.ErrorContains(t, err, living+" at ")
		}
	}
	time.Sleep(3 * time.Second) // Whoever would end of what the folder said has ended.
	verdict, _ = g.leader().pay(t, token)
	require.Equal(t, "PROCEED", verdict)
	g.leader().must(t, 200, "GET", "/v1/audit/"+txn, "")

	for id := range restored {
		g.close(id)
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		g.close(id)
	}
	n, err := start("n9")
	require.NoError(t, err)
	require.NoError(t, n.Close())
	who, err := datadir.ReadIdentity(filepath.Join(g.dir, "n9"))
	require.NoError(t, err)
	require.Nil(t, who.Restored, "it has started, so its next start asks nobody")
}
