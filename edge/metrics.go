package edge

import "github.com/VictoriaMetrics/metrics"

// The metrics of this package count over all judges of a process.
var (
	containedTotal = metrics.NewCounter("railguard_contained_panics_total")
	staleTotal     = metrics.NewCounter("railguard_screen_rejudged_total")
	forgedTotal    = metrics.NewCounter("railguard_screen_forged_tokens_total")
	turnsRefused   = metrics.NewCounter("railguard_judging_refused_total")
	tokenHits      = metrics.NewCounter("railguard_token_cache_hits_total")
	tokenMisses    = metrics.NewCounter("railguard_token_cache_misses_total")
)
