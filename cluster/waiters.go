package cluster

import (
	"context"
	"sync"
	"time"

	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm/wire"
)

// A proposal takes effect at most once, as follows.
//
// A record is tried in attempts. An attempt has its own number (seq) and is bound to one raft
// term: the header of its entry names the term, and the state machine refuses an entry whose
// header does not name the term that raft gave it (the fence). So an attempt of term T can only
// take effect in an entry of term T. The node never guesses what became of an attempt. It
// learns it from one of these events:
//
//  - The attempt's number appears with a result in the own applied log or in the
//    leader's reply. A result other than Fenced is the answer. Fenced means that
//    nothing happened: the record is tried again.
//  - Raft or the leader returns an error that certainly comes before the append:
//    the record is tried again.
//  - An entry of a term above T is applied. Entries are applied in order and terms
//    only rise, so all committed entries of term T have been seen. The attempt can
//    never take effect: the record is tried again.
//
// Anything else (a lost reply, lost leadership, a snapshot that replaced the entries in
// question) leaves the attempt open until one of these events, or until the caller's deadline,
// which returns ErrUnknown. Each attempt has a new number, so the late Fenced result of an
// attempt that was given up cannot be taken for the answer of the next one.

// answer is the outcome of a proposal.
type answer struct {
	result wire.Result
	err    error
}

type proposalState uint8

const (
	proposalQueued proposalState = iota
	proposalSent
	proposalDone
)

// proposal is one record on its way. Guarded by waiters.mu.
type proposal struct {
	kind     wire.Kind
	body     []byte
	state    proposalState
	seq      uint64 // Number of the present attempt.
	term     uint64 // Term of the present attempt.
	enqueued engine.Time
	queued   bool          // It has had a place in the queue.
	answer   chan answer   // Has room for one answer; nil for a proposal with a gathering.
	together *gathering    // The gathering of one caller's several proposals.
	steps    *timing.Steps // Written while the proposal has no answer; nil: nobody wants them.
	got      answer        // The answer, for a proposal with a gathering that is done.
}

// attempt is one try of one proposal, taken out of the queue.
type attempt struct {
	seq  uint64
	kind wire.Kind
	body []byte
}

// recordFrame is how many bytes framing adds to a record's body in an entry.
const recordFrame = 16

func (a *attempt) sizeBytes() int { return recordFrame + len(a.body) }

// reservedShare of the queue is kept free of screening calls, so that reviews,
// keys and cluster verbs get through when payments alone overload the node.
const reservedShare = 16

// waiters has the proposals of this node, queued and sent, and their waiting callers.
type waiters struct {
	origin uint16
	clock  Clock

	mu       sync.Mutex
	urgent   waiterQueue // All records but screening calls.
	screens  waiterQueue
	sent     map[uint64]*proposal // By attempt number.
	count    int                  // Proposals without an answer.
	bytes    int
	seq      uint64
	term     uint64      // Highest raft term applied here.
	refusal  error       // Non-nil: new proposals are refused with it.
	taken    engine.Time // When records were last taken, on the monotonic clock.
	draining engine.Time // Since when records have been taken without a longer pause, and none came back.
	wake     chan struct{}
}

func newWaiters(origin uint16, firstSeq uint64, clock Clock) *waiters {
	return &waiters{
		origin: origin, clock: clock, seq: firstSeq,
		sent: make(map[uint64]*proposal), wake: make(chan struct{}, 1),
	}
}

// waiterQueue is a first-in-first-out queue that can take back what was taken from it.
type waiterQueue struct {
	items []*proposal
	head  int
}

func (l *waiterQueue) len() int { return len(l.items) - l.head }

func (l *waiterQueue) pushWaiter(p *proposal) {
	if l.head > 0 && len(l.items) == cap(l.items) {
		l.items = append(l.items[:0], l.items[l.head:]...)
		l.head = 0
	}
	l.items = append(l.items, p)
}

func (l *waiterQueue) popWaiter() *proposal {
	if l.len() == 0 {
		return nil
	}
	p := l.items[l.head]
	l.items[l.head] = nil
	l.head++
	if l.head == len(l.items) {
		l.items, l.head = l.items[:0], 0
	}
	return p
}

func (l *waiterQueue) frontWaiter() *proposal {
	if l.len() == 0 {
		return nil
	}
	return l.items[l.head]
}

