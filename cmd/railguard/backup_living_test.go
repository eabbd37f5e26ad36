package main

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/testcluster"
	"railguard/ofac"
)

// TestARestoredFolderAsksTheLiving: a backup is restored while two of three nodes live. The node
// does not start before both are gone, whether it takes the name of the third or a new one, and
// the living do not end. One of them that comes back later, alone, is warned of.
func TestARestoredFolderAsksTheLiving(t *testing.T) {
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
	ended := map[string]chan string{}
	open := func(id, address string) (*cluster.Node, error) {
		over := make(chan string, 1)
		ended[id] = over
		return cluster.Open(cluster.Config{
			ID: id, DataDir: filepath.Join(g.dir, id), ListenCluster: address, Secret: []byte(groupSecret), Version: "test",
			Fatal: func(reason string) { over <- reason }, Logger: slog.New(slog.DiscardHandler),
		})
	}
	start := func(id string) (*cluster.Node, error) { return open(id, restored[id]) }
	for id, address := range restored {
		order := backup.Order{Dir: filepath.Join(g.dir, id), ID: id, Address: address, Now: time.Now()}
		_, err := backup.Restore([]string{path}, testBackupKeys, order)
		require.NoError(t, err)
		_, err = start(id)
		require.ErrorContains(t, err, "this folder was recovered or restored without them, and yet they answer as the old group")
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
	old, err := open("n3", g.hosts["n3"]) // It comes back without its group.
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(strings.Join(n.Status(t.Context()).Warnings, "; "), "is of the group that this folder's backup is of")
	}, time.Minute, 20*time.Millisecond)
	time.Sleep(time.Second)
	require.Empty(t, ended["n9"], "nobody stands behind an old node that comes back alone")
	require.Empty(t, ended["n3"])
	require.NoError(t, old.Close())
	require.NoError(t, n.Close())
	who, err := datadir.ReadIdentity(filepath.Join(g.dir, "n9"))
	require.NoError(t, err)
	require.Nil(t, who.Restored, "it has started")
	require.NotNil(t, who.Unreached, "and goes on asking whom it did not reach")
}

// hiddenNetwork reaches nobody until shown.
type hiddenNetwork struct {
	port.TCP
	shown atomic.Bool
}

// Dial implements cluster.Network.
func (h *hiddenNetwork) Dial(address string, timeout time.Duration) (net.Conn, error) {
	if !h.shown.Load() {
		return nil, errors.New("nobody is reached")
	}
	return h.TCP.Dial(address, timeout)
}

// TestWhoWasNotReachedIsAskedAgain: a backup is restored behind a broken link while its group
// lives. Once the link is there again, the restored node ends, and does not start again; the group
// goes on.
func TestWhoWasNotReachedIsAskedAgain(t *testing.T) {
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	token := g.leader().token(t)
	path := filepath.Join(t.TempDir(), "a")
	g.leader().takeBackup(t, path, 0)
	ports, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	defer testcluster.ReleasePorts(ports[0])
	dir := filepath.Join(g.dir, "n9")
	_, err = backup.Restore([]string{path}, testBackupKeys, backup.Order{Dir: dir, ID: "n9", Address: ports[0], Now: time.Now()})
	require.NoError(t, err)
	network, ended := &hiddenNetwork{}, make(chan string, 1)
	start := func() (*cluster.Node, error) {
		return cluster.Open(cluster.Config{
			ID: "n9", DataDir: dir, ListenCluster: ports[0], Secret: []byte(groupSecret), Version: "test", Network: network,
			Fatal: func(reason string) { ended <- reason }, Logger: slog.New(slog.DiscardHandler),
		})
	}
	n, err := start()
	require.NoError(t, err)
	who, err := datadir.ReadIdentity(dir)
	require.NoError(t, err)
	require.Nil(t, who.Restored)
	require.Len(t, who.Unreached.Members, 3)

	network.shown.Store(true)
	select {
	case reason := <-ended:
		require.Contains(t, reason, "still serves")
		require.Contains(t, reason, "n1 at ")
	case <-time.After(time.Minute):
		require.Fail(t, "the restored node serves beside its group")
	}
	require.NoError(t, n.Close())
	_, err = start()
	require.ErrorContains(t, err, "this folder was recovered or restored without them, and yet they answer as the old group")
	verdict, _ := g.leader().pay(t, token)
	require.Equal(t, "PROCEED", verdict)
	for id := range g.nodes {
		g.close(id)
	}
}
