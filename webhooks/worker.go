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
	eventAgeMax  = 76 * engine.Hour // Log time after which a failed event is given up, however often it was tried.
	pendingMax   = 256              // Events that wait to be sent again; no new one is sent beside them.
	pauseMax     = 5 * time.Minute  // Between two calls of a receiver that does not answer.
	cursorEvery  = time.Second      // How often what was received is noted in the log.
	cursorLeaves = leavesStep       // Leaves without an event after which that is.
	idlePause    = 10 * time.Second
	errorPause   = time.Second // After this node could not read or write what it must.
	noteTimeout  = 2 * time.Second
	// unreadableMax: what this node cannot read, though it asks its peers for it all the
	// while, holds up what comes behind it for so long. An operator knows of it from the first
	// minutes on (railguard_webhook_unreadable_seconds).
	unreadableMax       = 24 * time.Hour
	unreadableWarnEvery = time.Minute // How often the log says so.
)

// retryGaps are the times between one attempt and the next.
var retryGaps = [attemptsMax - 1]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// pendingEvent is an event that the receiver has not taken yet. Its body is read again for
// every attempt, so that waiting events need little memory.
type pendingEvent struct {
	seq          uint64
	n            int
	attempts     int
	due          time.Time
	unreadSince  time.Time // Since when its leaf cannot be read; zero: it can, as far as is known.
	isRedelivery bool      // To be sent again because somebody asked.
}

// worker sends to one webhook, one event at a time, on a goroutine of its own. It sends
// events in the order of the log; one that fails is tried again between those that follow.
// After a failure it pauses, longer each time.
//
// The cursor is what the next leader needs: every event before it was received or given
// up. The next leader sends the events between the cursor and this worker's position again,
// although some were received: delivery is at least once.
type worker struct {
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

	mutex             sync.Mutex
	redeliveries      []events.Position // What the newest state says is to be sent again,
	redeliveriesIndex uint64            // at this index.
	hasRedeliveries   bool
	sentIndex         uint64 // Index at which the last of those was noted as received. The worker's own.

	position    events.Position // Everything before was sent once, or is nobody's.
	unreadSince time.Time       // Since when the leaf there cannot be read; zero: it can.
	warnedAt    time.Time       // When the log last said so.
	pending     []pendingEvent  // Not received yet, in the order in which they failed.
	cursor      events.Position // As noted in the log.
	notedAt     time.Time
	receivedAny bool // Something was received since.

	failures    int
	pausedUntil time.Time // No call before then.
}

