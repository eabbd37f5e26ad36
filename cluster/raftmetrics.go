package cluster

import (
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	raftmetrics "github.com/hashicorp/go-metrics/compat"

	"railguard/cluster/timing"
)

// raftTimings are raft's own measurements that /metrics shows, by raft's names. The other forty
// are dropped: one system of metrics is enough.
var raftTimings = map[string]*timing.Histogram{
	"raft.fsm.apply":                     timing.New("railguard_raft_fsm_apply_seconds", "", timing.Disk),
	"raft.fsm.restore":                   timing.New("railguard_raft_fsm_restore_seconds", "", timing.Disk),
	"raft.snapshot.persist":              timing.New("railguard_raft_snapshot_persist_seconds", "", timing.Disk),
	"raft.rpc.appendEntries":             timing.New("railguard_raft_append_entries_served_seconds", "", timing.Disk),
	"raft.replication.appendEntries.rpc": timing.New("railguard_raft_append_entries_asked_seconds", "", timing.Disk),
	"raft.rpc.installSnapshot":           timing.New("railguard_raft_install_snapshot_seconds", "", timing.Disk),
	"raft.leader.lastContact":            timing.New("railguard_raft_last_contact_seconds", "", timing.Disk),
}

// raftCounts are raft's counters that /metrics shows.
var raftCounts = map[string]*metrics.Counter{
	"raft.transition.heartbeat_timeout":    metrics.NewCounter("railguard_raft_heartbeat_timeouts_total"),
	"raft.transition.leader_lease_timeout": metrics.NewCounter("railguard_raft_lease_timeouts_total"),
}

// raftSink receives raft's measurements. Raft allows only one sink in a process.
type raftSink struct{}

var raftSinkSet sync.Once

// bridgeRaftMetrics forwards the chosen raft metrics to ours.
func bridgeRaftMetrics() {
	raftSinkSet.Do(func() {
		config := &raftmetrics.Config{TimerGranularity: time.Millisecond, FilterDefault: true}
		if _, err := raftmetrics.NewGlobal(config, raftSink{}); err != nil {
			panic("BUG: raft's metrics have no sink: " + err.Error())
		}
	})
}

const raftKeyMax = 64

// joinDotted joins the words of raft's name for a measurement without an allocation.
func joinDotted(into []byte, key []string) []byte {
	for i, part := range key {
		if i > 0 {
			into = append(into, '.')
		}
		into = append(into, part...)
	}
	return into
}

// AddSample takes a duration in milliseconds.
func (raftSink) AddSample(key []string, milliseconds float32) {
	var buffer [raftKeyMax]byte
	if h := raftTimings[string(joinDotted(buffer[:0], key))]; h != nil {
		h.Update(float64(milliseconds) / 1000)
	}
}

// AddSampleWithLabels is AddSample: peers are not told apart.
func (s raftSink) AddSampleWithLabels(key []string, milliseconds float32, _ []raftmetrics.Label) {
	s.AddSample(key, milliseconds)
}

// IncrCounter takes a count.
func (raftSink) IncrCounter(key []string, by float32) {
	var buffer [raftKeyMax]byte
	if c := raftCounts[string(joinDotted(buffer[:0], key))]; c != nil {
		c.Add(int(by))
	}
}

// IncrCounterWithLabels is IncrCounter.
func (s raftSink) IncrCounterWithLabels(key []string, by float32, _ []raftmetrics.Label) {
	s.IncrCounter(key, by)
}

// SetGauge drops a gauge. None of raft's gauges is shown; setMetrics takes the same values from
// their source.
func (raftSink) SetGauge([]string, float32) {}

// SetGaugeWithLabels drops a gauge.
func (raftSink) SetGaugeWithLabels([]string, float32, []raftmetrics.Label) {}

// EmitKey drops a pair.
func (raftSink) EmitKey([]string, float32) {}
