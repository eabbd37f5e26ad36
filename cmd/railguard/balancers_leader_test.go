package main

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Behind each balancer with its file from deploy/: a leader that is killed, or vanishes, makes no
// call fail that reads or has a key; and what no node can answer is refused in JSON.
func TestBalancersHideElections(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real processes")
	}
	fronts := map[string]func(*fleetOfThree) string{"haproxy": (*fleetOfThree).frontHAProxy, "nginx": (*fleetOfThree).frontNginx}
	var f *fleetOfThree
	var urls []string
	for _, name := range []string{"haproxy", "nginx"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Log(name + " is not installed: not tried")
			continue
		}
		if f == nil {
			f = newFleetOfThree(t)
		}
		url := fronts[name](f)
		t.Log(name)
		f.requireElections(url, electionsTried)
		f.requireNoneHeld(url)
		urls = append(urls, url)
	}
	if f == nil {
		t.Skip("neither HAProxy nor nginx is installed: not tried")
	}
	f.requireAlone(urls)
}

// electionsTried is how often the leader is killed behind each balancer.
const electionsTried = 2

// requireElections kills the leader a few times, at 60 calls a second with a key and reads beside
// them: neither may fail, and the longest call may take as long as an election.
func (f *fleetOfThree) requireElections(url string, kills int) {
	f.t.Helper()
	f.pause = 66 * time.Millisecond
	client := &http.Client{Timeout: 30 * time.Second}
	var refused []string
	reads := 0
	failed, calls := f.load(url, true, func() {
		for range kills {
			leader := f.leader()
			f.kill(leader)
			for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
				reads++
				for _, path := range []string{"/v1/agents/" + f.id, "/v1/.well-known/jwks.json"} {
					if status, text, err := get(client, url+path); err != nil || status != http.StatusOK {
						refused = append(refused, fmt.Sprintf("%s %s %d %v %.200s", time.Now().Format("05.000"), path, status, err, text))
					}
				}
			}
			f.rise(leader)
		}
	})
	f.t.Logf("%d kills of the leader: %d of %d keyed calls failed, %d of %d reads", kills, len(failed), calls, len(refused), 2*reads)
	require.Empty(f.t, failed, "of %d calls", calls)
	require.Empty(f.t, refused, "of %d reads", 2*reads)
	f.pause = 5 * time.Millisecond
}

// get makes one read.
func get(client *http.Client, url string) (status int, text string, err error) {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+parkKey)
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(raw), err
}

// leader returns the machine that leads now.
func (f *fleetOfThree) leader() (leader *machine) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		for _, m := range f.machines {
			if leader = m; f.leads(m) {
				return true
			}
		}
		return false
	}, 30*time.Second, 20*time.Millisecond)
	return leader
}

// requireAlone leaves one node of three: what needs no leader is answered, and what needs one is
// refused with JSON that says what happened. Then no node is left.
func (f *fleetOfThree) requireAlone(urls []string) {
	f.t.Helper()
	for _, m := range f.machines[1:] {
		f.kill(m)
	}
	time.Sleep(3 * time.Second) // The balancers have seen it, and the node is silent.
	for _, url := range urls {
		f.requireReads(url)
		f.requireRefusals(url)
	}
	f.kill(f.machines[0])
	for _, url := range urls {
		f.requireRefusals(url)
		status, text, err := get(&http.Client{}, url+"/v1/agents/"+f.id)
		require.NoError(f.t, err)
		require.Equal(f.t, http.StatusServiceUnavailable, status, text)
		require.Contains(f.t, text, `"code":"no_leader"`)
	}
}

// requireReads requires what a node answers that has no group.
func (f *fleetOfThree) requireReads(url string) {
	f.t.Helper()
	for _, path := range []string{"/v1/.well-known/jwks.json", "/log/checkpoint"} {
		status, text, err := get(&http.Client{}, url+path)
		require.NoError(f.t, err)
		require.Equal(f.t, http.StatusOK, status, "%s: %s", path, text)
	}
}

// requireRefusals requires that no verdict is given, and that callers are told in JSON.
func (f *fleetOfThree) requireRefusals(url string) {
	f.t.Helper()
	body := `{"token":"` + f.token + `","amount":0.01,"cpName":"Plain Harbour Bakery"}`
	for _, key := range []string{"", fmt.Sprint("alone-", time.Now().UnixNano())} {
		status, text, err := post(&http.Client{Timeout: 30 * time.Second}, url+"/v1/screen", key, body)
		require.NoError(f.t, err)
		require.Equal(f.t, http.StatusServiceUnavailable, status, text)
		require.Regexp(f.t, `^\{.*"code":"(no_leader|no_quorum|outcome_unknown)"`, text)
	}
}

// requireNoneHeld stops the process of the leader as if its machine had vanished: connections are
// there, and nobody answers. A keyed verdict waits for one deadline of the balancer, not longer.
func (f *fleetOfThree) requireNoneHeld(url string) {
	f.t.Helper()
	client := &http.Client{Timeout: 30 * time.Second}
	leader := f.leader()
	require.NoError(f.t, leader.child.Command.Process.Signal(syscall.SIGSTOP))
	answers := make(chan string, 6)
	for n := range cap(answers) { // Some of them at the node that vanished.
		go func() {
			began := time.Now()
			status, text, err := post(client, url+"/v1/screen", fmt.Sprintf("held-%d-%d", began.UnixNano(), n), `{"token":"`+f.token+`","amount":0.01,"cpName":"Plain Harbour Bakery"}`)
			if took := time.Since(began); err != nil || status != http.StatusOK || took > 8*time.Second {
				answers <- fmt.Sprintf("%d %v %.200s after %v", status, err, text, took)
				return
			}
			answers <- ""
		}()
	}
	for range cap(answers) {
		require.Empty(f.t, <-answers)
	}
	require.NoError(f.t, leader.child.Command.Process.Signal(syscall.SIGCONT))
	f.awaitReady(leader, "exclude=list")
}
