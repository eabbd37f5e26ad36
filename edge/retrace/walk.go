package retrace

import (
	"context"
	"errors"
	"time"

	"railguard/audit"
)

// History is a node's copy of the log. *audit.Store is one.
type History interface {
	Scan(q audit.Query, visit func(index uint64, leaf audit.Leaf) bool) (audit.ScanResult, error)
	FindTime(nanoseconds int64) uint64
	Size() uint64
}

// Walk goes over history in steps, and rests after each for longer than it took.
type Walk struct {
	History History
	// Fetch reads a leaf that this node does not have, or not whole, from another one.
	Fetch func(ctx context.Context, index uint64) ([]byte, error)
	// Lost judges a leaf that could not be fetched: an error ends the step before it; nil
	// passes it over. Without one it is passed over.
	Lost func(error) error
	Rest int    // Times the length of a step; 0: none.
	Next uint64 // The leaf to look at next.
}

const (
	stepLeaves = 64 // A bundle of the store is looked at whole.
	// walkRest leaves a quarter of a core at most to judging history again.
	walkRest    = 3
	walkRestMax = 100 * time.Millisecond
	// walkSlice is how long a walk computes before it rests, also within a step: a bundle
	// of records judged twice is 5 to 10 ms, and a verdict on the same processors waits
	// for as much.
	walkSlice = time.Millisecond
)

// errEnough ends a step behind the leaf that was looked at.
var errEnough = errors.New("enough for now")

// take is what a walk does with a leaf: see Trace.Take. The bytes are the walk's.
type take func(ctx context.Context, data []byte, keys []uint64) error

// Step looks at the next leaves below to, a bundle of them (256) at most; passed says that it found none left.
func (w *Walk) Step(ctx context.Context, to uint64, do take) (passed bool, err error) {
	began := time.Now()
	if passed, err = w.scanStep(ctx, to, w.paceStep(ctx, &began, do)); err != nil || passed {
		return passed, err
	}
	return false, w.restAfter(ctx, began)
}

// paceStep returns a function that calls do, and rests before it after every walkSlice of
// computing.
func (w *Walk) paceStep(ctx context.Context, began *time.Time, do take) take {
	return func(within context.Context, data []byte, keys []uint64) error {
		if time.Since(*began) >= walkSlice {
			if err := w.restAfter(ctx, *began); err != nil {
				return err
			}
			*began = time.Now()
		}
		return do(within, data, keys)
	}
}

// restAfter rests Rest times as long as the step took that began then, walkRestMax at most.
func (w *Walk) restAfter(ctx context.Context, began time.Time) error {
	if w.Rest == 0 {
		return ctx.Err()
	}
	rest := time.NewTimer(min(time.Duration(w.Rest)*time.Since(began), walkRestMax))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (w *Walk) scanStep(ctx context.Context, to uint64, do take) (passed bool, err error) {
	if w.Next >= to {
		return true, nil
	}
	var failed error
	scanned, err := w.History.Scan(audit.Query{From: w.Next, To: to, Examine: stepLeaves}, func(_ uint64, stored audit.Leaf) bool {
		failed = do(ctx, stored.Data, stored.Keys)
		return failed == nil
	})
	if failed != nil && !errors.Is(failed, errEnough) {
		return false, failed
	}
	if w.Next = max(scanned.Next, w.Next); failed != nil {
		return false, nil //nolint:nilerr // errEnough: the page was cut short.
	}
	if errors.Is(err, audit.ErrMissing) || errors.Is(err, audit.ErrCorrupt) {
		return false, w.fetchLeaf(ctx, do)
	}
	return scanned.Done, err
}

// fetchLeaf looks at one leaf that is not whole here. One that nobody has is passed over,
// and counted by do as what it is: nothing to be read.
func (w *Walk) fetchLeaf(ctx context.Context, do take) error {
	data, err := w.Fetch(ctx, w.Next)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, audit.ErrPruned) {
		w.Next++
		return nil
	}
	if err != nil {
		if data = nil; w.Lost != nil {
			if err := w.Lost(err); err != nil {
				return err
			}
		}
	}
	w.Next++
	if err := do(ctx, data, nil); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil
}
