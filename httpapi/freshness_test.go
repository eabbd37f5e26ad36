package httpapi

import (
	"context"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// follower is a node that lags behind the cluster until it asks the leader or waits for an
// index.
type follower struct {
	*testNode
	leader   *API
	held     bool
	index    uint64
	settings *fsm.Settings
	agents   map[engine.AgentSlot]*engine.AgentProfile
	asked    int // Questions to the leader.
	slow     time.Duration
	blind    int  // So many of them tell nothing new.
	hangs    bool // The leader does not answer.
}

// newFollower makes a follower answer all later calls of n.
func newFollower(t *testing.T) *follower {
	f := &follower{testNode: newTestNode(t)}
	api, err := New(Deps{
		Proposer: f.testNode, Published: f, Records: f, Lists: f, Operations: f, Secrets: f.secrets, Node: "n2", Version: "0.0.0-test",
		AdminToken: "admin-token-of-the-tests", Now: f.deps.Now,
	})
	require.NoError(t, err)
	f.leader, f.testNode.api = f.testNode.api, api
	return f
}

// fallBehind freezes the node's state.
func (f *follower) fallBehind() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.held, f.asked = true, 0
	f.index, f.settings, f.agents = f.testNode.index, f.testNode.settings, maps.Clone(f.testNode.agents)
}

func (f *follower) catchUp() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.held = false
}

func (f *follower) Applied() uint64 {
	if f.held {
		return f.index
	}
	return f.testNode.Applied()
}

func (f *follower) Settings() *fsm.Settings {
	if f.held {
		return f.settings
	}
	return f.testNode.Settings()
}

func (f *follower) Agent(slot engine.AgentSlot) *engine.AgentProfile {
	if f.held {
		return f.agents[slot]
	}
	return f.testNode.Agent(slot)
}

func (f *follower) ReadIndex(ctx context.Context) (uint64, error) {
	f.asked++
	if f.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if f.blind > 0 {
		f.blind--
		return f.index, nil
	}
	if f.readError == nil {
		f.catchUp()
	}
	return f.testNode.ReadIndex(ctx)
}

// Leaf is that of a node whose disk is slow.
func (f *follower) Leaf(ctx context.Context, index uint64) ([]byte, error) {
	time.Sleep(f.slow)
	return f.testNode.Leaf(ctx, index)
}

func (f *follower) WaitApplied(_ context.Context, index uint64) error {
	if index <= f.testNode.Applied() {
		f.catchUp()
	}
	return nil
}

func (n *testNode) WaitApplied(_ context.Context, index uint64) error {
	if index > n.Applied() {
		return context.DeadlineExceeded
	}
	return nil
}

// elsewhere makes a call through another node, which never lags.
func (f *follower) elsewhere(role, method, path, body string) *httptest.ResponseRecorder {
	here := f.api
	f.api = f.leader
	defer func() { f.api = here }()
	return f.do(role, method, path, body)
}

// A refusal that rests on old state is given only after the node asked the leader.
func TestRefusalsOnStateAskTheLeader(t *testing.T) {
	f := newFollower(t)
	list := `{"mode":"off","entries":[{"name":"Acme"}]}`
	for name, c := range map[string]struct {
		elsewhere [3]string
		here      [3]string
		match     string
		want      int
	}{
		"an entry added a moment ago is removed": {[3]string{"PUT", "/v1/whitelist", list}, [3]string{"DELETE", "/v1/whitelist/entries/${id}", ""}, "", 200},
		"the version answered a moment ago":      {[3]string{"PUT", "/v1/policy", `{"velocity":{"maxPerMinute":5}}`}, [3]string{"PUT", "/v1/policy", `{"velocity":{"maxPerMinute":4}}`}, "now", 200},
		"an entry that never was":                {[3]string{"PUT", "/v1/whitelist", list}, [3]string{"DELETE", "/v1/whitelist/entries/77", ""}, "", 404},
		"a version that never was":               {[3]string{"PUT", "/v1/whitelist", list}, [3]string{"PUT", "/v1/policy", `{}`}, `"9999"`, 412},
	} {
		t.Run(name, func(t *testing.T) {
			f.fallBehind()
			w := f.elsewhere("policy", c.elsewhere[0], c.elsewhere[1], c.elsewhere[2])
			require.Equal(t, 200, w.Code, w.Body)
			match := c.match
			if match == "now" {
				match = w.Header().Get("ETag")
			}
			require.True(t, f.held, "this node must not know yet")
			added := textOf(answer(t, w, 200), "entries", "0", "id")
			w = f.do("policy", c.here[0], strings.ReplaceAll(c.here[1], "${id}", added), c.here[2], "If-Match", match)
			require.Equal(t, c.want, w.Code, w.Body)
			require.Equal(t, 1, f.asked, "the leader is asked once")
		})
	}
	f.fallBehind()
	f.readError = wire.ErrNoLeader
	require.Equal(t, 503, f.do("policy", "DELETE", "/v1/whitelist/entries/77", "").Code, "without a leader nobody knows")
}

