// Package timing counts durations into Prometheus histograms: buckets by upper bound (le),
// without a lock on the path of a call. It knows how long verdicts wait, makes expensive work rest
// and make way for them, and says when more calls come than a node answers.
//
// May import: nothing of ours. Never: a label whose values callers choose.
package timing
