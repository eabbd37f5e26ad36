package turns

import (
	"container/heap"
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFull says that the owner's calls that wait already are more work than it may queue.
var ErrFull = errors.New("too much work of this owner waits for a turn")

const (
	dearMean   = 60 * time.Microsecond  // An owner whose turns take longer on average is a dear one. An ordinary name takes 32.
	backlogMax = 200 * time.Millisecond // Work that one owner may have waiting.
	waitMax    = 500 * time.Millisecond // How long a call may have to wait behind the rests of its own owner.
	waitingMin = 16                     // Calls that one owner may always have waiting.
	debtMax    = 50 * time.Millisecond  // Work that is remembered against an owner that waits again.
	meanOf     = 8                      // Turns that the mean is made of, about.
	ownersKept = 32_768                 // Owners that are remembered.

	// Beside others a dear owner rests after each of its turns so many times as long as it
	// worked: it has an eighth of each of its places.
	restTimes = 7
	besideFor = 100 * time.Millisecond // How long after a turn of a cheap owner dear ones still rest.
)

// Turns are places for work of the processor, one for each processor. A call that finds a
// free place takes it at the price of a few atomic operations. Otherwise it waits in its
// owner's queue, and a free place goes to the owner that had the least work done (start-time
// fair queueing). An owner whose turns are long may have half of the places at once, so that
// one is soon free for the others.
//
// A free place is not enough for the others. A call crosses three nodes and wakes some eight
// goroutines, and whatever a flood computes meanwhile, on any of them, comes before some of
// these. So an owner whose turns are long also rests after each, as long as owners whose turns
// are short are served beside it. Nobody rests for an owner that is dear itself: two such owners
// share all the time there is. Turns is safe for concurrent use.
type Turns struct {
	places int
	began  time.Time

	// When a cheap owner was last seen beside a dear one, in nanoseconds since began. Whoever
	// ends a dear turn asks for it, and the next cheap turn answers, so that a turn beside which
	// nothing is dear reads no clock.
	cheapAt atomic.Int64
	asked   atomic.Bool

	// Calls that wait, above the places that are taken. Both stand in one number, so that a
	// call that wants a free place and one that leaves cannot miss each other: whoever finds
	// a waiting call takes the mutex.
	state atomic.Uint64

	mutex  sync.Mutex
	ready  owners // Those with a waiting call that may have one more place.
	clock  int64  // The work that the owner had done whose call began last, in nanoseconds.
	owners atomic.Pointer[map[string]*Owner]
}

const (
	oneWaits  = 1 << 32
	placeMask = oneWaits - 1
)

// Owner is on whose account calls are judged.
type Owner struct {
	held  atomic.Int64 // Its places, and those that it gave back and rests for.
	mean  atomic.Int64 // Mean length of its latest turns, in nanoseconds.
	spent atomic.Int64 // Work done that is not in done yet.

	// The mutex of Turns guards the rest.
	done    int64 // The work done for it, in nanoseconds; compared with that of others.
	waiting list.List
	at      int // Its place in the heap; -1: it is not in it.
}

// Turn is one place, taken. End must be called once.
type Turn struct {
	turns  *Turns
	owner  *Owner
	booked int64 // What was entered as its work when it began, in nanoseconds.
}

// waiter is a call that waits.
type waiter struct {
	turn   chan struct{} // Closed when its turn has come.
	booked int64
}

// New returns turns with that many places.
func New(places int) *Turns {
	t := &Turns{places: max(1, places), began: time.Now()}
	t.cheapAt.Store(-int64(besideFor))
	t.owners.Store(&map[string]*Owner{})
	return t
}

// Owner returns the owner with a name, "" included.
func (t *Turns) Owner(name string) *Owner {
	if owner := (*t.owners.Load())[name]; owner != nil {
		return owner
	}
	return t.addOwner(name)
}

// addOwner adds an owner. When too many are known, those that have nothing here are
// forgotten. A forgotten owner that still has a call keeps its own account until that ends.
func (t *Turns) addOwner(name string) *Owner {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	known := *t.owners.Load()
	if owner := known[name]; owner != nil {
		return owner
	}
	next := make(map[string]*Owner, len(known)+1)
	for other, owner := range known {
		if len(known) < ownersKept || owner.held.Load() > 0 || owner.waiting.Len() > 0 {
			next[other] = owner
		}
	}
	owner := &Owner{at: -1}
	next[name] = owner
	t.owners.Store(&next)
	return owner
}

// Take takes a place for a call of the owner; it waits for one until ctx ends. It returns
// ErrFull at once, or the error of ctx.
func (t *Turns) Take(ctx context.Context, o *Owner) (Turn, error) {
	if t.asked.Load() && !o.isDear() {
		t.cheapAt.Store(int64(time.Since(t.began)))
		t.asked.Store(false)
	}
	if o.held.Add(1) <= t.mostOf(o) {
		if t.state.Add(1) <= uint64(t.places) { // A free place, and nobody waits.
			return Turn{turns: t, owner: o}, nil
		}
		t.state.Add(^uint64(0))
	}
	o.held.Add(-1)
	return t.waitTurn(ctx, o)
}

// mostOf returns how many places the owner may have.
func (t *Turns) mostOf(o *Owner) int64 {
	if o.isDear() {
		return int64(max(1, t.places/2))
	}
	return int64(t.places)
}

// isDear reports whether the owner's turns are long.
func (o *Owner) isDear() bool { return o.mean.Load() > int64(dearMean) }

// restAfter returns how long the owner rests after a turn.
func (t *Turns) restAfter(o *Owner, worked time.Duration) time.Duration {
	if !o.isDear() {
		return 0
	}
	t.asked.Store(true)
	if int64(time.Since(t.began))-t.cheapAt.Load() >= int64(besideFor) {
		return 0
	}
	return worked * restTimes
}

// isFull reports whether more of the owner's work waits than may. Called with the mutex held.
func (t *Turns) isFull(o *Owner) bool {
	n := int64(o.waiting.Len())
	if n < waitingMin {
		return false
	}
	mean := o.mean.Load()
	rest := int64(t.restAfter(o, time.Duration(mean)))
	return n*mean > int64(backlogMax) || rest > 0 && n*(mean+rest)/t.mostOf(o) > int64(waitMax)
}

// waitTurn waits in the owner's queue.
func (t *Turns) waitTurn(ctx context.Context, o *Owner) (Turn, error) {
	t.mutex.Lock()
	if t.isFull(o) {
		t.admit(o) // The failed try of Take may have hidden a free place from others.
		t.mutex.Unlock()
		return Turn{}, ErrFull
	}
	if o.waiting.Len() == 0 {
		o.done = min(max(o.done+o.spent.Swap(0), t.clock), t.clock+int64(debtMax))
	}
	w := &waiter{turn: make(chan struct{})}
	place := o.waiting.PushBack(w)
	t.state.Add(oneWaits)
	t.admit(o)
	t.mutex.Unlock()
	select {
	case <-w.turn:
		return Turn{t, o, w.booked}, nil
	case <-ctx.Done():
	}
	t.mutex.Lock()
	select {
	case <-w.turn: // The turn came at the same moment: end it.
		t.mutex.Unlock()
		turn := Turn{t, o, w.booked}
		turn.End(0)
	default:
		o.waiting.Remove(place)
		t.state.Add(^uint64(oneWaits - 1))
		t.admit(o)
		t.mutex.Unlock()
	}
	return Turn{}, ctx.Err()
}

// End gives the place back, and enters the work that was done in it.
func (u *Turn) End(worked time.Duration) {
	t, o := u.turns, u.owner
	if t == nil {
		return
	}
	u.turns = nil
	mean := o.mean.Load()
	if change := (int64(worked) - mean) / meanOf; change != 0 {
		o.mean.Store(mean + change) // Another turn may end at the same time; the mean need not be exact.
	}
	o.spent.Add(int64(worked) - u.booked)
	if rest := t.restAfter(o, worked); rest > 0 {
		time.AfterFunc(rest, func() { t.endRest(o) })
	} else {
		o.held.Add(-1)
	}
	if t.state.Add(^uint64(0)) < oneWaits {
		return
	}
	t.mutex.Lock()
	t.admit(o)
	t.mutex.Unlock()
}

// endRest lets the owner have a place again.
func (t *Turns) endRest(o *Owner) {
	o.held.Add(-1)
	t.mutex.Lock()
	t.admit(o)
	t.mutex.Unlock()
}

// admit enters an owner's work, puts it where it belongs among those that wait, and gives the
// free places away.
func (t *Turns) admit(o *Owner) {
	o.done += o.spent.Swap(0)
	t.placeOwner(o)
	for len(t.ready) > 0 && t.state.Load()&placeMask < uint64(t.places) {
		next := t.ready[0]
		w := next.waiting.Remove(next.waiting.Front()).(*waiter)
		t.clock = max(t.clock, next.done)
		w.booked = next.mean.Load()
		next.done += w.booked
		next.held.Add(1)
		t.state.Add(1)
		t.state.Add(^uint64(oneWaits - 1))
		t.placeOwner(next)
		close(w.turn)
	}
}

// placeOwner puts an owner into the heap, moves it in it, or takes it out.
func (t *Turns) placeOwner(o *Owner) {
	may := o.waiting.Len() > 0 && o.held.Load() < t.mostOf(o)
	switch {
	case may && o.at < 0:
		heap.Push(&t.ready, o)
	case may:
		heap.Fix(&t.ready, o.at)
	case o.at >= 0:
		heap.Remove(&t.ready, o.at)
	}
}

// Waiting returns how many calls wait.
func (t *Turns) Waiting() int { return int(t.state.Load() / oneWaits) }

// owners is a heap: the owner with the least work done comes first.
type owners []*Owner

func (h owners) Len() int           { return len(h) }
func (h owners) Less(i, k int) bool { return h[i].done < h[k].done }
func (h owners) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].at, h[k].at = i, k
}

func (h *owners) Push(o any) {
	o.(*Owner).at = len(*h)
	*h = append(*h, o.(*Owner))
}

func (h *owners) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	o.at = -1
	return o
}
