package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
	"railguard/ofac/listtest"
)

const (
	parkKey    = "rg_live_key_of_the_operators_tests"
	parkSecret = "6fd4a1c07b93e85214c6b80f92ad37e5510c8b6e4f2da9731be0946853d7ca28"
)

// park starts several real processes of the real binary, as an operator starts them, and runs the
// verbs that an operator types.
type park struct {
	t        testing.TB
	dir      string
	binary   string
	spawner  *testcluster.Spawner
	machines []*machine
	extra    []string // Flags for every node.
	env      []string // Environment of nodes and verbs.
	client   *http.Client
	scheme   string

	recipient, identity string // Public key for backups, and the file with the secret key.
	authority           string // Folder of the certificate authority; "": no TLS except the nodes' proof by the cluster secret.
}

// machine is one of its processes with its data.
type machine struct {
	id, data, http, admin, cluster string
	binary                         string
	flags, env                     []string // Flags for this machine only.
	child                          *testcluster.Child
}

// newPark prepares machines n1, n2, ... and starts none. From here the test waits beside others.
func newPark(t testing.TB, count int) *park {
	waitBeside(t)
	return newParkAlone(t, count)
}

// newParkAlone is newPark for a test that counts every call that fails, and has the machine to itself.
func newParkAlone(t testing.TB, count int) *park {
	p := &park{t: t, dir: t.TempDir(), spawner: testcluster.NewSpawner(), client: &http.Client{Timeout: 30 * time.Second}, scheme: "http"}
	t.Cleanup(p.spawner.Close)
	t.Cleanup(func() {
		for _, m := range p.machines {
			p.kill(m)
		}
	})
	p.binary = product(t)
	key, err := newTestIdentity()
	require.NoError(t, err)
	p.recipient, p.identity = key.recipient, filepath.Join(p.dir, "identity")
	require.NoError(t, os.WriteFile(p.identity, []byte(key.identity), 0o600))
	p.env = []string{"RAILGUARD_CLUSTER_SECRET=" + parkSecret}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "RAILGUARD_") {
			p.env = append(p.env, entry)
		}
	}
	for range count {
		p.add("n" + strconv.Itoa(len(p.machines)+1))
	}
	return p
}

// add prepares one more machine.
func (p *park) add(id string) *machine {
	ports, err := testcluster.FreePorts(3)
	require.NoError(p.t, err)
	m := &machine{id: id, data: filepath.Join(p.dir, fmt.Sprintf("%s-%d", id, len(p.machines)+1)), http: ports[0], admin: ports[1], cluster: ports[2], binary: p.binary}
	p.machines = append(p.machines, m)
	return m
}

// form starts all machines as a new cluster, and imports a small test list.
func (p *park) form() {
	for _, m := range p.machines {
		p.start(m, "--bootstrap-expect", strconv.Itoa(len(p.machines)), "--public-url", "https://guard.example.org")
	}
	for _, m := range p.machines {
		p.awaitReady(m, "exclude=list")
	}
	lists := filepath.Join(p.dir, "lists")
	writeParkLists(p.t, lists)
	// The test list is small, so it must be forced.
	p.must("ofac", "import", lists, "--force", "--reason", "tests", "--admin", p.adminURL(p.machines[0]))
	for _, m := range p.machines {
		p.awaitReady(m, "")
	}
}

// writeParkLists writes a small list in OFAC's form.
func writeParkLists(t testing.TB, folder string) {
	require.NoError(t, os.MkdirAll(folder, 0o700))
	for name, list := range map[string]string{"SDN_ENHANCED.XML": "SDN List", "CONS_ENHANCED.XML": "Consolidated List"} {
		raw := listtest.WriteEnhanced(list, time.Now(), listtest.Entity{ID: 910001 + len(list), Last: "PARKED BYSTANDER HOLDING " + list})
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), raw, 0o600))
	}
}

