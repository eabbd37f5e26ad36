package cluster

import (
	"context"
	"fmt"

	"railguard/engine"
	"railguard/fsm/wire"
)

// gathering is shared by the proposals of one call: they are queued under one lock, and wait
// with one timer and one wake-up. Each gets its own answer. Guarded by waiters.mu.
type gathering struct {
	left int           // Proposals without an answer.
	done chan struct{} // Closed when the last proposal has its answer.
}

// ProposeMany is Propose for several records of one kind: results[i] or errs[i] is the outcome
// of bodies[i]. The records are queued one behind the other, as many to an entry as it takes.
// Nothing is atomic between them: some may be refused, some unknown and the others applied, and
// records that go into several entries may change order.
func (n *Node) ProposeMany(ctx context.Context, kind wire.Kind, bodies [][]byte) (results []wire.Result, errs []error) {
	results, errs = make([]wire.Result, len(bodies)), make([]error, len(bodies))
	for i := range bodies {
		if len(bodies[i]) > recordMax(kind) {
			errs[i] = fmt.Errorf("record of %d bytes: %w", len(bodies[i]), wire.ErrTooLarge)
		}
	}
	if err := n.checkServing(); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return results, errs
	}
	proposals, together := n.waiters.admitMany(kind, bodies, errs)
	for i := range errs {
		errs[i] = n.whyRefused(errs[i])
	}
	limit, cancel := withinLimit(ctx, n.config.WriteDeadline)
	defer cancel()
	select {
	case <-together.done:
	case <-limit.Done():
		n.waiters.abandonMany(proposals, n.whyUnserved())
	}
	for i := range proposals {
		if errs[i] == nil {
			results[i], errs[i] = proposals[i].got.result, proposals[i].got.err
		}
	}
	return results, errs
}

// admitMany queues, in order, the records that have no error yet. Records for which there is no
// room get the error that admitRecord gives.
func (w *waiters) admitMany(kind wire.Kind, bodies [][]byte, errs []error) ([]proposal, *gathering) {
	proposals, together := make([]proposal, len(bodies)), &gathering{done: make(chan struct{})}
	now := w.clock.Monotonic()
	w.mu.Lock()
	defer w.mu.Unlock()
	slow := kind == wire.KindScreen && w.tooSlow(now)
	for i := range proposals {
		p := &proposals[i]
		*p = proposal{kind: kind, body: bodies[i], enqueued: now, together: together}
		if errs[i] != nil {
			continue
		}
		if errs[i] = w.checkRoom(kind, recordFrame+len(p.body), slow); errs[i] != nil {
			continue
		}
		together.left++
		w.enqueueRecord(p)
	}
	if together.left == 0 {
		close(together.done)
		return proposals, together
	}
	w.wakeOwner()
	return proposals, together
}

// abandonMany is abandonProposal for proposals that wait together.
func (w *waiters) abandonMany(proposals []proposal, unserved error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range proposals {
		if p := &proposals[i]; p.state != proposalDone && p.queued {
			w.dropProposal(p, unserved)
		}
	}
	w.compactQueue(w.queueOf(proposals[0].kind))
}

// checkRoom returns why a record finds no place in the queue, or nil. Called with mu held.
func (w *waiters) checkRoom(kind wire.Kind, size int, slow bool) error {
	countMax, bytesMax := engine.WaitingMax, engine.WaitingBytesMax
	if kind == wire.KindScreen {
		countMax -= countMax / reservedShare
		bytesMax -= bytesMax / reservedShare
	}
	if w.refusal != nil {
		return w.refusal
	}
	if w.count >= countMax || w.bytes+size > bytesMax || slow {
		proposalsOverloaded.Inc()
		return wire.ErrOverloaded
	}
	return nil
}

// enqueueRecord puts a record behind the others of its lane. Called with mu held.
func (w *waiters) enqueueRecord(p *proposal) {
	p.queued = true
	w.count++
	w.bytes += recordFrame + len(p.body)
	w.queueOf(p.kind).pushWaiter(p)
}
