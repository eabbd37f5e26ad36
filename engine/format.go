package engine

// Format is the one number that decides what Apply computes. It is part of the replicated
// state: a log entry raises it, and nothing lowers it.
type Format uint16

// The formats. The comment of each constant says what changed. FormatNewest, the highest that
// this binary can apply, is in format_newest.go, so that a test can build the release after
// this one (format_next.go).
const (
	// Format1 is the first: records, rows, leaves and snapshots as 0.2.0 releases them.
	Format1 Format = 1
)
