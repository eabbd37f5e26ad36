package schedule

import "time"

// kind is what a runner does.
type kind uint8

const (
	full kind = iota
	increment
	tail
	drill
	thin
	kinds = 5
)

func (k kind) String() string {
	return [kinds]string{"full copy", "increment", "tail", "rehearsal of a restore", "thinning"}[k]
}

const (
	waitMin     = 30 * time.Second // After a first failure nothing of a kind is tried before.
	waitMax     = 15 * time.Minute // After many.
	tailWaitMax = time.Minute      // Tails are small, and what they miss is lost with the nodes.
)

func (k kind) waitMax() time.Duration {
	if k == tail {
		return tailWaitMax
	}
	return waitMax
}

// attempts is when a kind of work was done last on this node, and how long it waits after failures.
type attempts struct {
	done  time.Time // Zero: not since this node leads.
	wait  time.Duration
	until time.Time // Nothing is tried before.
}

func (a *attempts) waits(now time.Time) bool { return now.Before(a.until) }

// isDue reports whether work is due that was last done at a time of the log. What this process did
// itself it measures by its own clock: log time may be far from the wall's, and a copy a second
// would be the answer.
func (a *attempts) isDue(now time.Time, logNanos int64, seconds uint32) bool {
	every := time.Duration(seconds) * time.Second
	if a.waits(now) {
		return false
	}
	if !a.done.IsZero() {
		return now.Sub(a.done) >= every
	}
	since := now.Sub(time.Unix(0, logNanos))
	return since >= every || since <= -every // A time far ahead of the clock says nothing.
}

func (a *attempts) note(now time.Time, err error, most time.Duration) {
	if err == nil {
		*a = attempts{done: now}
		return
	}
	a.wait = min(max(2*a.wait, waitMin), most)
	a.until = now.Add(a.wait)
}

// failing counts the kinds that fail at present.
func failing(all *[kinds]attempts) (n int) {
	for i := range all {
		if all[i].wait > 0 {
			n++
		}
	}
	return n
}
