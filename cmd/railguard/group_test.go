package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/cluster/recorder"
	"railguard/cluster/report"
	"railguard/cluster/testcluster"
	"railguard/fsm/wire"
	"railguard/httpapi"
	"railguard/httpapi/cosigning"
	"railguard/httpapi/operations"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
	"railguard/ofac/keeper"
	"railguard/ofac/sample"
	"railguard/seal"
)

const (
	groupKey    = "rg_live_key_of_the_groups_of_these_tests"
	groupSecret = "the cluster secret of these tests"
)

// group is several complete nodes, with their APIs, in this process.
type group struct {
	t     testing.TB
	dir   string
	hosts map[string]string

	witnesses []cosigning.Witness // Those whom the nodes ask to cosign; set before a node is opened.
	flights   bool                // Nodes keep what they record; set before a node is opened.
	policy    *cosigning.Policy   // What is handed out as cosigned meets it; nil: none.

	mu    sync.RWMutex // Guards nodes. Calls hold it for reading, so that no node closes during a call.
	nodes map[string]*groupNode
}

type groupNode struct {
	node *cluster.Node
	api  *httpapi.API
	dir  string
}

// newGroup prepares nodes, n1 to n3 unless named, and opens none. From here the test waits beside
// others.
func newGroup(t testing.TB, ids ...string) *group {
	waitBeside(t)
	return newGroupAlone(t, ids...)
}

// newGroupAlone is newGroup for a test in which a call may not be late, or that changes the environment.
func newGroupAlone(t testing.TB, ids ...string) *group {
	g := &group{t: t, dir: t.TempDir(), hosts: map[string]string{}, nodes: map[string]*groupNode{}}
	if len(ids) == 0 {
		ids = []string{"n1", "n2", "n3"}
	}
	for _, id := range ids {
		ports, err := testcluster.FreePorts(1)
		require.NoError(t, err)
		g.hosts[id] = ports[0]
	}
	t.Cleanup(func() {
		for id := range g.nodes {
			g.close(id)
		}
		for _, host := range g.hosts {
			testcluster.ReleasePorts(host)
		}
	})
	return g
}

// open starts a node that supports the given versions of the matcher.
func (g *group) open(id string, matchers ofac.Matchers) *groupNode {
	secrets := seal.NewSecrets([]byte(groupSecret))
	genesis, err := seal.NewGenesis(seal.GenesisOptions{Secrets: secrets, PublicURL: "https://pay.example.com", Dev: true, TestClock: true, APISecret: groupKey})
	require.NoError(g.t, err)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if os.Getenv("RAILGUARD_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", id)
	}
	var flight operations.Flight
	if g.flights {
		said, err := newLogs(io.Discard, "info", "json")
		require.NoError(g.t, err)
		log = said.Logger
		flight = operations.Flight{Recorder: recorder.New(time.Now), Newest: said.newest, Settings: [][3]string{{"id", id, "flag"}}, Commit: "abc"}
	}
	var peers []string
	for peer, host := range g.hosts {
		if peer != id {
			peers = append(peers, host)
		}
	}
	node, err := cluster.Open(cluster.Config{
		ID: id, DataDir: filepath.Join(g.dir, id), ListenCluster: g.hosts[id], APIAddr: id, Join: peers, BootstrapExpect: len(g.hosts),
		Genesis: func() wire.Genesis { return genesis }, Secret: []byte(groupSecret), Version: "test", Logger: log, Recorder: flight.Recorder, Matchers: matchers,
		// Nobody replaces a leader whose disk or machine stood still for a moment, and no node is
		// silent, so no call fails for that.
		Timing:        cluster.Timing{Heartbeat: 1500 * time.Millisecond, Stall: 20 * time.Second},
		WriteDeadline: 20 * time.Second, SilentAfter: 20 * time.Second,
	})
	require.NoError(g.t, err)
	api, err := httpapi.New(httpapi.Deps{
		Jobs:     datadir.NewShelf(filepath.Join(g.dir, id, datadir.JobFolder)),
		Proposer: node, Published: node, Records: node, Lists: node, Operations: node, Neighbours: node.Neighbours(), Relay: relay{node}, Secrets: secrets,
		Backup: backup.Saver(node, filepath.Join(g.dir, id)), LoadList: keeper.EncodeFiles, JoinList: joinList, ListFiles: rulebook.ListsIn(filepath.Join(g.dir, id, "lists")), Node: id, Version: "test", Logger: log, WriteDeadline: 20 * time.Second,
		Witnesses: g.witnesses, LogPolicy: g.policy, Flight: flight,
	})
	require.NoError(g.t, err)
	n := &groupNode{node, api, filepath.Join(g.dir, id)}
	g.mu.Lock()
	g.nodes[id] = n
	g.mu.Unlock()
	return n
}

