package casework

import (
	"context"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
)

// RegisterGauges registers gauges of the work that waits for officers and settlers.
func RegisterGauges(set *metrics.Set, published border.Published, records border.Records) {
	set.NewGauge("railguard_review_oldest_age_seconds", func() float64 { return oldestReviewAge(published, records) })
	set.NewGauge("railguard_review_open", func() float64 {
		view, err := records.View(context.Background(), 0)
		if err != nil {
			return -1
		}
		return float64(view.OpenReviews())
	})
	set.NewGauge("railguard_review_overdue", func() float64 {
		view, err := records.View(context.Background(), 0)
		if err != nil {
			return -1
		}
		return float64(view.Overdue())
	})
	for at, name := range []string{"railguard_sar_open", "railguard_sar_overdue"} {
		set.NewGauge(name, func() float64 {
			view, err := records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			open, late := view.SARsOpen()
			return float64([]int{open, late}[at])
		})
	}
	for at, name := range []string{"railguard_sanctions_cases_open", "railguard_sanctions_cases_due_soon", "railguard_sanctions_cases_overdue", "railguard_sanctions_property_blocked"} {
		set.NewGauge(name, func() float64 {
			view, err := records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			n := view.SanctionsOpen()
			return float64([]int{n.Open, n.Soon, n.Late, n.Blocked}[at])
		})
	}
	for at, name := range []string{"railguard_payments_unresolved", "railguard_payments_unresolved_usd"} {
		set.NewGauge(name, func() float64 {
			view, err := records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			total := view.UnresolvedTotal()
			return []float64{float64(total.Count), float64(total.Sum()) / float64(engine.Dollar)}[at]
		})
	}
	for _, kind := range alertKinds() {
		set.NewGauge(`railguard_alerts_open{kind="`+leaf.AlertName(kind)+`"}`, func() float64 {
			view, err := records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			return float64(view.AlertsOpen()[kind])
		})
	}
}

// oldestReviewAge returns how long the oldest open review has waited, in seconds of log
// time. 0: none waits; -1: not known.
func oldestReviewAge(published border.Published, records border.Records) float64 {
	view, err := records.View(context.Background(), 0)
	if err != nil {
		return -1
	}
	row, found := view.OldestOpen()
	if !found {
		return 0
	}
	return float64(published.LogTime()-row.At) / float64(engine.Second)
}
