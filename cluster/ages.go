package cluster

import (
	"sync"
	"sync/atomic"

	"railguard/engine"
)

// ageStep is how exactly the age of a log entry is known.
const ageStep = engine.Hour

// ages knows how old the entries of the log are, by log time.
type ages struct {
	latest   atomic.Int64 // Time of the last entry.
	next     atomic.Int64 // Time from which on the next mark is due.
	snapshot atomic.Int64 // Time of the state of the newest snapshot.

	mu    sync.Mutex
	marks []ageMark // Oldest first.
}

// ageMark: the entries up to index are at least as old as time.
type ageMark struct {
	index uint64
	time  engine.Time
}

// applied is called with every entry, by the apply goroutine.
func (a *ages) applied(index uint64, at engine.Time) {
	a.snapshot.CompareAndSwap(0, int64(at)) // No snapshot yet: as if there had been one now.
	a.latest.Store(int64(at))
	if int64(at) >= a.next.Load() {
		a.mark(index, at)
	}
}

// restored is called with every state that takes the place of the one before.
func (a *ages) restored(index uint64, at engine.Time) {
	if at > 0 {
		a.snapshot.Store(int64(at))
		a.latest.Store(int64(at))
		a.mark(index, at)
	}
}

func (a *ages) mark(index uint64, at engine.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marks = append(a.marks, ageMark{index, at})
	a.next.Store(int64(at + ageStep))
}

// now is the time of the last entry.
func (a *ages) now() engine.Time { return engine.Time(a.latest.Load()) }

// before returns an index up to which all entries are older than an age; 0: none is
// known to be.
func (a *ages) before(age engine.Time) (index uint64) {
	time := a.now() - age
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.marks) > 1 && a.marks[1].time <= time {
		a.marks = a.marks[1:]
	}
	if len(a.marks) > 0 && a.marks[0].time <= time {
		index = a.marks[0].index
	}
	return index
}
