package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Log time never goes back, so a leap to a wrong time cannot be taken back. A term therefore begins
// with a leap only if it is credible (decision 111): at most leapMax beyond the last entry and what
// is known to have passed since, by the monotonic clock of a process that has lived through it.
// Beyond that nobody can tell an outage from wrong clocks. Then no leader opens its term, and
// nothing gets into the log but what two persons say of the time.

const (
	leapMaxDefault = engine.Hour
	// behindMax is how far log time may be behind the clocks of a quorum before it is told, and
	// behindSteady for how long before the leader catches up with a leap. A wrong source of time
	// that is mended within behindSteady changes nothing.
	behindMax    = engine.Minute
	behindSteady = engine.Minute
	// behindNoise is how far published log time may be behind without meaning anything.
	behindNoise = logTimeAhead
	// steadyRun is for how long a process must have applied entries as they came to know log time
	// better than the clocks do.
	steadyRun = 10 * engine.Second
	// leapAsk is the leap from which on a new leader asks the voters for their clocks once more.
	leapAsk = engine.Second
	// leapRetry is the pause between two looks at the clocks while a leap waits.
	leapRetry = 50 * time.Millisecond
)

// leap is a leap of log time that nobody has confirmed.
type leap struct {
	from engine.Time // Log time, moved on by what is known to have passed since.
	to   engine.Time // What a quorum's clocks say.
}

// describeLeap says what waits, and what to do. A person types a date, the same for everybody who
// looks within the hours before it.
func (l *leap) describeLeap() string {
	return fmt.Sprintf("no leader opens its term: the clocks say %v, which is %v beyond the log (%v), and an outage looks like wrong clocks. "+
		"If the clocks are wrong, mend NTP, and the term opens by itself; if they are right, two admins say so: railguard cluster confirm-time --not-after %s",
		l.to, describeSpan(l.to-l.from), l.from, l.confirmDate())
}

// confirmDate returns the date to confirm: a quarter of a day beyond the clocks at least.
func (l *leap) confirmDate() string {
	return string(((l.to + engine.DayLength/4).Day() + 1).AppendDate(nil))
}

// describeSpan writes a span of time for people.
func describeSpan(span engine.Time) string {
	if days := span / engine.DayLength; days >= 2 {
		return fmt.Sprintf("%d days", days)
	}
	return time.Duration(span).Round(time.Second).String()
}

// evenTime returns log time without the test clock's offset, moved on by this process's monotonic
// clock since the last entry was applied. At least that has passed.
func (c *clocks) evenTime() engine.Time {
	last := c.state.logTime.Load()
	if last == nil {
		return 0
	}
	return last.time - last.off + max(c.clock.Monotonic()-last.at, 0)
}

// borneOut returns the latest time that the processes of the voters bear out: one of them may have
// lived through a pause that the others slept through.
func (c *clocks) borneOut() engine.Time {
	even := c.evenTime()
	for _, server := range c.replica.listServers() {
		if s, fresh := c.peers.freshSample(string(server.ID)); fresh && server.ID != c.replica.self {
			even = max(even, s.pong.LogTime)
		}
	}
	return even
}

// livedThrough reports whether this process has applied entries as they came until a moment ago. Then
// it knows by its monotonic clock what time it is, whatever the clocks say. The ticks of leaders
// that wait for persons make no such run.
func (c *clocks) livedThrough() bool {
	_, fresh := c.logOffset()
	last := c.state.logTime.Load()
	return fresh && last.at-last.run >= steadyRun
}

// leapLimit returns the time up to which log time may leap, and lean.
func (c *clocks) leapLimit() engine.Time {
	if c.leapMax < 0 {
		return math.MaxInt64
	}
	return max(c.borneOut()+c.leapMax, c.state.Settings().LeapUntil)
}

// judgeLeap returns the leap to a time if it is not credible; otherwise nil. A cluster that begins
// may leap anywhere.
func (c *clocks) judgeLeap(to engine.Time) *leap {
	if c.state.Settings().Genesis == nil || to <= c.leapLimit() {
		return nil
	}
	return &leap{from: c.borneOut(), to: to}
}

// isLeap reports whether a term would begin with a leap to a time.
func (c *clocks) isLeap(to engine.Time) bool {
	return c.state.Settings().Genesis != nil && to-c.borneOut() > leapAsk
}

// credibleTarget is targetTime without leaning to a time that is not credible.
func (c *clocks) credibleTarget(even engine.Time) engine.Time {
	target := c.targetTime()
	if target > c.leapLimit() && c.state.Settings().Genesis != nil {
		return even
	}
	return target
}

