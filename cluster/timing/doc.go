// Package timing counts durations into Prometheus histograms: buckets by upper bound
// (le), without a lock on the path of a call.
//
// May import: nothing of ours.
// Never: a label whose values callers choose.
package timing
