package datadir

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Patience says what becomes of a node while a write to its disk does not return. A process that
// ends and starts again has no other disk, and a start may take a minute and more. So slowness
// alone ends no node: it stops leading, and the others elect if they can. It ends only where that
// frees its callers for nodes that go on, or where nothing is to be expected of the disk any more.
type Patience struct {
	Lead  time.Duration // A write that takes longer takes the node's leadership.
	End   time.Duration // A write that takes longer ends the node, if ending helps.
	Never time.Duration // A write that takes longer ends the node in any case.
}

// watchBeats is how many beats of the watch's timer make Patience.Lead. One long timer cannot
// tell a disk that hangs from a process that was stopped (SIGSTOP, a paused or migrating
// machine): the time passes either way. A stopped process has no beats: however long it slept,
// the pause counts as one beat, and the disk has the remaining beats to come back.
const watchBeats = 8

// beatTimer is the part of time.Timer that a watch needs.
type beatTimer interface {
	Reset(time.Duration) bool
	Stop() bool
}

func realBeats(d time.Duration, beat func()) beatTimer { return time.AfterFunc(d, beat) }

// Stalls watches the writes of a node (guard G4).
type Stalls struct {
	Helps   func() bool                             // Ending helps: others go on without this node, or it is being stopped. nil: it does not.
	Noticed func(what string)                       // A write begins to take the leadership.
	Mended  func(what string, lasted time.Duration) // Such a write returned after all.
	later   func(time.Duration, func()) beatTimer   // The seam for tests; nil: real timers.

	patience func() Patience
	fatal    func(reason string)
	standing atomic.Int64 // Writes that take the leadership now.

	mu    sync.Mutex
	what  string // The newest of them.
	since time.Time
}

// NewStalls returns a watch. It calls fatal, once for each write, when a write ends the node.
func NewStalls(patience func() Patience, fatal func(reason string)) *Stalls {
	return &Stalls{patience: patience, fatal: fatal}
}

// Stand reports whether a write has taken this node's leadership, which one, and since when.
func (s *Stalls) Stand() (what string, since time.Time, standing bool) {
	if s == nil || s.standing.Load() == 0 {
		return "", time.Time{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.what, s.since, true
}

// Standing reports whether a write has taken this node's leadership.
func (s *Stalls) Standing() bool { return s != nil && s.standing.Load() > 0 }

// Watch watches a write without which the node cannot lead. The caller calls done when the write
// has returned.
func (s *Stalls) Watch(what string) (done func()) { return s.watchWrite(what, true) }

// WatchBeside watches a write for which no call waits: it takes no leadership.
func (s *Stalls) WatchBeside(what string) (done func()) { return s.watchWrite(what, false) }

func (s *Stalls) watchWrite(what string, leads bool) func() {
	patience := s.patience()
	w := &watched{stalls: s, what: what, leads: leads, patience: patience, every: max(patience.Lead/watchBeats, 1), began: time.Now()}
	w.end = beatsOf(patience.End, w.every)
	w.never = max(beatsOf(patience.Never, w.every), w.end)
	later := s.later
	if later == nil {
		later = realBeats
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = later(w.every, w.beatOnce)
	return w.stop
}

// beatsOf returns how many beats make a time.
func beatsOf(d, every time.Duration) int { return int((d + every - 1) / every) }

// watched is one write. Each beat starts the timer of the next one.
type watched struct {
	stalls     *Stalls
	what       string
	leads      bool
	patience   Patience
	every      time.Duration
	end, never int // In beats.
	began      time.Time

	mu    sync.Mutex
	timer beatTimer
	beats int
	stood bool // It has taken the leadership.
	ended bool // It returned, or ended the node.
}

func (w *watched) beatOnce() {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	w.beats++
	beats := w.beats
	if w.leads && beats == watchBeats {
		w.stood = true
		w.takeLead()
	}
	w.mu.Unlock()
	if beats >= w.never || beats >= w.end && w.stalls.Helps != nil && w.stalls.Helps() {
		w.giveUp()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.timer.Reset(w.every)
	}
}

func (w *watched) giveUp() {
	w.mu.Lock()
	late := w.ended
	w.ended = true
	w.mu.Unlock()
	if !late {
		w.stalls.fatal(fmt.Sprintf("disk stalled: %s took longer than %v", w.what, time.Duration(w.beats)*w.every))
	}
}

func (w *watched) takeLead() {
	s := w.stalls
	s.mu.Lock()
	s.what, s.since = w.what, w.began
	s.mu.Unlock()
	s.standing.Add(1)
	if s.Noticed != nil {
		go s.Noticed(w.what) // It may log, and the log may be on the disk that hangs.
	}
}

// stop ends the watch of a write that returned. A write that ended the node keeps its leadership
// for good.
func (w *watched) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.ended = true
	w.timer.Stop()
	if !w.stood {
		return
	}
	w.stalls.standing.Add(-1)
	if w.stalls.Mended != nil {
		go w.stalls.Mended(w.what, time.Since(w.began))
	}
}
