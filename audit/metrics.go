package audit

import "github.com/VictoriaMetrics/metrics"

// Names of this package's metrics, which count over all stores of a process.
var (
	leavesAppended = metrics.NewCounter("railguard_audit_leaves_appended_total")
	bytesAppended  = metrics.NewCounter("railguard_audit_bytes_appended_total")
	leavesReplayed = metrics.NewCounter("railguard_audit_leaves_replayed_total")
	segmentsSealed = metrics.NewCounter("railguard_audit_segments_sealed_total")
	segmentsErased = metrics.NewCounter("railguard_audit_segments_erased_total")
	sealErrors     = metrics.NewCounter("railguard_audit_seal_errors_total")
	damageFound    = metrics.NewCounter("railguard_audit_damage_found_total")
	leavesImported = metrics.NewCounter("railguard_audit_leaves_imported_total")
)
