package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster"
	"railguard/cluster/recovery"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

func runRecover(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := newClusterRecover()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{}, args...)) // With nil, cobra would use the test binary's arguments.
	err := cmd.Execute()
	return out.String(), err
}

func TestRecoverFlags(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		name string
		args []string
		says string
	}{
		{"no folder", nil, "--data is required"},
		{"output", []string{"--data", dir, "-o", "xml"}, "table or json"},
		{"one name", []string{"--data", dir, "--confirm", "c", "--by", "Ada", "--reason", "r"}, "--second"},
		{"no reason", []string{"--data", dir, "--confirm", "c", "--by", "Ada", "--second", "Bob"}, "--reason"},
		{"empty confirm", []string{"--data", dir, "--confirm", ""}, "--confirm needs"},
		{"names without confirm", []string{"--data", dir, "--by", "Ada"}, "only reads"},
		{"force without confirm", []string{"--data", dir, "--force-behind"}, "only reads"},
		{"keep without confirm", []string{"--data", dir, "--keep", "n2"}, "only reads"},
		{"follow without confirm", []string{"--data", dir, "--follow", "recovery.json"}, "--follow needs"},
		{"follow with names", []string{"--data", dir, "--follow", "recovery.json", "--confirm", "c", "--by", "Ada"}, "--follow needs"},
		{"peer", []string{"--data", dir, "--peer-index", "n2:7"}, "NODE=INDEX/TERM"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := runRecover(c.args...)
			require.ErrorContains(t, err, c.says)
			var coded *exitError
			require.True(t, errors.As(err, &coded))
			require.Equal(t, exitUsage, coded.code)
		})
	}
	_, err := runRecover("--data", dir)
	require.ErrorContains(t, err, "no node's data folder")
}

// TestRecoverShows: a cluster of one has nothing to recover, and both output forms say so.
func TestRecoverShows(t *testing.T) {
	dir := t.TempDir()
	n, err := cluster.Open(cluster.Config{
		ID: "n1", DataDir: dir, BootstrapExpect: 1,
		Fatal: func(reason string) { t.Error(reason) },
		Genesis: func() wire.Genesis {
			return wire.Genesis{
				ClusterID: "cl_test", Dev: true, Issuer: "did:kya:test", PublicURL: "https://localhost",
				IDKey: [16]byte{1}, SaltKey: [16]byte{2}, Policy: *engine.DefaultPolicy(),
				SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{1}},
			}
		},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return n.Ready(t.Context(), report.ReadyQuery{}).Ready }, 10*time.Second, 10*time.Millisecond)
	_, err = runRecover("--data", dir)
	require.ErrorIs(t, err, recovery.ErrFolderInUse)
	require.NoError(t, n.Close())

	text, err := runRecover("--data", dir)
	require.NoError(t, err)
	for _, part := range []string{"cluster cl_test, node n1", "Nothing was changed", "MEMBERS", "KEPT", "TAKEN FOR COMMITTED", "MAY BE LOST", "SURVIVORS", "the only voter"} {
		require.Contains(t, text, part)
	}
	text, err = runRecover("--data", dir, "--json", "--confirm", "cl_test", "--by", "Ada", "--second", "Bob", "--reason", "r")
	require.ErrorIs(t, err, recovery.ErrOrder)
	var answer recoverAnswer
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	require.False(t, answer.Changed)
	require.Equal(t, "cl_test", answer.ClusterID)
	require.Len(t, answer.Problems, 1)
}

// TestRecoverPrintsWhatItDid: the text after a recovery names the next steps.
func TestRecoverPrintsWhatItDid(t *testing.T) {
	report := &recovery.Report{
		Dir: "d", ClusterID: "c", Node: "n1", LastIndex: 9, LastTerm: 2,
		Uncertain: recovery.Uncertain{First: 8, Last: 9, Entries: 2, Leaves: 3, Listed: []recovery.UncertainLeaf{{Index: 8, Leaf: 4, Kind: "screen", ID: "txn_a", Verdict: "PROCEED"}}},
		Earlier:   &recovery.State{Node: "n1", Recovery: 1, Lineage: "ab", Backup: "before", Kept: []string{"n2"}},
	}
	var out bytes.Buffer
	printRecovery(&out, report, true)
	require.Contains(t, out.String(), "DONE: n1 and n2 are the cluster now (recovery 1, lineage ab)")
	require.Contains(t, out.String(), "--follow recovery.json --confirm c")
	require.Contains(t, out.String(), "2 entries, index 8 to 9, with 3 audit leaves")
	require.Contains(t, out.String(), "and 2 more")
	require.NotContains(t, out.String(), "Nothing was changed")
	require.Contains(t, out.String(), "WARNING: recover ONE survivor, once.")
	out.Reset()
	report.Node = "n2"
	printRecovery(&out, report, true)
	require.Contains(t, out.String(), "DONE: n2 follows the recovery of n1")
	out.Reset()
	report.Earlier = nil
	printRecovery(&out, report, false)
	require.Contains(t, out.String(), "NEXT, if the majority is gone for good")
	require.Contains(t, out.String(), "WARNING: recover ONE survivor, once.", "before it is done, too")
}

// TestAMarkedFolderHasAWayBack: a node does not start on a folder that was left behind, and starts
// as the book says when the mark is taken away.
func TestAMarkedFolderHasAWayBack(t *testing.T) {
	dir := t.TempDir()
	open := func() error {
		n, err := cluster.Open(cluster.Config{
			ID: "n1", DataDir: dir, BootstrapExpect: 1,
			Fatal: func(reason string) { t.Error(reason) },
			Genesis: func() wire.Genesis {
				return wire.Genesis{
					ClusterID: "cl_test", Dev: true, Issuer: "did:kya:test", PublicURL: "https://localhost",
					IDKey: [16]byte{1}, SaltKey: [16]byte{2}, Policy: *engine.DefaultPolicy(),
					SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{1}},
				}
			},
		})
		if err != nil {
			return err
		}
		require.Eventually(t, func() bool { return n.Ready(t.Context(), report.ReadyQuery{}).Ready }, 10*time.Second, 10*time.Millisecond)
		return n.Close()
	}
	require.NoError(t, open())
	file := filepath.Join(dir, "node.json")
	edit := func(change func(members map[string]any)) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(data, &members))
		change(members)
		data, err = json.Marshal(members)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
	}
	edit(func(members map[string]any) { members["superseded"] = "cluster cl_test was recovered without node n1" })
	require.ErrorContains(t, open(), "was left behind")
	said, err := runRecover("--data", dir)
	require.NoError(t, err)
	require.Contains(t, said, "left behind by another recovery")
	edit(func(members map[string]any) { delete(members, "superseded") })
	require.NoError(t, open())
}
