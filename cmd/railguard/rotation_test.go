package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The cluster secret is exchanged under load, on one node after the other: first all nodes
// accept the new secret, then all use it, then none accepts the old one. Values sealed under
// the old secret can still be opened, but a node that has only the old secret is refused.
func TestClusterSecretIsExchanged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	const fresh = "e91d5b3a70c84f26a2f07e6c1d98b4535fa6c30e8b7142d9e0657ac41f38db92"
	p := newParkAlone(t, 3)
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
	// New keys are sealed under the new secret; tokens of the old keys stay valid.
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

	late := p.add("n4") // This node has only the old secret.
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

	p.stop(n1) // Without the old secret, values sealed under it cannot be opened, and the node says so.
	n1.env = []string{"RAILGUARD_CLUSTER_SECRET=" + fresh}
	p.start(n1)
	require.NoError(t, n1.child.Wait(slowPatience))
	require.Equal(t, exitUsage, n1.child.Command.ProcessState.ExitCode())
	n1.child = nil
	require.Contains(t, p.said(n1), "this is not the secret of cluster")
	n1.env = []string{"RAILGUARD_CLUSTER_SECRET=" + fresh, "RAILGUARD_CLUSTER_SECRET_OLD=" + parkSecret}
	p.start(n1)
	p.awaitReady(n1, "")
}

// Values sealed under the former cluster secret are sealed anew while the cluster serves. Then
// every node, even one whose folder is older than that, starts without the former secret,
// signs, sends webhooks and finds an EIN. A backup can be restored with the new secret alone.
func TestFormerSecretIsRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	const fresh = "e91d5b3a70c84f26a2f07e6c1d98b4535fa6c30e8b7142d9e0657ac41f38db92"
	p := newParkAlone(t, 3)
	p.form()
	n1, n2, n3 := p.machines[0], p.machines[1], p.machines[2]
	agent, token := p.agent(n1, "steady payer")
	owner := p.want(n1, http.StatusCreated, "POST", "/v1/agents/register", `{"agentName":"numbered","agentType":"supervised","operatorLegalName":"Parked Works","purpose":"tests","operatorEIN":"12-3456789"}`)
	hook := p.want(n1, http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://hooks.example.org/in"}`)
	p.must("signing-key", "rotate", "--emergency", "--confirm", "emergency", "--reason", "a retired key", "--admin", p.adminURL(n1))

	for _, m := range p.machines { // Another test covers the rounds of the exchange.
		p.stop(m)
	}
	for _, m := range p.machines {
		m.env = []string{"RAILGUARD_CLUSTER_SECRET=" + fresh, "RAILGUARD_CLUSTER_SECRET_OLD=" + parkSecret}
		p.start(m)
	}
	for _, m := range p.machines {
		p.awaitReady(m, "")
	}
	require.Contains(t, p.must("cluster", "status", "--url", p.url(n1)), "must stay set")
	looked, _, _ := p.cli("doctor", "--url", p.url(n1))
	require.Contains(t, looked, `finish its exchange: "Keys" in docs/OPERATING.md`)
	load := p.steadily(token)
	p.stop(n3) // This node misses what follows until it starts without the former secret.
	out, progress, code := p.cli("cluster-secret", "reseal", "--reason", "exchanged", "--admin", p.adminURL(n1))
	require.Zero(t, code, progress)
	require.Contains(t, out, "RAILGUARD_CLUSTER_SECRET_OLD may be removed")
	require.Contains(t, progress, "2 of 2 agents looked at")
	require.Contains(t, p.must("cluster-secret", "status", "--admin", p.adminURL(n2)), "may be removed")
	for _, m := range []*machine{n3, n1, n2} {
		if m.child != nil {
			p.stop(m)
		}
		m.env = []string{"RAILGUARD_CLUSTER_SECRET=" + fresh}
		p.start(m)
		p.awaitReady(m, "")
	}
	load.end(agent)
	p.requireOneState()
	require.Contains(t, p.must("cluster-secret", "status", "--admin", p.adminURL(n3)), "this node has none of before")

	for _, m := range p.machines {
		p.want(m, http.StatusCreated, "POST", "/v1/agents/register", `{"agentName":"after","agentType":"supervised","operatorLegalName":"Parked Works","purpose":"tests"}`)
		_, keys := p.ask(m, "GET", "/v1/webhooks/"+fmt.Sprint(hook["webhook"].(map[string]any)["webhookId"]), "")
		require.Equal(t, hook["webhook"].(map[string]any)["publicKeys"], keys["publicKeys"], "the key that signs its messages opens")
	}
	id := fmt.Sprint(owner["agentId"])
	shown := p.want(n3, http.StatusOK, "GET", "/v1/agents/"+id, "")
	require.Equal(t, "**-***6789", shown["operatorEIN"], shown)
	same := p.want(n3, http.StatusCreated, "POST", "/v1/agents/"+id+"/reissue", `{"operatorEIN":"123456789"}`)
	require.Equal(t, false, same["superseded"], "it is the same number")

	file := filepath.Join(p.dir, "after.rgbackup")
	p.must("backup", "create", "--file", file, "--recipient", p.recipient, "--url", p.url(n1))
	report, why := p.drilled([]string{"RAILGUARD_CLUSTER_SECRET=" + fresh}, "--file", file)
	require.True(t, report.Sleep, why)
}
