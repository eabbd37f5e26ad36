package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ledger is the state that must be the same before a disaster and after the restore.
type ledger struct {
	agents  map[string]string // Credential by agent id.
	limits  map[string]string // What each agent has spent and may still spend, as the API shows it.
	records map[string]string // Verdicts by transaction, with all their members.
	open    []string          // Open reviews.
	jwks    string
}

// raw is the answer of a GET, byte for byte.
func (p *park) raw(m *machine, path string) string {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, p.url(m)+path, nil)
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+parkKey)
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, answer.StatusCode, "%s: %s", path, body)
	return string(body)
}

// write makes the agents of a ledger, their payments, and a review for each.
func (p *park) write(m *machine, agents int) *ledger {
	l := &ledger{agents: map[string]string{}, records: map[string]string{}}
	for i := range agents {
		id, token := p.agent(m, fmt.Sprint("payer ", i+1))
		l.agents[id] = token
		p.payMany(m, token, 10+i)
		verdict, txn := p.pay(m, token, 100*(i+1))
		require.Equal(p.t, "PROCEED", verdict)
		l.records[txn] = ""
		verdict, txn = p.pay(m, token, 5000)
		require.Equal(p.t, "REVIEW", verdict)
		l.records[txn] = ""
		l.open = append(l.open, txn)
	}
	p.read(m, l)
	return l
}

// read fills a ledger with a node's answers, once the node has applied all that is committed:
// a node answers a screening call before it has applied the record itself.
func (p *park) read(m *machine, l *ledger) {
	p.t.Helper()
	l.limits = map[string]string{}
	for id := range l.agents {
		l.limits[id] = withoutIndex(p.t, p.raw(m, "/v1/agents/"+id+"/limits?consistency=leader"))
	}
	for txn := range l.records {
		l.records[txn] = p.raw(m, "/v1/audit/"+txn+"?consistency=leader")
	}
	l.jwks = p.raw(m, "/v1/.well-known/jwks.json")
}

// withoutIndex removes the log index that an answer carries, and what the operator's other agents
// go on to spend.
func withoutIndex(t testing.TB, text string) string {
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &members))
	delete(members, "asOfIndex")
	if operator, ok := members["operator"].(map[string]any); ok {
		delete(operator, "spentUSDC")
	}
	data, err := json.Marshal(members)
	require.NoError(t, err)
	return string(data)
}

// requireSame requires that a node gives the same answers.
func (p *park) requireSame(m *machine, l *ledger) {
	p.t.Helper()
	now := &ledger{agents: l.agents, records: map[string]string{}}
	for txn := range l.records {
		now.records[txn] = ""
	}
	p.read(m, now)
	require.Equal(p.t, l.limits, now.limits, m.id)
	require.Equal(p.t, l.records, now.records, m.id)
	require.Equal(p.t, l.jwks, now.jwks, m.id)
	var queue struct{ Data []struct{ TxnID string } }
	require.NoError(p.t, json.Unmarshal([]byte(p.raw(m, "/v1/queue?limit=100&consistency=leader")), &queue))
	var waiting []string
	for _, one := range queue.Data {
		waiting = append(waiting, one.TxnID)
	}
	require.ElementsMatch(p.t, l.open, waiting, m.id)
}

// restore restores files onto the first of so many new, empty machines, and starts the others
// so that they join it.
func (p *park) restore(count int, files ...string) map[string]any {
	p.t.Helper()
	p.machines = nil
	for i := range count {
		p.add(fmt.Sprint("r", i+1))
	}
	first := p.machines[0]
	args := append([]string{"backup", "restore"}, files...)
	out := p.must(append(args, "--data", first.data, "--id", first.id, "--cluster", first.cluster, "--without-revocations", "--identity", p.identity)...)
	var restored map[string]any
	require.NoError(p.t, json.Unmarshal([]byte(out), &restored))
	for _, m := range p.machines {
		p.start(m)
	}
	p.awaitReady(first, "")
	for _, m := range p.machines[1:] {
		p.must("cluster", "admit", m.id, "--url", p.url(first))
	}
	for _, m := range p.machines {
		p.awaitReady(m, "")
	}
	return restored
}

// destroy kills all nodes and removes their disks.
func (p *park) destroy() {
	for _, m := range p.machines {
		p.kill(m)
		require.NoError(p.t, os.RemoveAll(m.data))
	}
}

