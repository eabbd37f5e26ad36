package cluster

import (
	"fmt"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/hashicorp/raft"

	"railguard/cluster/report"
	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Names of the metrics of this room. They count over all nodes of a process.
var (
	compilesLate    = metrics.NewCounter("railguard_cluster_compiles_late_total")
	entriesProposed = metrics.NewCounter("railguard_cluster_entries_proposed_total")
	recordsProposed = metrics.NewCounter("railguard_cluster_records_proposed_total")
	entriesApplied  = metrics.NewCounter("railguard_cluster_entries_applied_total")
	recordsApplied  = metrics.NewCounter("railguard_cluster_records_applied_total")
	pairsDisplaced  = metrics.NewCounter("railguard_structuring_displaced_total")
	sarsUnlisted    = metrics.NewCounter("railguard_sar_unlisted_total")
	alertsUnlisted  = metrics.NewCounter("railguard_alerts_unlisted_total")
	recordsFenced   = metrics.NewCounter("railguard_cluster_records_fenced_total")
	recordsRetried  = metrics.NewCounter("railguard_cluster_records_retried_total")
	commitSeconds   = timing.New("railguard_cluster_commit_seconds", "", timing.Disk)

	proposalsForwarded  = metrics.NewCounter("railguard_cluster_proposals_forwarded_total")
	proposalsOverloaded = metrics.NewCounter("railguard_cluster_proposals_overloaded_total")
	proposalsUnknown    = metrics.NewCounter("railguard_cluster_proposals_unknown_total")
	proposalsRefused    = metrics.NewCounter("railguard_cluster_proposals_unserved_total")

	votesRetired      = metrics.NewCounter("railguard_cluster_votes_retired_total")
	termsLed          = metrics.NewCounter("railguard_cluster_terms_led_total")
	elections         = metrics.NewCounter("railguard_cluster_elections_total")
	readsAsked        = metrics.NewCounter("railguard_cluster_read_index_questions_total")
	heartbeatsFailed  = metrics.NewCounter("railguard_cluster_heartbeats_failed_total") // Heartbeats that this node sent as leader, each to one peer.
	leaderChanges     = metrics.NewCounter("railguard_cluster_leader_changes_total")
	diskStalls        = metrics.NewCounter("railguard_cluster_disk_stalls_total")
	snapshotsTaken    = metrics.NewCounter("railguard_cluster_snapshots_total")
	snapshotSeconds   = timing.New("railguard_cluster_snapshot_seconds", "", timing.Disk)
	snapshotErrors    = metrics.NewCounter("railguard_cluster_snapshot_errors_total")
	restoreSeconds    = timing.New("railguard_cluster_restore_seconds", "", timing.Disk)
	snapshotsRestored = metrics.NewCounter("railguard_cluster_snapshots_restored_total")
	listDamageFound   = metrics.NewCounter("railguard_cluster_list_damage_found_total")
	digestMismatches  = metrics.NewCounter("railguard_cluster_digest_mismatches_total")
)

// sharesRefused counts refused records by the table of which their owner has used its share up.
var sharesRefused = func() (all [wire.SharedTables + 1]*metrics.Counter) {
	for table := wire.SharedTable(1); table <= wire.SharedTables; table++ {
		all[table] = metrics.NewCounter(fmt.Sprintf("railguard_shares_refused_total{table=%q}", table))
	}
	return all
}()

// gauges are one node's gauges, each named after the node.
type gauges struct {
	term, leads, commit, applied, lag      *metrics.Gauge
	snapshotIndex, logBytes, waiting       *metrics.Gauge
	diskFree, clockOffset, voters, healthy *metrics.Gauge
	historyMissing, oldestLogAge           *metrics.Gauge
	logTimeBehind, leapWaiting             *metrics.Gauge
	otherLineage, judgesOtherwise          *metrics.Gauge
	silent, restoring, stalled             *metrics.Gauge
	diskBytes, diskLevel                   *metrics.Gauge
	snapshotTime                           *metrics.Gauge // Unix seconds; 0: none was taken since the start.
}

func newGauges(id string) *gauges {
	gauge := func(name string) *metrics.Gauge {
		return metrics.GetOrCreateGauge(fmt.Sprintf("railguard_cluster_%s{node=%q}", name, id), nil)
	}
	return &gauges{
		term: gauge("term"), leads: gauge("leads"), commit: gauge("commit_index"), applied: gauge("applied_index"),
		lag: gauge("apply_lag_entries"), snapshotIndex: gauge("snapshot_index"),
		logBytes: gauge("log_bytes_since_snapshot"), waiting: gauge("proposals_waiting"),
		diskFree: gauge("disk_free_ratio"), diskBytes: gauge("disk_free_bytes"), diskLevel: gauge("disk_level"),
		clockOffset: gauge("clock_offset_seconds"), logTimeBehind: gauge("log_time_behind_seconds"), leapWaiting: gauge("time_unconfirmed"), otherLineage: gauge("other_lineage"), judgesOtherwise: gauge("judges_otherwise"),
		silent: gauge("silent"), restoring: gauge("restoring"), stalled: gauge("disk_stalled"),
		voters: gauge("voters"), healthy: gauge("voters_answering"),
		historyMissing: gauge("history_incomplete"), oldestLogAge: gauge("oldest_log_age_seconds"),
		snapshotTime: gauge("snapshot_taken_timestamp_seconds"),
	}
}

// setMetrics shows the state of the node in the metrics. It is a duty.
func (n *Node) setMetrics(now time.Time) {
	g := n.gauges
	commit, applied := n.replica.raft.CommitIndex(), n.Applied()
	answering, voters := n.peers.countReachable()
	g.term.Set(float64(n.replica.raft.CurrentTerm()))
	g.leads.Set(truthGauge(n.replica.opened.Load() != 0))
	g.commit.Set(float64(commit))
	g.applied.Set(float64(applied))
	g.lag.Set(float64(commit - min(applied, commit)))
	g.snapshotIndex.Set(float64(newestSnapshot(n.snaps)))
	g.logBytes.Set(float64(n.compaction.bytes.Load()))
	g.waiting.Set(float64(n.waiters.countWaiting()))
	n.disk.setDiskMetrics(g)
	offset := n.clocks.clockOffset()
	g.clockOffset.Set(float64(offset) / float64(engine.Second))
	n.clocks.tellOffset(n.life, offset)
	g.logTimeBehind.Set(float64(n.clocks.logBehind()) / float64(engine.Second))
	g.judgesOtherwise.Set(truthGauge(n.lists.judgesOtherwise() != ""))
	g.otherLineage.Set(truthGauge(n.lineage.strangerLately() != ""))
	g.leapWaiting.Set(truthGauge(n.clocks.waiting.Load() != nil))
	g.silent.Set(truthGauge(n.contact.state() != report.Current))
	g.restoring.Set(truthGauge(n.adapter.installing.underWay()))
	g.voters.Set(float64(voters))
	g.healthy.Set(float64(answering))
	g.historyMissing.Set(truthGauge(n.history.busy.Load()))
	g.oldestLogAge.Set(oldestLogAge(n.store, now).Seconds())
}

// oldestLogAge returns how long ago the oldest kept entry was written. A peer may be away for
// so long and still come back without a snapshot.
func oldestLogAge(store raft.LogStore, now time.Time) time.Duration {
	first, err := store.FirstIndex()
	var log raft.Log
	if err != nil || first == 0 || store.GetLog(first, &log) != nil || log.AppendedAt.IsZero() {
		return 0
	}
	return now.Sub(log.AppendedAt)
}

func truthGauge(v bool) float64 {
	if v {
		return 1
	}
	return 0
}