// close stops a node as a rolling restart does, when no call is in progress on it.
func (g *group) close(id string) {
	g.mu.Lock()
	n := g.nodes[id]
	delete(g.nodes, id)
	g.mu.Unlock()
	if n != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		n.api.Close()
		require.NoError(g.t, n.node.Drain(ctx))
		require.NoError(g.t, n.node.Close())
	}
}

// die stops a node without telling the others.
func (g *group) die(id string) {
	g.mu.Lock()
	n := g.nodes[id]
	delete(g.nodes, id)
	g.mu.Unlock()
	n.api.Close()
	require.NoError(g.t, n.node.Close())
}

// form starts all nodes and waits until they serve.
func (g *group) form(matchers ofac.Matchers) {
	var all sync.WaitGroup
	for id := range g.hosts {
		all.Go(func() { g.open(id, matchers) })
	}
	all.Wait()
	require.Eventually(g.t, func() bool { return g.leader() != nil && g.nodes["n1"].node.Settings().Genesis != nil }, slowPatience, 10*time.Millisecond)
	for _, n := range g.nodes { // A node that has just started answers nothing.
		require.Eventually(g.t, func() bool { return n.node.Currentness() == report.Current }, slowPatience, 10*time.Millisecond)
	}
}

func (g *group) leader() *groupNode {
	for _, n := range g.nodes {
		if n.node.Role() == "leader" {
			return n
		}
	}
	return nil
}

// awaitReady waits until every node is ready for calls from a balancer.
func (g *group) awaitReady() {
	g.t.Helper()
	for id, n := range g.nodes {
		require.Eventually(g.t, func() bool { return n.node.Ready(g.t.Context(), report.ReadyQuery{Sync: true}).Ready }, slowPatience, 20*time.Millisecond,
			"%s: %v", id, n.node.Ready(g.t.Context(), report.ReadyQuery{}))
	}
}

// useSample makes the embedded sample list the active one.
func (g *group) useSample() {
	entities, err := ofac.EncodeEntities(sample.Entities(), sample.Meta())
	require.NoError(g.t, err)
	g.activate(entities, wire.ListInfo{Source: "sample", Entries: uint32(len(sample.Entities())), SDN: uint32(len(sample.Entities())), Sample: true})
}

// activate makes a list the active one. It goes to the next leader if one steps back meanwhile.
func (g *group) activate(entities []byte, info wire.ListInfo) {
	g.t.Helper()
	try := func(step func(leader *groupNode) error) {
		g.t.Helper()
		err := errors.New("nobody leads")
		require.Eventually(g.t, func() bool {
			if leader := g.leader(); leader != nil {
				err = step(leader)
			}
			return err == nil || errors.Is(err, wire.ErrUnknown)
		}, slowPatience, electionPause)
		require.NoError(g.t, err)
	}
	try(func(leader *groupNode) error {
		_, err := leader.node.Stage(g.t.Context(), entities, info, false, wire.Common{})
		return err
	})
	var r wire.Result
	try(func(leader *groupNode) (err error) {
		r, err = leader.node.Propose(g.t.Context(), wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: ofac.Digest(entities)}))
		return err
	})
	require.Equal(g.t, wire.Applied, r.Code)
}

// call makes a call of the public API and returns its status and answer.
func (n *groupNode) call(method, path, body string) (int, map[string]any) {
	return serveCall(n.api.Handler(), groupKey, method, path, body)
}

// admin makes a call on the admin listener.
func (n *groupNode) admin(method, path, body string) (int, map[string]any) {
	return serveCall(n.api.AdminHandler(), groupKey, method, path, body)
}

func serveCall(handler http.Handler, key, method, path, body string) (int, map[string]any) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return w.Code, answer
}

// must makes a call that has to succeed, again while a leader is chosen.
func (n *groupNode) must(t testing.TB, status int, method, path, body string) map[string]any {
	t.Helper()
	require.NotNil(t, n, "nobody leads")
	code, answer := n.call(method, path, body)
	for until := time.Now().Add(slowPatience); code != status && undecided(code, answer) && time.Now().Before(until); {
		time.Sleep(electionPause)
		code, answer = n.call(method, path, body)
	}
	require.Equal(t, status, code, "%s %s: %v", method, path, answer)
	return answer
}

// token registers an agent and returns its credential.
func (n *groupNode) token(t testing.TB) string {
	answer := n.must(t, http.StatusCreated, "POST", "/v1/agents/register", `{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays"}`)
	token, ok := answer["token"].(string)
	if !ok {
		token, ok = answer["credential"].(string)
	}
	require.True(t, ok, "%v", answer)
	return token
}
