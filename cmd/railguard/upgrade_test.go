package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// steady is load that never stops while a cluster is upgraded: payments of 1 USD, each with an
// Idempotency-Key. If a node answers 503 or is gone, the payment is tried at the next one.
type steady struct {
	p       *park
	token   string
	cancel  context.CancelFunc
	callers sync.WaitGroup

	mu       sync.Mutex
	answered []string // Transactions.
	paid     int      // How many of them got PROCEED.
	failed   []string
}

func (p *park) steadily(token string) *steady {
	ctx, cancel := context.WithCancel(p.t.Context())
	s := &steady{p: p, token: token, cancel: cancel}
	for caller := range 3 {
		s.callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s.one(caller, n)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	return s
}

func (s *steady) one(caller, n int) {
	body := fmt.Sprintf(`{"token":%q,"amount":1,"cpName":"Plain Harbour Bakery"}`, s.token)
	said := ""
	for try := range 6 { // First another node at once; then a pause as Retry-After demands, on a machine with other work.
		if try > 1 {
			time.Sleep(500 * time.Millisecond)
		}
		m := s.p.machines[(caller+n+try)%len(s.p.machines)]
		status, answer := s.p.keyed(m, fmt.Sprintf("steady-%d-%d", caller, n), body)
		if txn, _ := answer["txnId"].(string); status == http.StatusOK {
			s.mu.Lock()
			s.answered = append(s.answered, txn)
			if answer["verdict"] == "PROCEED" { // Otherwise the verdict is REVIEW: more than 60 calls in a minute.
				s.paid++
			}
			s.mu.Unlock()
			return
		}
		said += fmt.Sprintf("%s %s: %d %v; ", time.Now().Format("05.000"), m.id, status, answer)
		if status != 0 && status != http.StatusServiceUnavailable {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, said)
}

// keyed makes one screening call with an Idempotency-Key.
func (p *park) keyed(m *machine, key, body string) (int, map[string]any) {
	r, err := http.NewRequest(http.MethodPost, p.url(m)+"/v1/screen", strings.NewReader(body))
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	r.Header.Set("Authorization", "Bearer "+parkKey)
	r.Header.Set("Idempotency-Key", key)
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer answer.Body.Close()
	var members map[string]any
	_ = json.NewDecoder(answer.Body).Decode(&members)
	return answer.StatusCode, members
}

// end stops the load. It requires that no payment was refused and that each is counted once.
func (s *steady) end(agent string) {
	s.p.t.Helper()
	s.cancel()
	s.callers.Wait()
	require.Empty(s.p.t, s.failed)
	require.Greater(s.p.t, len(s.answered), 100)
	require.NotZero(s.p.t, s.paid)
	unique := map[string]bool{}
	for _, txn := range s.answered {
		unique[txn] = true
	}
	require.Len(s.p.t, unique, len(s.answered), "an id was given out twice")
	for _, m := range s.p.machines {
		limits := s.p.want(m, http.StatusOK, "GET", "/v1/agents/"+agent+"/limits?consistency=leader", "")
		require.EqualValues(s.p.t, s.paid, limits["spentUSDC"], "what %s counts", m.id)
		for _, txn := range []string{s.answered[0], s.answered[len(s.answered)/2], s.answered[len(s.answered)-1]} {
			s.p.want(m, http.StatusOK, "GET", "/v1/audit/"+txn, "")
		}
	}
}

// swap restarts a machine's node, in order, with another binary.
func (p *park) swap(m *machine, binary string) {
	p.t.Helper()
	p.stop(m)
	m.binary = binary
	p.start(m)
	p.awaitReady(m, "")
	other := p.machines[0]
	if other == m {
		other = p.machines[1]
	}
	p.must("cluster", "wait", "--node", m.id, "--url", p.url(other), "--patience", "2m")
}

// lease returns how long a claim of a review lasts on a node. It is a limit of the format,
// which the next format doubles.
func (p *park) lease(m *machine, token string) time.Duration {
	p.t.Helper()
	verdict, txn := p.pay(m, token, 5000)
	require.Equal(p.t, "REVIEW", verdict)
	claim := p.want(m, http.StatusOK, "POST", "/v1/queue/"+txn+"/claim", `{"assignee":"carla"}`)
	until, err := time.Parse(time.RFC3339Nano, claim["leaseExpiresAt"].(string))
	require.NoError(p.t, err)
	return time.Until(until).Round(time.Minute)
}

// requireOneState waits until all nodes show a digest for the same index, and compares them.
func (p *park) requireOneState() {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		seen := map[string]bool{}
		for _, m := range p.machines {
			_, status := p.ask(m, "GET", "/v1/cluster/status", "")
			seen[fmt.Sprint(status["fsmHashIndex"], status["fsmHash"])] = true
		}
		return len(seen) == 1
	}, slowPatience, 200*time.Millisecond, "states differ")
}

// progress runs `railguard cluster upgrade status`.
func (p *park) progress(args ...string) (u struct {
	Left    []string
	Format  int
	AllKnow int
	Next    string
}) {
	p.t.Helper()
	out := p.must(append([]string{"cluster", "upgrade", "status", "-o", "json", "--url", p.url(p.machines[0]), "--to", "9.0.0"}, args...)...)
	require.NoError(p.t, json.Unmarshal([]byte(out), &u))
	return u
}