// runLoop is the worker's goroutine. It ends with ctx.
func (l *worker) runLoop(ctx context.Context) {
	defer close(l.done)
	for ctx.Err() == nil {
		hook := l.hook.Load()
		l.addRedeliveries()
		worked := false
		if !time.Now().Before(l.pausedUntil) {
			worked = l.sendAgain(ctx, hook)
		}
		if !time.Now().Before(l.pausedUntil) && len(l.pending) < pendingMax {
			worked = l.sendNext(ctx, hook) || worked
		}
		l.noteCursor(ctx, hook, false)
		l.stuck.Store(l.stuckSince())
		if !worked {
			l.waitForWork(ctx)
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer stop()
	l.noteCursor(last, l.hook.Load(), true) // The next leader then repeats less.
}

// wakeUp ends the worker's waitForWork.
func (l *worker) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// waitForWork waits until there may be something to do.
func (l *worker) waitForWork(ctx context.Context) {
	now := time.Now()
	until := now.Add(idlePause)
	for _, s := range l.pending {
		if s.due.Before(until) {
			until = s.due
		}
	}
	if l.pausedUntil.After(now) {
		until = l.pausedUntil // Nothing is sent before.
	}
	if noteAt := l.notedAt.Add(cursorEvery); l.receivedAny && noteAt.Before(until) {
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

// sendNext sends the next event. It returns false if there is none or it could not be read.
func (l *worker) sendNext(ctx context.Context, hook *wire.Webhook) bool {
	if oldest := l.reader.Oldest(); l.position.Leaf < oldest {
		missedTotal.Inc()
		l.warn("webhook: its receiver was away for longer than events are kept; what is older is lost to it", "webhook", hook.ID, "from", l.position.Leaf, "to", oldest)
		l.position = events.Position{Leaf: oldest}
	}
	end := l.node.Audit().Size()
	if l.position.Leaf >= end {
		return false
	}
	event, at, err := l.reader.Next(ctx, hook, l.position)
	if err != nil {
		l.pauseUnreadable(ctx, hook, at, err)
		return false
	}
	l.unreadSince = time.Time{}
	moved := at != l.position
	if event != nil {
		s := pendingEvent{seq: event.Seq, n: event.N}
		if done := l.attemptSend(ctx, hook, &s, event); !done {
			if ctx.Err() != nil {
				return true // The attempt was cut off: the position stays.
			}
			l.pending = append(l.pending, s)
		}
	}
	l.position = at
	return moved
}

// sendAgain sends one failed event that is due. If the event cannot be read, it is read again
// later and in the end given up, without delaying other events.
func (l *worker) sendAgain(ctx context.Context, hook *wire.Webhook) bool {
	now := time.Now()
	i := slices.IndexFunc(l.pending, func(s pendingEvent) bool { return !now.Before(s.due) })
	if i < 0 {
		return false
	}
	s := &l.pending[i]
	event, err := l.reader.At(ctx, hook, s.seq, s.n)
	if err != nil {
		if s.due = now.Add(idlePause); s.unreadSince.IsZero() {
			s.unreadSince = now
		}
		l.warnUnread(ctx, hook, s.seq, err)
		if now.Sub(s.unreadSince) >= unreadableMax && l.giveUp(ctx, hook, s, 0) {
			l.pending = slices.Delete(l.pending, i, i+1)
		}
		return false
	}
	s.unreadSince = time.Time{}
	done := event == nil && l.noteReceived(ctx, s) // The webhook may not know of it any more.
	if event != nil {
		done = l.attemptSend(ctx, hook, s, event)
	}
	if done {
		l.pending = slices.Delete(l.pending, i, i+1)
	}
	return true
}

// attemptSend makes one attempt. It returns true if no further attempt is needed: the event
// was received or given up.
func (l *worker) attemptSend(ctx context.Context, hook *wire.Webhook, s *pendingEvent, event *events.Event) bool {
	a := l.post(ctx, hook, l.node.LogTime(), event.ID, Body(event))
	now := time.Now()
	if a.OK() {
		attemptsOK.Inc()
		attemptSeconds.Observe(a.Took)
		l.failures, l.pausedUntil, l.receivedAny = 0, time.Time{}, true
		return l.noteReceived(ctx, s)
	}
	if ctx.Err() != nil {
		return false
	}
	attemptsFailed.Inc()
	s.attempts++
	l.failures++
	l.pausedUntil = now.Add(max(pauseAfter(l.failures), a.RetryAfter))
	if a.Status == 410 {
		_, _ = l.proposeDelivery(ctx, hook, &wire.Delivery{Op: wire.DeliveryOff, Seq: s.seq, N: uint8(s.n), Status: 410}) // Else it says so again at the next attempt.
	}
	if s.attempts >= attemptsMax || !s.isRedelivery && l.node.LogTime()-event.At > eventAgeMax {
		if l.giveUp(ctx, hook, s, a.Status) {
			l.warn("webhook: an event was given up", "webhook", hook.ID, "event", event.ID, "attempts", s.attempts, "status", a.Status, "failure", a.Failure)
			return true
		}
		s.due = now.Add(errorPause)
		return false
	}
	gap := retryGaps[s.attempts-1]
	s.due = now.Add(gap + rand.N(gap/10)) //nolint:gosec // Jitter.
	return false
}

// giveUp makes an event a dead letter. It returns false if the log could not be written.
func (l *worker) giveUp(ctx context.Context, hook *wire.Webhook, s *pendingEvent, status int) bool {
	_, err := l.proposeDelivery(ctx, hook, &wire.Delivery{
		Op: wire.DeliveryDead, Seq: s.seq, N: uint8(s.n), Attempts: uint8(min(max(s.attempts, 1), 255)), Status: uint16(status),
	})
	if err != nil {
		return false
	}
	deadTotal.Inc()
	l.receivedAny = true
	return true
}

// pauseAfter returns the pause after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 10), pauseMax)
}

// noteReceived notes in the log that a requested redelivery was received. It always returns
// true.
func (l *worker) noteReceived(ctx context.Context, s *pendingEvent) bool {
	if !s.isRedelivery {
		return true
	}
	result, err := l.proposeDelivery(ctx, l.hook.Load(), &wire.Delivery{Op: wire.DeliverySent, Seq: s.seq, N: uint8(s.n)})
	if err == nil {
		l.sentIndex = result.Index
	}
	return true
}

func (l *worker) proposeDelivery(ctx context.Context, hook *wire.Webhook, record *wire.Delivery) (wire.Result, error) {
	record.Webhook = hook.ID
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	return l.node.Propose(ctx, wire.KindDelivery, wire.Encode(record))
}

// noteCursor writes the webhook's cursor into the log, at most every cursorEvery unless last
// is set.
func (l *worker) noteCursor(ctx context.Context, hook *wire.Webhook, last bool) {
	at := l.position
	for _, s := range l.pending {
		if before := (events.Position{Leaf: s.seq, Skip: s.n}); !s.isRedelivery && isBefore(before, at) {
			at = before
		}
	}
	l.behind.Store(at.Leaf)
	if !isBefore(l.cursor, at) {
		l.receivedAny = false
		return
	}
	now := time.Now()
	due := l.receivedAny && now.Sub(l.notedAt) >= cursorEvery || at.Leaf-l.cursor.Leaf >= cursorLeaves
	if !due && (!last || !l.receivedAny) {
		return
	}
	l.notedAt = now
	if _, err := l.proposeDelivery(ctx, hook, &wire.Delivery{Op: wire.DeliveryCursor, Seq: at.Leaf, N: uint8(at.Skip)}); err == nil {
		l.cursor, l.receivedAny = at, false
	}
}

func isBefore(a, b events.Position) bool {
	return a.Leaf < b.Leaf || a.Leaf == b.Leaf && a.Skip < b.Skip
}

// setRedeliveries hands over the requests for redelivery that the state has at an index.
func (l *worker) setRedeliveries(index uint64, asked []events.Position) {
	l.mutex.Lock()
	l.redeliveries, l.redeliveriesIndex, l.hasRedeliveries = asked, index, true
	l.mutex.Unlock()
	if len(asked) > 0 {
		l.wakeUp()
	}
}

// addRedeliveries adds the requested redeliveries to the pending events. It ignores a state
// that is older than the last redelivery noted as received.
func (l *worker) addRedeliveries() {
	l.mutex.Lock()
	asked, at, has := l.redeliveries, l.redeliveriesIndex, l.hasRedeliveries
	l.redeliveries, l.hasRedeliveries = nil, false
	l.mutex.Unlock()
	if !has || at < l.sentIndex {
		return
	}
	for _, p := range asked {
		if len(l.pending) >= 2*pendingMax {
			return // The others come with a later state.
		}
		i := slices.IndexFunc(l.pending, func(s pendingEvent) bool { return s.seq == p.Leaf && s.n == p.Skip })
		if i < 0 {
			l.pending = append(l.pending, pendingEvent{seq: p.Leaf, n: p.Skip, isRedelivery: true, due: time.Now()})
		} else if !l.pending[i].isRedelivery {
			l.pending[i].isRedelivery, l.pending[i].due = true, time.Now()
		}
	}
}

// pauseUnreadable pauses the worker after it could not read the leaf at a position. After
// unreadableMax it skips the leaf and all leaves that are missing or damaged with it.
func (l *worker) pauseUnreadable(ctx context.Context, hook *wire.Webhook, at events.Position, err error) {
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	if l.unreadSince.IsZero() || at != l.position {
		l.unreadSince = now
	}
	l.position, l.pausedUntil = at, now.Add(errorPause)
	l.warnUnread(ctx, hook, at.Leaf, err)
	if now.Sub(l.unreadSince) < unreadableMax {
		return
	}
	l.position = events.Position{Leaf: l.reader.readableFrom(at.Leaf)}
	missedTotal.Inc()
	l.warn("webhook: history that could not be read for a day is passed over; what is in it is lost to its receiver", "webhook", hook.ID, "from", at.Leaf, "to", l.position.Leaf)
}

// warnUnread logs, at most every unreadableWarnEvery, that a leaf cannot be read.
func (l *worker) warnUnread(ctx context.Context, hook *wire.Webhook, leaf uint64, err error) {
	if now := time.Now(); ctx.Err() == nil && now.Sub(l.warnedAt) >= unreadableWarnEvery {
		l.warnedAt = now
		l.warn("webhook: an event cannot be read, and is tried again", "webhook", hook.ID, "leaf", leaf, "error", err)
	}
}

// stuckSince returns since when the worker has been unable to read some leaf, in nanoseconds; 0
// if it can read all.
func (l *worker) stuckSince() int64 {
	since := l.unreadSince
	for i := range l.pending {
		if s := l.pending[i].unreadSince; !s.IsZero() && (since.IsZero() || s.Before(since)) {
			since = s
		}
	}
	if since.IsZero() {
		return 0
	}
	return since.UnixNano()
}

// Body returns the body of a delivery: the envelope of GET /v1/events, preceded by the
// timestamp of Standard Webhooks.
func Body(event *events.Event) []byte {
	body := append(make([]byte, 0, len(event.Body)+64), `{"timestamp":"`...)
	body = event.At.AppendTime(body)
	body = append(body, `",`...)
	return append(append(body, event.Body...), '}')
}
