package engine

// Format is the one number that says what Apply computes (house law: a ratchet
// in the replicated state, raised by a log entry, never lowered).
type Format uint16

// The formats. Each constant's paragraph says what changed. FormatNewest, the highest
// that this binary can apply, stands in format_newest.go, so that a test can build the
// release after this one (format_next.go).
const (
	// Format1 is the first: records, rows, leaves and snapshots as 0.2.0 releases them.
	Format1 Format = 1
)
