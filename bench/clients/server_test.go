package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/cluster/testcluster"
)

// cluster is a development cluster of real processes.
type cluster struct{ *testcluster.Development }

// startCluster starts nodes and stops them when the test ends. more are further arguments
// of railguard dev.
func startCluster(t *testing.T, nodes int, more ...string) *cluster {
	t.Helper()
	return &cluster{testcluster.StartDevelopment(t, nodes, more...)}
}

func (c *cluster) killLeader(t *testing.T) {
	for _, node := range c.Nodes {
		rail, err := client.New(client.Options{Addresses: []string{"http://" + node.HTTP}, Key: c.Key})
		require.NoError(t, err)
		health, err := rail.Health(t.Context())
		require.NoError(t, err)
		if health.Role == "leader" {
			out, err := exec.Command(c.Binary, "dev", "kill", node.ID, "--data", c.Folder).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return
		}
	}
	require.Fail(t, "no leader")
}

// settlerKey makes a key of the role settler at the admin listener. It is no key that screens.
func (c *cluster) settlerKey(t *testing.T) string {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.Nodes[0].Admin+"/admin/keys", strings.NewReader(`{"name":"rail","roles":["settler"]}`))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+c.Key)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	var made struct{ Key string }
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))
	require.NotEmpty(t, made.Key, answer.Status)
	return made.Key
}

// deaf is a proxy that drops every third answer: the server has carried out those calls,
// and the caller cannot know.
func deaf(t *testing.T, address string) (url string, broken *atomic.Int64) {
	var count atomic.Int64
	broken = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call, err := http.NewRequestWithContext(r.Context(), r.Method, address+r.URL.RequestURI(), r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		call.Header, call.ContentLength = r.Header.Clone(), r.ContentLength
		answer, err := http.DefaultTransport.RoundTrip(call)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		if err != nil || count.Add(1)%3 == 0 {
			broken.Add(1)
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(raw)
	}))
	t.Cleanup(server.Close)
	return server.URL, broken
}

// afternoon is what each example prints.
const afternoon = `registered
verified true
forged bad_signature
PROCEED held 100.1
same true
settled 99.5
released
BLOCK R6_COUNTERPARTY_WALLET_OFAC
REVIEW R10_SINGLE_TX_LIMIT
APPROVED
PROCEED redeemed
PROCEED invalid_field hold
spent 100.5
BLOCK R2_CREDENTIAL_STATUS
`

// TestAfternoon runs the example of each language against a real server, behind a proxy
// that loses answers. The output must not show it.
func TestAfternoon(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	servers := startCluster(t, 1)
	through, broken := deaf(t, servers.URLs()[0])
	settler := servers.settlerKey(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			spend(t, l, "RAILGUARD_URL="+through+","+servers.URLs()[0], "RAILGUARD_KEY="+servers.Key, "RAILGUARD_SETTLER_KEY="+settler)
		})
	}
	require.Positive(t, broken.Load())
}

// spend runs a language's example, which finds its server in the environment.
func spend(t *testing.T, l language, environment ...string) {
	command := l.command(t, "afternoon")
	command.Env = environment
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	require.NoError(t, await(t.Context(), command), failure.String())
	require.Equal(t, afternoon, strings.ReplaceAll(out.String(), "True", "true"))
}

// stormJob is one language's share of a storm.
type stormJob struct {
	Do       string   `json:"do"`
	URLs     []string `json:"urls"`
	Key      string   `json:"key"`
	Token    string   `json:"token"`
	Prefix   string   `json:"prefix"`
	Payments int      `json:"payments"`
}

const stormPayments = 150

// TestNoPaymentTwice: while each language pays, one address loses answers and the
// leader is killed; each payment is made, and none twice.
func TestNoPaymentTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	servers := startCluster(t, 3)
	through, broken := deaf(t, servers.URLs()[0])
	addresses := append([]string{through}, servers.URLs()[1:]...)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key, Deadline: time.Minute, Attempts: 200})
	require.NoError(t, err)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			var command *exec.Cmd
			if l.name != "go" {
				command = l.command(t, "drive")
			}
			agent, err := rail.Register(t.Context(), &client.Agent{AgentName: l.name, AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "storm"})
			require.NoError(t, err)
			work := stormJob{"storm", addresses, servers.Key, agent.Token, "storm-" + l.name, stormPayments}
			var made []string
			ended := make(chan error, 1)
			go func() {
				if command == nil {
					made, err = stormGo(t, &work)
					ended <- err
					return
				}
				ended <- run(t.Context(), command, work, &made)
			}()
			require.Eventually(t, func() bool {
				limits, err := rail.Limits(t.Context(), agent.AgentID)
				return err == nil && limits.SpentUSDC > 10*100_000
			}, time.Minute, time.Millisecond)
			servers.killLeader(t)
			require.NoError(t, <-ended)
			requireOnce(t, rail, agent.AgentID, made)
			servers.revive(t)
		})
	}
	require.Positive(t, broken.Load())
}

// revive restarts the nodes that were killed.
func (c *cluster) revive(t *testing.T) {
	for _, node := range c.Nodes {
		if answer, err := http.Get("http://" + node.HTTP + "/livez"); err == nil {
			answer.Body.Close()
			continue
		}
		out, err := exec.Command(c.Binary, "dev", "start", node.ID, "--data", c.Folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, c.AwaitReady(t.Context()))
}

func requireOnce(t *testing.T, rail *client.Client, agentID string, made []string) {
	require.Len(t, made, stormPayments)
	seen := map[string]bool{}
	for _, one := range made {
		require.True(t, strings.HasPrefix(one, "PROCEED txn_"), one)
		require.False(t, seen[one], one)
		seen[one] = true
	}
	limits := new(client.Limits)
	require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/agents/"+agentID+"/limits?consistency=leader", nil, "", limits))
	require.Equal(t, client.USD(stormPayments*100_000), limits.SpentUSDC)
}

func stormGo(t *testing.T, work *stormJob) ([]string, error) {
	rail, err := client.New(client.Options{Addresses: work.URLs, Key: work.Key, Deadline: time.Minute, Attempts: 200})
	if err != nil {
		return nil, err
	}
	var made []string
	for n := range work.Payments {
		verdict, err := rail.Screen(t.Context(), &client.Payment{Token: work.Token, Amount: 100_000, IdempotencyKey: fmt.Sprintf("%s-%d", work.Prefix, n)})
		if err != nil {
			return nil, err
		}
		made = append(made, verdict.Verdict+" "+verdict.TxnID)
	}
	return made, nil
}
