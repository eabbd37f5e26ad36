package cluster

import (
	"sort"
	"sync"
	"sync/atomic"

	"railguard/engine"
)

const (
	// ageStep is how exactly the age of a log entry is known; bytesStep how exactly the
	// bytes behind it.
	ageStep   = 10 * engine.Second
	bytesStep = 16 * engine.MiB
	marksMax  = 1 << 15 // A day's, and many more.
)

// ages knows how old the entries of the log are, by log time, and how many bytes they
// take. Of entries from before this process it knows neither but for their last one.
type ages struct {
	latest   atomic.Int64 // Time of the last entry.
	next     atomic.Int64 // Time from which on the next mark is due.
	bytes    atomic.Int64 // Applied by this process.
	marked   int64        // bytes at the last mark. Of the apply goroutine.
	snapshot atomic.Int64 // Time of the state of the newest snapshot.

	mu    sync.Mutex
	marks []ageMark // Oldest first.
}

// ageMark: the entries up to index are at least as old as time, and those that this
// process applied took bytes.
type ageMark struct {
	index uint64
	time  engine.Time
	bytes int64
}

// applied is called with every entry, by the apply goroutine.
func (a *ages) applied(index uint64, at engine.Time, size int64) {
	a.snapshot.CompareAndSwap(0, int64(at)) // No snapshot yet: as if there had been one now.
	a.latest.Store(int64(at))
	bytes := a.bytes.Add(size)
	if int64(at) >= a.next.Load() || bytes-a.marked >= bytesStep {
		a.mark(index, at)
	}
}

// found is called once, with the log that stands on the disk at a start.
func (a *ages) found(first uint64, bytes int64) {
	if first > 0 {
		a.mark(first-1, 0)
		a.bytes.Store(bytes)
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
	a.marked = a.bytes.Load()
	if len(a.marks) >= marksMax { // Every second one is enough of the old.
		a.marks = halved(a.marks)
	}
	a.marks = append(a.marks, ageMark{index, at, a.marked})
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
	at := sort.Search(len(a.marks), func(i int) bool { return a.marks[i].time > time })
	if at == 0 {
		return 0
	}
	return a.marks[at-1].index
}

// beyond returns an index behind which there are at most so many bytes of log, as far as
// this process knows; 0: all it knows is within them.
func (a *ages) beyond(bytes int64) (index uint64) {
	from := a.bytes.Load() - bytes
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.marks), func(i int) bool { return a.marks[i].bytes >= from })
	switch {
	case from <= 0 || len(a.marks) == 0:
		return 0
	case at == len(a.marks):
		return a.marks[at-1].index
	}
	return a.marks[at].index
}

// forget drops the marks of entries that are older than an age.
func (a *ages) forget(age engine.Time) {
	time := a.now() - age
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.marks), func(i int) bool { return a.marks[i].time > time })
	if at > 1 {
		a.marks = append([]ageMark(nil), a.marks[at-1:]...)
	}
}

func halved(marks []ageMark) []ageMark {
	kept := marks[:0]
	for i := 0; i < len(marks); i += 2 {
		kept = append(kept, marks[i])
	}
	return kept
}
