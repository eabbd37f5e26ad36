package httpapi

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/sample"
)

// drawer is a job store in memory.
type drawer struct {
	mu    sync.Mutex
	kept  map[string][]byte
	first map[string][]byte // Each job as it was first put, that is, as it was ordered.
	full  error             // If set, Put fails with it.
}

func newDrawer(kept map[string][]byte) *drawer {
	return &drawer{kept: kept, first: map[string][]byte{}}
}

func (d *drawer) Put(name string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full == nil {
		if _, had := d.first[name]; !had {
			d.first[name] = bytes.Clone(data)
		}
		d.kept[name] = bytes.Clone(data)
	}
	return d.full
}

func (d *drawer) Drop(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept, name)
	return nil
}

func (d *drawer) All() (map[string][]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.kept), nil
}

// again restarts the node: a new process with the same state and history.
func (n *testNode) again(shelf *drawer) (warnings *bytes.Buffer) {
	n.t.Helper()
	n.api.Close()
	warnings = new(bytes.Buffer)
	var err error
	n.api, err = New(Deps{
		Proposer: n, Published: n, Records: n, Lists: n, Operations: n, Secrets: n.secrets, Jobs: shelf,
		Node: "n1", Version: "0.0.0-test", Now: n.wallClock, Logger: slog.New(slog.NewTextHandler(warnings, nil)),
	})
	require.NoError(n.t, err)
	n.t.Cleanup(n.api.Close)
	return warnings
}

// A job from before a restart ends as it would have. A job that cannot continue says why. A
// stored value that is no job is logged and left alone.
func TestJobsOfBeforeARestart(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 20 {
		n.screen(token, `,"cpName":"Paper Tiger Holding"`)
	}
	shelf := newDrawer(map[string][]byte{})
	n.again(shelf)
	list := testEntities("PAPER TIGER HOLDING")
	n.activate(append(sample.Entities(), list...), sample.Meta())
	candidate := textOf(answer(t, n.do("policy", "GET", "/v1/ofac", ""), 200), "active", "snapshotId")
	n.activate(sample.Entities(), sample.Meta())
	order := `{"from":"2020-01-01T00:00:00Z","listSnapshotId":"` + candidate + `"}`
	path := "/v1/backtests/" + textOf(answer(t, n.do("policy", "POST", "/v1/backtests", order), 202), "id")
	n.api.Close()
	require.Len(t, shelf.kept, 1)
	ordered := shelf.first // These are the jobs as they were ordered, before they had made progress.

	shelf = newDrawer(maps.Clone(ordered))
	n.again(shelf)
	report := n.ended(path)
	require.Equal(t, "done", textOf(report, "state"))
	require.Equal(t, 20, report.GetInt("differing"), "%s", report)
	n.api.Close()
	whole := n.do("auditor", "GET", path, "").Body.String()
	list1 := n.do("auditor", "GET", "/v1/backtests", "").Body.String()
	shelf.kept["bt_000000000000_n1"] = []byte("{")
	shelf.kept["bt_000000000000_n2"] = shelf.kept[strings.TrimPrefix(path, "/v1/backtests/")]
	warnings := n.again(shelf)
	require.Equal(t, whole, n.do("auditor", "GET", path, "").Body.String(), "what came of it is kept")
	require.Equal(t, list1, n.do("auditor", "GET", "/v1/backtests", "").Body.String())
	require.Equal(t, 2, strings.Count(warnings.String(), "a job of before the restart cannot be read"), "%s", warnings)

	n.lists = nil
	n.again(newDrawer(ordered))
	report = n.ended(path)
	require.Equal(t, "failed", textOf(report, "state"))
	require.Contains(t, textOf(report, "error"), "what was to be tried cannot be had any more: the list")
}

// neighbour is another node that keeps one job.
type neighbour struct {
	err    error
	answer string
}

func (r *neighbour) Others() []string { return []string{"n2"} }

func (r *neighbour) Ask(context.Context, string, []byte) ([]byte, error) {
	return []byte(r.answer), r.err
}

func (r *neighbour) Answer(func(context.Context, []byte) []byte) {}

// A job of an absent node is available again when the node is. Until then the answer says
// that the node is away, and not that this node is overloaded.
func TestJobsOfANodeThatIsAway(t *testing.T) {
	n := newTestNode(t)
	n.api.Close()
	other := &neighbour{err: errors.New("dial: connection refused")}
	var err error
	n.api, err = New(Deps{
		Proposer: n, Published: n, Records: n, Lists: n, Operations: n, Secrets: n.secrets, Relay: other,
		Node: "n1", Version: "0.0.0-test", Now: n.wallClock, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(n.api.Close)
	for method, paths := range map[string][]string{
		"GET":  {"/v1/backtests/bt_000000000001_n2", "/v1/policy/shadow/shd_000000000001_n2"},
		"POST": {"/v1/backtests/bt_000000000001_n2/cancel", "/v1/policy/shadow/shd_000000000001_n2/stop", "/v1/policy/shadow/shd_000000000001_n2/promote"},
	} {
		for _, path := range paths {
			w := n.do("policy", method, path, "")
			v := answer(t, w, 503)
			require.Equal(t, "node_away", textOf(v, "code"), path)
			require.Contains(t, textOf(v, "message"), "n2")
			require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
			require.NotEmpty(t, w.Header().Get("Retry-After"))
		}
	}
	require.Equal(t, "n2", textOf(answer(t, n.do("policy", "GET", "/v1/backtests", ""), 200), "unreachable", "0"))
	other.err = nil
	answer(t, n.do("policy", "GET", "/v1/backtests/bt_000000000001_n2", ""), 404) // The node answers that it has no such job.
	answer(t, n.do("policy", "GET", "/v1/backtests/bt_000000000001_n3", ""), 404) // No such node exists.
}

// When the job store takes nothing, a job still runs, but only until a restart.
func TestJobsWithoutRoom(t *testing.T) {
	n := newTestNode(t)
	warnings := n.again(&drawer{full: errors.New("no space left")})
	id := textOf(answer(t, n.do("policy", "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z"}`), 202), "id")
	require.Equal(t, "done", textOf(n.ended("/v1/backtests/"+id), "state"))
	n.api.Close()
	require.Contains(t, warnings.String(), "a restart of this node loses it")
}

// Of the ended jobs only the newest are kept, in the store and in memory.
func TestJobsKeptAreBounded(t *testing.T) {
	n := newTestNode(t)
	shelf := newDrawer(map[string][]byte{})
	n.again(shelf)
	for range 20 {
		id := textOf(answer(t, n.do("policy", "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z"}`), 202), "id")
		n.ended("/v1/backtests/" + id)
		n.now += 1_000_000_000
	}
	n.api.Close()
	require.LessOrEqual(t, len(shelf.kept), 17)
	n.again(shelf)
	require.Len(t, answer(t, n.do("policy", "GET", "/v1/backtests", ""), 200).GetArray("data"), 16)
}
