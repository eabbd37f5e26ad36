package schedule

import (
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	nameFailures = "railguard_backup_failures_total"
	nameCopies   = "railguard_backup_copies_total"
)

var (
	copyFailures = metrics.NewCounter(nameFailures + `{what="copy"}`)
	failures     = [kinds]*metrics.Counter{
		full: copyFailures, increment: copyFailures, tail: metrics.NewCounter(nameFailures + `{what="tail"}`),
		drill: metrics.NewCounter(nameFailures + `{what="drill"}`), thin: metrics.NewCounter(nameFailures + `{what="thin"}`),
	}
	copies = [kinds]*metrics.Counter{
		full: metrics.NewCounter(nameCopies + `{what="full"}`), increment: metrics.NewCounter(nameCopies + `{what="increment"}`), tail: metrics.NewCounter(nameCopies + `{what="tail"}`),
	}

	shown   atomic.Pointer[wire.BackupState] // What the log says; nil: nothing.
	shipped atomic.Int64                     // Up to when this node has shipped the log, in Unix nanoseconds; 0: it does not ship.

	_ = metrics.NewGauge("railguard_backup_scheduled", func() float64 {
		if state := shown.Load(); state == nil || state.Schedule == nil {
			return 0
		}
		return 1
	})
	_ = metrics.NewGauge("railguard_backup_verified_seconds", func() float64 {
		return secondsOf(func(s *wire.BackupState) engine.Time {
			if s.Newest == nil {
				return 0
			}
			return s.Newest.At
		})
	})
	_ = metrics.NewGauge("railguard_backup_verified_full_seconds", func() float64 {
		return secondsOf(func(s *wire.BackupState) engine.Time {
			if s.Full == nil {
				return 0
			}
			return s.Full.At
		})
	})
	_ = metrics.NewGauge("railguard_backup_verified_bytes", func() float64 {
		if state := shown.Load(); state != nil && state.Newest != nil {
			return float64(state.Newest.Size)
		}
		return 0
	})
	_ = metrics.NewGauge("railguard_backup_shipped_seconds", func() float64 { return time.Duration(shipped.Load()).Seconds() })
	_ = metrics.NewGauge("railguard_backup_drilled_seconds", func() float64 {
		return secondsOf(func(s *wire.BackupState) engine.Time {
			if s.Drill == nil {
				return 0
			}
			return s.Drill.At
		})
	})
	_ = metrics.NewGauge("railguard_backup_drill_failed", func() float64 {
		if state := shown.Load(); state != nil && state.Drill != nil && state.Drill.Failed != "" {
			return 1
		}
		return 0
	})
)

func secondsOf(of func(*wire.BackupState) engine.Time) float64 {
	state := shown.Load()
	if state == nil {
		return 0
	}
	return time.Duration(of(state)).Seconds()
}
