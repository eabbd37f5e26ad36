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

const (
	attemptsMax  = 10
	eventAgeMax  = 76 * engine.Hour // Log time after which a failed event is given up, however often it was tried.
	pendingMax   = 256              // If so many events wait to be sent again, no new event is sent.
	pauseMax     = 5 * time.Minute  // The longest pause between two calls to a failing receiver.
	cursorEvery  = time.Second      // How often the cursor is noted in the log after an event was received.
	cursorLeaves = leavesStep       // How far the cursor may move without an event before it is noted.
	idlePause    = 10 * time.Second
	errorPause   = time.Second // The pause after this node could not read or write.
	noteTimeout  = 2 * time.Second
	// unreadableMax is how long an unreadable leaf delays later ones, while this node keeps
	// asking its peers for it. railguard_webhook_unreadable_seconds shows it from the first
	// minutes on.
	unreadableMax       = 24 * time.Hour
	unreadableWarnEvery = time.Minute // How often a warning is logged.
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
	unreadSince  time.Time // Since when its leaf cannot be read; zero: it can be read.
	isRedelivery bool      // Somebody asked to send it again.
}

// worker sends to one webhook, one event at a time, in its own goroutine. It sends events in
// log order and retries failed ones between later ones. From the second failure in a row on it
// pauses, each time longer.
//
// The cursor is for the next leader: every event before it was received or given up. The next
// leader sends the events between the cursor and this worker's position again, although some
// were received: delivery is at least once.
type worker struct {
	node   Node
	reader *Reader
	post   Post
	warn   func(text string, args ...any)

	afterError time.Duration // errorPause, but in tests.

	hook   atomic.Pointer[wire.Webhook]
	behind atomic.Uint64 // Leaf of the cursor, for metrics.
	stuck  atomic.Int64  // Since when a leaf cannot be read, in nanoseconds, for metrics; 0: all can.
	wake   chan struct{} // Signals new leaves, or a change of hook or redeliveries.
	cancel context.CancelFunc
	done   chan struct{}

	mutex             sync.Mutex
	redeliveries      []events.Position // The events that must be sent again according to the state at redeliveriesIndex.
	redeliveriesIndex uint64            // Index of the newest state that redeliveries were read from.
	hasRedeliveries   bool
	sentIndex         uint64 // The index at which the last redelivery was noted as received. Only the worker uses it.

	position    events.Position // Every event before it was sent once or is not for this webhook.
	unreadSince time.Time       // Since when the leaf there cannot be read; zero: it can.
	warnedAt    time.Time       // When the last warning was logged.
	pending     []pendingEvent  // Events that were not received yet, in the order in which they failed.
	cursor      events.Position // The cursor in the log.
	notedAt     time.Time
	receivedAny bool // Something was received or given up since the cursor was noted.

	failures    int
	pausedUntil time.Time // The receiver is not called before then.
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
	l.noteCursor(last, l.hook.Load(), true) // The cursor is noted so that the next leader has less to repeat.
}

func (l *worker) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *worker) waitForWork(ctx context.Context) {
	now := time.Now()
	until := now.Add(idlePause)
	for _, s := range l.pending {
		if s.due.Before(until) {
			until = s.due
		}
	}
	if l.pausedUntil.After(now) {
		until = l.pausedUntil // Nothing is sent before then.
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
				return true // The attempt was cancelled, so the position stays.
			}
			l.pending = append(l.pending, s)
		}
	}
	l.position = at
	return moved
}

// sendAgain sends one failed event that is due. An event that cannot be read is tried later
// and given up in the end, without delaying others.
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
	done := event == nil && l.noteReceived(ctx, s) // The webhook may no longer get this event.
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
	l.pausedUntil = now.Add(max(pauseAfter(l.failures), a.RetryAfter)) // Other calls wait as well.
	if a.Status == 410 {
		_, _ = l.proposeDelivery(ctx, hook, &wire.Delivery{Op: wire.DeliveryOff, Seq: s.seq, N: uint8(s.n), Status: 410}) // On an error, the next attempt gets 410 again.
	}
	if s.attempts >= attemptsMax || !s.isRedelivery && l.node.LogTime()-event.At > eventAgeMax {
		if l.giveUp(ctx, hook, s, a.Status) {
			l.warn("webhook: an event was given up", "webhook", hook.ID, "event", event.ID, "attempts", s.attempts, "status", a.Status, "failure", a.Failure)
			return true
		}
		s.due = now.Add(l.afterError)
		return false
	}
	gap := retryGaps[s.attempts-1]
	s.due = now.Add(gap + rand.N(gap/10)) //nolint:gosec // Jitter.
	return false
}

// giveUp makes an event a dead letter. It returns false if it could not write to the log.
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

// pauseAfter returns for how long a receiver is left alone after so many failures in a row. One
// that now and then fails a single call gets the next event at once.
func pauseAfter(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(time.Second<<min(failures-2, 10), pauseMax)
}

// noteReceived writes to the log that a requested redelivery was received, and does nothing
// for other events. It always returns true.
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

// noteCursor writes the webhook's cursor to the log, at most every cursorEvery unless last is
// set or the cursor is far ahead.
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

// setRedeliveries gives the worker the requests for redelivery in the state at an index.
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
			return // The rest comes with a later state.
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
	l.position, l.pausedUntil = at, now.Add(l.afterError)
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
