package httpapi

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/ofac/judge"
)

// Names of the metrics of this room. They count over all
// APIs of a process.
const (
	nameScreenTotal   = "railguard_screen_total"
	nameScreenSeconds = "railguard_screen_seconds"
	nameHTTPTotal     = "railguard_http_requests_total"
	nameSettleMarked  = "railguard_settle_marked_total"
	nameKeyRate       = "railguard_key_rate_used_ratio"
)

var (
	panicsTotal         = metrics.NewCounter("railguard_http_panics_total")
	internalErrorsTotal = metrics.NewCounter("railguard_http_internal_errors_total")
	unauthorizedTotal   = metrics.NewCounter("railguard_http_unauthorized_total")
	rateLimitedTotal    = metrics.NewCounter("railguard_http_rate_limited_total")
	replayedTotal       = metrics.NewCounter("railguard_idempotent_replays_total")
	limitDeniedTotal    = metrics.NewCounter("railguard_limit_denied_total")
	witnessCosigned     = metrics.NewCounter(`railguard_log_witness_answers_total{outcome="cosigned"}`)
	witnessFailed       = metrics.NewCounter(`railguard_log_witness_answers_total{outcome="failed"}`)
	linesDropped        = metrics.NewCounter("railguard_http_log_lines_dropped_total")
	connectionsDropped  = metrics.NewCounter("railguard_http_connections_dropped_total")

	screenVerify = timing.New(nameScreenSeconds, `stage="verify"`, timing.Call)
	screenRules  = timing.New(nameScreenSeconds, `stage="rules"`, timing.Call)
	screenCommit = timing.New(nameScreenSeconds, `stage="commit"`, timing.Call)
	screenWhole  = timing.New(nameScreenSeconds, `stage="total"`, timing.Call)

	// settleMarks counts settles that a person must look at.
	settleMarks = map[string]*metrics.Counter{
		"late":       metrics.NewCounter(nameSettleMarked + `{mark="late"}`),
		"overLimit":  metrics.NewCounter(nameSettleMarked + `{mark="overLimit"}`),
		"notAllowed": metrics.NewCounter(nameSettleMarked + `{mark="notAllowed"}`),
	}

	// statusTotals counts answers by status: a fixed set, so that the hot path
	// formats nothing.
	statusTotals = makeStatusTotals()
)

func makeStatusTotals() map[int]*metrics.Counter {
	all := make(map[int]*metrics.Counter)
	for _, status := range []int{200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 431, 500, 501, 503} {
		all[status] = metrics.NewCounter(nameHTTPTotal + `{code="` + strconv.Itoa(status) + `"}`)
	}
	return all
}

// countWitness counts what became of asking a witness.
func countWitness(cosigned bool) {
	if cosigned {
		witnessCosigned.Inc()
		return
	}
	witnessFailed.Inc()
}

func countRequest(c *call) {
	if counter := statusTotals[c.status]; counter != nil {
		counter.Inc()
	}
}

// ShowCertificate shows how many seconds the certificate of a listener is good.
func ShowCertificate(listener string, left func() float64) {
	metrics.GetOrCreateGauge(`railguard_http_certificate_expires_seconds{listener="`+listener+`"}`, left)
}

// screenTotals counts verdicts by rule and verdict, for every pair that can
// come: made once, so that the hot path takes no lock.
var screenTotals = makeScreenTotals()

func makeScreenTotals() map[string]map[string]*metrics.Counter {
	all := make(map[string]map[string]*metrics.Counter)
	add := func(rule string, verdict engine.Verdict) {
		if all[rule] == nil {
			all[rule] = make(map[string]*metrics.Counter)
		}
		name := verdict.String()
		all[rule][name] = metrics.NewCounter(nameScreenTotal + `{verdict="` + name + `",rule="` + rule + `"}`)
	}
	add(engine.AllClear, engine.Proceed)
	for i := range engine.Rules {
		rule := &engine.Rules[i]
		add(rule.Code, rule.Verdict)
		if rule.Verdict == engine.Review {
			add(rule.Code, engine.Block) // An institution's mode.
		}
	}
	return all
}

// countScreen counts one verdict. rule is "" for ALL_CLEAR.
func countScreen(verdict, rule string, t edge.Timing, commit, whole time.Duration) {
	if rule == "" {
		rule = engine.AllClear
	}
	if counter := screenTotals[rule][verdict]; counter != nil {
		counter.Inc()
	}
	if rule == limitRules[0] || rule == limitRules[1] || rule == limitRules[2] {
		limitDeniedTotal.Inc()
	}
	screenVerify.Observe(t.Verify)
	screenRules.Observe(t.Rules)
	screenCommit.Observe(commit)
	screenWhole.Observe(whole)
}