// start starts a machine, which joins the others if there are any.
func (p *park) start(m *machine, flags ...string) {
	p.t.Helper()
	args := []string{"serve", "--id", m.id, "--data", m.data, "--http", m.http, "--admin", m.admin, "--grace", "1s"}
	if len(p.machines) > 1 {
		var peers []string
		for _, peer := range p.machines {
			peers = append(peers, peer.cluster)
		}
		args = append(args, "--cluster", m.cluster, "--join", strings.Join(peers, ","))
	}
	args = append(append(append(args, p.extra...), m.flags...), flags...)
	if p.authority != "" {
		args = append(args, p.certificates(m)...)
	}
	child, err := p.spawner.Launch(m.binary, args, slices.Concat(p.env, []string{"RAILGUARD_BOOTSTRAP_KEY=" + parkKey}, m.env), p.log(m))
	require.NoError(p.t, err)
	m.child = child
}

// secure makes a certificate authority. From then on nodes present certificates to callers and
// to each other, and demand one on the admin listener. Verbs get theirs from the environment.
func (p *park) secure() {
	p.authority, p.scheme = filepath.Join(p.dir, "authority"), "https"
	p.must("tls", "init", "--dir", p.authority)
	p.must("tls", "issue", "--dir", p.authority, "--id", "ops")
	ca := filepath.Join(p.authority, "ca.pem")
	p.env = append(p.env, "RAILGUARD_CA="+ca, "RAILGUARD_CERT="+filepath.Join(p.authority, "ops.pem"), "RAILGUARD_CERT_KEY="+filepath.Join(p.authority, "ops.key"))
	text, err := os.ReadFile(ca)
	require.NoError(p.t, err)
	pool := x509.NewCertPool()
	require.True(p.t, pool.AppendCertsFromPEM(text))
	p.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 8}
}

// certificates returns the flags for a machine's certificates. It issues them if they are
// missing.
func (p *park) certificates(m *machine) []string {
	cert, key, ca := filepath.Join(p.authority, m.id+".pem"), filepath.Join(p.authority, m.id+".key"), filepath.Join(p.authority, "ca.pem")
	if _, err := os.Stat(cert); err != nil {
		p.must("tls", "issue", "--dir", p.authority, "--id", m.id, "--ip", "127.0.0.1", "--dns", "guard.example.org")
	}
	return []string{"--tls-cert", cert, "--tls-key", key, "--cluster-cert", cert, "--cluster-key", key, "--cluster-ca", ca, "--admin-cert", cert, "--admin-key", key, "--admin-ca", ca}
}

func (p *park) log(m *machine) string { return m.data + ".log" }

// said returns what a machine has logged so far.
func (p *park) said(m *machine) string {
	data, err := os.ReadFile(p.log(m))
	require.NoError(p.t, err)
	return string(data)
}

// stop ends a machine's node in order.
func (p *park) stop(m *machine) {
	p.t.Helper()
	require.NoError(p.t, m.child.Command.Process.Signal(testcluster.SignalEnd))
	require.NoError(p.t, m.child.Wait(slowPatience))
	m.child = nil
}

// kill ends a machine's node as a power cut does.
func (p *park) kill(m *machine) {
	if m.child != nil {
		_ = m.child.Command.Process.Kill()
		<-m.child.Done
		m.child = nil
	}
}

func (p *park) url(m *machine) string      { return p.scheme + "://" + m.http }
func (p *park) adminURL(m *machine) string { return p.scheme + "://" + m.admin }

// awaitReady waits until a balancer would send calls to a machine.
func (p *park) awaitReady(m *machine, query string) {
	p.t.Helper()
	last := ""
	defer func() { // If the wait fails, the test fails.
		if p.t.Failed() {
			p.t.Logf("%s last answered %s, and logged:\n%s", m.id, last, p.said(m))
		}
	}()
	require.Eventually(p.t, func() bool {
		if m.child != nil && m.child.Ended() {
			last = "it has ended: " + m.child.Command.ProcessState.String()
			return true // Waiting longer cannot help.
		}
		answer, err := p.client.Get(p.url(m) + "/readyz?sync&" + query)
		if err != nil {
			last = err.Error()
			return false
		}
		defer answer.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(answer.Body)
		last = body.String()
		return answer.StatusCode == http.StatusOK
	}, 120*time.Second, 50*time.Millisecond, "%s is not ready", m.id)
	require.False(p.t, m.child != nil && m.child.Ended(), "%s has ended", m.id)
}

