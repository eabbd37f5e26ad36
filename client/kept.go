package client

import (
	"context"
	"sync"
	"time"
)

// kept is a value that a service publishes. One goroutine fetches it for all who need it, and what is known
// serves until its end while it is fetched anew. The lock is never held over the network, and nobody waits
// longer than its own context allows. Behind the end of what is known there is nothing: fail closed.
type kept[T any] struct {
	now   func() time.Time
	fetch func(ctx context.Context, now time.Time) (known[T], error)

	mutex  sync.Mutex
	known  known[T]
	flight *flight // nil: nobody fetches.
}

// known is a fetched value. It is fetched anew from fresh on, and serves until end.
type known[T any] struct {
	value      T
	read       time.Time // When its fetch began; zero: there is none.
	fresh, end time.Time
}

func (k *known[T]) serves(now time.Time) bool { return !k.read.IsZero() && now.Before(k.end) }

// flight is one fetch. err may be read once done is closed.
type flight struct {
	done chan struct{}
	err  error
}

// get returns the value: the known one at once, else the fetched one.
func (k *kept[T]) get(ctx context.Context) (known[T], error) {
	for joined := false; ; joined = true {
		now := k.now()
		k.mutex.Lock()
		present, under := k.known, k.flight != nil
		if present.serves(now) {
			if !under && !now.Before(present.fresh) {
				k.start(ctx)
			}
			k.mutex.Unlock()
			return present, nil
		}
		if !under {
			k.start(ctx)
		}
		mine := k.flight
		k.mutex.Unlock()
		if err := mine.wait(ctx); err != nil {
			return known[T]{}, err
		}
		// What a fetch brought that had begun earlier may be over by now; then one more is made.
		if k.mutex.Lock(); k.known.serves(k.now()) || !under || joined {
			present = k.known
			k.mutex.Unlock()
			return present, nil
		}
		k.mutex.Unlock()
	}
}

// renew fetches the value anew, although one is known that was read at a time, and returns it. If another
// one is known meanwhile, it returns that one.
func (k *kept[T]) renew(ctx context.Context, read time.Time) (known[T], error) {
	k.mutex.Lock()
	if !k.known.read.Equal(read) {
		defer k.mutex.Unlock()
		return k.known, nil
	}
	if k.flight == nil {
		k.start(ctx)
	}
	mine := k.flight
	k.mutex.Unlock()
	if err := mine.wait(ctx); err != nil {
		return known[T]{}, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.known, nil
}

// start begins a fetch, which ends with the client's deadline and with no caller's. The lock is held.
func (k *kept[T]) start(ctx context.Context) {
	mine := &flight{done: make(chan struct{})}
	k.flight = mine
	now := k.now()
	go func() {
		got, err := k.fetch(context.WithoutCancel(ctx), now)
		got.read = now
		k.mutex.Lock()
		if err == nil {
			k.known = got
		}
		k.flight, mine.err = nil, err
		k.mutex.Unlock()
		close(mine.done)
	}()
}

func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	default:
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return &Error{Code: CodeNoAnswer, Message: "no answer within the caller's time", Outcome: OutcomeNone, Attempts: 1, Cause: ctx.Err()}
	}
}
