// Package timing counts durations into Prometheus histograms: buckets by upper bound (le),
// without a lock on the path of a call. It makes expensive work rest while a node is busy with
// verdicts.
//
// May import: nothing of ours. Never: a label whose values callers choose.
package timing
