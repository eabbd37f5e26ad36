package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
	"railguard/httpapi/operations"
)

// A drain with a grace first makes the node unready. Meanwhile it serves calls, and each
// answer closes its connection. A later change of state cancels what the grace's end would
// do.
func TestDrainWithGrace(t *testing.T) {
	n := newTestNode(t)
	for _, grace := range []string{"-1s", "601s", "soon"} {
		answer := n.do("ops", "POST", "/v1/cluster/drain", `{"grace":"`+grace+`"}`)
		require.Equal(t, 422, answer.Code, grace)
	}
	require.Equal(t, 200, n.do("admin", "GET", "/v1/agents?limit=1", "").Code)
	require.Empty(t, n.verbs, "a refused drain changes nothing")

	answer := n.do("ops", "POST", "/v1/cluster/drain", `{"grace":"10m"}`)
	require.Equal(t, 200, answer.Code)
	require.Contains(t, answer.Body.String(), `"refusesInSeconds":600`)
	require.Equal(t, []string{"leave"}, n.verbs)
	require.Contains(t, n.do("ops", "GET", "/v1/health", "").Body.String(), `"draining":true`)
	require.Equal(t, 503, n.do("", "GET", "/readyz", "").Code)
	served := n.do("admin", "GET", "/v1/agents?limit=1", "")
	require.Equal(t, 200, served.Code)
	require.Equal(t, "close", served.Header().Get("Connection"))

	require.Equal(t, 200, n.do("ops", "POST", "/v1/cluster/drain", `{"drain":false}`).Code)
	require.Contains(t, n.do("ops", "GET", "/v1/health", "").Body.String(), `"draining":false`)
	require.Empty(t, n.do("admin", "GET", "/v1/agents?limit=1", "").Header().Get("Connection"))
	n.api.SetLeaving()
	operations := operations.Open(operations.Deps{Operations: n, Intake: n.api, Logger: slog.New(slog.DiscardHandler)})
	operations.DrainLater(time.Millisecond)
	require.Eventually(t, func() bool { return n.do("admin", "GET", "/v1/agents?limit=1", "").Code == 503 }, 10*time.Second, 5*time.Millisecond)
}

// A load balancer asks twice a second whether the node is ready. A change to not ready logs
// one line with the reason, and counts as no answer of the service; an orderly drain logs
// nothing above INFO.
func TestReadinessIsToldOnce(t *testing.T) {
	n := newTestNode(t)
	var said bytes.Buffer
	n.reopen(func(d *Deps) { d.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	before := border.StatusTotals[503].Get()
	ask := func(path string, code int) {
		t.Helper()
		for range 3 {
			require.Equal(t, code, n.do("", "GET", path, "").Code)
		}
	}
	ask("/readyz", 200)
	n.api.SetLeaving()
	ask("/readyz", 503)
	ask("/readyz?exclude=drain,node", 200)
	require.Equal(t, 200, n.do("ops", "POST", "/v1/cluster/drain", `{"drain":false}`).Code)
	ask("/readyz", 200)
	require.Equal(t, before, border.StatusTotals[503].Get(), "callers were refused nothing")
	require.Equal(t, 2, strings.Count(said.String(), "msg=ready"), said.String())
	require.Equal(t, 1, strings.Count(said.String(), `msg="not ready" checks="drain draining"`), said.String())
	require.NotContains(t, said.String(), "msg=request")
	require.NotContains(t, said.String(), "level=WARN")
}

func (n *testNode) Leave(context.Context) { _ = n.verb("leave") }
