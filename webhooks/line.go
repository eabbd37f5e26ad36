package webhooks

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Bounds of one webhook.
const (
	attemptsMax  = 10
	eventAgeMost = 76 * engine.Hour // Log time after which a failed event is given up, however often it was tried.
	openMax      = 256              // Events that wait to be sent again; no new one is sent beside them.
	pauseMax     = 5 * time.Minute  // Between two calls of a receiver that does not answer.
	cursorEvery  = time.Second      // How often what was received is noted in the log.
	cursorLeaves = leavesStep       // Leaves without an event after which that is.
	idlePause    = 10 * time.Second
	errorPause   = time.Second // After this node could not read or write what it must.
	noteTimeout  = 2 * time.Second
	// unreadableMost: what this node cannot read, though it asks its peers for it all the
	// while, holds up what comes behind it for so long. An operator knows of it from the first
	// minutes on (railguard_webhook_unreadable_seconds).
	unreadableMost = 24 * time.Hour
	unreadableTell = time.Minute // How often the log says so.
)

// gaps are the times between one attempt and the next.
var gaps = [attemptsMax - 1]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// sending is one event that was not received yet. Its body is read again for every
// attempt: what waits costs next to nothing.
type sending struct {
	seq      uint64
	n        int
	attempts int
	due      time.Time
	unread   time.Time // Since when its leaf cannot be read; zero: it can, as far as is known.
	asked    bool      // To be sent again because somebody asked.
}

// line sends to one webhook, one event at a time, on a goroutine of its own. Events are
// sent in the order of the log; one that fails is tried again beside those that follow.
// A receiver that fails is left alone for a while, longer each time.
//
// What a leader that takes over must know is the cursor: everything before it was
// received or given up. What lies between it and this line's position is sent again
// by the next leader, though some of it was received: at least once.
type line struct {
	node   Node
	reader *Reader
	post   Post
	warn   func(text string, args ...any)

	hook   atomic.Pointer[wire.Webhook]
	behind atomic.Uint64 // Leaf of the cursor, for metrics.
	stuck  atomic.Int64  // Since when something cannot be read, for metrics; nanoseconds, 0: nothing.
	wake   chan struct{} // There are new leaves, or hook or asked changed.
	cancel context.CancelFunc
	done   chan struct{}

	mutex     sync.Mutex
	asked     []events.Position // What the newest state says is to be sent again,
	askedAt   uint64            // at this index.
	hasAsked  bool
	sentIndex uint64 // Index at which the last of those was noted as received. The line's own.

	at     events.Position // Everything before was sent once, or is nobody's.
	unread time.Time       // Since when the leaf there cannot be read; zero: it can.
	told   time.Time       // When the log last said so.
	open   []sending       // Not received yet, in the order in which they failed.
	cursor events.Position // As noted in the log.
	noted  time.Time
	sent   bool // Something was received since.

	failures int
	paused   time.Time // No call before then.
}