// Three nodes and their disks are lost. From one file, three empty machines get the same
// tables, tree head, key set and counters. Records are proven as before. The cluster has a new
// lineage, in which no id is given out a second time.
func TestDestroyedClusterComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newPark(t, 3)
	p.form()
	n2 := p.machines[1]
	l := p.write(n2, 3)
	file := filepath.Join(p.dir, "all.rgbackup")
	var taken struct{ Digest, TreeHead, Jwks, ClusterID string }
	require.NoError(t, json.Unmarshal([]byte(p.must("backup", "create", "--file", file, "--recipient", p.recipient, "--url", p.url(n2), "-o", "json")), &taken))
	_, complaint, code := p.cli("backup", "create", "--file", file, "--recipient", p.recipient, "--url", p.url(n2))
	require.Equal(t, exitFailed, code)
	require.Contains(t, complaint, "exists already")
	proof := filepath.Join(p.dir, "proof.json")
	require.NoError(t, os.WriteFile(proof, []byte(p.raw(n2, "/v1/audit/"+l.open[0]+"/proof")), 0o600))
	lost, token := p.agent(n2, "lost")
	_, gone := p.pay(n2, token, 1)
	p.destroy()

	require.Contains(t, p.must("backup", "verify", file, "--identity", p.identity), "is whole: cluster "+taken.ClusterID)
	require.Contains(t, p.must("backup", "inspect", file, "--identity", p.identity), taken.TreeHead)
	restored := p.restore(3, file)
	require.Equal(t, taken.Digest, restored["digest"])
	require.Equal(t, taken.TreeHead, restored["treeHead"])
	require.NotEmpty(t, restored["newLineage"])
	for _, m := range p.machines {
		p.requireSame(m, l)
	}
	// The restored log has a name of its own, but the same leaves. So a proof from before the
	// disaster still holds.
	keys := filepath.Join(p.dir, "keys.txt")
	require.NoError(t, os.WriteFile(keys, []byte(p.raw(p.machines[2], "/log/keys")), 0o600))
	p.must("verify", proof, "--keys", keys)
	after := filepath.Join(p.dir, "after.json")
	require.NoError(t, os.WriteFile(after, []byte(p.raw(p.machines[2], "/v1/audit/"+l.open[0]+"/proof")), 0o600))
	p.must("verify", after, "--keys", keys)
	require.Contains(t, p.raw(p.machines[2], "/log/checkpoint"), restored["newLineage"])

	for _, path := range []string{"/v1/agents/" + lost, "/v1/audit/" + gone} {
		code, answer := p.ask(p.machines[0], "GET", path, "")
		require.Equal(t, http.StatusNotFound, code, answer)
	}
	verdict, txn := p.pay(p.machines[1], token, 1)
	require.Equal(t, "UNKNOWN", verdict, "a credential of the lost lineage")
	require.NotEqual(t, gone, txn)
	for id, token := range l.agents {
		verdict, _ := p.pay(p.machines[2], token, 1)
		require.Equal(t, "PROCEED", verdict, id)
	}
	data, err := os.ReadDir(p.machines[0].data)
	require.NoError(t, err)
	_, complaint, code = p.cli("backup", "restore", file, "--data", p.machines[0].data, "--id", "r1", "--without-revocations", "--identity", p.identity)
	require.Equal(t, exitFailed, code)
	require.Contains(t, complaint, "is not empty")
	again, err := os.ReadDir(p.machines[0].data)
	require.NoError(t, err)
	require.Len(t, again, len(data), "and nothing was moved")
}

// The last node of a cluster cannot start, or must not. Its folder is enough for a backup,
// which does not change it.
func TestBackupOfAStoppedNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newPark(t, 1)
	p.form()
	n1 := p.machines[0]
	l := p.write(n1, 2)
	file := filepath.Join(p.dir, "still.rgbackup")
	take := []string{"backup", "create", "--folder", n1.data, "--file", file, "--recipient", p.recipient}
	_, complaint, code := p.cli(take...)
	require.Equal(t, exitFailed, code)
	require.Contains(t, complaint, "stop the node first", "a running node is asked, not read")
	p.kill(n1) // It is killed; acknowledged writes are in its folder all the same.
	before := p.content(n1.data)
	require.Contains(t, p.must(take...), "is whole")
	require.Equal(t, before, p.content(n1.data), "nothing was changed")
	_, complaint, code = p.cli("backup", "create", "--folder", n1.data, "--directory", p.dir, "--every", "1h", "--recipient", p.recipient)
	require.Equal(t, exitUsage, code)
	require.Contains(t, complaint, "exclude each other")
	_, complaint, code = p.cli("backup", "create", "--folder", t.TempDir(), "--file", file+"2", "--recipient", p.recipient)
	require.Equal(t, exitFailed, code)
	require.Contains(t, complaint, "is no node's data folder")
	require.NoFileExists(t, file+"2")
	p.restore(1, file)
	p.requireSame(p.machines[0], l)
}

// content returns every file in a folder with its bytes.
func (p *park) content(dir string) map[string]string {
	all := map[string]string{}
	require.NoError(p.t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(data)
		return err
	}))
	return all
}
