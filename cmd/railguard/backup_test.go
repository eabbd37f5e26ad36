package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// testBackupKeys encrypt and decrypt the backups of these tests. A passphrase would cost each
// of them a second of scrypt.
var testBackupKeys = func() *backup.Keys {
	key, err := newTestIdentity()
	if err != nil {
		panic(err)
	}
	return &backup.Keys{Recipients: []string{key.recipient}, Identities: []byte(key.identity)}
}()

// takeBackup takes a backup from a node, as the server streams it.
func (n *groupNode) takeBackup(t testing.TB, path string, from uint64) *backup.Report {
	t.Helper()
	out, in := io.Pipe()
	go func() { in.CloseWithError(backup.Saver(n.node, n.dir)(context.Background(), in, from, 0)) }()
	report, err := backup.Create(path, testBackupKeys, out)
	require.NoError(t, err)
	return report
}

func (n *groupNode) pay(t testing.TB, token string) (verdict, txn string) {
	t.Helper()
	answer := n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Bakery"}`)
	verdict, _ = answer["verdict"].(string)
	txn, _ = answer["txnId"].(string)
	return verdict, txn
}

// TestBackupIsRestoredOntoEmptyMachines: three nodes are destroyed after a backup. The
// restored cluster has everything from before the backup and nothing from after it, and gives
// out no id a second time.
func TestBackupIsRestoredOntoEmptyMachines(t *testing.T) {
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.leader()
	token := n.token(t)
	given := map[string]bool{}
	var txns []string
	for range 5 {
		verdict, txn := n.pay(t, token)
		require.Equal(t, "PROCEED", verdict)
		txns, given[txn] = append(txns, txn), true
	}
	dir := t.TempDir()
	full, tail := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	base := n.takeBackup(t, full, 0)
	_, txn := n.pay(t, token)
	txns, given[txn] = append(txns, txn), true
	taken := n.takeBackup(t, tail, base.TreeSize)
	require.NotZero(t, taken.From+uint64(len(taken.Lists)))
	record := n.must(t, http.StatusOK, "GET", "/v1/audit/"+txns[0], "")
	jwks := n.must(t, http.StatusOK, "GET", "/v1/.well-known/jwks.json", "")
	again, err := backup.Verify(tail, testBackupKeys)
	require.NoError(t, err)
	require.Equal(t, taken.Digest, again.Digest)

	// This will be lost: an agent, a version of the first agent's credential, payments.
	lost := n.token(t)
	agent, _ := record["agentId"].(string)
	answer := n.must(t, http.StatusCreated, "POST", "/v1/agents/"+agent+"/reissue", `{}`)
	lostVersion, _ := answer["token"].(string)
	for _, one := range []string{lost, lostVersion} {
		verdict, txn := n.pay(t, one)
		require.Equal(t, "PROCEED", verdict)
		given[txn] = true
	}
	for id := range g.hosts {
		g.close(id)
	}
	g.dir = t.TempDir()
	restored, err := backup.Restore([]string{full, tail}, testBackupKeys, backup.Order{Dir: filepath.Join(g.dir, "n1"), ID: "n1", Address: g.hosts["n1"], Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, taken.TreeHead, restored.Report.TreeHead)
	require.Equal(t, uint16(1), restored.Epoch)

	g.comesBack(taken, restored, jwks)
	n = g.nodes["n1"]
	require.Equal(t, record, n.must(t, http.StatusOK, "GET", "/v1/audit/"+txns[0], ""))
	for _, one := range []string{lost, lostVersion} {
		verdict, txn := n.pay(t, one)
		require.Equal(t, "UNKNOWN", verdict, "of the lost lineage")
		require.False(t, given[txn], txn)
		given[txn] = true
	}
	fresh := n.must(t, http.StatusCreated, "POST", "/v1/agents/"+agent+"/reissue", `{}`)
	require.NotEqual(t, lostVersion, fresh["token"])
	for _, one := range []string{token, fresh["token"].(string), n.token(t)} {
		verdict, txn := n.pay(t, one)
		require.False(t, given[txn], txn)
		given[txn] = true
		if one != token { // The re-issue ended the first version.
			require.Equal(t, "PROCEED", verdict)
		}
	}
	verdict, _ := n.pay(t, lostVersion)
	require.Equal(t, "UNKNOWN", verdict, "also where a version of its number was issued since")
}

// comesBack starts all nodes, one of them on the restored folder, and compares the state.
func (g *group) comesBack(taken *backup.Report, restored *backup.Restored, jwks map[string]any) {
	for id := range g.hosts {
		g.open(id, ofac.Carried())
	}
	require.Eventually(g.t, func() bool { return g.leader() != nil }, 30*time.Second, 20*time.Millisecond)
	restorer := g.leader()
	for id, n := range g.nodes { // The restored group knows none of them, so an admin admits each.
		if n != restorer {
			require.Eventually(g.t, func() bool { return restorer.node.Admit(g.t.Context(), id, "", "", wire.Common{}) == nil }, 30*time.Second, 100*time.Millisecond, id)
		}
	}
	g.awaitReady()
	for id, n := range g.nodes {
		require.Equal(g.t, jwks, n.must(g.t, http.StatusOK, "GET", "/v1/.well-known/jwks.json", ""), id)
		require.Equal(g.t, restored.Lineage, n.node.Settings().Lineage, id)
		root, err := n.node.Audit().Root(taken.TreeSize)
		if err == nil { // A node that joined may still be fetching.
			require.Equal(g.t, taken.TreeHead, hexOf(root[:]), id)
		}
	}
}

// TestBackupFileThatIsNotWhole: every flipped byte is refused with the name of a part. A cut
// file and a wrong passphrase are refused, too. A backup that broke off leaves no file with
// the final name.
func TestBackupFileThatIsNotWhole(t *testing.T) {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.nodes["n1"]
	dir := t.TempDir()
	path := filepath.Join(dir, "whole")
	key, err := newTestIdentity()
	require.NoError(t, err)
	out, in := io.Pipe()
	go func() { in.CloseWithError(backup.Saver(n.node, n.dir)(context.Background(), in, 0, 0)) }()
	_, err = backup.Create(path, &backup.Keys{Recipients: []string{key.recipient}}, out)
	require.NoError(t, err)
	keys := &backup.Keys{Identities: []byte(key.identity)}
	_, err = backup.Verify(path, keys)
	require.NoError(t, err)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	broken := filepath.Join(dir, "broken")
	for at := 0; at < len(whole); at += 1 + len(whole)/60 {
		spoilt := append([]byte(nil), whole...)
		spoilt[at] ^= 0x40
		require.NoError(t, os.WriteFile(broken, spoilt, 0o600))
		_, err := backup.Verify(broken, keys)
		require.Error(t, err, at)
		named := strings.Contains(err.Error(), "part ") || strings.Contains(err.Error(), "header")
		require.True(t, named, "%d: %v", at, err)
		require.NoError(t, os.WriteFile(broken, whole[:at], 0o600))
		_, err = backup.Verify(broken, keys)
		require.Error(t, err, "cut at %d", at)
	}
	_, err = backup.Verify(path, &backup.Keys{Passphrase: "another passphrase"})
	require.Error(t, err)
	other, err := newTestIdentity()
	require.NoError(t, err)
	_, err = backup.Verify(path, &backup.Keys{Identities: []byte(other.identity)})
	require.ErrorIs(t, err, backup.ErrKey)

	leavesNothing(t, n, dir)
	unnamedUntilAgreed(t, n, dir)
	notOverData(t, n, path, keys)

	require.NoError(t, os.WriteFile(broken, whole[:len(whole)-5], 0o600))
	half := t.TempDir()
	_, err = backup.Restore([]string{broken}, keys, backup.Order{Dir: half, ID: "n9", Now: time.Now()})
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(half, "node.json"), "no node starts on it")
}

