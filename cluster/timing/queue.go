package timing

import (
	"math"
	"sync"
	"time"
)

const (
	// FewCalls under way at once are never refused.
	FewCalls = 192
	// WaitMax is how much longer than in calm a call may wait before the node is overloaded.
	WaitMax = 60 * time.Millisecond

	calmCalls = 8 // So many at once hardly wait for one another: how long they take, which is what disk and network cost, is the node's calm.

	calmShare   = 32                     // By this part of itself one call moves the calm,
	calmStep    = 20 * time.Microsecond  // and by this.
	calmMax     = time.Second            // A calm is not longer: a call may have waited for an election.
	rateSpan    = 100 * time.Millisecond // Over so long the node counts how many calls come and end.
	usualShare  = 4                      // By this part of the difference a span moves the usual rate.
	lateSpans   = 10                     // After so many late spans, less those that were not, the calls under way are limited.
	stillFor    = 30 * time.Millisecond  // After so long without an answer it may be a pause, and nobody is refused.
	pauseBegins = 100 * time.Millisecond // After so long it is one, as an election: those who waited are served first,
	steadyFor   = 300 * time.Millisecond // and for so long after it nobody is refused.
)

// Waiter is one call that waits for its verdict.
type Waiter struct {
	owner         string
	began         time.Duration // On the clock of its queue.
	before, after *Waiter
	few           bool // It began while few others were under way.
	begun         bool
}

// Waits reports whether the call has a place in a queue.
func (w *Waiter) Waits() bool { return w.begun }

// Queue is the calls of this node that wait for a verdict, in the order in which they came. The
// age of the oldest, and how long calls wait before they can enter, say how long verdicts wait,
// whatever makes them wait. It is safe for concurrent use.
type Queue struct {
	now    func() time.Duration // Since any instant; it does not jump.
	before func() time.Duration // How long a call waits before it can enter.

	mu          sync.Mutex
	first, last *Waiter
	count       int
	owners      map[string]int // How many calls of each owner wait.
	calm        time.Duration
	lastEnd     time.Duration
	steady      time.Duration // Since when calls have ended without a pause.

	span                 time.Duration // When the present span began.
	came, ended, refused int           // Calls in it.
	comes                float64       // Calls that come in a second, of the last whole span; 0: unknown.
	rate                 float64       // Calls that end in a second, of the last whole span; infinite: unknown.
	usual                float64       // The same over half a second.
	late                 int           // Late spans, less those that were not, at most 2*lateSpans.
	limited              bool          // More calls have come for long than the node answers.
}

// NewQueue returns an empty queue; now is its clock, nil the process' own. before says how long a
// call waits before it can enter, nil: it does not.
func NewQueue(now, before func() time.Duration) *Queue {
	if now == nil {
		began := time.Now()
		now = func() time.Duration { return time.Since(began) }
	}
	if before == nil {
		before = func() time.Duration { return 0 }
	}
	return &Queue{now: now, before: before, owners: make(map[string]int), rate: math.Inf(1)}
}

// Enter adds a call of an owner, and returns false if this node has more calls than it can answer
// and the owner more than its share of them: then the call must be refused. After true the caller
// must Leave.
func (q *Queue) Enter(call *Waiter, owner string) bool {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turnSpan(now)
	q.came++
	if q.isOverloaded(now) && q.owners[owner]*len(q.owners) >= q.count {
		q.refused++
		return false
	}
	*call = Waiter{owner: owner, began: now, before: q.last, few: q.count < calmCalls, begun: true}
	if q.last == nil {
		q.first = call
	} else {
		q.last.after = call
	}
	q.last = call
	q.count++
	q.owners[owner]++
	return true
}

// Leave removes a call. It does nothing for one that was refused.
func (q *Queue) Leave(call *Waiter) {
	if !call.begun {
		return
	}
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if call.before == nil {
		q.first = call.after
	} else {
		call.before.after = call.after
	}
	if call.after == nil {
		q.last = call.before
	} else {
		call.after.before = call.before
	}
	q.count--
	if q.owners[call.owner]--; q.owners[call.owner] == 0 {
		delete(q.owners, call.owner)
	}
	if call.few && q.count < calmCalls && !q.limited {
		q.learnCalm(min(now-call.began, calmMax))
	}
	if now-max(q.lastEnd, call.began) > pauseBegins {
		q.steady = now // No call ended while this one waited.
	}
	q.turnSpan(now)
	q.ended++
	q.lastEnd = now
	call.begun = false
}

// learnCalm moves the calm towards what a call took, by a small part of itself, however long that
// was: so the calm is a median, and a stall of the machine does not change it. Called with mu held.
func (q *Queue) learnCalm(took time.Duration) {
	step := q.calm/calmShare + calmStep
	switch {
	case q.calm == 0:
		q.calm = took
	case took > q.calm:
		q.calm = min(q.calm+step, took)
	default:
		q.calm = max(q.calm-step, took)
	}
}

// turnSpan begins a new span if the present one is over. Called with mu held.
func (q *Queue) turnSpan(now time.Duration) {
	passed := now - q.span
	if passed < rateSpan {
		return
	}
	q.rate, q.comes = math.Inf(1), 0 // Unknown: nothing has happened for long.
	if passed < 2*rateSpan {
		q.rate, q.comes = float64(q.ended)/passed.Seconds(), float64(q.came)/passed.Seconds()
		q.usual += (q.rate - q.usual) / usualShare
	}
	if q.refused > 0 || q.isLate(now) && now-q.lastEnd <= stillFor {
		q.late = min(q.late+1, 2*lateSpans)
	} else {
		q.late = max(0, q.late-int(min(passed/rateSpan, 2*lateSpans)))
	}
	if q.late == 0 || q.late >= lateSpans {
		q.limited = q.late > 0
	}
	q.span, q.came, q.ended, q.refused = now, 0, 0, 0
}

// isLate reports whether the oldest of some calls has waited longer than one may. Called with mu held.
func (q *Queue) isLate(now time.Duration) bool {
	return q.count >= calmCalls && q.before()+now-q.first.began > WaitMax+2*q.calm
}

// isOverloaded reports whether more calls come than the node answers: the oldest has waited too
// long, and at the rate at which calls end a new one would, too. Neither alone says so: one call
// may be slow by itself, and after a quiet second the rate is small. If that has lasted, so many
// calls may be under way as the node answers in time: without such a limit, all that come while
// the oldest is still young wait behind one another. Called with mu held.
func (q *Queue) isOverloaded(now time.Duration) bool {
	if q.count < calmCalls {
		return false // What waits before is not asked for: that costs a few microseconds.
	}
	count := float64(q.count) + q.comes*q.before().Seconds() // Those that wait to enter are under way.
	most := (WaitMax + 2*q.calm).Seconds()
	switch {
	case count < FewCalls:
		return false
	case q.limited:
		return count > q.usual*most
	case now-q.lastEnd > stillFor || now-q.steady < steadyFor:
		return false
	}
	return q.isLate(now) && count > q.rate*most
}

// Overloaded reports whether a call that came now would be refused if its owner had many others.
func (q *Queue) Overloaded() bool {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isOverloaded(now)
}

// Late returns how much longer than in calm the oldest call has waited; 0 if no call waits.
func (q *Queue) Late() time.Duration {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == nil {
		return 0
	}
	return max(0, q.before()+now-q.first.began-2*q.calm)
}

// Oldest returns how long the oldest call has waited, and how many wait.
func (q *Queue) Oldest() (age time.Duration, count int) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first != nil {
		age = now - q.first.began
	}
	return age, q.count
}