// limitRules are the rules that speak of a spending limit.
var limitRules = [...]string{"R10_SINGLE_TX_LIMIT", "R11_DAILY_LIMIT", "R12_FLEET_DAILY_LIMIT"}

// gauges are registered once per API: their callbacks read that API.
func (a *API) registerGauges(set *metrics.Set) {
	set.RegisterMetricsWriter(a.writeKeyRates)
	set.NewGauge("railguard_ofac_age_seconds", func() float64 {
		settings := a.deps.Published.Settings()
		if settings.List == nil {
			return -1
		}
		return float64(a.deps.Published.LogTime()-settings.ListSynced) / float64(engine.Second)
	})
	set.NewGauge(`railguard_build_info{version="`+a.deps.Version+`",go="`+runtime.Version()+`"}`, func() float64 { return 1 })
	set.NewGauge("railguard_review_oldest_age_seconds", a.oldestReviewAge)
	set.NewGauge("railguard_ofac_quarantined", func() float64 {
		if list := a.deps.Published.Settings().List; list != nil {
			return float64(list.Quarantined)
		}
		return 0
	})
	set.NewGauge("railguard_ofac_families_missing", func() float64 {
		if list := a.deps.Published.Settings().List; list != nil {
			return float64(len(judge.Missing(list)))
		}
		return 0
	})
	set.NewGauge("railguard_log_witnesses", func() float64 { return float64(len(a.deps.Witnesses)) })
	set.NewGauge("railguard_log_cosignatures", func() float64 {
		if cosigned, err := a.newestCosigned(context.Background()); err == nil && cosigned != nil {
			return float64(len(cosigned.names))
		}
		return 0
	})
	set.NewGauge("railguard_log_cosigned_age_seconds", func() float64 {
		cosigned, err := a.newestCosigned(context.Background())
		if err != nil || cosigned == nil {
			return -1
		}
		if cosigned.point.size >= a.treeSize() {
			return 0
		}
		return max(0, float64(a.deps.Published.LogTime()-cosigned.point.at)/float64(engine.Second))
	})
	set.NewGauge("railguard_log_tree_size", func() float64 { return float64(a.treeSize()) })
	set.NewGauge("railguard_review_open", func() float64 {
		view, err := a.deps.Records.View(context.Background(), 0)
		if err != nil {
			return -1
		}
		return float64(view.OpenReviews())
	})
	for i, table := range fsm.BoundedTables {
		set.NewGauge(`railguard_state_rows_max{table="`+table+`"}`, func() float64 { return float64(a.fill(i).Most) })
		set.NewGauge(`railguard_state_rows{table="`+table+`"}`, func() float64 { return float64(a.fill(i).Rows) })
	}
	a.registerDesk(set)
	set.NewGauge("railguard_http_in_flight", func() float64 { return float64(a.running.Load()) })
	set.NewGauge("railguard_token_cache_entries", func() float64 { return float64(a.judges.TokensHeld()) })
}

// fill is how full a table of the state is; -1 of -1: not known.
func (a *API) fill(table int) fsm.Fill {
	view, err := a.deps.Records.View(context.Background(), 0)
	if err != nil {
		return fsm.Fill{Rows: -1, Most: -1}
	}
	return view.Fills()[table]
}

// registerDesk registers what waits for officers.
func (a *API) registerDesk(set *metrics.Set) {
	set.NewGauge("railguard_review_overdue", func() float64 {
		view, err := a.deps.Records.View(context.Background(), 0)
		if err != nil {
			return -1
		}
		return float64(view.Overdue())
	})
	for at, name := range []string{"railguard_sar_open", "railguard_sar_overdue"} {
		set.NewGauge(name, func() float64 {
			view, err := a.deps.Records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			open, late := view.SARsOpen()
			return float64([]int{open, late}[at])
		})
	}
	for _, kind := range alertKinds() {
		set.NewGauge(`railguard_alerts_open{kind="`+leaf.AlertName(kind)+`"}`, func() float64 {
			view, err := a.deps.Records.View(context.Background(), 0)
			if err != nil {
				return -1
			}
			return float64(view.AlertsOpen()[kind])
		})
	}
}

// oldestReviewAge is how long the oldest open review has waited, in seconds of log
// time; 0: none waits, -1: not known.
func (a *API) oldestReviewAge() float64 {
	view, err := a.deps.Records.View(context.Background(), 0)
	if err != nil {
		return -1
	}
	row, found := view.OldestOpen()
	if !found {
		return 0
	}
	return float64(a.deps.Published.LogTime()-row.At) / float64(engine.Second)
}