// cli runs a verb in its own process, again while a leader is chosen.
func (p *park) cli(args ...string) (out, complaint string, code int) {
	p.t.Helper()
	return p.cliWith(nil, args...)
}

func (p *park) cliWith(env []string, args ...string) (out, complaint string, code int) {
	p.t.Helper()
	out, complaint, code = p.cliOnce(env, args)
	for until := time.Now().Add(slowPatience); code == exitAway && chooses.MatchString(complaint) && time.Now().Before(until); {
		time.Sleep(electionPause)
		out, complaint, code = p.cliOnce(env, args)
	}
	return out, complaint, code
}

func (p *park) cliOnce(env, args []string) (out, complaint string, code int) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.binary, args...)
	command.Env = append(append(append([]string(nil), p.env...), "RAILGUARD_KEY="+parkKey, "TMPDIR="+p.t.TempDir()), env...)
	command.Dir = p.dir
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		require.NoError(p.t, err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// must runs a verb that has to succeed.
func (p *park) must(args ...string) string {
	p.t.Helper()
	out, complaint, code := p.cli(args...)
	require.Zero(p.t, code, "%v: %s%s", args, out, complaint)
	return out
}

// ask makes a call of the API and returns its status and answer.
func (p *park) ask(m *machine, method, path, body string) (int, map[string]any) {
	p.t.Helper()
	r, err := http.NewRequest(method, p.url(m)+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+parkKey)
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer answer.Body.Close()
	var members map[string]any
	_ = json.NewDecoder(answer.Body).Decode(&members)
	return answer.StatusCode, members
}

// want makes a call that has to succeed, again while a leader is chosen.
func (p *park) want(m *machine, status int, method, path, body string) map[string]any {
	p.t.Helper()
	code, answer := p.ask(m, method, path, body)
	for until := time.Now().Add(slowPatience); code != status && undecided(code, answer) && time.Now().Before(until); {
		time.Sleep(electionPause)
		code, answer = p.ask(m, method, path, body)
	}
	require.Equal(p.t, status, code, "%s %s: %v", method, path, answer)
	return answer
}

// agent registers an agent with a daily limit and returns its id and credential.
func (p *park) agent(m *machine, name string) (id, token string) {
	p.t.Helper()
	answer := p.want(m, http.StatusCreated, "POST", "/v1/agents/register", `{"agentName":"`+name+`","agentType":"supervised","operatorLegalName":"Parked Works","purpose":"tests","spendPolicy":{"maxSingleTxUSDC":1000,"dailyLimitUSDC":100000}}`)
	id, _ = answer["agentId"].(string)
	token, _ = answer["token"].(string)
	require.NotEmpty(p.t, id)
	require.NotEmpty(p.t, token)
	return id, token
}

// pay screens one payment; an amount above 1,000 gets REVIEW.
func (p *park) pay(m *machine, token string, amount int) (verdict, txn string) {
	p.t.Helper()
	answer := p.want(m, http.StatusOK, "POST", "/v1/screen", fmt.Sprintf(`{"token":%q,"amount":%d,"cpName":"Plain Harbour Bakery"}`, token, amount))
	verdict, _ = answer["verdict"].(string)
	txn, _ = answer["txnId"].(string)
	return verdict, txn
}

// payMany screens so many payments of 1 USD at once.
func (p *park) payMany(m *machine, token string, count int) {
	p.t.Helper()
	one := fmt.Sprintf(`{"token":%q,"amount":1,"cpName":"Plain Harbour Bakery"}`, token)
	for ; count > 0; count -= 100 {
		p.want(m, http.StatusOK, "POST", "/v1/screen/batch", `{"payments":[`+strings.Repeat(one+",", min(count, 100)-1)+one+`]}`)
	}
}