func (l *waiterQueue) pushFront(p *proposal) {
	if l.head == 0 {
		room := len(l.items) + 64
		l.items = append(make([]*proposal, room, room+len(l.items)), l.items...)
		l.head = room
	}
	l.head--
	l.items[l.head] = p
}

func (w *waiters) queueOf(kind wire.Kind) *waiterQueue {
	if kind == wire.KindScreen {
		return &w.screens
	}
	return &w.urgent
}

func (w *waiters) wakeOwner() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// admitRecord queues a record. If it returns an error, nothing happened. steps may be nil.
func (w *waiters) admitRecord(kind wire.Kind, body []byte, steps *timing.Steps) (*proposal, error) {
	p := &proposal{kind: kind, body: body, answer: make(chan answer, 1), enqueued: w.clock.Monotonic(), steps: steps}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.checkRoom(kind, recordFrame+len(body), kind == wire.KindScreen && w.tooSlow(p.enqueued)); err != nil {
		return nil, err
	}
	w.enqueueRecord(p)
	w.wakeOwner()
	return p, nil
}

// If a record waits longer than queueAgeMax although the queue is being emptied all the time,
// more records come than can be handled. The excess is refused at once, so that admitted
// records keep their latency. A pause (an election, a stalled disk) is no overload: records
// that wait then are served when it ends.
const (
	queueAgeMax  = 150 * engine.Millisecond
	drainPause   = 100 * engine.Millisecond
	drainSteady  = 300 * engine.Millisecond
	drainRecency = 50 * engine.Millisecond
)

// tooSlow judges by the oldest waiting screening call. Called with mu held.
func (w *waiters) tooSlow(now engine.Time) bool {
	oldest := w.screens.frontWaiter()
	return oldest != nil && now-oldest.enqueued > queueAgeMax &&
		now-w.taken < drainRecency && now-w.draining > drainSteady
}

// takeAttempts begins attempts in a term, in the order of the queue and within the bounds. It
// takes nothing if the term is below the applied one.
func (w *waiters) takeAttempts(term uint64, countMax, bytesMax int, into []attempt) []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	if term < w.term {
		return into
	}
	now := w.clock.Monotonic()
	if now-w.taken > drainPause {
		w.draining = now
	}
	w.taken = now
	for _, queue := range []*waiterQueue{&w.urgent, &w.screens} {
		for countMax > 0 {
			p := queue.popWaiter()
			if p == nil {
				break
			}
			if p.state == proposalDone {
				continue
			}
			size := recordFrame + len(p.body)
			if size > bytesMax {
				queue.pushFront(p)
				return into
			}
			w.seq++
			p.state, p.seq, p.term = proposalSent, w.seq, term
			w.sent[p.seq] = p
			if p.steps != nil {
				*p.steps = timing.Steps{Taken: time.Now(), Attempts: p.steps.Attempts + 1}
			}
			into = append(into, attempt{seq: p.seq, kind: p.kind, body: p.body})
			countMax--
			bytesMax -= size
		}
	}
	return into
}

// answerProposal answers a proposal. Called with mu held.
func (w *waiters) answerProposal(p *proposal, a answer) {
	if p.state == proposalDone {
		return
	}
	if p.state == proposalSent {
		delete(w.sent, p.seq)
	}
	p.state = proposalDone
	w.count--
	w.bytes -= recordFrame + len(p.body)
	if p.together == nil {
		p.answer <- a
		return
	}
	p.got = a
	if p.together.left--; p.together.left == 0 {
		close(p.together.done)
	}
}

// requeueProposal puts a proposal whose attempt certainly came to nothing at the front of its
// queue. That it waited so long says nothing about this node's load, so the queue's age counts
// anew: while a leader is chosen, records are taken and come back all the time. Called with mu held.
func (w *waiters) requeueProposal(p *proposal) {
	delete(w.sent, p.seq)
	w.draining = w.clock.Monotonic()
	p.state = proposalQueued
	w.queueOf(p.kind).pushFront(p)
	recordsRetried.Inc()
}

// giveBackAttempts queues the proposals of attempts that certainly came to nothing again.
func (w *waiters) giveBackAttempts(attempts []attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(attempts) - 1; i >= 0; i-- {
		if p := w.sent[attempts[i].seq]; p != nil {
			w.requeueProposal(p)
		}
	}
	w.wakeOwner()
}