// leavesNothing: if the stream breaks or the disk is full, neither the file nor a temporary
// one remains.
func leavesNothing(t *testing.T, n *groupNode, dir string) {
	unended := filepath.Join(dir, "unended")
	out, in := io.Pipe()
	go func() {
		w := &limitedWriter{in, 20_000}
		in.CloseWithError(backup.Saver(n.node, n.dir)(context.Background(), w, 0, 0))
	}()
	_, err := backup.Create(unended, testBackupKeys, out)
	require.Error(t, err)
	left, err := filepath.Glob(unended + "*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// unnamedUntilAgreed: a file whose key set differs from the server's never has the final name,
// not even before the comparison, because somebody may copy any file that has it.
func unnamedUntilAgreed(t *testing.T, n *groupNode, dir string) {
	path, named := filepath.Join(dir, "unagreed"), true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/cluster/backup" {
			_ = backup.Saver(n.node, n.dir)(r.Context(), w, 0, 0)
			return
		}
		_, err := os.Lstat(path)
		named = !errors.Is(err, os.ErrNotExist)
		_, _ = io.WriteString(w, `{"keys":[]}`)
	}))
	defer server.Close()
	_, _, err := run(t, "backup", "create", "--file", path, "--recipient", testBackupKeys.Recipients[0], "--url", server.URL, "--key", groupKey, "--data", t.TempDir())
	require.ErrorContains(t, err, "not the one that the server publishes")
	require.False(t, named)
	left, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// notOverData: a restore never overwrites data without the typed word.
func notOverData(t *testing.T, n *groupNode, path string, keys *backup.Keys) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "node.json"), []byte("{}"), 0o600))
	order := backup.Order{Dir: full, ID: "n9", Now: time.Now()}
	_, err := backup.Restore([]string{path}, keys, order)
	require.ErrorIs(t, err, backup.ErrNotEmpty)
	order.Confirm = "cl_wrong"
	_, err = backup.Restore([]string{path}, keys, order)
	require.ErrorContains(t, err, "not of")
	order.Confirm = n.node.Settings().Genesis.ClusterID
	restored, err := backup.Restore([]string{path}, keys, order)
	require.NoError(t, err)
	require.NotEmpty(t, restored.NodeID)
}

// limitedWriter is a disk, or a network, that fails after some bytes.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return w.to.Write(p)
}