// lookAtTime is a duty: it finds whether a leap waits, here or at the leader, and what the clocks
// of a quorum say.
func (c *clocks) lookAtTime() {
	waiting := c.replica.leap.Load()
	if leader, _ := c.replica.remoteLeader(); waiting == nil && leader != "" {
		if s, fresh := c.peers.freshSample(string(leader)); fresh && s.pong.LeapTo != 0 {
			waiting = &leap{from: s.pong.LogTime, to: s.pong.LeapTo}
		}
	}
	c.waiting.Store(waiting)
	if median, known := c.medianOffset(); known {
		c.median.Store(&median)
	} else {
		c.median.Store(nil)
	}
}

// behindClocks returns how far log time, as far as this node knows it, is behind the clocks of a
// quorum (below 0: ahead of them); 0: it knows neither, or has applied no entry yet.
func (c *clocks) behindClocks() engine.Time {
	median, even := c.median.Load(), c.evenTime()
	if median == nil || even == 0 {
		return 0
	}
	return c.clock.Wall() + *median - even
}

// logBehind returns how far log time is behind the clocks of a quorum (below 0: ahead of them). It
// returns 0 if this node has no fresh entry, for then it does not know log time.
func (c *clocks) logBehind() engine.Time {
	if _, fresh := c.logOffset(); !fresh {
		return 0
	}
	return c.behindClocks()
}

// ClocksAhead returns how far the clocks of a quorum are ahead of the log time that this node
// knows; 0: they agree, or nobody knows. What has ended by these clocks must not be taken as good
// (edge).
func (n *Node) ClocksAhead() engine.Time {
	if ahead := n.clocks.behindClocks(); ahead > behindNoise {
		return ahead
	}
	return 0
}

// timeWarnings returns what is wrong with log time.
func (c *clocks) timeWarnings() (warnings []string) {
	if waiting := c.waiting.Load(); waiting != nil {
		return []string{waiting.describeLeap()}
	}
	behind := c.logBehind()
	clocks := &leap{to: c.evenTime() + behind}
	switch {
	case behind > behindMax && clocks.to > c.leapLimit():
		return []string{fmt.Sprintf("log time is %s behind the clocks, further than it may leap: if the clocks are right, two admins say so (railguard cluster confirm-time --not-after %s), and it catches up; if not, mend NTP. Credentials that ended meanwhile get no verdict",
			describeSpan(behind), clocks.confirmDate())}
	case behind > behindMax:
		return []string{fmt.Sprintf("log time is %s behind the clocks: it catches up within minutes; credentials that ended meanwhile get no verdict", describeSpan(behind))}
	case behind < -behindMax:
		return []string{fmt.Sprintf("log time is %s ahead of the clocks: it goes slower by a tenth until they meet; if the clocks are wrong, mend NTP", describeSpan(-behind))}
	}
	return nil
}

// beginTime is the first part of opening a term: it moves log time to what the clocks say, if that
// is credible. If it is not, a leader that lived through the time until now goes on without a leap,
// as it would have if the leader before were still there; any other waits for persons. A node that
// becomes leader may not have applied all of the log yet and so take its log time for older than it
// is. So before it judges a leap it ticks without one; when that tick is applied, everything before it
// is.
func (s *sequencer) beginTime(term uint64) bool {
	target := s.clocks.targetTime()
	if s.ticked != term && s.clocks.isLeap(target) { // Clocks that were set since the last answers would speak for a time that nobody has any more.
		s.clocks.peers.pingVoters()
		target = s.clocks.targetTime()
	}
	waiting := s.clocks.judgeLeap(target)
	if waiting != nil && s.ticked != term && s.clocks.livedThrough() {
		target, waiting = s.clocks.evenTime(), nil
	}
	if s.state.Settings().Genesis == nil || waiting != nil {
		if s.ticked != term {
			s.clock.restartStamps(s.state.rawLogTime(), 0)
			if !s.proposeAlone(term, wire.KindTick, nil) {
				return false
			}
			s.ticked = term
			s.replica.settled.Store(term) // Reads go on although nothing is decided.
			target = s.clocks.targetTime()
		}
		if waiting := s.clocks.judgeLeap(target); waiting != nil {
			s.awaitPersons(term, waiting)
			return false
		}
	}
	s.noteLeap(nil)
	s.clock.restartStamps(s.state.rawLogTime(), target)
	return s.state.Settings().Genesis == nil || s.proposeAlone(term, wire.KindTick, nil)
}

// noteLeap notes which leap waits; nil: none does any more.
func (s *sequencer) noteLeap(waiting *leap) {
	before := s.replica.leap.Swap(waiting)
	switch {
	case before == nil && waiting != nil:
		s.life.note(recorder.Clock, waiting.describeLeap())
		s.life.log.Error(waiting.describeLeap())
	case before != nil && waiting == nil:
		s.life.note(recorder.Clock, "the leap of log time is not waiting any more")
		s.life.log.Warn("the leap of log time is not waiting any more")
	}
}

