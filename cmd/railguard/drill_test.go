package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
)

// drilled runs a drill and returns its report.
func (p *park) drilled(env []string, args ...string) (*drillReport, int) {
	p.t.Helper()
	out, complaint, code := p.cliWith(env, append([]string{"drill", "-o", "json", "--identity", p.identity}, args...)...)
	var r drillReport
	require.NoError(p.t, json.Unmarshal([]byte(out), &r), "%s%s", out, complaint)
	require.Equal(p.t, r.Sleep, code == 0)
	return &r, code
}

// A drill restores the newest backup and those that it continues, starts a real node on the
// result and makes it judge a payment. The report names everything that would not be restored.
// Nothing is left behind.
func TestDrill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newPark(t, 1)
	p.form()
	n1 := p.machines[0]
	_, token := p.agent(n1, "payer")
	verdict, _ := p.pay(n1, token, 10)
	require.Equal(t, "PROCEED", verdict)
	verdict, _ = p.pay(n1, token, 5000)
	require.Equal(t, "REVIEW", verdict)
	p.payMany(n1, token, 300) // An incremental backup begins at a bundle of 256 leaves.
	backups, scratch := filepath.Join(p.dir, "backups"), filepath.Join(p.dir, "scratch")
	require.NoError(t, os.Mkdir(backups, 0o700))
	require.NoError(t, os.Mkdir(scratch, 0o700))

	r, _ := p.drilled(nil, "--directory", backups)
	require.Contains(t, r.Says, "there is no backup")
	full := filepath.Join(backups, "railguard-20200101T000000Z.rgbackup") // Its name makes it the older one.
	taken := p.must("backup", "create", "--file", full, "--url", p.url(n1), "--recipient", p.recipient, "-o", "json")
	var report struct{ TreeSize uint64 }
	require.NoError(t, json.Unmarshal([]byte(taken), &report))

	// Settings of a real node in the environment must not reach the drill's node.
	astray := []string{"RAILGUARD_JOIN=" + n1.cluster, "RAILGUARD_CLUSTER=" + n1.cluster, "RAILGUARD_HTTP=" + n1.http}
	r, code := p.drilled(astray, "--directory", backups, "--scratch", scratch)
	require.Zero(t, code, r.Why)
	require.Equal(t, []string{full}, r.Files)
	require.Equal(t, 1, r.Restored.Counts.Agents)
	require.Equal(t, 1, r.Restored.Counts.OpenReviews)
	require.Contains(t, r.Says, "Tonight you could sleep")
	require.Contains(t, fmt.Sprint(r.Steps), "a dry run is PROCEED")

	_, second := p.agent(n1, "second payer")
	verdict, _ = p.pay(n1, second, 10)
	require.Equal(t, "PROCEED", verdict)
	p.must("backup", "create", "--directory", backups, "--after-leaf", fmt.Sprint(report.TreeSize), "--url", p.url(n1), "--recipient", p.recipient)
	r, code = p.drilled(nil, "--directory", backups, "--scratch", scratch)
	require.Zero(t, code, r.Why)
	require.Len(t, r.Files, 2)
	require.Equal(t, 2, r.Restored.Counts.Agents)

	p.drillsThatFail(full, backups, scratch)
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left, "whatever came of it")
	require.Equal(t, http.StatusOK, func() int { code, _ := p.ask(n1, "GET", "/readyz", ""); return code }(), "the real node was left alone")
	for _, flags := range [][]string{{}, {"--directory", backups, "--file", full}, {"--file", full, "-o", "xml"}} {
		_, _, code := p.cli(append([]string{"drill"}, flags...)...)
		require.Equal(t, exitUsage, code, flags)
	}
	_, complaint, code := p.cliWith([]string{"RAILGUARD_CLUSTER_SECRET="}, "drill", "--file", full)
	require.Equal(t, exitUsage, code)
	require.Contains(t, complaint, "RAILGUARD_CLUSTER_SECRET_FILE")
}

// drillsThatFail checks the reason that each failed drill gives.
func (p *park) drillsThatFail(full, backups, scratch string) {
	t := p.t
	t.Helper()
	// The backup is too old.
	r, _ := p.drilled(nil, "--directory", backups, "--max-age", "1ms")
	require.Contains(t, r.Says, "NOT sleep: the newest backup is too old")
	// The backup is damaged.
	whole, err := os.ReadFile(full)
	require.NoError(t, err)
	whole[len(whole)/2] ^= 1
	spoilt := filepath.Join(p.dir, "spoilt.rgbackup")
	require.NoError(t, os.WriteFile(spoilt, whole, 0o600))
	r, _ = p.drilled(nil, "--file", spoilt, "--scratch", scratch)
	require.Contains(t, r.Says, "NOT sleep: spoilt.rgbackup: backup: ")
	require.Contains(t, r.Says, "part ")
	// The cluster secret is another one.
	r, _ = p.drilled([]string{"RAILGUARD_CLUSTER_SECRET=0d3c5e7f91a2b4c6d8e0f1a3b5c7d9ebfd0e1f2a3b4c5d6e7f8091a2b3c4d5e6"}, "--file", full, "--scratch", scratch)
	require.Contains(t, r.Says, "this is not the secret of cluster")
	require.Len(t, r.Why, 1)
	require.NotContains(t, r.Says+r.Why[0], "\n", "one sentence, and not the node's log")
	p.drillAbandoned(full, scratch)
	// The drill is interrupted: it says nothing about the backup.
	identity, err := os.ReadFile(p.identity)
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	begun := drillRun{file: full, scratch: scratch, maxAge: backupAgeMax, patience: time.Minute, secret: parkSecret}
	r = begun.runDrill(ended, &backup.Keys{Identities: identity})
	require.False(t, r.Sleep)
	require.NotContains(t, r.Says, "sleep")
	// The full backup is missing.
	require.NoError(t, os.Remove(full))
	r, _ = p.drilled(nil, "--directory", backups, "--scratch", scratch)
	require.Contains(t, r.Says, "the full one before them is missing")
}

// drillAbandoned sends interrupts until the drill ends. Even after the second one no folder
// remains.
func (p *park) drillAbandoned(full, scratch string) {
	t := p.t
	t.Helper()
	drill := exec.Command(p.binary, "drill", "--file", full, "--scratch", scratch, "--identity", p.identity)
	drill.Env = p.env
	require.NoError(t, drill.Start())
	ended := make(chan struct{})
	go func() { _ = drill.Wait(); close(ended) }()
	require.Eventually(t, func() bool {
		logs, err := filepath.Glob(filepath.Join(scratch, "railguard-drill-*", "node.log"))
		return err == nil && len(logs) == 1
	}, 2*time.Minute, time.Millisecond, "the drill's node has not begun")
	require.Eventually(t, func() bool {
		_ = drill.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}, 2*time.Minute, time.Millisecond)
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Empty(t, left, "what a drill made is gone with it")
}

// The state on which a drill starts its node names real receivers of events. The node has no
// duties, so none of them gets an event.
func TestARehearsalTellsNobody(t *testing.T) {
	restored := drillServer{restored: &backup.Restored{Dir: t.TempDir()}}
	cmd := newServe()
	require.NoError(t, cmd.ParseFlags(restored.childArguments()[1:]))
	rehearsal, err := cmd.Flags().GetBool("rehearsal")
	require.NoError(t, err)
	require.True(t, rehearsal)
	log, err := newLogs(io.Discard, "info", "text")
	require.NoError(t, err)
	require.Empty(t, (&server{flags: &serveFlags{guestFlags: guestFlags{rehearsal: true}}, log: log}).nodeDuties())
}
