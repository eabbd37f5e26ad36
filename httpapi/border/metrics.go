package border

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Names of this room's metrics. They count over all APIs of a process.
const (
	nameHTTPTotal = "railguard_http_requests_total"

	NameKeyRate = "railguard_key_rate_used_ratio"
)

var (
	panicsTotal         = metrics.NewCounter("railguard_http_panics_total")
	internalErrorsTotal = metrics.NewCounter("railguard_http_internal_errors_total")
	unauthorizedTotal   = metrics.NewCounter("railguard_http_unauthorized_total")
	silentTotal         = metrics.NewCounter("railguard_http_silent_total")
	rateLimitedTotal    = metrics.NewCounter("railguard_http_rate_limited_total")
	judgingCharged      = metrics.NewCounter("railguard_judging_charged_calls_total")
	shedTotal           = metrics.NewCounter("railguard_http_shed_total")
	replayedTotal       = metrics.NewCounter("railguard_idempotent_replays_total")

	looksLost          = metrics.NewCounter("railguard_looks_lost_total")
	linesDropped       = metrics.NewCounter("railguard_http_log_lines_dropped_total")
	connectionsDropped = metrics.NewCounter("railguard_http_connections_dropped_total")

	// StatusTotals counts answers by status. The set is fixed, so that the hot path formats
	// nothing.
	StatusTotals = makeStatusTotals()
)

func makeStatusTotals() map[int]*metrics.Counter {
	all := make(map[int]*metrics.Counter)
	for _, status := range []int{200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 431, 500, 501, 503} {
		all[status] = metrics.NewCounter(nameHTTPTotal + `{code="` + strconv.Itoa(status) + `"}`)
	}
	return all
}

func countRequest(c *Request) {
	if counter := StatusTotals[c.Status]; counter != nil {
		counter.Inc()
	}
}

// CountCertificateError counts a look at a listener's certificate files that found them of no use.
func CountCertificateError(listener string) {
	metrics.GetOrCreateCounter(`railguard_http_certificate_errors_total{listener="` + listener + `"}`).Inc()
}

// ShowCertificate registers a gauge: seconds until a listener's certificate expires.
func ShowCertificate(listener string, left func() float64) {
	metrics.GetOrCreateCounter(`railguard_http_certificate_errors_total{listener="` + listener + `"}`)
	metrics.GetOrCreateGauge(`railguard_http_certificate_expires_seconds{listener="`+listener+`"}`, left)
}

// RegisterGauges registers the gauges of the border and of the state.
func (b *Border) RegisterGauges(set *metrics.Set) {
	set.RegisterMetricsWriter(b.WriteKeyRates)
	set.RegisterMetricsWriter(b.writeShares)
	set.NewGauge(`railguard_build_info{version="`+b.deps.Version+`",go="`+runtime.Version()+`"}`, func() float64 { return 1 })
	for i, table := range fsm.BoundedTables {
		set.NewGauge(`railguard_state_rows_max{table="`+table+`"}`, func() float64 { return float64(b.tableFill(i).Most) })
		set.NewGauge(`railguard_state_rows{table="`+table+`"}`, func() float64 { return float64(b.tableFill(i).Rows) })
	}
	set.NewGauge("railguard_keys_ending", func() float64 {
		return float64(countEnding(b.deps.Published.Settings().Keys, b.deps.Published.LogTime()))
	})
	set.NewGauge("railguard_http_in_flight", func() float64 { return float64(b.InFlight.Load()) })
	set.NewGauge("railguard_judging_waiting", func() float64 { return float64(b.judges.Waiting()) })
	set.NewGauge("railguard_token_cache_entries", func() float64 { return float64(b.judges.TokensHeld()) })
}

// A key in use that ends within endingSoon is counted; it is in use if it was used within usedLately.
const (
	endingSoon = 14 * 24 * engine.Hour
	usedLately = 7 * 24 * engine.Hour
)

// countEnding counts the keys in use that end soon.
func countEnding(keys []*wire.APIKey, now engine.Time) (count int) {
	for _, key := range keys {
		if key.RevokedAt == 0 && key.ExpiresAt > now && key.ExpiresAt-now < endingSoon && key.UsedAt > now-usedLately {
			count++
		}
	}
	return count
}

// writeShares writes of each table in which owners have shares what all have together, what one
// has for itself whatever the others do, and the most that one has.
func (b *Border) writeShares(w io.Writer) {
	view, err := b.deps.Records.View(context.Background(), 0)
	if err != nil {
		return
	}
	for _, family := range [...]struct {
		name  string
		value func(*fsm.SharedFill) int64
	}{
		{"railguard_state_bytes", func(s *fsm.SharedFill) int64 { return s.All.Bytes }},
		{"railguard_state_bytes_max", func(s *fsm.SharedFill) int64 { return s.Most.Bytes }},
		{"railguard_state_share_rows", func(s *fsm.SharedFill) int64 { return s.Own.Rows }},
		{"railguard_state_share_bytes", func(s *fsm.SharedFill) int64 { return s.Own.Bytes }},
		{"railguard_state_greatest_rows", func(s *fsm.SharedFill) int64 { return s.Greatest.Rows }},
		{"railguard_state_greatest_bytes", func(s *fsm.SharedFill) int64 { return s.Greatest.Bytes }},
	} {
		fmt.Fprintf(w, "# HELP %s\n# TYPE %s gauge\n", family.name, family.name)
		for _, fill := range view.Fills() {
			if fill.Shared != nil {
				fmt.Fprintf(w, "%s{table=%q} %d\n", family.name, fill.Table, family.value(fill.Shared))
			}
		}
	}
}

// tableFill returns how full a table of the state is; -1 of -1: not known.
func (b *Border) tableFill(table int) fsm.Fill {
	view, err := b.deps.Records.View(context.Background(), 0)
	if err != nil {
		return fsm.Fill{Rows: -1, Most: -1}
	}
	return view.Fills()[table]
}

var registrationsRefused = metrics.NewCounter("railguard_registrations_refused_total")
