package recorder

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Bounds of the recorder.
const (
	entriesKept  = 1024
	refusalsKept = 1024 // A ring of their own, so that a flood of refused calls drives out nothing else.
	textMax      = 240  // Bytes of an entry's words.
	kindsCounted = 64   // Pairs of code and route that are told apart within an interval; the rest are counted together.

	// Interval is how long refused calls are counted together.
	Interval = time.Second
)

// Kinds of entries.
const (
	Started  = "started"  // The node began to serve.
	Ending   = "ending"   // The node ends by itself; the words are the reason.
	Stopping = "stopping" // Somebody ends the node.
	Election = "election" // The node asks for votes.
	Leader   = "leader"   // Another leader is known, or none.
	Leading  = "leading"  // The node leads, and its term is open.
	Lost     = "lost"     // The node led and does not lead any more.
	Stall    = "stall"    // A write hangs, or does not hang any more: then took is set.
	Disk     = "disk"     // How much room the disk has.
	Clock    = "clock"    // The node's clock is off, or right again; log time leaps or catches up.
	Snapshot = "snapshot"
	Member   = "member"  // A member came, went, moved, got or lost a vote.
	List     = "list"    // A sanctions list was compiled, or could not be.
	Change   = "change"  // Somebody changed settings, keys or members by a call.
	Refused  = "refused" // Refused calls of one code and route within an interval.
)

// Entry is one thing that happened. Times are in milliseconds since 1970.
type Entry struct {
	At      int64  `json:"at"`                // By the node's clock.
	LogTime int64  `json:"logTime,omitempty"` // Log time of the node's state; 0: it was not known.
	Kind    string `json:"kind"`
	Text    string `json:"text,omitempty"`
	Term    uint64 `json:"term,omitempty"`
	Index   uint64 `json:"index,omitempty"`
	Count   uint64 `json:"count,omitempty"`
	TookMs  int64  `json:"tookMs,omitempty"`
	Code    string `json:"code,omitempty"`
	Route   string `json:"route,omitempty"`
}

// ring keeps the newest values.
type ring[T any] struct {
	values []T
	next   uint64 // How many there have been.
}

func newRing[T any](size int) ring[T] { return ring[T]{values: make([]T, size)} }

func (r *ring[T]) add(value T) {
	r.values[r.next%uint64(len(r.values))] = value
	r.next++
}

// all returns the values, oldest first.
func (r *ring[T]) all() []T {
	size := uint64(len(r.values))
	if r.next <= size {
		return slices.Clone(r.values[:r.next])
	}
	at := r.next % size
	return append(slices.Clone(r.values[at:]), r.values[:at]...)
}

// refusalKind is what refused calls are counted by.
type refusalKind struct{ code, route string }

// Recorder is the flight recorder of one node. All its methods may be called at the same time, and
// on nil, which records nothing.
type Recorder struct {
	now func() time.Time

	mu       sync.Mutex
	entries  ring[Entry]
	refusals ring[Entry]
	logTime  func() int64 // Milliseconds since 1970; nil: not known yet.

	counted map[refusalKind]uint64 // Refused calls since began.
	began   time.Time
}

// New makes a recorder. now is the node's clock.
func New(now func() time.Time) *Recorder {
	return &Recorder{
		now: now, entries: newRing[Entry](entriesKept), refusals: newRing[Entry](refusalsKept),
		counted: make(map[refusalKind]uint64, kindsCounted),
	}
}

// Follow makes entries name the log time that the function returns.
func (r *Recorder) Follow(logTime func() int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.logTime = logTime
	r.mu.Unlock()
}

// Note adds an entry at the present time.
func (r *Recorder) Note(e Entry) {
	if r == nil {
		return
	}
	e.At, e.Text = r.now().UnixMilli(), cut(e.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logTime != nil {
		e.LogTime = r.logTime()
	}
	r.entries.add(e)
}

func cut(text string) string {
	if len(text) > textMax {
		return text[:textMax]
	}
	return text
}

// CountRefusal counts a call that was refused with a code. The route is a pattern, never the path
// of a call.
func (r *Recorder) CountRefusal(code, route string) {
	if r == nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.began) >= Interval || now.Before(r.began) {
		r.closeInterval()
		r.began = now
	}
	kind := refusalKind{code, route}
	if _, known := r.counted[kind]; !known && len(r.counted) >= kindsCounted {
		kind = refusalKind{code: "others"}
	}
	r.counted[kind]++
}

// closeInterval turns what was counted into entries. Called with mu held.
func (r *Recorder) closeInterval() {
	if len(r.counted) == 0 {
		return
	}
	kinds := make([]refusalKind, 0, len(r.counted))
	for kind := range r.counted {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b refusalKind) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.route, b.route))
	})
	for _, kind := range kinds {
		r.refusals.add(Entry{At: r.began.UnixMilli(), Kind: Refused, Code: kind.code, Route: kind.route, Count: r.counted[kind]})
	}
	clear(r.counted)
}

// Entries returns what is recorded, oldest first.
func (r *Recorder) Entries() []Entry {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeInterval()
	all := append(r.entries.all(), r.refusals.all()...)
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	return all
}