// A cluster goes from today's release to the next one, back, and forward again, node by node
// under load. Then the format is raised for good. An old release says that it is too old, and
// stops.
func TestRollingUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newParkAlone(t, 3)
	next := nextProduct(t)
	p.form()
	n1, n2, n3 := p.machines[0], p.machines[1], p.machines[2]
	agent, token := p.agent(n1, "steady payer")
	_, reviewed := p.agent(n1, "reviewed payer")
	plan := p.must("cluster", "upgrade", "plan", "--to", "9.0.0", "--url", p.url(n1))
	require.Regexp(t, `order: n\d, n\d, n\d \(the leader last\)`, plan)

	load := p.steadily(token)
	p.swap(n1, next)
	p.swap(n2, next)
	half := p.progress()
	require.Equal(t, []string{"n3"}, half.Left)
	require.Contains(t, half.Next, "next: stop n3 in order")
	require.Equal(t, []int{1, 1}, []int{half.Format, half.AllKnow})
	for _, m := range p.machines {
		require.Equal(t, 10*time.Minute, p.lease(m, reviewed), "%s computes as the old release does", m.id)
	}
	require.Contains(t, p.refusedFinalize(), "not every member knows 2")
	code, answer := p.ask(n1, "POST", "/v1/cluster/format", `{"to":2}`)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, answer["message"], "n3 (release "+version+") knows formats up to 1")
	p.must("cluster", "transfer-leader", "--to", "n2", "--url", p.url(n1)) // A node of the next release leads.
	_, _ = p.pay(n3, reviewed, 1)
	p.swap(n1, p.binary) // The leader goes back to the old release, which is possible as long as the format was not raised.
	p.must("cluster", "transfer-leader", "--to", "n1", "--url", p.url(n1))
	p.swap(n1, next)
	p.swap(n3, next)
	p.requireOneState()
	whole := p.progress()
	require.Empty(t, whole.Left)
	require.Equal(t, []int{1, 2}, []int{whole.Format, whole.AllKnow})
	require.Contains(t, whole.Next, "finalize")
	require.Contains(t, p.must("cluster", "status", "--url", p.url(n2)), "finish the upgrade")
	require.Equal(t, 10*time.Minute, p.lease(n2, reviewed), "nothing has changed yet")

	_, complaint, code := p.cli("cluster", "upgrade", "finalize", "--url", p.url(n1), "--to", "9.0.0", "--confirm", "cl_another")
	require.Equal(t, exitUsage, code, complaint)
	p.finalize(n1)
	for _, m := range p.machines {
		require.Equal(t, 20*time.Minute, p.lease(m, reviewed), "%s computes by the next format", m.id)
	}
	p.requireOneState()
	done := p.progress()
	require.Contains(t, done.Next, "done")
	require.Equal(t, 2, done.Format)
	require.Contains(t, p.must("cluster", "upgrade", "finalize", "--url", p.url(n1), "--to", "9.0.0"), "nothing to do")
	load.end(agent)
	p.tooOld(n3)
}

// refusedFinalize tries to finalize an upgrade too early.
func (p *park) refusedFinalize() string {
	p.t.Helper()
	_, complaint, code := p.cli("cluster", "upgrade", "finalize", "--url", p.url(p.machines[0]), "--to", "9.0.0")
	require.Equal(p.t, exitFailed, code, complaint)
	return complaint
}

// finalize finalizes an upgrade and types the cluster's id.
func (p *park) finalize(m *machine) {
	p.t.Helper()
	for _, other := range p.machines { // The node that was swapped last is the last one that the others see again.
		p.must("cluster", "wait", "--node", other.id, "--url", p.url(m), "--patience", "2m")
	}
	status := p.want(m, http.StatusOK, "GET", "/v1/cluster/status", "")
	var raised map[string]any
	out := p.must("cluster", "upgrade", "finalize", "--url", p.url(m), "--to", "9.0.0", "--confirm", status["clusterId"].(string), "--reason", "release 9", "--by", "ada", "-o", "json")
	require.NoError(p.t, json.Unmarshal([]byte(out), &raised))
	require.EqualValues(p.t, 2, raised["featureLevel"])
	require.EqualValues(p.t, 1, raised["previousFormat"])
	require.Equal(p.t, "ada", raised["actor"])
}

// tooOld starts today's release where the next one's format is in force: on a member's folder
// with a log, on one with a snapshot, and on an empty folder that joins.
func (p *park) tooOld(m *machine) {
	p.t.Helper()
	before := len(p.said(m))
	p.stop(m)
	m.binary = p.binary
	p.start(m)
	require.Contains(p.t, p.gaveUp(m)[before:], "upgrade this node")
	m.binary = nextProduct(p.t)
	p.start(m)
	p.awaitReady(m, "")
	p.must("cluster", "snapshot", "--url", p.url(m))
	before = len(p.said(m))
	p.stop(m)
	m.binary = p.binary
	p.start(m)
	require.Contains(p.t, p.gaveUp(m)[before:], "upgrade this node")
	m.binary = nextProduct(p.t)
	p.start(m)
	p.awaitReady(m, "")
	late := p.add("n4")
	p.start(late)
	said := p.gaveUp(late)
	require.Contains(p.t, said, "too old for the format that the group computes by: upgrade this node")
	require.Equal(p.t, 1, strings.Count(said, "FATAL: this node stops"), said)
}

// gaveUp waits until a node ends with exit code 70, and returns what it logged.
func (p *park) gaveUp(m *machine) string {
	p.t.Helper()
	select {
	case <-m.child.Done:
	case <-time.After(slowPatience):
		require.Fail(p.t, "it goes on", "%s: %s", m.id, p.said(m))
	}
	code := m.child.Command.ProcessState.ExitCode()
	m.child = nil
	require.Equal(p.t, exitFatal, code, p.said(m))
	return p.said(m)
}