// takeApplied answers proposals with the results of an entry of the own log. term is the
// entry's, and began is when it began to be applied.
func (w *waiters) takeApplied(term uint64, results []wire.Result, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settleResults(results, began)
	if term > w.term {
		w.term = term
		w.fenceTerm(term)
	}
}

// takeReplied answers proposals with the results in a leader's reply.
func (w *waiters) takeReplied(results []wire.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settleResults(results, time.Time{})
}

// settleResults answers proposals. began is when this node began to apply their entry; zero: it did not yet.
func (w *waiters) settleResults(results []wire.Result, began time.Time) {
	requeued := false
	for i := range results {
		r := &results[i]
		if r.Origin != w.origin {
			continue
		}
		p := w.sent[r.Seq]
		if p == nil {
			continue
		}
		if r.Code == wire.Fenced {
			recordsFenced.Inc()
			w.requeueProposal(p)
			requeued = true
			continue
		}
		if p.steps != nil {
			p.steps.Committed = began
		}
		w.answerProposal(p, answer{result: *r})
	}
	if requeued {
		w.wakeOwner()
	}
}

// fenceTerm tries the proposals again that were bound to a term below the applied one. Called
// with mu held. This happens once a term, so it may look at all that was sent.
func (w *waiters) fenceTerm(term uint64) {
	for _, p := range w.sent {
		if p.term < term {
			w.requeueProposal(p)
		}
	}
	w.wakeOwner()
}

// noteJump records that a snapshot of the given term replaced part of the log. What became of
// attempts up to that term can no longer be seen here.
func (w *waiters) noteJump(term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.sent {
		if p.term <= term {
			proposalsUnknown.Inc()
			w.answerProposal(p, answer{err: wire.ErrUnknown})
		}
	}
	w.term = max(w.term, term)
}

// abandonProposal ends a proposal whose caller stops waiting. unserved is the error if
// certainly nothing happened. Otherwise the outcome is unknown, unless the answer came at this
// very moment.
func (w *waiters) abandonProposal(p *proposal, unserved error) answer {
	w.mu.Lock()
	w.dropProposal(p, unserved)
	w.compactQueue(w.queueOf(p.kind))
	w.mu.Unlock()
	return <-p.answer
}

// dropProposal ends a proposal as abandonProposal does. Called with mu held.
func (w *waiters) dropProposal(p *proposal, unserved error) {
	switch p.state {
	case proposalQueued:
		proposalsRefused.Inc()
		w.answerProposal(p, answer{err: unserved})
	case proposalSent:
		proposalsUnknown.Inc()
		w.answerProposal(p, answer{err: wire.ErrUnknown})
	}
}

// compactQueue drops abandoned proposals from a queue from which nothing is taken.
func (w *waiters) compactQueue(l *waiterQueue) {
	if l.len() <= 2*w.count+1024 {
		return
	}
	kept := make([]*proposal, 0, w.count)
	for _, p := range l.items[l.head:] {
		if p.state == proposalQueued {
			kept = append(kept, p)
		}
	}
	l.items, l.head = kept, 0
}

// failQueued answers everything that is queued with err: nothing of it happened.
func (w *waiters) failQueued(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, queue := range []*waiterQueue{&w.urgent, &w.screens} {
		for p := queue.popWaiter(); p != nil; p = queue.popWaiter() {
			if p.state == proposalQueued {
				proposalsRefused.Inc()
				w.answerProposal(p, answer{err: err})
			}
		}
	}
}

// refuseNew turns new proposals away with err; nil admits them again.
func (w *waiters) refuseNew(err error) {
	w.mu.Lock()
	w.refusal = err
	w.mu.Unlock()
}

// endAll answers all proposals, and refuses new ones for good.
func (w *waiters) endAll() {
	w.refuseNew(wire.ErrShuttingDown)
	w.failQueued(wire.ErrShuttingDown)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.sent {
		proposalsUnknown.Inc()
		w.answerProposal(p, answer{err: wire.ErrUnknown})
	}
}

// countQueued returns how many records wait for an attempt. Abandoned records count until they
// are taken out.
func (w *waiters) countQueued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.urgent.len() + w.screens.len()
}

// countWaiting returns how many proposals have no answer yet.
func (w *waiters) countWaiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// awaitAnswer waits for a proposal's answer until ctx ends.
func (w *waiters) awaitAnswer(ctx context.Context, p *proposal, unserved func() error) (wire.Result, error) {
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
	}
	a := w.abandonProposal(p, unserved())
	return a.result, a.err
}
