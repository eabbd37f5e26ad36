package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRaftMetricsAreBridged: what raft measures arrives, under our names, in seconds.
func TestRaftMetricsAreBridged(t *testing.T) {
	sink := raftSink{}
	apply, timeouts := raftTimings["raft.fsm.apply"], raftCounts["raft.transition.heartbeat_timeout"]
	apply.Reset()
	before := timeouts.Get()
	sink.AddSampleWithLabels([]string{"raft", "fsm", "apply"}, 1500, nil)
	sink.AddSample([]string{"raft", "unknown"}, 1)
	sink.IncrCounterWithLabels([]string{"raft", "transition", "heartbeat_timeout"}, 2, nil)
	sink.IncrCounter([]string{"raft", "unknown"}, 1)
	require.Equal(t, before+2, timeouts.Get())
	count := uint64(0)
	apply.VisitNonZeroBuckets(func(bucket string, n uint64) {
		count += n
		require.Equal(t, "1.468e+00...1.668e+00", bucket)
	})
	require.Equal(t, uint64(1), count)

	g := newGroup(t)
	g.form(3)
	require.Eventually(t, func() bool {
		seen := uint64(0)
		raftTimings["raft.replication.appendEntries.rpc"].VisitNonZeroBuckets(func(_ string, n uint64) { seen += n })
		return seen > 0
	}, 10*time.Second, 10*time.Millisecond)
}

func BenchmarkRaftSink(b *testing.B) {
	key := []string{"raft", "replication", "appendEntries", "rpc"}
	b.ReportAllocs()
	for b.Loop() {
		raftSink{}.AddSample(key, 1)
	}
}
