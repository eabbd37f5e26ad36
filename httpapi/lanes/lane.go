package lanes

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrFull says that too many calls wait already, of all callers or of this one.
var ErrFull = errors.New("too many wait for a turn")

// Lane is a number of places for expensive work. A call that finds no free place waits in
// its caller's queue, and the queues take turns: a caller with a hundred calls makes only
// itself wait longer. It is safe for concurrent use.
type Lane struct {
	waitingMax, perCaller int

	mutex   sync.Mutex
	free    int
	waiting int                     // How many calls wait in all queues.
	queues  map[string]*callerQueue // Queues of the callers that have a place or wait for one.
	next    *list.List              // Each a *callerQueue: those with a waiting call, in the order of turns.
}

// callerQueue holds one caller's calls.
type callerQueue struct {
	held    int       // Its places and waiting calls.
	waiting list.List // Each a chan struct{}, closed when the turn has come.
}

// NewLane returns a lane with that many places. waitingMax bounds the waiting calls;
// perCaller bounds one caller's calls that wait or have a place.
func NewLane(places, waitingMax, perCaller int) *Lane {
	return &Lane{waitingMax: waitingMax, perCaller: perCaller, free: places, queues: make(map[string]*callerQueue), next: list.New()}
}

// Enter takes a place for caller; it waits for one until ctx ends. It returns ErrFull at
// once, or the error of ctx. After success the caller must Leave.
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

// waitTurn waits in the caller's queue until it is its turn or ctx ends. The mutex is held at
// the call and released inside.
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
	case <-turn: // The turn came at the same moment: pass it on.
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

// Pass gives the place to a waiting call, if there is one, and waits for the next turn. Long
// work calls it between its steps. After an error the caller has no place any more.
func (l *Lane) Pass(ctx context.Context, caller string) error {
	l.mutex.Lock()
	if l.waiting == 0 {
		l.mutex.Unlock()
		return nil
	}
	l.givePlace()
	return l.waitTurn(ctx, caller, l.queues[caller])
}

// givePlace gives one place to the next queue, or frees it if no call waits.
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

// removeQueue removes an empty queue from the order of turns.
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
