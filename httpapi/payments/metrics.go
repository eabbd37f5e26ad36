package payments

import (
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
	"railguard/edge"
	"railguard/engine"
)

const nameScreenTotal = "railguard_screen_total"

const nameScreenSeconds = "railguard_screen_seconds"

const nameSettleMarked = "railguard_settle_marked_total"

var streamsOpen = metrics.NewGauge("railguard_streams_open", nil)

var streamLines = metrics.NewCounter("railguard_stream_lines_total")

var limitDeniedTotal = metrics.NewCounter("railguard_limit_denied_total")

var screenVerify = timing.New(nameScreenSeconds, `stage="verify"`, timing.Call)

var screenRules = timing.New(nameScreenSeconds, `stage="rules"`, timing.Call)

var screenCommit = timing.New(nameScreenSeconds, `stage="commit"`, timing.Call)

var screenWhole = timing.New(nameScreenSeconds, `stage="total"`, timing.Call)

// SettleMarks counts settles that a person must look at.
var SettleMarks = map[string]*metrics.Counter{
	"late":        metrics.NewCounter(nameSettleMarked + `{mark="late"}`),
	"overLimit":   metrics.NewCounter(nameSettleMarked + `{mark="overLimit"}`),
	"notAllowed":  metrics.NewCounter(nameSettleMarked + `{mark="notAllowed"}`),
	"unpermitted": metrics.NewCounter(nameSettleMarked + `{mark="unpermitted"}`),
}

// screenTotals counts verdicts by rule and verdict. Every possible pair is made in advance,
// so that the hot path takes no lock.
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
			add(rule.Code, engine.Block) // An institution may set this mode.
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

// limitRules are the rules about spending limits.
var limitRules = [...]string{"R10_SINGLE_TX_LIMIT", "R11_DAILY_LIMIT", "R12_FLEET_DAILY_LIMIT"}
