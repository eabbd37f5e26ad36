package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/cluster/backup/schedule"
	"railguard/ofac"
	"railguard/seal"
)

// keepers are the runners of a group's nodes, which a test steps by hand.
type keepers struct {
	g    *group
	now  time.Time
	keys *backup.Keys
	all  map[string]*schedule.Runner
}

func (g *group) keepers() *keepers {
	passphrases, err := seal.NewSecrets([]byte(groupSecret)).BackupPassphrases()
	require.NoError(g.t, err)
	k := &keepers{g: g, now: time.Now(), keys: &backup.Keys{Derived: passphrases}, all: map[string]*schedule.Runner{}}
	for id, n := range g.nodes {
		k.all[id] = schedule.New(n.node, n.dir, k.keys, slog.New(slog.DiscardHandler))
	}
	return k
}

// step lets every node do what is due after a time, once.
func (k *keepers) step(after time.Duration) {
	k.now = k.now.Add(after)
	for id, runner := range k.all {
		if k.g.nodes[id] != nil {
			runner.Step(k.g.t.Context(), k.now)
			require.Empty(k.g.t, k.g.nodes[id].node.Neighbours().BackupProblems())
		}
	}
}

func namesIn(t *testing.T, dir, suffix string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	require.NoError(t, err)
	return names
}

// A cluster copies itself: a full backup at once, the newest entries of the log every few seconds,
// increments, a rehearsal, and thinning. The leader does it, and the next one goes on where the
// former ended. When all nodes are killed and wiped, everything comes back that was acknowledged
// before the last tail.
func TestAWipedClusterLosesSeconds(t *testing.T) {
	g := newGroupAlone(t) // tryVerbs changes the environment.
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	dir := t.TempDir()
	n := g.leader()
	answer := n.must(t, http.StatusOK, "POST", "/v1/cluster/backups", `{"folder":`+fmt.Sprintf("%q", dir)+`,"increment":"1h","tail":"10s","drill":"24h","keep":1,"reason":"always"}`)
	require.Equal(t, dir, answer["folder"])
	require.Equal(t, "always", answer["reason"])
	k := g.keepers()
	k.step(0)
	require.Len(t, namesIn(t, dir, backup.FileSuffix), 1)
	is := n.must(t, http.StatusOK, "GET", "/v1/cluster/backups", "")
	require.NotEmpty(t, is["full"].(map[string]any)["sha256"])
	require.Empty(t, is["problems"])

	token := n.token(t)
	var kept []string
	pay := func() {
		verdict, txn := g.leader().pay(t, token)
		require.Equal(t, "PROCEED", verdict)
		kept = append(kept, txn)
	}
	pay()
	k.step(10 * time.Second)
	require.Len(t, namesIn(t, dir, backup.TailSuffix), 1)
	k.step(time.Second) // A restore is rehearsed.
	drill := g.leader().must(t, http.StatusOK, "GET", "/v1/cluster/backups", "")["drill"].(map[string]any)
	require.Empty(t, drill["failed"])
	require.EqualValues(t, 2, drill["files"])
	pay()
	k.step(10 * time.Second)
	k.step(time.Hour)
	require.Len(t, namesIn(t, dir, backup.FileSuffix), 1, "with so few leaves an increment has all of them, and takes the place of the full one")
	require.Empty(t, namesIn(t, g.nodes["n1"].dir, "drill-*"))

	k.step(10 * time.Second)
	require.Len(t, namesIn(t, dir, backup.FileSuffix), 1, "log time did not go on with the steps, and no copy is made for that")
	k.now = time.Now()
	g.close(g.leader().node.NodeID()) // Another node leads.
	g.awaitReady()
	pay()
	k.step(10 * time.Second)
	pay()
	k.step(10 * time.Second)
	_, lost := g.leader().pay(t, token)
	for id := range g.nodes {
		g.die(id)
	}
	require.NoError(t, os.RemoveAll(g.dir))

	g.dir = t.TempDir()
	chain, err := backup.FindChain(dir, k.keys)
	require.NoError(t, err)
	require.Len(t, chain.Files, 1)
	require.Len(t, chain.Tails, 3)
	t.Run("verbs", func(t *testing.T) { tryVerbs(t, chain) })
	restored, err := backup.Restore(chain.Files, k.keys, backup.Order{Dir: filepath.Join(g.dir, "n1"), ID: "n1", Address: g.hosts["n1"], Now: time.Now(), Tails: chain.Tails})
	require.NoError(t, err)
	require.Equal(t, restored.Report.TreeSize+1, restored.TreeSize, "and the leaf of the restore")
	n = g.open("n1", ofac.Carried())
	require.Eventually(t, func() bool { status, _ := n.call("GET", "/v1/audit/"+kept[0], ""); return status == http.StatusOK }, time.Minute, 20*time.Millisecond)
	for _, txn := range kept {
		require.Equal(t, "PROCEED", n.must(t, http.StatusOK, "GET", "/v1/audit/"+txn, "")["verdict"])
	}
	n.must(t, http.StatusNotFound, "GET", "/v1/audit/"+lost, "")
}

// tryVerbs looks at the files of the folder one by one, and restores by their names.
func tryVerbs(t *testing.T, chain *backup.Chain) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(groupSecret), 0o600))
	t.Setenv("RAILGUARD_CLUSTER_SECRET_FILE", secret)
	run := func(args ...string) (string, error) {
		cmd := newBackup()
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		cmd.SilenceUsage = true
		err := cmd.Execute()
		return out.String(), err
	}
	tail := chain.Tails[0]
	said, err := run("verify", tail)
	require.NoError(t, err)
	require.Regexp(t, "rgtail is whole: cluster .*, log entries [0-9]+ to [0-9]+ .* records.*they lead to tree size ", strings.ReplaceAll(said, "\n", " "))
	said, err = run("inspect", tail)
	require.NoError(t, err)
	require.Contains(t, said, `"firstEntry"`)
	restore := func(files ...string) error {
		_, err := run(append(files, "--data", filepath.Join(t.TempDir(), "n9"), "--id", "n9", "--without-revocations")...)
		return err
	}
	require.NoError(t, restore(append(append([]string{"restore"}, chain.Files...), chain.Tails...)...))
	require.ErrorContains(t, restore("restore", tail, chain.Files[0]), "behind all backups")
	require.ErrorContains(t, restore("restore", chain.Files[0], chain.Tails[1]), "a file between is missing")
	t.Setenv("RAILGUARD_CLUSTER_SECRET_FILE", "")
	_, err = run("verify", tail)
	require.ErrorContains(t, err, "RAILGUARD_CLUSTER_SECRET_FILE")
}