// run is the line's goroutine.
func (l *line) run(ctx context.Context) {
	defer close(l.done)
	for ctx.Err() == nil {
		hook := l.hook.Load()
		l.takeAsked()
		worked := false
		if !time.Now().Before(l.paused) {
			worked = l.again(ctx, hook)
		}
		if !time.Now().Before(l.paused) && len(l.open) < openMax {
			worked = l.next(ctx, hook) || worked
		}
		l.note(ctx, hook, false)
		l.stuck.Store(l.stuckSince())
		if !worked {
			l.rest(ctx)
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer stop()
	l.note(last, l.hook.Load(), true) // So that the next leader repeats little.
}

// nudge tells the line that there may be something to do.
func (l *line) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// rest waits until there may be something to do.
func (l *line) rest(ctx context.Context) {
	now := time.Now()
	until := now.Add(idlePause)
	for _, s := range l.open {
		if s.due.Before(until) {
			until = s.due
		}
	}
	if l.paused.After(now) {
		until = l.paused // Nothing is sent before.
	}
	if noteAt := l.noted.Add(cursorEvery); l.sent && noteAt.Before(until) {
		until = noteAt
	}
	timer := time.NewTimer(max(until.Sub(now), time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-ctx.Done():
	}
}

// next sends the next event; false: there is none, or it could not be read.
func (l *line) next(ctx context.Context, hook *wire.Webhook) bool {
	if oldest := l.reader.Oldest(); l.at.Leaf < oldest {
		missedTotal.Inc()
		l.warn("webhook: its receiver was away for longer than events are kept; what is older is lost to it", "webhook", hook.ID, "from", l.at.Leaf, "to", oldest)
		l.at = events.Position{Leaf: oldest}
	}
	end := l.node.Audit().Size()
	if l.at.Leaf >= end {
		return false
	}
	event, at, err := l.reader.Next(ctx, hook, l.at)
	if err != nil {
		l.unreadable(ctx, hook, at, err)
		return false
	}
	l.unread = time.Time{}
	moved := at != l.at
	if event != nil {
		s := sending{seq: event.Seq, n: event.N}
		if done := l.attempt(ctx, hook, &s, event); !done {
			if ctx.Err() != nil {
				return true // Not sent, as far as this node knows: the position stays.
			}
			l.open = append(l.open, s)
		}
	}
	l.at = at
	return moved
}

// again sends one event whose time has come once more. One that cannot be read holds up no
// other: it is read again later, and given up in the end.
func (l *line) again(ctx context.Context, hook *wire.Webhook) bool {
	now := time.Now()
	i := slices.IndexFunc(l.open, func(s sending) bool { return !now.Before(s.due) })
	if i < 0 {
		return false
	}
	s := &l.open[i]
	event, err := l.reader.At(ctx, hook, s.seq, s.n)
	if err != nil {
		if s.due = now.Add(idlePause); s.unread.IsZero() {
			s.unread = now
		}
		l.warnUnread(ctx, hook, s.seq, err)
		if now.Sub(s.unread) >= unreadableMost && l.giveUp(ctx, hook, s, 0) {
			l.open = slices.Delete(l.open, i, i+1)
		}
		return false
	}
	s.unread = time.Time{}
	done := event == nil && l.received(ctx, s) // Nobody may know it any more.
	if event != nil {
		done = l.attempt(ctx, hook, s, event)
	}
	if done {
		l.open = slices.Delete(l.open, i, i+1)
	}
	return true
}

// attempt makes one attempt; true: the event is done with.
func (l *line) attempt(ctx context.Context, hook *wire.Webhook, s *sending, event *events.Event) bool {
	a := l.post(ctx, hook, l.node.LogTime(), event.ID, Body(event))
	now := time.Now()
	if a.OK() {
		attemptsOK.Inc()
		attemptSeconds.Observe(a.Took)
		l.failures, l.paused, l.sent = 0, time.Time{}, true
		return l.received(ctx, s)
	}
	if ctx.Err() != nil {
		return false
	}
	attemptsFailed.Inc()
	s.attempts++
	l.failures++
	l.paused = now.Add(max(pauseAfter(l.failures), a.RetryAfter))
	if a.Status == 410 {
		_, _ = l.tell(ctx, hook, &wire.Delivery{Op: wire.DeliveryOff, Seq: s.seq, N: uint8(s.n), Status: 410}) // Else it says so again at the next attempt.
	}
	if s.attempts >= attemptsMax || !s.asked && l.node.LogTime()-event.At > eventAgeMost {
		if l.giveUp(ctx, hook, s, a.Status) {
			l.warn("webhook: an event was given up", "webhook", hook.ID, "event", event.ID, "attempts", s.attempts, "status", a.Status, "failure", a.Failure)
			return true
		}
		s.due = now.Add(errorPause)
		return false
	}
	gap := gaps[s.attempts-1]
	s.due = now.Add(gap + rand.N(gap/10)) //nolint:gosec // Jitter.
	return false
}

// giveUp makes an event a dead letter; false: the log does not take it now.
func (l *line) giveUp(ctx context.Context, hook *wire.Webhook, s *sending, status int) bool {
	_, err := l.tell(ctx, hook, &wire.Delivery{
		Op: wire.DeliveryDead, Seq: s.seq, N: uint8(s.n), Attempts: uint8(min(max(s.attempts, 1), 255)), Status: uint16(status),
	})
	if err != nil {
		return false
	}
	deadTotal.Inc()
	l.sent = true
	return true
}

// pauseAfter is how long a receiver is left alone after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 10), pauseMax)
}

// received notes that what somebody asked for was sent.
func (l *line) received(ctx context.Context, s *sending) bool {
	if !s.asked {
		return true
	}
	result, err := l.tell(ctx, l.hook.Load(), &wire.Delivery{Op: wire.DeliverySent, Seq: s.seq, N: uint8(s.n)})
	if err == nil {
		l.sentIndex = result.Index
	}
	return true
}

func (l *line) tell(ctx context.Context, hook *wire.Webhook, record *wire.Delivery) (wire.Result, error) {
	record.Webhook = hook.ID
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	return l.node.Propose(ctx, wire.KindDelivery, wire.Encode(record))
}

// note writes into the log how far the webhook is, now and then.
func (l *line) note(ctx context.Context, hook *wire.Webhook, last bool) {
	at := l.at
	for _, s := range l.open {
		if before := (events.Position{Leaf: s.seq, Skip: s.n}); !s.asked && less(before, at) {
			at = before
		}
	}
	l.behind.Store(at.Leaf)
	if !less(l.cursor, at) {
		l.sent = false
		return
	}
	now := time.Now()
	due := l.sent && now.Sub(l.noted) >= cursorEvery || at.Leaf-l.cursor.Leaf >= cursorLeaves
	if !due && (!last || !l.sent) {
		return
	}
	l.noted = now
	if _, err := l.tell(ctx, hook, &wire.Delivery{Op: wire.DeliveryCursor, Seq: at.Leaf, N: uint8(at.Skip)}); err == nil {
		l.cursor, l.sent = at, false
	}
}

func less(a, b events.Position) bool { return a.Leaf < b.Leaf || a.Leaf == b.Leaf && a.Skip < b.Skip }

// ask hands over what the state at an index says is to be sent again.
func (l *line) ask(index uint64, asked []events.Position) {
	l.mutex.Lock()
	l.asked, l.askedAt, l.hasAsked = asked, index, true
	l.mutex.Unlock()
	if len(asked) > 0 {
		l.nudge()
	}
}

// takeAsked adds what is to be sent again. A state from before the last one was noted
// as received says nothing.
func (l *line) takeAsked() {
	l.mutex.Lock()
	asked, at, has := l.asked, l.askedAt, l.hasAsked
	l.asked, l.hasAsked = nil, false
	l.mutex.Unlock()
	if !has || at < l.sentIndex {
		return
	}
	for _, p := range asked {
		if len(l.open) >= 2*openMax {
			return // The rest comes with a later state.
		}
		i := slices.IndexFunc(l.open, func(s sending) bool { return s.seq == p.Leaf && s.n == p.Skip })
		if i < 0 {
			l.open = append(l.open, sending{seq: p.Leaf, n: p.Skip, asked: true, due: time.Now()})
		} else if !l.open[i].asked {
			l.open[i].asked, l.open[i].due = true, time.Now()
		}
	}
}

// unreadable rests after this node could not read on, at a place. What nobody could give
// it for unreadableMost is passed over: as far as it is known to be unreadable.
func (l *line) unreadable(ctx context.Context, hook *wire.Webhook, at events.Position, err error) {
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	if l.unread.IsZero() || at != l.at {
		l.unread = now
	}
	l.at, l.paused = at, now.Add(errorPause)
	l.warnUnread(ctx, hook, at.Leaf, err)
	if now.Sub(l.unread) < unreadableMost {
		return
	}
	l.at = events.Position{Leaf: l.reader.readableFrom(at.Leaf)}
	missedTotal.Inc()
	l.warn("webhook: history that could not be read for a day is passed over; what is in it is lost to its receiver", "webhook", hook.ID, "from", at.Leaf, "to", l.at.Leaf)
}

// warnUnread says now and then that something cannot be read.
func (l *line) warnUnread(ctx context.Context, hook *wire.Webhook, leaf uint64, err error) {
	if now := time.Now(); ctx.Err() == nil && now.Sub(l.told) >= unreadableTell {
		l.told = now
		l.warn("webhook: an event cannot be read, and is tried again", "webhook", hook.ID, "leaf", leaf, "error", err)
	}
}

// stuckSince is since when the line has waited for what it cannot read, 0: it does not.
func (l *line) stuckSince() int64 {
	since := l.unread
	for i := range l.open {
		if s := l.open[i].unread; !s.IsZero() && (since.IsZero() || s.Before(since)) {
			since = s
		}
	}
	if since.IsZero() {
		return 0
	}
	return since.UnixNano()
}

// Body is what is posted: the envelope of GET /v1/events with Standard Webhooks'
// timestamp before it.
func Body(event *events.Event) []byte {
	body := append(make([]byte, 0, len(event.Body)+64), `{"timestamp":"`...)
	body = event.At.AppendTime(body)
	body = append(body, `",`...)
	return append(append(body, event.Body...), '}')
}
