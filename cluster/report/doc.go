// Package report is what a cluster tells of itself, as plain values: its status,
// whether a node is ready, how often keys are used, what a snapshot is. The cluster
// fills them in, httpapi shows them, and neither knows the other.
//
// May import: nothing.
// Never: anything but values.
package report
