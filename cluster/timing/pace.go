package timing

import (
	"sync/atomic"
	"time"
)

const (
	// Slice is how long dear work computes before it rests: short beside a verdict,
	// which is woken about eight times on its way and may have to wait each time; long
	// beside a rest's own cost, some ten microseconds.
	Slice = time.Millisecond
	// RestMax bounds one rest: a slice that was long because the machine had no
	// processor for it is not paid for twice.
	RestMax = 20 * time.Millisecond
	// BusyFor is how long a node counts as busy after something was applied on it.
	BusyFor = 100 * time.Millisecond

	restOfOne = 4 // Times its slice that work rests on a node of one processor; on more, so much less.
)

// Pace has dear work rest between slices while its node is busy with verdicts. Turns
// alone do not keep them apart: a scan that holds the one turn of a node still holds a
// processor for as long as it lasts, and a verdict crosses three nodes. It is safe for
// concurrent use.
type Pace struct {
	applied    func() uint64
	processors int
	slice      time.Duration

	seen  atomic.Uint64 // What applied said when it moved last.
	moved atomic.Int64  // When that was, in nanoseconds since began.
	began time.Time
}

// NewPace returns the pace of a node with so many processors, with slices of a length.
// applied counts what the node does for others: while it moves, the node is busy.
func NewPace(processors int, slice time.Duration, applied func() uint64) *Pace {
	p := &Pace{applied: applied, processors: max(1, processors), slice: slice, began: time.Now()}
	p.seen.Store(applied())
	p.moved.Store(-int64(BusyFor))
	return p
}

// Busy tells whether something was applied within BusyFor, as far as was looked.
func (p *Pace) Busy() bool {
	now := int64(time.Since(p.began))
	if n := p.applied(); p.seen.Swap(n) != n {
		p.moved.Store(now)
	}
	return now-p.moved.Load() < int64(BusyFor)
}

// Work is one piece of dear work, of one goroutine. The zero value never rests.
type Work struct {
	pace  *Pace
	since time.Time // When its slice began.
}

// Begin begins a piece of work with a slice.
func (p *Pace) Begin() Work { return Work{pace: p, since: time.Now()} }

// Between is called between two steps that cannot be divided. Once a slice is over it
// rests if the node is busy, and begins the next.
func (w *Work) Between() {
	if w.pace == nil {
		return
	}
	worked := time.Since(w.since)
	if worked < w.pace.slice {
		return
	}
	if w.pace.Busy() {
		time.Sleep(min(worked*restOfOne/time.Duration(w.pace.processors), RestMax))
	}
	w.since = time.Now()
}
