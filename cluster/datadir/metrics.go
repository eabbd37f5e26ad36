package datadir

import "github.com/VictoriaMetrics/metrics"

// Names of the metrics of this room. They count over all nodes of a process.
var (
	logWriteSeconds = metrics.NewHistogram("railguard_cluster_log_write_seconds")
	logWriteErrors  = metrics.NewCounter("railguard_cluster_log_write_errors_total")
)
