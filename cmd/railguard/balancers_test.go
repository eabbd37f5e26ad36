package main

import (
	"context"
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

	"railguard/cluster/testcluster"
)

// fleetOfThree is three real nodes, started as an operator starts them, behind a load balancer
// with a configuration file from deploy/.
type fleetOfThree struct {
	*park
	balancer  string        // Address of the balancer.
	id, token string        // An agent.
	pause     time.Duration // Between two calls of one of the four callers.
}

func newFleetOfThree(t *testing.T) *fleetOfThree {
	f := &fleetOfThree{park: newParkAlone(t, 3), pause: 5 * time.Millisecond}
	f.extra = []string{"--grace", "3s"}
	f.form()
	f.id, f.token = f.agent(f.machines[0], "balanced")
	return f
}

func (f *fleetOfThree) frontHAProxy() string {
	file, err := filepath.Abs("../../deploy/haproxy/haproxy.cfg")
	require.NoError(f.t, err)
	f.choosePort()
	return f.front("haproxy", "-db", "-f", file)
}

func (f *fleetOfThree) frontNginx() string {
	f.choosePort()
	given, err := os.ReadFile("../../deploy/nginx/railguard.conf")
	require.NoError(f.t, err)
	text := strings.ReplaceAll(string(given), "127.0.0.1:8090", f.balancer)
	for i, m := range f.machines {
		text = strings.ReplaceAll(text, fmt.Sprintf("10.0.0.%d:8080", i+1), m.http)
	}
	whole := "daemon off; pid " + f.dir + "/nginx.pid; error_log stderr; events {} http { access_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += kind + "_temp_path " + f.dir + "/" + kind + ";\n"
	}
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, "nginx.conf"), []byte(whole+text+"}\n"), 0o600))
	return f.front("nginx", "-p", f.dir, "-c", filepath.Join(f.dir, "nginx.conf"))
}

// choosePort chooses where the next balancer listens.
func (f *fleetOfThree) choosePort() {
	ports, err := testcluster.FreePorts(1)
	require.NoError(f.t, err)
	f.balancer = ports[0]
}

// front starts a balancer and returns its address.
func (f *fleetOfThree) front(name string, args ...string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		f.t.Skip(name + " is not installed: not tried")
	}
	env := append(os.Environ(), "RAILGUARD_BIND="+f.balancer)
	for i, m := range f.machines {
		env = append(env, fmt.Sprintf("RAILGUARD_N%d=%s", i+1, m.http))
	}
	log := filepath.Join(f.dir, name+".log")
	child, err := f.spawner.Launch(path, args, env, log)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_ = child.Command.Process.Signal(testcluster.SignalEnd)
		<-child.Done
		if said, _ := os.ReadFile(log); f.t.Failed() {
			f.t.Logf("%s: %.4000s", name, said)
		}
	})
	require.Eventually(f.t, func() bool {
		answer, err := http.Get("http://" + f.balancer + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond)
	return "http://" + f.balancer
}

// post sends one call, once.
func post(client *http.Client, url, key, body string) (status int, text string, err error) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+parkKey)
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

// load screens payments through the balancer until the work is done. It returns the answers
// other than 200.
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
				time.Sleep(f.pause)
			}
		})
	}
	work()
	done()
	callers.Wait()
	return failed, count.Load()
}

// roll restarts the nodes in order, one after the other.
func (f *fleetOfThree) roll() {
	for _, m := range f.machines {
		f.stop(m)
		f.rise(m)
	}
}

// rise starts a node again and waits until a balancer would send it calls.
func (f *fleetOfThree) rise(m *machine) {
	f.start(m, "--bootstrap-expect", "3", "--public-url", "https://guard.example.org")
	f.awaitReady(m, "exclude=list")
}

// requireUnharmed requires that callers noticed nothing.
func (f *fleetOfThree) requireUnharmed(url string, keyed bool, work func()) {
	f.t.Helper()
	failed, calls := f.load(url, keyed, work)
	require.Empty(f.t, failed, "of %d calls", calls)
	require.Greater(f.t, calls, int64(100))
}

// Behind HAProxy with the file from deploy/, a rolling restart causes no error, even for
// callers that never retry. A killed follower causes none for callers with an Idempotency-Key.
func TestHAProxyHidesRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts real processes")
	}
	if _, err := exec.LookPath("haproxy"); err != nil {
		t.Skip("haproxy is not installed: not tried")
	}
	f := newFleetOfThree(t)
	url := f.frontHAProxy()
	f.requireUnharmed(url, false, f.roll)
	f.requireUnharmed(url, true, func() {
		for _, m := range f.machines {
			if f.leads(m) {
				continue
			}
			f.kill(m)
			time.Sleep(2 * time.Second) // Calls go on meanwhile.
			f.rise(m)
			return
		}
	})
}

// leads reports whether a node is the leader now.
func (f *fleetOfThree) leads(m *machine) bool {
	answer, err := http.Get(f.url(m) + "/readyz?leader")
	require.NoError(f.t, err)
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// The same behind nginx, which learns only from answers to calls. Callers with an
// Idempotency-Key notice nothing. Other callers may hit the moment in which a node closes:
// they get the error that the outcome is unknown, or the refusal of a node that leaves or starts
// if they meet such nodes three times, and no other error.
func TestNginxHidesRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts real processes")
	}
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed: not tried")
	}
	f := newFleetOfThree(t)
	url := f.frontNginx()
	f.requireUnharmed(url, true, f.roll)
	failed, calls := f.load(url, false, f.roll)
	require.Greater(t, calls, int64(100))
	for _, call := range failed {
		require.Regexp(t, ` 503 <nil> \{"error":"(outcome_unknown|shutting_down|no_leader)","code":"`, call)
	}
	require.LessOrEqual(t, len(failed), len(f.machines)*4, "of each caller one at each node's end: %v", failed)
}
