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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/process"
	"railguard/ofac/listtest"
)

// fleetOfThree are three real nodes, as an operator starts them, and a balancer of the
// files in deploy/ before them.
type fleetOfThree struct {
	t       *testing.T
	dir     string
	binary  string
	spawner *process.Spawner
	ports   []string // Of the nodes' APIs, admin listeners and clusters, three each; of the balancer.
	nodes   [3]*process.Child
	token   string
}

const balancedKey = "rg_live_key_of_the_balancers_tests"

func newFleetOfThree(t *testing.T) *fleetOfThree {
	f := &fleetOfThree{t: t, dir: t.TempDir(), spawner: process.NewSpawner()}
	t.Cleanup(f.spawner.Close)
	f.binary = filepath.Join(f.dir, "railguard")
	said, err := exec.Command("go", "build", "-o", f.binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", said)
	f.ports, err = process.FreePorts(10)
	require.NoError(t, err)
	lists := filepath.Join(f.dir, "lists")
	require.NoError(t, os.Mkdir(lists, 0o700))
	for name, list := range map[string]string{"SDN_ENHANCED.XML": "SDN List", "CONS_ENHANCED.XML": "Consolidated List"} {
		raw := listtest.WriteEnhanced(list, time.Now(), listtest.Entity{ID: 910001 + len(list), Last: "BALANCED BYSTANDER HOLDING " + list})
		require.NoError(t, os.WriteFile(filepath.Join(lists, name), raw, 0o600))
	}
	for i := range f.nodes {
		f.start(i)
	}
	for i := range f.nodes {
		f.awaitReady(i)
	}
	// A list of our own is small: it is taken when somebody says so.
	take := exec.Command(f.binary, "ofac", "import", lists, "--force", "--reason", "tests", "--admin", "http://"+f.ports[3], "--key", balancedKey)
	said, err = take.CombinedOutput()
	require.NoError(t, err, "%s", said)
	f.token = f.register()
	return f
}

func (f *fleetOfThree) start(i int) {
	f.t.Helper()
	args := []string{
		"serve", "--id", fmt.Sprint("n", i+1), "--data", filepath.Join(f.dir, fmt.Sprint("n", i+1)), "--http", f.ports[i], "--admin", f.ports[3+i],
		"--cluster", f.ports[6+i], "--join", strings.Join(f.ports[6:9], ","), "--bootstrap-expect", "3", "--public-url", "https://guard.example.org",
		"--grace", "3s",
	}
	env := append(os.Environ(), "RAILGUARD_CLUSTER_SECRET=the secret of the balancers tests", "RAILGUARD_BOOTSTRAP_KEY="+balancedKey)
	child, err := f.spawner.Launch(f.binary, args, env, filepath.Join(f.dir, fmt.Sprint("n", i+1, ".log")))
	require.NoError(f.t, err)
	f.nodes[i] = child
	f.t.Cleanup(func() { _ = child.Command.Process.Kill(); <-child.Done })
}

func (f *fleetOfThree) awaitReady(i int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		answer, err := http.Get("http://" + f.ports[i] + "/readyz?sync&exclude=list")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 90*time.Second, 50*time.Millisecond, "node %d is not ready", i+1)
}

// front starts a balancer and returns the address it answers at.
func (f *fleetOfThree) front(name string, args ...string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		f.t.Skip(name + " is not installed: not tried")
	}
	env := append(os.Environ(), "RAILGUARD_BIND="+f.ports[9])
	for i := range f.nodes {
		env = append(env, fmt.Sprintf("RAILGUARD_N%d=%s", i+1, f.ports[i]))
	}
	log := filepath.Join(f.dir, name+".log")
	child, err := f.spawner.Launch(path, args, env, log)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_ = child.Command.Process.Signal(process.SignalEnd)
		<-child.Done
		if said, _ := os.ReadFile(log); f.t.Failed() {
			f.t.Logf("%s: %.4000s", name, said)
		}
	})
	require.Eventually(f.t, func() bool {
		answer, err := http.Get("http://" + f.ports[9] + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond)
	return "http://" + f.ports[9]
}

// post sends one call, once.
func post(client *http.Client, url, key, body string) (status int, text string, err error) {
	return postWith(client, balancedKey, url, key, body)
}

func postWith(client *http.Client, apiKey, url, key, body string) (status int, text string, err error) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+apiKey)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(raw), err
}

