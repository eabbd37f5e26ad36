package cluster

import (
	"sort"
	"sync"
	"sync/atomic"

	"railguard/engine"
)

const (
	// ageStep is the precision with which the age of a log entry is known, and bytesStep the
	// precision of the bytes behind it.
	ageStep   = 10 * engine.Second
	bytesStep = 16 * engine.MiB
	marksMax  = 1 << 15 // More than a day needs.
)

// ages tracks the age of the log's entries by log time, and their size in bytes. Of the entries
// from before this process it knows only those of the last one.
type ages struct {
	latest   atomic.Int64 // Time of the last entry.
	next     atomic.Int64 // Time from which on the next mark is due.
	bytes    atomic.Int64 // Bytes applied by this process, and those found at its start.
	marked   int64        // bytes at the last mark. Only the apply goroutine touches it.
	snapshot atomic.Int64 // Time of the state of the newest snapshot.

	mu    sync.Mutex
	marks []ageMark // Oldest first.
}

// ageMark says that the entries up to index are at least as old as time, and that the log took
// bytes up to here.
type ageMark struct {
	index uint64
	time  engine.Time
	bytes int64
}

// noteApplied is called by the apply goroutine with every entry.
func (a *ages) noteApplied(index uint64, at engine.Time, size int64) {
	a.snapshot.CompareAndSwap(0, int64(at)) // Without a snapshot its age counts from the first entry applied.
	a.latest.Store(int64(at))
	bytes := a.bytes.Add(size)
	if int64(at) >= a.next.Load() || bytes-a.marked >= bytesStep {
		a.addMark(index, at)
	}
}

// noteFound is called once, at a start, with the first index and the size of the log on disk.
func (a *ages) noteFound(first uint64, bytes int64) {
	if first > 0 {
		a.addMark(first-1, 0)
		a.bytes.Store(bytes)
	}
}

// noteRestored is called with every state that was restored in place of the one before.
func (a *ages) noteRestored(index uint64, at engine.Time) {
	if at > 0 {
		a.snapshot.Store(int64(at))
		a.latest.Store(int64(at))
		a.addMark(index, at)
	}
}

func (a *ages) addMark(index uint64, at engine.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marked = a.bytes.Load()
	if len(a.marks) >= marksMax { // Every second one of the old marks is enough.
		a.marks = halveMarks(a.marks)
	}
	a.marks = append(a.marks, ageMark{index, at, a.marked})
	a.next.Store(int64(at + ageStep))
}

// latestTime is the time of the last entry.
func (a *ages) latestTime() engine.Time { return engine.Time(a.latest.Load()) }

// indexBefore returns an index up to which all entries are older than age, or 0 if none is
// known.
func (a *ages) indexBefore(age engine.Time) (index uint64) {
	time := a.latestTime() - age
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.marks), func(i int) bool { return a.marks[i].time > time })
	if at == 0 {
		return 0
	}
	return a.marks[at-1].index
}

// indexBeyond returns an index behind which there are at most so many bytes of log, to the
// precision of bytesStep. It returns 0 if all the log it knows is within them.
func (a *ages) indexBeyond(bytes int64) (index uint64) {
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

// forgetMarks drops the marks of entries that are older than an age.
func (a *ages) forgetMarks(age engine.Time) {
	time := a.latestTime() - age
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.marks), func(i int) bool { return a.marks[i].time > time })
	if at > 1 {
		a.marks = append([]ageMark(nil), a.marks[at-1:]...)
	}
}

func halveMarks(marks []ageMark) []ageMark {
	kept := marks[:0]
	for i := 0; i < len(marks); i += 2 {
		kept = append(kept, marks[i])
	}
	return kept
}
