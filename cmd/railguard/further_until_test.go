package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// ending is an entry of the list house that ends, and what the nodes said of payments to whom it names.
type ending struct {
	*group
	token string
	until time.Time

	mu      sync.Mutex // Guards the rest.
	reviews int
	passed  int
	wrong   []string
}

// pay screens a payment at a node, and holds the verdict against the log time of its record.
func (e *ending) pay(n *groupNode) (verdict string) {
	code, answer := n.call("POST", "/v1/screen", `{"token":"`+e.token+`","amount":1,"cpName":"Briefly Listed Traders"}`)
	if code != http.StatusOK {
		return "" // No leader for a moment.
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprint(answer["screenedAt"]))
	verdict = fmt.Sprint(answer["verdict"])
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil && at.Before(e.until) && verdict == "REVIEW":
		e.reviews++
	case err == nil && !at.Before(e.until) && verdict == "PROCEED":
		e.passed++
	default:
		e.wrong = append(e.wrong, fmt.Sprintf("%v, and the entry ends at %s", answer, e.until))
	}
	return verdict
}

// everywhere pays at every node.
func (e *ending) everywhere(verdict string) {
	e.t.Helper()
	for id, n := range e.nodes {
		require.Eventually(e.t, func() bool {
			got := e.pay(n)
			return got == verdict
		}, 20*time.Second, 10*time.Millisecond, id)
	}
}

// advance moves log time on, while payments are made at all nodes.
func (e *ending) advance(d string) {
	e.t.Helper()
	stop := make(chan struct{})
	var payers, begun sync.WaitGroup
	for _, n := range e.nodes {
		begun.Add(1)
		payers.Go(func() {
			for first := true; ; first = false {
				e.pay(n)
				if first {
					begun.Done()
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	begun.Wait()
	e.leader().must(e.t, http.StatusOK, "POST", "/v1/test/clock", `{"advance":"`+d+`"}`)
	for _, n := range e.nodes {
		e.pay(n)
	}
	close(stop)
	payers.Wait()
	require.Empty(e.t, e.wrong)
}

// An entry of an own list ends by log time: at one place of the log for all nodes, also for those that
// judge just then, over a failover, and for a node that comes back. The clocks of the machines, which
// are days before the end all the while, say nothing.
func TestEntryEndsByLogTime(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.nodes["n1"]
	e := &ending{group: g, token: n.token(t), until: time.Unix(0, int64(n.node.LogTime())).Add(48 * time.Hour).UTC().Truncate(time.Millisecond)}
	n.must(t, http.StatusOK, "POST", "/v1/lists/house/entries", fmt.Sprintf(`{"reason":"r","add":[{"id":"case-1","kind":"company","name":"Briefly Listed Traders","until":%q},{"id":"case-2","kind":"company","name":"Known Defrauder Holdings"}]}`, e.until.Format(time.RFC3339Nano)))
	g.awaitReady()
	e.everywhere("REVIEW")
	e.advance("47h")
	e.everywhere("REVIEW")

	died := g.leader().node.NodeID()
	g.die(died)
	require.Eventually(t, func() bool { return g.leader() != nil }, 30*time.Second, 10*time.Millisecond)
	e.everywhere("REVIEW")
	e.advance("1h")
	e.everywhere("PROCEED")
	g.open(died, ofac.Carried())
	g.awaitReady()
	e.everywhere("PROCEED")
	require.Empty(t, e.wrong)
	require.True(t, time.Now().Before(e.until))
	t.Logf("%d payments before the end and %d after it", e.reviews, e.passed)
	for id, n := range g.nodes {
		lists := n.must(t, http.StatusOK, "GET", "/v1/lists", "")["lists"].([]any)
		require.EqualValues(t, 2, lists[1].(map[string]any)["entries"], id) // It is listed still, and matches nothing.
	}
}
