package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// A release with another matcher is rolled out node by node under load. No call to a ready
// node is refused, every verdict comes from the version in force, and all nodes change the
// version at the same record. An earlier verdict is replayed with the version that made it, or
// the node says that it cannot.
func TestMatcherUpgradeUnderLoad(t *testing.T) {
	const now, next = ofac.MatcherVersion, ofac.MatcherVersion + 1
	g := newGroup(t)
	g.form(ofac.Matchers{now})
	g.useSample()
	g.awaitReady()
	token := g.nodes["n1"].token(t)
	screening := `{"token":"` + token + `","amount":1,"cpName":"THE YOUTH"}` // A weak alias: only the next version reviews a payment to it.
	before := g.nodes["n2"].must(t, http.StatusOK, "POST", "/v1/screen", screening)
	require.Equal(t, "PROCEED", before["verdict"])

	load := g.startLoad(screening)
	for _, id := range []string{"n1", "n2", "n3"} {
		if id != "n1" {
			code, answer := g.nodes["n1"].call("POST", "/v1/cluster/matcher", fmt.Sprintf(`{"to":%d}`, next))
			require.Equal(t, http.StatusConflict, code, "%s is not upgraded: %v", id, answer)
			require.Equal(t, "matcher_not_ready", answer["code"])
		}
		load.away.Store(&id)
		g.close(id)
		load.served(10)
		g.open(id, ofac.Matchers{now, next})
		g.awaitReady()
		load.away.Store(new(string))
		load.served(10)
		g.judgeBy(now, "PROCEED", screening)
	}
	require.Zero(t, load.wrong.Load(), "of %d", load.calls.Load())
	status := g.nodes["n3"].must(t, http.StatusOK, "GET", "/v1/cluster/status", "")
	require.EqualValues(t, now, status["matcherVersion"])
	raise := fmt.Sprintf(`{"to":%d,"reason":"release 9","actor":"petra"}`, next)
	var raised map[string]any
	load.mayTurn.Store(true)
	require.Eventually(t, func() bool {
		code, answer := g.nodes["n2"].call("POST", "/v1/cluster/matcher", raise)
		raised = answer
		return code == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond)
	load.served(30)
	load.end()
	require.Zero(t, load.wrong.Load(), "while the version was raised")
	require.True(t, load.turned.Load(), "no call was judged after the raise")
	require.EqualValues(t, next, raised["matcherVersion"])
	require.EqualValues(t, now, raised["previousMatcherVersion"])
	require.Equal(t, "release 9", raised["reason"])
	code, answer := g.nodes["n2"].call("POST", "/v1/cluster/matcher", raise)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, true, answer["unchanged"])

	for id, n := range g.nodes {
		require.Eventually(t, func() bool { return n.node.Settings().Matcher == next }, 10*time.Second, time.Millisecond)
		after := n.must(t, http.StatusOK, "POST", "/v1/screen", screening)
		require.Equal(t, "REVIEW", after["verdict"], id)
		record := n.must(t, http.StatusOK, "GET", "/v1/audit/"+after["txnId"].(string), "")
		require.EqualValues(t, next, record["matcherVersion"])
		replay := n.must(t, http.StatusOK, "POST", "/v1/audit/"+before["txnId"].(string)+"/replay", "")
		require.Equal(t, true, replay["match"], "judged again with the version of then")
		require.EqualValues(t, now, replay["matcherVersion"])
		require.Empty(t, replay["assumed"])
	}
	// A later release no longer has the old version, and says so for verdicts that it made.
	g.close("n1")
	n := g.open("n1", ofac.Matchers{next})
	g.awaitReady()
	replay := n.must(t, http.StatusOK, "POST", "/v1/audit/"+before["txnId"].(string)+"/replay", "")
	require.Equal(t, true, replay["match"])
	require.Equal(t, fmt.Sprintf("judged with matcher version %d, which this binary does not carry", now), replay["listUnavailable"])
	require.NotEmpty(t, replay["assumed"])
}

// judgeBy requires that every node, whatever versions it has, gives a verdict by that version
// of the matcher, and names the version.
func (g *group) judgeBy(version uint16, verdict, screening string) {
	for id, n := range g.nodes {
		answer := n.must(g.t, http.StatusOK, "POST", "/v1/screen", screening)
		require.Equal(g.t, verdict, answer["verdict"], id)
		record := n.must(g.t, http.StatusOK, "GET", "/v1/audit/"+answer["txnId"].(string), "")
		require.EqualValues(g.t, version, record["matcherVersion"], id)
		require.EqualValues(g.t, version, n.must(g.t, http.StatusOK, "GET", "/v1/cluster/status", "")["matcherVersion"], id)
	}
}

// screenLoad calls, one after the other, the nodes that a balancer would call: those that are
// open and not leaving. Every answer must be PROCEED. Once the verdict may change, it changes
// to REVIEW for good, whichever node is asked next.
type screenLoad struct {
	t               testing.TB
	away            atomic.Pointer[string]
	mayTurn, turned atomic.Bool
	stop            chan struct{}
	done            sync.WaitGroup
	calls, wrong    atomic.Int64
}

// right reports whether the load may get this answer.
func (l *screenLoad) right(code int, verdict any) bool {
	if code == http.StatusOK && verdict == "REVIEW" && l.mayTurn.Load() {
		l.turned.Store(true)
	}
	want := "PROCEED"
	if l.turned.Load() {
		want = "REVIEW"
	}
	return code == http.StatusOK && verdict == want
}

func (g *group) startLoad(screening string) *screenLoad {
	l := &screenLoad{t: g.t, stop: make(chan struct{})}
	l.away.Store(new(string))
	l.done.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-l.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			id := fmt.Sprintf("n%d", i%3+1)
			g.mu.RLock()
			if n := g.nodes[id]; n != nil && id != *l.away.Load() {
				if code, answer := n.call("POST", "/v1/screen", screening); !l.right(code, answer["verdict"]) {
					l.t.Logf("%s: %d %v", id, code, answer)
					l.wrong.Add(1)
				}
				l.calls.Add(1)
			}
			g.mu.RUnlock()
		}
	})
	return l
}

// served waits for so many further calls.
func (l *screenLoad) served(more int64) {
	from := l.calls.Load()
	require.Eventually(l.t, func() bool { return l.calls.Load() >= from+more }, 30*time.Second, time.Millisecond)
}

func (l *screenLoad) end() {
	close(l.stop)
	l.done.Wait()
}
