package cluster

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/recorder"
	"railguard/cluster/report"
	"railguard/engine"
)

// Clock is the seam for time: this node's wall clock, and a clock that never jumps.
type Clock interface {
	Wall() engine.Time
	Monotonic() engine.Time // Time since some fixed instant of this process.
}

// SystemClock returns the machine's clock.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Wall() engine.Time      { return engine.Time(time.Now().UnixNano()) }
func (c systemClock) Monotonic() engine.Time { return engine.Time(time.Since(c.start)) }

// ShiftedClock is a wall clock that is off by what the function by returns each time. It is for
// fault tests, since the processes of one machine share its clock. The result of by may change
// from one call to the next, as a clock that is set does; by must be safe for use by several
// goroutines.
func ShiftedClock(clock Clock, by func() engine.Time) Clock { return shiftedClock{clock, by} }

type shiftedClock struct {
	Clock
	by func() engine.Time
}

func (c shiftedClock) Wall() engine.Time { return c.Clock.Wall() + c.by() }

// slewShare is how much faster or slower than the monotonic clock stamps may
// run: one tenth (decision 47, "Log time").
const slewShare = 10

// stamper makes the leader's stamps. It follows the monotonic clock and leans towards its
// target, the wall clock, by at most a tenth of the time that passed. So a jump of the wall
// clock changes the pace of log time, which itself never jumps. The sequencer owns it.
type stamper struct {
	clock Clock
	last  engine.Time // Last stamp.
	at    engine.Time // Monotonic instant of the last stamp.
}

// restartStamps begins a term: stamps go on from log time, or from the target if that is later
// (nobody may have led for a while). Whether the target is credible, the caller has judged.
func (s *stamper) restartStamps(logTime, target engine.Time) {
	s.last = max(logTime, target)
	s.at = s.clock.Monotonic()
}

// nextStamp returns the next stamp; it is never lower than the one before.
func (s *stamper) nextStamp(target engine.Time) engine.Time {
	now := s.clock.Monotonic()
	passed := max(now-s.at, 0)
	s.at = now
	even := s.last + passed
	lean := min(max(target-even, -passed/slewShare), passed/slewShare)
	s.last = even + lean
	return s.last
}

// evenStamp returns the stamp that would be next if it leaned nowhere.
func (s *stamper) evenStamp() engine.Time { return s.last + max(s.clock.Monotonic()-s.at, 0) }

// clockBase is the wall clock minus the monotonic clock. It changes only when the wall clock is
// set.
func clockBase(clock Clock) engine.Time { return clock.Wall() - clock.Monotonic() }

// seenFrom corrects a sample for a setting of our own wall clock since it was taken: the peer's
// clock did not jump, ours did. Without this, a leader whose clock jumps a day right before its
// term would find the day confirmed by samples older than the jump.
func (s sample) seenFrom(base engine.Time) sample {
	s.offset -= base - s.base
	return s
}

// clocks compares this node's clock with the others' and with log time.
type clocks struct {
	clock   Clock
	state   *state
	replica *replica
	peers   *peers
	leapMax engine.Time // How far a term may leap beyond the log if nobody confirms it; below 0: any distance.

	waiting atomic.Pointer[leap]        // The leap that waits for persons, here or at the leader. A duty keeps it and median.
	median  atomic.Pointer[engine.Time] // How far the clocks of a quorum are from this one; nil: nobody knows.

	told bool // The log says that this node's clock is off. Owned by the caller of tellOffset.
}

// tellOffset says in the log once that this node's clock is off, and once that it is right again.
func (c *clocks) tellOffset(l *life, offset engine.Time) {
	off := offset > clockOffsetMax || offset < -clockOffsetMax
	if off == c.told {
		return
	}
	c.told = off
	if off {
		l.note(recorder.Clock, fmt.Sprintf("this node's clock is off by %d ms", offset/engine.Millisecond))
		l.log.Warn("this node's clock is off: it is not ready while it is; mend NTP", "offsetMillis", int64(offset/engine.Millisecond))
		return
	}
	l.note(recorder.Clock, "this node's clock is right again")
	l.log.Info("this node's clock is right again")
}

