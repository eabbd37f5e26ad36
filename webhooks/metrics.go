package webhooks

import (
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
)

const nameAttempts = "railguard_webhook_attempts_total"

var (
	attemptsOK     = metrics.NewCounter(nameAttempts + `{result="received"}`)
	attemptsFailed = metrics.NewCounter(nameAttempts + `{result="failed"}`)
	deadTotal      = metrics.NewCounter("railguard_webhook_dead_letters_total")
	missedTotal    = metrics.NewCounter("railguard_webhook_missed_total")
	attemptSeconds = timing.New("railguard_webhook_attempt_seconds", "", timing.Disk)

	workersRunning, leavesBehind atomic.Int64
	unreadableFor                atomic.Int64 // How long a leaf has been unreadable, in nanoseconds.

	_ = metrics.NewGauge("railguard_webhook_lines", func() float64 { return float64(workersRunning.Load()) })
	_ = metrics.NewGauge("railguard_webhook_behind_leaves", func() float64 { return float64(leavesBehind.Load()) })
	_ = metrics.NewGauge("railguard_webhook_unreadable_seconds", func() float64 { return time.Duration(unreadableFor.Load()).Seconds() })
)
