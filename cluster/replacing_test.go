package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// Every node is replaced by one with an empty folder, each as soon as the status allows it.
// Neither the quorum nor a record is ever lost. A node that has no vote yet is neither healthy
// nor ready.
func TestReplacingOneNodeAfterTheOther(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	hosts := join(g.host("n1"), g.host("n2"), g.host("n3"))
	for i := range 3 {
		id := fmt.Sprintf("n%d", i+1)
		require.Eventually(t, func() bool { return g.leader().Status(t.Context()).TakeDown.OK }, 20*time.Second, 10*time.Millisecond)
		g.close(id)
		require.NoError(t, os.RemoveAll(filepath.Join(g.dir, id)))
		require.Eventually(t, func() bool { return !g.leader().Status(t.Context()).TakeDown.OK }, 10*time.Second, 10*time.Millisecond)
		n := g.open(id, hosts)
		voted := false
		require.Eventually(t, func() bool {
			ready := n.Ready(t.Context(), report.ReadyQuery{}).Ready
			status := g.leader().Status(t.Context())
			if status.TakeDown.OK || ready {
				server, known := g.leader().replica.findServer(n.replica.self)
				voted = known && server.Suffrage == raft.Voter && string(server.Address) == n.greeter.address.String()
			}
			return status.TakeDown.OK || ready
		}, 20*time.Second, 10*time.Millisecond)
		require.True(t, voted, "it is green with its vote")
		require.Eventually(t, func() bool {
			_, err := g.leader().Propose(t.Context(), wire.KindRegister, register("after "+id))
			return err == nil
		}, 10*time.Second, 50*time.Millisecond)
	}
	g.awaitReady()
	g.awaitEqual()
	require.Equal(t, "after n1", g.leader().Agent(1).AgentName)
}
