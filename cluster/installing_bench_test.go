package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkInstall measures for how long a node that installs a snapshot answers no heartbeat: the
// main loop of raft receives the snapshot, and until decision 124 it also restored it. The time of
// the restore, which is now beside the loop, is measured in the same run: so long, and longer, no
// heartbeat would have been answered.
//
//	RAILGUARD_INSTALL_AGENTS=1000000 go test ./cluster -run '^$' -bench Install -benchtime 1x -timeout 1h
func BenchmarkInstall(b *testing.B) {
	for range b.N {
		g := newGroup(b, func(c *Config) {
			c.Timing = Timing{Heartbeat: time.Second, Stall: time.Minute}
			c.WriteDeadline = groupPatience
		})
		g.form(3)
		load := &screenLoad{b: b, agents: fromEnvironment(b, "RAILGUARD_INSTALL_AGENTS", 20_000)}
		load.registerAll([]*Node{g.nodes["n1"], g.nodes["n2"], g.nodes["n3"]})
		g.awaitEqual()
		if g.leader().NodeID() == "n3" {
			require.NoError(b, g.leader().TransferLeader(b.Context(), "n1"))
			require.Eventually(b, func() bool { return g.leader().NodeID() != "n3" }, groupPatience, 5*time.Millisecond)
		}
		g.close("n3")
		g.cutLogs("n1", "n2")
		metas, err := g.leader().snaps.List()
		require.NoError(b, err)
		n := g.open("n3", expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
		began := time.Now()
		longest, index := time.Duration(0), metas[0].Index
		var restoring time.Time
		for n.Applied() < index {
			if restoring.IsZero() && n.adapter.installing.underWay() {
				restoring = time.Now()
			}
			if at := n.replica.raft.LastContact(); !at.IsZero() {
				longest = max(longest, time.Since(at))
			}
			require.Less(b, time.Since(began), 20*time.Minute)
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(longest.Seconds(), "s-without-a-heartbeat")
		b.ReportMetric(time.Since(restoring).Seconds(), "s-restoring")
		b.ReportMetric(time.Since(began).Seconds(), "s-until-restored")
		b.ReportMetric(float64(metas[0].Size)/(1<<20), "MiB")
		require.NoError(b, n.WaitApplied(context.Background(), index))
	}
}
