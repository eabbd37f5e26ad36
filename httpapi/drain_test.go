package httpapi

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A grace makes the node unready first and serves calls meanwhile, each of which says
// that its connection ends; what is said meanwhile counts, not the grace's end.
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
	require.Contains(t, n.do("", "GET", "/v1/health", "").Body.String(), `"draining":true`)
	require.Equal(t, 503, n.do("", "GET", "/readyz", "").Code)
	served := n.do("admin", "GET", "/v1/agents?limit=1", "")
	require.Equal(t, 200, served.Code)
	require.Equal(t, "close", served.Header().Get("Connection"))

	require.Equal(t, 200, n.do("ops", "POST", "/v1/cluster/drain", `{"drain":false}`).Code)
	require.Contains(t, n.do("", "GET", "/v1/health", "").Body.String(), `"draining":false`)
	require.Empty(t, n.do("admin", "GET", "/v1/agents?limit=1", "").Header().Get("Connection"))
	n.api.SetLeaving()
	n.api.drainLater(time.Millisecond)
	require.Eventually(t, func() bool { return n.do("admin", "GET", "/v1/agents?limit=1", "").Code == 503 }, 10*time.Second, 5*time.Millisecond)
}

func (n *testNode) Leave(context.Context) { _ = n.verb("leave") }
