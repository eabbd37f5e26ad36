package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// balance starts HAProxy in front of all machines and returns its address. It uses the file
// from deploy/, with the TLS settings that its last lines describe. It ends a balancer that
// ran before.
func (p *park) balance(running *testcluster.Child) (*testcluster.Child, string) {
	p.t.Helper()
	if running != nil {
		require.NoError(p.t, running.Command.Process.Signal(testcluster.SignalEnd))
		<-running.Done
	}
	text, err := os.ReadFile("../../deploy/haproxy/haproxy.cfg")
	require.NoError(p.t, err)
	require.Contains(p.t, string(text), "With TLS on the nodes: ssl verify required ca-file")
	secured := strings.ReplaceAll(string(text), "default-server check", "default-server ssl verify required ca-file "+filepath.Join(p.authority, "ca.pem")+" check")
	secured = strings.ReplaceAll(secured, "default-server maxconn", "default-server ssl verify required ca-file "+filepath.Join(p.authority, "ca.pem")+" maxconn")
	file := filepath.Join(p.dir, "haproxy.cfg")
	require.NoError(p.t, os.WriteFile(file, []byte(secured), 0o600))
	ports, err := testcluster.FreePorts(1)
	require.NoError(p.t, err)
	env := append(os.Environ(), "RAILGUARD_BIND="+ports[0])
	for i, m := range p.machines {
		env = append(env, fmt.Sprintf("RAILGUARD_N%d=%s", i+1, m.http))
	}
	child, err := p.spawner.Launch("haproxy", []string{"-db", "-f", file}, env, filepath.Join(p.dir, "haproxy.log"))
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = child.Command.Process.Kill(); <-child.Done })
	url := "http://" + ports[0]
	require.Eventually(p.t, func() bool {
		answer, err := p.client.Get(url + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond)
	return child, url
}

// through pays through the balancer until the work is done, with an idempotency key but
// without retries. It requires that no payment fails.
func (p *park) through(url, token string, work func()) (paid int) {
	p.t.Helper()
	done, ended := make(chan struct{}), make(chan []string)
	go func() {
		var failed []string
		for n := 0; ; n++ {
			select {
			case <-done:
				ended <- failed
				return
			case <-time.After(100 * time.Millisecond): // Rule R16 reviews an agent's thousandth call in a minute.
			}
			status, text, err := post(p.client, url+"/v1/screen", fmt.Sprintf("walk-%d-%d", time.Now().UnixNano(), n), fmt.Sprintf(`{"token":%q,"amount":1,"cpName":"Plain Harbour Bakery"}`, token))
			if err != nil || status != http.StatusOK {
				failed = append(failed, fmt.Sprintf("%d %v %.200s", status, err, text))
			}
			paid++
		}
	}()
	work()
	close(done)
	require.Empty(p.t, <-ended, "of %d calls", paid)
	require.NotZero(p.t, paid)
	return paid
}

// The work of an operator on real processes: three TLS nodes behind HAProxy. A node is killed
// and replaced on an empty disk, every node is upgraded, a backup is taken and tested by a
// drill, and everything is destroyed and restored. Nothing is lost.
func TestOperatorsWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	if _, err := exec.LookPath("haproxy"); err != nil {
		t.Skip("haproxy is not installed: not tried")
	}
	p := newParkAlone(t, 3)
	p.secure()
	p.form()
	balancer, url := p.balance(nil)
	n2 := p.machines[1]
	l := p.write(n2, 2)
	_, busy := p.agent(n2, "busy payer")

	// The admin listener demands a client certificate, and the verbs present one.
	_, complaint, code := p.cliWith([]string{"RAILGUARD_CERT=", "RAILGUARD_CERT_KEY="}, "key", "list", "--admin", p.adminURL(n2))
	require.Equal(t, exitAway, code)
	require.Contains(t, complaint, "asks for a certificate: give --cert")
	require.Contains(t, p.must("key", "list", "--admin", p.adminURL(n2)), "bootstrap")

	p.through(url, busy, func() { p.replace(p.follower()) })
	next := nextProduct(t)
	p.through(url, busy, func() { p.upgradeAll(next) })
	p.requireSame(p.machines[0], l)

	backups := filepath.Join(p.dir, "backups")
	require.NoError(t, os.Mkdir(backups, 0o700))
	p.binary = next // The operator's own verbs come from the new release, too.
	p.must("backup", "create", "--directory", backups, "--recipient", p.recipient, "--url", p.url(n2))
	r, _ := p.drilled(nil, "--directory", backups)
	require.True(t, r.Sleep, r.Why)
	out, complaint, code := p.cli("doctor", "-o", "json", "--url", p.url(n2), "--admin", p.adminURL(n2), "--data", n2.data, "--backups", backups, "--certificate", filepath.Join(p.authority, "n2.pem"))
	require.NotEqual(t, exitUsage, code, complaint)
	d := readDiagnosis(t, out)
	for _, well := range []string{"quorum", "versions", "list", "backup", "certificate n2.pem", "TLS " + n2.http, "port " + n2.admin} {
		require.Equal(t, levelOK, d.of(t, well).Level, "%+v", d.of(t, well))
	}

	p.destroy()
	files, err := backupsIn(backups)
	require.NoError(t, err)
	p.restore(3, files[0].path)
	for _, m := range p.machines {
		p.requireSame(m, l)
	}
	_, url = p.balance(balancer)
	status, text, err := post(p.client, url+"/v1/screen", "after", fmt.Sprintf(`{"token":%q,"amount":1,"cpName":"Plain Harbour Bakery"}`, busy))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, p.must("cluster", "status", "--url", p.url(p.machines[0])), "survives the loss of 1")
}

// follower returns a machine that is not the leader.
func (p *park) follower() *machine {
	p.t.Helper()
	var answer struct{ Leader struct{ ID string } }
	require.NoError(p.t, json.Unmarshal([]byte(p.raw(p.machines[0], "/v1/cluster/leader")), &answer))
	for _, m := range p.machines {
		if m.id != answer.Leader.ID {
			return m
		}
	}
	require.Fail(p.t, "nobody follows")
	return nil
}

// replace kills a machine, removes its disk, and starts an empty machine in its place, which an
// admin admits.
func (p *park) replace(m *machine) {
	p.t.Helper()
	p.kill(m)
	require.NoError(p.t, os.RemoveAll(m.data))
	p.start(m)
	other := p.machines[0]
	if other == m {
		other = p.machines[1]
	}
	require.Contains(p.t, p.must("cluster", "admit", m.id, "--url", p.url(other)), "its key is ")
	p.awaitReady(m, "")
	p.must("cluster", "wait", "--node", m.id, "--url", p.url(other), "--patience", "2m")
}

// upgradeAll follows the upgrade plan in its order, and finalizes.
func (p *park) upgradeAll(next string) {
	p.t.Helper()
	var plan struct {
		Order []string
		May   bool
		Why   []string
	}
	out, _, _ := p.cli("cluster", "upgrade", "plan", "--to", "9.0.0", "-o", "json", "--url", p.url(p.machines[0]))
	require.NoError(p.t, json.Unmarshal([]byte(out), &plan))
	require.True(p.t, plan.May, plan.Why)
	require.Len(p.t, plan.Order, 3)
	for _, id := range plan.Order {
		for _, m := range p.machines {
			if m.id == id {
				p.swap(m, next)
			}
		}
	}
	p.finalize(p.machines[0])
}