func (f *fleetOfThree) register() string {
	var token string
	require.Eventually(f.t, func() bool { // The list is imported after the group has formed.
		status, text, err := post(http.DefaultClient, "http://"+f.ports[0]+"/v1/agents/register", "", `{"agentName":"balanced","agentType":"supervised","operatorLegalName":"Balanced Works","purpose":"tests","spendPolicy":{"maxSingleTxUSDC":1000,"dailyLimitUSDC":100000}}`)
		var answer struct{ Token string }
		if err == nil && status == http.StatusCreated {
			err = json.Unmarshal([]byte(text), &answer)
		} else if status != http.StatusServiceUnavailable {
			f.t.Logf("%d %s", status, text)
		}
		token = answer.Token
		return err == nil && token != ""
	}, 60*time.Second, 500*time.Millisecond)
	return token
}

// load screens through the balancer until the work is done, and returns what was not 200.
func (f *fleetOfThree) load(url string, keyed bool, work func()) (failed []string, calls int64) {
	ctx, done := context.WithCancel(f.t.Context())
	var mutex sync.Mutex
	var count atomic.Int64
	var callers sync.WaitGroup
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	for caller := range 4 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := ""
				if keyed {
					key = fmt.Sprintf("balanced-%d-%d-%d", time.Now().UnixNano(), caller, n)
				}
				status, text, err := post(client, url+"/v1/screen", key, `{"token":"`+f.token+`","amount":0.01,"cpName":"Plain Harbour Bakery"}`)
				count.Add(1)
				if err != nil || status != http.StatusOK {
					mutex.Lock()
					failed = append(failed, fmt.Sprintf("%s %d %v %.200s", time.Now().Format("05.000"), status, err, text))
					mutex.Unlock()
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	work()
	done()
	callers.Wait()
	return failed, count.Load()
}

// roll restarts one node after the other, in order.
func (f *fleetOfThree) roll() {
	for i := range f.nodes {
		require.NoError(f.t, f.nodes[i].Command.Process.Signal(process.SignalEnd))
		require.NoError(f.t, f.nodes[i].Wait(60*time.Second))
		f.start(i)
		f.awaitReady(i)
	}
}

// requireUnharmed holds that callers noticed nothing.
func (f *fleetOfThree) requireUnharmed(url string, keyed bool, work func()) {
	f.t.Helper()
	failed, calls := f.load(url, keyed, work)
	require.Empty(f.t, failed, "of %d calls", calls)
	require.Greater(f.t, calls, int64(100))
}

// Behind HAProxy with the file of deploy/, a rolling restart is no error to callers that
// never try again; nor is a killed follower to callers with an Idempotency-Key.
func TestHAProxyHidesRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts real processes")
	}
	if _, err := exec.LookPath("haproxy"); err != nil {
		t.Skip("haproxy is not installed: not tried")
	}
	f := newFleetOfThree(t)
	file, err := filepath.Abs("../../deploy/haproxy/haproxy.cfg")
	require.NoError(t, err)
	url := f.front("haproxy", "-db", "-f", file)
	f.requireUnharmed(url, false, f.roll)
	f.requireUnharmed(url, true, func() {
		for i := range f.nodes {
			if f.leads(i) {
				continue
			}
			require.NoError(t, f.nodes[i].Command.Process.Kill())
			<-f.nodes[i].Done
			time.Sleep(2 * time.Second) // Of calls meanwhile.
			f.start(i)
			f.awaitReady(i)
			return
		}
	})
}

// leads says whether a node leads now.
func (f *fleetOfThree) leads(i int) bool {
	answer, err := http.Get("http://" + f.ports[i] + "/readyz?leader")
	require.NoError(f.t, err)
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// The same behind nginx, which learns from answers alone: callers with an Idempotency-Key
// notice nothing. Those without may meet the moment in which a node closes: they are told
// that the outcome is not known, and never anything else.
func TestNginxHidesRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts real processes")
	}
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed: not tried")
	}
	f := newFleetOfThree(t)
	given, err := os.ReadFile("../../deploy/nginx/railguard.conf")
	require.NoError(t, err)
	text := strings.ReplaceAll(string(given), "127.0.0.1:8090", f.ports[9])
	for i := range f.nodes {
		text = strings.ReplaceAll(text, fmt.Sprintf("10.0.0.%d:8080", i+1), f.ports[i])
	}
	whole := "daemon off; pid " + f.dir + "/nginx.pid; error_log stderr; events {} http { access_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += kind + "_temp_path " + f.dir + "/" + kind + ";\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "nginx.conf"), []byte(whole+text+"}\n"), 0o600))
	url := f.front("nginx", "-p", f.dir, "-c", filepath.Join(f.dir, "nginx.conf"))
	f.requireUnharmed(url, true, f.roll)
	failed, calls := f.load(url, false, f.roll)
	require.Greater(t, calls, int64(100))
	for _, call := range failed {
		require.Contains(t, call, ` 503 <nil> {"error":"outcome_unknown","code":"outcome_unknown"`)
	}
	require.LessOrEqual(t, len(failed), len(f.nodes)*4, "of each caller one at each node's end: %v", failed)
}
