package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFirstUsesFull means that a store remembers as many ids as it may, so that it cannot promise to
// know another one again.
var ErrFirstUsesFull = errors.New("railguard: the store of used permits is full")

// DefaultFirstUses is how many ids a store remembers.
const DefaultFirstUses = 100_000

// FirstUses remembers used permits in memory: within one process, until it ends. Its method First
// is a FirstUse. It may be used by many goroutines at once.
type FirstUses struct {
	most int
	now  func() time.Time

	mutex sync.Mutex
	until map[string]time.Time
	swept time.Time // When what is over was last forgotten.
}

// NewFirstUses returns an empty store of at most most ids; 0 means DefaultFirstUses. now is the
// clock; nil means time.Now.
func NewFirstUses(most int, now func() time.Time) *FirstUses {
	if most <= 0 {
		most = DefaultFirstUses
	}
	if now == nil {
		now = time.Now
	}
	return &FirstUses{most: most, now: now, until: map[string]time.Time{}}
}

// First reports whether an id is new, and remembers it until the given time. An id that comes again
// is remembered until the later of both times.
func (f *FirstUses) First(_ context.Context, id string, until time.Time) (bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	now := f.now()
	if known, ok := f.until[id]; ok && now.Before(known) {
		if until.After(known) {
			f.until[id] = until
		}
		return false, nil
	}
	delete(f.until, id)
	if len(f.until) >= f.most && now.Sub(f.swept).Abs() >= time.Second {
		for known, end := range f.until {
			if !now.Before(end) {
				delete(f.until, known)
			}
		}
		f.swept = now
	}
	if len(f.until) >= f.most {
		return false, ErrFirstUsesFull
	}
	f.until[id] = until
	return true, nil
}