// A body that is invalid in any state causes no question to the leader.
func TestRefusalsOnTheCallAskNobody(t *testing.T) {
	f := newFollower(t)
	for _, body := range []string{`{}`, `{"mode":"odd","entries":[]}`, `{"x":1}`} {
		f.fallBehind()
		require.Equal(t, 422, f.do("policy", "PUT", "/v1/whitelist", body).Code, body)
		require.Zero(t, f.asked)
	}
}

// A delegate is judged against its parent's current state.
func TestWiderParentIsSeen(t *testing.T) {
	f := newFollower(t)
	parent, _ := f.register(`,"allowedCounterpartyTypes":["business"]`)
	f.fallBehind()
	require.Equal(t, 200, f.elsewhere("policy", "PATCH", "/v1/agents/"+parent, `{"allowedCounterpartyTypes":["business","exchange"],"reason":"r"}`).Code)
	require.True(t, f.held)
	w := f.do("operator", "POST", "/v1/delegates/create", `{"parentAgentId":"`+parent+`","agentName":"child","allowedCounterpartyTypes":["exchange"]}`)
	require.Equal(t, 201, w.Code, w.Body)
}

// A node that answered a write has applied it: the caller can read, change and screen with
// it there.
func TestNodeHasAppliedWhatItAnswers(t *testing.T) {
	f := newFollower(t)
	agent, token := f.register("")
	for _, c := range [][3]string{
		{"POST", "/v1/agents/" + agent + "/suspend", `{"reason":"r"}`},
		{"POST", "/v1/agents/" + agent + "/reinstate", `{"reason":"r"}`},
		{"PUT", "/v1/whitelist", `{"mode":"enforce","entries":[{"name":"Acme"}]}`},
		{"PATCH", "/v1/agents/" + agent, `{"allowedCounterpartyTypes":["business"]}`},
		{"PUT", "/v1/policy", `{}`},
		{"POST", "/v1/fleets/create", `{"fleetName":"f","operatorLegalName":"Acme","dailyLimitUSDC":1}`},
	} {
		f.fallBehind()
		w := f.do("admin", c[0], c[1], c[2])
		require.Less(t, w.Code, 300, w.Body)
		require.False(t, f.held, "%s %s was answered before it was applied here", c[0], c[1])
	}
	f.fallBehind()
	require.Equal(t, 201, f.doAdmin("POST", "/admin/keys", `{"name":"k","roles":"ops"}`).Code)
	require.False(t, f.held)
	f.fallBehind()
	f.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`)
	require.True(t, f.held, "a screening call waits for nobody")
}

// A whitelist that was never set stays off when it gets its first entry: the next payment
// to somebody else passes as before.
func TestAddingEntriesNeverEnforces(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.register("")
	pays := func() string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Somebody Else"}`), 200), "verdict")
	}
	for _, place := range []string{"/v1/whitelist", "/v1/agents/" + agent + "/whitelist"} {
		v := answer(t, n.do("policy", "POST", place+"/entries", `{"name":"Acme"}`), 200)
		require.Equal(t, "off", textOf(v, "mode"))
		require.Equal(t, "PROCEED", pays())
		answer(t, n.do("policy", "PUT", place, `{"mode":"enforce","entries":[{"name":"Acme"}]}`), 200)
		require.Equal(t, "enforce", textOf(answer(t, n.do("policy", "POST", place+"/entries", `{"name":"Beta","reason":"r"}`), 200), "mode"))
		require.Equal(t, "REVIEW", pays())
		answer(t, n.do("policy", "PUT", place, `{"mode":"off","reason":"r"}`), 200)
	}
}

func (n *testNode) ClocksAhead() engine.Time { return 0 }
