package cluster

import (
	"time"

	"railguard/engine"
)

// Clock is the seam for time: what this node's wall clock says, and a clock that
// never jumps.
type Clock interface {
	Wall() engine.Time
	Monotonic() engine.Time // Since any fixed instant of this process.
}

// SystemClock is the machine's clock.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Wall() engine.Time      { return engine.Time(time.Now().UnixNano()) }
func (c systemClock) Monotonic() engine.Time { return engine.Time(time.Since(c.start)) }

// ShiftedClock is a wall clock that is wrong by what by says whenever it is asked:
// for fault tests, since the processes of one machine share its clock. by may
// change from one call to the next, as a clock that is set does; it must be safe
// for use by several goroutines.
func ShiftedClock(clock Clock, by func() engine.Time) Clock { return shiftedClock{clock, by} }

type shiftedClock struct {
	Clock
	by func() engine.Time
}

func (c shiftedClock) Wall() engine.Time { return c.Clock.Wall() + c.by() }

// slewShare is how much faster or slower than the monotonic clock stamps may
// run: one tenth (decision 47, "Log time").
const slewShare = 10

// stamper makes the leader's stamps. It follows the monotonic clock and leans
// towards its target, the wall clock, by at most a tenth of the time that
// passed: a jump of the wall clock bends the log's time, it never breaks it.
// Owned by the sequencer.
type stamper struct {
	clock Clock
	last  engine.Time // Last stamp.
	at    engine.Time // Monotonic instant of the last stamp.
}

// restart begins a term: stamps go on from log time, or from the wall clock where
// that is later (the time nobody led).
func (s *stamper) restart(logTime, target engine.Time) {
	s.last = max(logTime, target)
	s.at = s.clock.Monotonic()
}

// stamp returns the next stamp; it is never lower than the one before.
func (s *stamper) stamp(target engine.Time) engine.Time {
	now := s.clock.Monotonic()
	passed := max(now-s.at, 0)
	s.at = now
	even := s.last + passed
	lean := min(max(target-even, -passed/slewShare), passed/slewShare)
	s.last = even + lean
	return s.last
}

// clockBase is where the wall clock stands on the monotonic one: it changes only
// when the wall clock is set.
func (n *Node) clockBase() engine.Time { return n.config.Clock.Wall() - n.config.Clock.Monotonic() }

// seenFrom is the sample as it looks after our own wall clock was set: the peer's
// clock stands where it stood, ours does not. Without it a leader whose clock
// jumps a day right before its term would have the day confirmed by samples that
// are older than the jump.
func (s sample) seenFrom(base engine.Time) sample {
	s.offset -= base - s.base
	return s
}
