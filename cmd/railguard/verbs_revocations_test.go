package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/ofac"
)

// agentOf registers an agent of an operator and returns its id and credential.
func (n *groupNode) agentOf(t testing.TB, operator string) (id, token string) {
	answer := n.must(t, http.StatusCreated, "POST", "/v1/agents/register", `{"agentName":"payer","agentType":"supervised","operatorLegalName":"`+operator+`","purpose":"pays"}`)
	return answer["agentId"].(string), answer["token"].(string)
}

// revokedPark is a node with agents and keys, some of which end after a backup.
type revokedPark struct {
	*outsider
	ids, tokens, secrets map[string]string
	backup, events       string
}

// endAfterBackup makes agents and keys, takes a backup, and ends some of them.
func endAfterBackup(t *testing.T) *revokedPark {
	p := &revokedPark{outsider: newOutsider(t), ids: map[string]string{}, tokens: map[string]string{}, secrets: map[string]string{}}
	n := p.node
	for _, name := range []string{"revoked", "suspended", "reinstated", "renewed", "untouched", "operator"} {
		operator := "Quiet Harbour Bakery"
		if name == "operator" {
			operator = "Loud Harbour Bakery"
		}
		p.ids[name], p.tokens[name] = n.agentOf(t, operator)
	}
	for _, name := range []string{"revoked", "rotated", "untouched"} {
		_, answer := n.admin("POST", "/admin/keys", `{"name":"`+name+`","roles":["auditor"]}`)
		p.secrets[name], p.ids["key "+name] = answer["key"].(string), answer["keyId"].(string)
	}
	p.backup = filepath.Join(t.TempDir(), "a")
	n.takeBackup(t, p.backup, 0)

	move := func(name, verb string) {
		n.must(t, http.StatusOK, "POST", "/v1/agents/"+p.ids[name]+"/"+verb, `{"reason":"x"}`)
	}
	move("revoked", "revoke")
	move("suspended", "suspend")
	move("reinstated", "suspend")
	move("reinstated", "reinstate")
	n.must(t, http.StatusCreated, "POST", "/v1/agents/"+p.ids["renewed"]+"/reissue", `{}`)
	p.ids["late"], _ = n.agentOf(t, "Quiet Harbour Bakery")
	move("late", "revoke")
	n.must(t, http.StatusOK, "POST", "/v1/operators/suspend", `{"operatorLegalName":"Loud Harbour Bakery","reason":"x"}`)
	status, answer := n.admin("DELETE", "/admin/keys/"+p.ids["key revoked"], "")
	require.Equal(t, 200, status, "%v", answer)
	status, answer = n.admin("POST", "/admin/keys/"+p.ids["key rotated"]+"/rotate", `{}`)
	require.Equal(t, 200, status, "%v", answer)
	return p
}

// keepEvents has the verb keep the events, over a crash that tore the last line.
func (p *revokedPark) keepEvents(t *testing.T) {
	p.events = p.in("revocations.ndjson")
	follow := []string{"backup", "revocations", "--once", "--file", p.events, "--url", p.server.URL, "--key", groupKey, "--data", p.in("none")}
	p.ask(follow...)
	once := readFile(t, p.events)
	require.Equal(t, 9, strings.Count(once, `"type"`))
	require.NoError(t, os.WriteFile(p.events, []byte(once+`{"id":"evt_`), 0o600))
	p.ask(follow...)
	require.Equal(t, 9, strings.Count(readFile(t, p.events), `"type"`), "it goes on where the file ends")
}

// restored restores the backup with these revocations and returns what then works.
func (p *revokedPark) restored(t *testing.T, revocations ...string) map[string]string {
	g := p.group
	g.dir = t.TempDir()
	restored, err := backup.Restore([]string{p.backup}, testBackupKeys, backup.Order{
		Dir: filepath.Join(g.dir, "n1"), ID: "n1", Address: g.hosts["n1"], Now: time.Now(), Revocations: revocations,
	})
	require.NoError(t, err)
	require.Empty(t, restored.Revoked.Refused)
	g.open("n1", ofac.Carried())
	g.awaitReady()
	defer g.close("n1")
	n := g.nodes["n1"]
	works := map[string]string{}
	for name, token := range p.tokens {
		works[name], _ = n.pay(t, token)
	}
	for name, secret := range p.secrets {
		status, _ := serveCall(n.api.Handler(), secret, "GET", "/v1/events", "")
		works["key "+name] = http.StatusText(status)
	}
	if len(revocations) > 0 {
		require.Len(t, restored.Revoked.Applied, 6, "%v", restored.Revoked)
		require.Equal(t, 1, restored.Revoked.Unknown, "the agent that the backup does not know")
		require.Equal(t, 9, restored.Revoked.Events)
		_, answer := n.call("GET", "/v1/events?types=agent.reissued,agent.suspended,operator.suspended", "")
		require.Len(t, answer["data"], 3, "%v", answer)
	}
	return works
}

