package timing

import (
	"sync/atomic"
	"time"
)

const (
	// Slice is how long expensive work computes before it rests. It is short compared with a
	// verdict, whose goroutine is woken about eight times and may have to wait each time. It is
	// long compared with the cost of a rest, some ten microseconds.
	Slice = time.Millisecond
	// RestMax bounds one rest: if a slice took long only because the machine had no processor
	// for it, the rest must not be as long.
	RestMax = 20 * time.Millisecond
	// BusyFor is how long a node counts as busy after something was applied on it.
	BusyFor = 100 * time.Millisecond

	// LateFor is how much longer than in calm the oldest single call may have waited before expensive
	// work makes way; BulkLateFor is the same of batches and of parts of streams.
	LateFor     = 5 * time.Millisecond
	BulkLateFor = 50 * time.Millisecond
	// MakeWayMax bounds how long a slice of expensive work makes way, so that the work does a
	// fiftieth of a processor's time however busy the node is.
	MakeWayMax = 50 * time.Millisecond

	lookEvery = 2 * time.Millisecond // Pause between two looks at whether calls still wait.
	restOfOne = 4                    // On a node with one processor a rest is so many times its slice; with more processors it is shorter in proportion.
)

// Pace makes expensive work rest between slices while its node is busy with verdicts. One turn
// at a time is not enough: a scan that holds the node's only turn still holds a processor for
// as long as it lasts, and a verdict crosses three nodes. When calls wait longer than in calm,
// the work makes way until they do not. Pace is safe for concurrent use.
type Pace struct {
	applied    func() uint64
	processors int
	slice      time.Duration
	calls      *Calls // nil: nobody waits.

	seen  atomic.Uint64 // The last value of applied when it changed.
	moved atomic.Int64  // When seen last changed, in nanoseconds since began.
	began time.Time
}

// NewPace returns the pace of a node with so many processors, and the length of a slice.
// applied counts the node's work for others: while it moves, the node is busy. calls wait for
// their verdicts; nil: none do.
func NewPace(processors int, slice time.Duration, applied func() uint64, calls *Calls) *Pace {
	p := &Pace{applied: applied, processors: max(1, processors), slice: slice, calls: calls, began: time.Now()}
	p.seen.Store(applied())
	p.moved.Store(-int64(BusyFor))
	return p
}

// Busy reports whether something was applied within BusyFor, as far as calls have seen.
func (p *Pace) Busy() bool {
	now := int64(time.Since(p.began))
	if n := p.applied(); p.seen.Swap(n) != n {
		p.moved.Store(now)
	}
	return now-p.moved.Load() < int64(BusyFor)
}

// Calls are all calls of a node that wait for verdicts.
type Calls struct {
	Single *Queue
	Bulk   *Queue // Batches and parts of streams, which have many payments each.
}

// NewCalls returns empty queues. before says how long a call waits before it can enter one; nil: it
// does not.
func NewCalls(before func() time.Duration) *Calls {
	return &Calls{Single: NewQueue(nil, before), Bulk: NewQueue(nil, before)}
}

// MakeWay waits while calls wait longer than in calm, but at most MakeWayMax.
func (c *Calls) MakeWay() {
	for waited := time.Duration(0); waited < MakeWayMax && c.areLate(); waited += lookEvery {
		time.Sleep(lookEvery)
	}
}

func (c *Calls) areLate() bool {
	return c != nil && (c.Single.Late() > LateFor || c.Bulk.Late() > BulkLateFor)
}

// Work is one piece of expensive work, done by one goroutine. The zero value never rests.
type Work struct {
	pace  *Pace
	since time.Time     // When its slice began.
	began time.Time     // When the work began.
	due   time.Duration // After so long it no longer makes way.
}

// Begin begins a piece of work and its first slice. Somebody waits for it: after due, counted from
// began, it no longer makes way for verdicts, and only rests.
func (p *Pace) Begin(began time.Time, due time.Duration) Work {
	return Work{pace: p, since: time.Now(), began: began, due: due}
}

// IsLate reports whether the work has lasted longer than it was given.
func (w *Work) IsLate() bool { return w.pace != nil && time.Since(w.began) > w.due }

// Between is called between two steps that cannot be divided. When a slice is over, it rests if
// the node is busy, makes way for calls that wait, and begins the next slice.
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
		if !w.IsLate() {
			w.pace.calls.MakeWay()
		}
	}
	w.since = time.Now()
}
