package cluster

import "github.com/VictoriaMetrics/metrics"

// Names of the metrics of this room. They count over all nodes of a process.
var (
	logWriteSeconds = metrics.NewHistogram("railguard_cluster_log_write_seconds")
	logWriteErrors  = metrics.NewCounter("railguard_cluster_log_write_errors_total")

	entriesProposed = metrics.NewCounter("railguard_cluster_entries_proposed_total")
	recordsProposed = metrics.NewCounter("railguard_cluster_records_proposed_total")
	entriesApplied  = metrics.NewCounter("railguard_cluster_entries_applied_total")
	recordsApplied  = metrics.NewCounter("railguard_cluster_records_applied_total")
	recordsFenced   = metrics.NewCounter("railguard_cluster_records_fenced_total")
	recordsRetried  = metrics.NewCounter("railguard_cluster_records_retried_total")
	commitSeconds   = metrics.NewHistogram("railguard_cluster_commit_seconds")

	proposalsOverloaded = metrics.NewCounter("railguard_cluster_proposals_overloaded_total")
	proposalsUnknown    = metrics.NewCounter("railguard_cluster_proposals_unknown_total")
	proposalsRefused    = metrics.NewCounter("railguard_cluster_proposals_unserved_total")

	handshakesRefused = metrics.NewCounter("railguard_cluster_handshakes_refused_total")
	callErrors        = metrics.NewCounter("railguard_cluster_peer_call_errors_total")
	rpcsRefused       = metrics.NewCounter("railguard_cluster_raft_rpcs_refused_total")

	termsLed          = metrics.NewCounter("railguard_cluster_terms_led_total")
	leaderChanges     = metrics.NewCounter("railguard_cluster_leader_changes_total")
	snapshotsTaken    = metrics.NewCounter("railguard_cluster_snapshots_total")
	snapshotErrors    = metrics.NewCounter("railguard_cluster_snapshot_errors_total")
	snapshotsRestored = metrics.NewCounter("railguard_cluster_snapshots_restored_total")
	digestMismatches  = metrics.NewCounter("railguard_cluster_digest_mismatches_total")
)
