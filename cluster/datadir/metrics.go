package datadir

import (
	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
)

// Names of the metrics of this room. They count over all nodes of a process.
var (
	logWriteSeconds = timing.New("railguard_cluster_log_write_seconds", "", timing.Disk)
	logWriteErrors  = metrics.NewCounter("railguard_cluster_log_write_errors_total")
)
