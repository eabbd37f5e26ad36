package lanes

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrFull says that too many wait for a turn already, or too many of this caller.
var ErrFull = errors.New("too many wait for a turn")

// Lane is a number of places for dear work. Who finds none free waits, each caller in
// a queue of its own, and the queues take turns: who asks a hundred times waits longer,
// and nobody else does. It is safe for concurrent use.
type Lane struct {
	waitingMax, perCaller int

	mutex   sync.Mutex
	free    int
	waiting int                     // In all queues.
	queues  map[string]*callerQueue // Of callers that hold or wait for a place.
	next    *list.List              // Of *callerQueue: those with somebody in them, in the order of their turns.
}

// callerQueue is one caller's calls.
type callerQueue struct {
	held    int       // Places and waiters.
	waiting list.List // Of chan struct{}: closed when the turn has come.
}

// NewLane returns a lane with so many places, and bounds for those that wait in it:
// altogether, and of one caller (those that have a place counted in).
func NewLane(places, waitingMax, perCaller int) *Lane {
	return &Lane{waitingMax: waitingMax, perCaller: perCaller, free: places, queues: make(map[string]*callerQueue), next: list.New()}
}

// Enter takes a place for caller, and waits for it until ctx ends. The error is
// ErrFull at once, or that of ctx. Who got in must Leave.
func (l *Lane) Enter(ctx context.Context, caller string) error {
	l.mutex.Lock()
	own := l.queues[caller]
	if own == nil {
		own = &callerQueue{}
		l.queues[caller] = own
	}
	if own.held >= l.perCaller || l.free == 0 && l.waiting >= l.waitingMax {
		l.forgetCaller(caller, own)
		l.mutex.Unlock()
		return ErrFull
	}
	own.held++
	if l.free > 0 {
		l.free--
		l.mutex.Unlock()
		return nil
	}
	return l.waitTurn(ctx, caller, own)
}

// waitTurn stands in queue. The caller holds the mutex, which is released.
func (l *Lane) waitTurn(ctx context.Context, caller string, own *callerQueue) error {
	turn := make(chan struct{})
	place := own.waiting.PushBack(turn)
	if own.waiting.Len() == 1 {
		l.next.PushBack(own)
	}
	l.waiting++
	l.mutex.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	select {
	case <-turn: // It came in the same moment, and belongs to the next.
		l.givePlace()
	default:
		own.waiting.Remove(place)
		l.waiting--
		if own.waiting.Len() == 0 {
			l.removeQueue(own)
		}
	}
	own.held--
	l.forgetCaller(caller, own)
	return ctx.Err()
}

// Leave gives the caller's place to the queue whose turn it is.
func (l *Lane) Leave(caller string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	own := l.queues[caller]
	own.held--
	l.forgetCaller(caller, own)
	l.givePlace()
}

// Pass lets one other caller go first, if anybody waits, and waits for the next turn:
// long work calls it between its steps. After an error the place is gone.
func (l *Lane) Pass(ctx context.Context, caller string) error {
	l.mutex.Lock()
	if l.waiting == 0 {
		l.mutex.Unlock()
		return nil
	}
	l.givePlace()
	return l.waitTurn(ctx, caller, l.queues[caller])
}

// givePlace hands one place on, or frees it.
func (l *Lane) givePlace() {
	front := l.next.Front()
	if front == nil {
		l.free++
		return
	}
	own := l.next.Remove(front).(*callerQueue)
	close(own.waiting.Remove(own.waiting.Front()).(chan struct{}))
	l.waiting--
	if own.waiting.Len() > 0 {
		l.next.PushBack(own)
	}
}

// removeQueue takes a queue that is empty out of the order of turns.
func (l *Lane) removeQueue(own *callerQueue) {
	for e := l.next.Front(); e != nil; e = e.Next() {
		if e.Value.(*callerQueue) == own {
			l.next.Remove(e)
			return
		}
	}
}

func (l *Lane) forgetCaller(caller string, own *callerQueue) {
	if own.held == 0 {
		delete(l.queues, caller)
	}
}
