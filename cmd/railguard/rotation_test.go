package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The cluster secret is exchanged on one node after the other, under load: first all
// believe the new one, then all go by it, then none believes the old one any more. What
// the old one had sealed still opens; whoever knows it alone gets nowhere.
func TestClusterSecretIsExchanged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	const fresh = "another cluster secret of the operators tests"
	p := newPark(t, 3)
	p.form()
	n1 := p.machines[0]
	agent, token := p.agent(n1, "steady payer")
	load := p.steadily(token)
	for _, step := range [][]string{
		{"RAILGUARD_CLUSTER_SECRET=" + parkSecret, "RAILGUARD_CLUSTER_SECRET_ALSO=" + fresh},
		{"RAILGUARD_CLUSTER_SECRET=" + fresh, "RAILGUARD_CLUSTER_SECRET_ALSO=" + parkSecret},
		{"RAILGUARD_CLUSTER_SECRET=" + fresh, "RAILGUARD_CLUSTER_SECRET_OLD=" + parkSecret},
	} {
		for _, m := range p.machines {
			m.env = step
			p.swap(m, p.binary)
		}
	}
	load.end(agent)
	p.requireOneState()
	// New keys are sealed under the new secret; tokens of the old ones stay good.
	p.must("signing-key", "rotate", "--emergency", "--confirm", "emergency", "--reason", "the secret was exchanged", "--admin", p.adminURL(n1))
	p.must("log-key", "rotate", "--reason", "the secret was exchanged", "--admin", p.adminURL(n1))
	_, second := p.agent(p.machines[1], "second payer")
	for _, m := range p.machines {
		for _, one := range []string{second, token} {
			status, answer := p.keyed(m, m.id+one[len(one)-8:], `{"token":"`+one+`","amount":1,"cpName":"Plain Harbour Bakery"}`)
			require.Equal(t, http.StatusOK, status, answer)
			require.NotEqual(t, "UNKNOWN", answer["verdict"], m.id)
		}
	}

	late := p.add("n4") // It knows the old secret alone.
	p.start(late)
	require.Eventually(t, func() bool {
		answer, err := p.client.Get(p.url(late) + "/livez")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	}, 30*time.Second, 50*time.Millisecond)
	require.Never(t, func() bool {
		status, _ := p.ask(late, "GET", "/readyz", "")
		return status == http.StatusOK
	}, 4*time.Second, 200*time.Millisecond)
	status := p.want(n1, http.StatusOK, "GET", "/v1/cluster/status", "")
	require.Len(t, status["nodes"], 3)
	p.kill(late)

	p.stop(n1) // Without the old one what it sealed cannot be opened: the node says so.
	n1.env = []string{"RAILGUARD_CLUSTER_SECRET=" + fresh}
	p.start(n1)
	require.NoError(t, n1.child.Wait(30*time.Second))
	require.Equal(t, exitUsage, n1.child.Command.ProcessState.ExitCode())
	n1.child = nil
	require.Contains(t, p.said(n1), "this is not the secret of cluster")
}