// voterOffsets returns the clocks of the voters with a fresh sample as offsets from ours, with
// 0 for our own, and how many voters make a quorum. The clock of a voter that did not answer since
// may have been set meanwhile.
func (c *clocks) voterOffsets() (offsets []engine.Time, quorum int) {
	voters := 0
	for _, server := range c.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if server.ID == c.replica.self {
			offsets = append(offsets, 0)
		} else if s, ok := c.peers.freshSample(string(server.ID)); ok && !s.silent {
			offsets = append(offsets, s.offset)
		}
	}
	return offsets, voters/2 + 1
}

// medianOffset returns the offset of the median of a quorum's clocks from ours. If their number
// is even, log time, moved on by the monotonic clock, counts as one more clock: of two clocks
// alone nobody can tell the wrong one.
func (c *clocks) medianOffset() (engine.Time, bool) {
	offsets, quorum := c.voterOffsets()
	if len(offsets) < quorum || len(offsets) == 0 {
		return 0, false
	}
	if len(offsets)%2 == 0 {
		if logOffset, ok := c.logOffset(); ok {
			offsets = append(offsets, logOffset)
		}
	}
	slices.Sort(offsets)
	return offsets[(len(offsets)-1)/2], true
}

// logOffset returns the offset of log time from our wall clock, if an entry was applied lately
// and was new then: log time of a replay or a snapshot says nothing about the present.
func (c *clocks) logOffset() (engine.Time, bool) {
	last := c.state.logTime.Load()
	if last == nil || !last.live || last.time == 0 {
		return 0, false
	}
	passed := c.clock.Monotonic() - last.at
	if passed > engine.Time(sampleFresh) {
		return 0, false
	}
	return c.state.rawLogTime() + passed - c.clock.Wall(), true
}

// clocksKnown reports whether a new leader may begin to stamp. Without a quorum's clocks and
// without recent entries, it would go on from the time of the last entry and need ten times the
// pause to catch up. So after a power cut of the whole group, or at the group's start, the leader
// first waits for its peers' clocks.
func (c *clocks) clocksKnown() bool {
	if c.replica.alone.Load() {
		return true
	}
	if _, ok := c.medianOffset(); ok {
		return true
	}
	if _, ok := c.logOffset(); ok {
		return true
	}
	c.peers.pingVoters()
	_, ok := c.medianOffset()
	return ok
}

// hasFreshEntry reports whether an entry was applied lately and was new then. So a majority that
// this node belongs to commits entries.
func (c *clocks) hasFreshEntry() bool {
	_, fresh := c.logOffset()
	return fresh
}

// targetTime returns the time that the leader's stamps lean to: its own wall clock, clamped to
// the median of a quorum's clocks. While fewer clocks are known, stamps go on by the monotonic
// clock alone.
func (c *clocks) targetTime() engine.Time {
	wall := c.clock.Wall()
	if c.replica.alone.Load() {
		return wall
	}
	median, ok := c.medianOffset()
	if !ok {
		offset, ok := c.logOffset()
		if !ok {
			return c.state.rawLogTime()
		}
		return wall + offset
	}
	return wall + min(max(0, median-clockClamp), median+clockClamp)
}

// clockOffset returns how far this node's wall clock is off from the median of a quorum's
// clocks; in a group of one, from log time moved on by the monotonic clock.
func (c *clocks) clockOffset() engine.Time {
	if c.replica.alone.Load() {
		offset, ok := c.logOffset()
		if !ok {
			return 0
		}
		return -offset
	}
	median, _ := c.medianOffset()
	return -median
}

// checkClock fails for a node whose clock differs from the others'. That log time differs from the
// clocks of all is told beside it, and takes no node out of service. A group of one has no other
// clocks: it is not ready while its clock and log time differ by more than it slews away.
func (n *Node) checkClock() report.ReadyCheck {
	offset, most := n.clocks.clockOffset(), clockOffsetMax
	if n.replica.alone.Load() {
		most = behindMax
	}
	text := fmt.Sprintf("%dms", offset/engine.Millisecond)
	for _, warning := range n.clocks.timeWarnings() {
		text += "; " + warning
	}
	return report.ReadyCheck{Name: "clock", OK: offset <= most && offset >= -most, Text: text}
}
