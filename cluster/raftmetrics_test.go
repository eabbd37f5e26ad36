package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRaftMetricsAreBridged: raft's measurements arrive under our names, in seconds.
func TestRaftMetricsAreBridged(t *testing.T) {
	sink := raftSink{}
	apply, timeouts := raftTimings["raft.fsm.apply"], raftCounts["raft.transition.heartbeat_timeout"]
	before, count, sum := timeouts.Get(), apply.Count(), apply.Sum()
	sink.AddSampleWithLabels([]string{"raft", "fsm", "apply"}, 1500, nil)
	sink.AddSample([]string{"raft", "unknown"}, 1)
	sink.IncrCounterWithLabels([]string{"raft", "transition", "heartbeat_timeout"}, 2, nil)
	sink.IncrCounter([]string{"raft", "unknown"}, 1)
	require.Equal(t, before+2, timeouts.Get())
	require.Equal(t, count+1, apply.Count())
	require.Equal(t, sum+1500*time.Millisecond, apply.Sum())

	g := newGroup(t)
	g.form(3)
	require.Eventually(t, func() bool {
		return raftTimings["raft.replication.appendEntries.rpc"].Count() > 0
	}, 10*time.Second, 10*time.Millisecond)
}

func BenchmarkRaftSink(b *testing.B) {
	key := []string{"raft", "replication", "appendEntries", "rpc"}
	b.ReportAllocs()
	for b.Loop() {
		raftSink{}.AddSample(key, 1)
	}
}