// TestWhatWasRevokedStaysRevoked: after a backup an agent is revoked, one suspended, one
// suspended and reinstated, one renewed, one made and revoked, and an operator suspended; a key is
// revoked and one rotated. The backup is restored three times: without the events everything is
// good again, with the file of them or the lost node's folder it is not.
func TestWhatWasRevokedStaysRevoked(t *testing.T) {
	p := endAfterBackup(t)
	p.keepEvents(t)
	old := filepath.Join(p.group.dir, "n1")
	p.group.close("n1")
	all := map[string]string{"revoked": "PROCEED", "suspended": "PROCEED", "reinstated": "PROCEED", "renewed": "PROCEED", "untouched": "PROCEED", "operator": "PROCEED", "key revoked": "OK", "key rotated": "OK", "key untouched": "OK"}
	require.Equal(t, all, p.restored(t))
	ended := map[string]string{"revoked": "BLOCK", "suspended": "BLOCK", "reinstated": "PROCEED", "renewed": "BLOCK", "untouched": "PROCEED", "operator": "BLOCK", "key revoked": "Unauthorized", "key rotated": "Unauthorized", "key untouched": "OK"}
	require.Equal(t, ended, p.restored(t, p.events))
	require.Equal(t, ended, p.restored(t, old))

	unwritten := filepath.Join(t.TempDir(), "n1")
	_, err := backup.Restore([]string{p.backup}, testBackupKeys, backup.Order{Dir: unwritten, ID: "n1", Now: time.Now(), Revocations: []string{p.write("odd", "{]\n")}})
	require.ErrorContains(t, err, "line 1")
	require.NoDirExists(t, unwritten, "what was given is read first")
	p.refused(exitUsage, "--without-revocations", "backup", "restore", p.backup, "--data", p.in("new"), "--id", "n1")
}

// TestARevokedSigningKeyStaysRevoked: the signing key of the backup was revoked in an emergency.
// What it signed is blocked after the restore, too, and an admin makes the next one.
func TestARevokedSigningKeyStaysRevoked(t *testing.T) {
	o := newOutsider(t)
	n, g := o.node, o.group
	_, token := n.agentOf(t, "Quiet Harbour Bakery")
	file := filepath.Join(t.TempDir(), "a")
	n.takeBackup(t, file, 0)
	status, answer := n.admin("POST", "/admin/signing-key/rotate", `{"emergency":true,"revoke":"cc-v1","reason":"stolen"}`)
	require.Equal(t, 201, status, "%v", answer)
	old := filepath.Join(g.dir, "n1")
	g.close("n1")
	g.dir = t.TempDir()
	restored, err := backup.Restore([]string{file}, testBackupKeys, backup.Order{
		Dir: filepath.Join(g.dir, "n1"), ID: "n1", Address: g.hosts["n1"], Now: time.Now(), Revocations: []string{old},
	})
	require.NoError(t, err)
	require.Len(t, restored.Revoked.Applied, 1, "%v", restored.Revoked)
	g.open("n1", ofac.Carried())
	g.awaitReady()
	n = g.nodes["n1"]
	verdict, _ := n.pay(t, token)
	require.Equal(t, "BLOCK", verdict)
	status, answer = n.admin("POST", "/admin/signing-key/rotate", `{"emergency":true,"reason":"restored"}`)
	require.Equal(t, 201, status, "%v", answer)
	_, token = n.agentOf(t, "Quiet Harbour Bakery")
	verdict, _ = n.pay(t, token)
	require.Equal(t, "PROCEED", verdict)
}