// saying is a record by which persons say what the time is, on its way to the sequencer.
type saying struct {
	kind   wire.Kind
	body   []byte
	answer chan answer // Has room for one.
}

// awaitPersons keeps a term closed. All that it lets into the log is what persons say of the time,
// in entries whose stamps go on from the last one by the monotonic clock.
func (s *sequencer) awaitPersons(term uint64, waiting *leap) {
	s.noteLeap(waiting)
	s.waiters.failQueued(wire.ErrTimeUncertain)
	select {
	case said := <-s.said:
		result, done := s.proposeOne(term, said.kind, said.body)
		if !done {
			said.answer <- answer{err: wire.ErrUnknown}
			return
		}
		said.answer <- answer{result: result}
	default:
	}
}

// hearSaying hands a record to the sequencer of a leader that waits for it.
func (s *sequencer) hearSaying(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if s.replica.leap.Load() == nil {
		return wire.Result{}, wire.ErrNoLeader // The term is open now: the caller tries again the usual way.
	}
	said := saying{kind: kind, body: body, answer: make(chan answer, 1)}
	select {
	case s.said <- said:
	case <-ctx.Done():
		return wire.Result{}, wire.ErrNoLeader
	case <-s.life.stop:
		return wire.Result{}, wire.ErrShuttingDown
	}
	select {
	case a := <-said.answer:
		return a.result, a.err
	case <-ctx.Done():
		return wire.Result{}, wire.ErrUnknown
	}
}

// saysTime reports whether a record belongs to what persons say of the time: it proposes, confirms
// or withdraws that.
func (n *Node) saysTime(kind wire.Kind, body []byte) bool {
	var proposal uint64
	switch kind {
	case wire.KindTime:
		return true
	case wire.KindConfirm:
		var b wire.Confirm
		if wire.DecodeBody(body, &b) != nil {
			return false
		}
		proposal = b.Proposal
	case wire.KindWithdraw:
		var b wire.Withdraw
		if wire.DecodeBody(body, &b) != nil {
			return false
		}
		proposal = b.Proposal
	default:
		return false
	}
	waiting, open := n.adapter.Freeze().Proposal(proposal)
	return open && waiting.Kind == wire.KindTime
}

// proposeTime is Propose while a leap waits.
func (n *Node) proposeTime(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if !n.saysTime(kind, body) {
		return wire.Result{}, wire.ErrTimeUncertain
	}
	ctx, cancel := withinLimit(ctx, n.config.WriteDeadline)
	defer cancel()
	if n.replica.isLeader() {
		return n.sequencer.hearSaying(ctx, kind, body)
	}
	leader, _ := n.replica.remoteLeader()
	if leader == "" {
		return wire.Result{}, n.peers.noLeaderError()
	}
	said, err := port.Ask(ctx, n.peers.linkTo(string(leader), linkVerb), &port.TimeCall{Kind: kind, Body: body})
	switch {
	case err == nil:
		return said.Result, nil
	case errors.Is(err, port.ErrNotSent):
		return wire.Result{}, n.peers.noLeaderError()
	case errors.Is(err, port.ErrLinkDown), ctx.Err() != nil:
		return wire.Result{}, wire.ErrUnknown
	}
	return wire.Result{}, err
}

// answerTime is proposeTime for another node.
func (n *Node) answerTime(ctx context.Context, _ string, q *port.TimeCall) (*port.TimeReply, error) {
	if !n.saysTime(q.Kind, q.Body) || len(q.Body) > recordMax(q.Kind) {
		return nil, wire.ErrTimeUncertain
	}
	result, err := n.sequencer.hearSaying(ctx, q.Kind, q.Body)
	return &port.TimeReply{Result: result}, err
}

// catchUp lets log time leap to the clocks of a quorum if it has been behind them by more than a
// minute for a minute, and the leap is credible. In a term that is open the leap is a tick of its
// own, which is applied before anything else is proposed, as at the beginning of a term.
func (s *sequencer) catchUp(term uint64) {
	target, now := s.clocks.targetTime(), s.clock.clock.Monotonic()
	if behind := target - s.clock.evenStamp(); behind <= behindMax || target > s.clocks.leapLimit() {
		s.behindSince = 0
		return
	}
	if s.behindSince == 0 {
		s.behindSince = now
	}
	if now-s.behindSince < behindSteady {
		return
	}
	s.behindSince = 0
	s.life.note(recorder.Clock, "log time is behind the clocks by "+describeSpan(target-s.clock.evenStamp())+" and catches up")
	s.life.log.Warn("log time is behind the clocks and catches up", "behind", describeSpan(target-s.clock.evenStamp()))
	s.clock.restartStamps(s.clock.last, target)
	s.proposeAlone(term, wire.KindTick, nil)
}
