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

// Walk goes over history in steps. After each step it rests for longer than the step took.
type Walk struct {
	History History
	// Fetch reads from another node a leaf that is missing or damaged here.
	Fetch func(ctx context.Context, index uint64) ([]byte, error)
	// Lost, if not nil, judges a leaf that could not be fetched. If it returns an error, the
	// step ends before the leaf; otherwise the leaf is skipped.
	Lost func(error) error
	Rest int // Length of a rest, in lengths of the step before it; 0: no rest.
	// MakeWay waits, after a rest, while verdicts wait longer than they should, for a bounded time;
	// nil: nobody waits.
	MakeWay func()
	Next    uint64 // The leaf to look at next.
}

const (
	stepLeaves = 64 // A step has at least so many leaves, because a scan always finishes its bundle.
	// walkRest leaves at most a quarter of a core to judging history again.
	walkRest    = 3
	walkRestMax = 100 * time.Millisecond
	// walkSlice is how long a walk computes before it rests, even within a step. Judging a
	// bundle of records again takes 5 to 10 ms, and a verdict on the same processors would wait
	// as long.
	walkSlice = time.Millisecond
)

// errEnough ends a step after the present leaf.
var errEnough = errors.New("enough for now")

// take handles a leaf: see Trace.Take. It must not keep the bytes.
type take func(ctx context.Context, data []byte, keys []uint64) error

// Step looks at the next leaves below to, at most one bundle (256). passed says that there are
// none left.
func (w *Walk) Step(ctx context.Context, to uint64, do take) (passed bool, err error) {
	began := time.Now()
	if passed, err = w.scanStep(ctx, to, w.paceStep(ctx, &began, do)); err != nil || passed {
		return passed, err
	}
	return false, w.restAfter(ctx, began)
}

// paceStep wraps do: after every walkSlice of computing it rests before the next call of do.
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

// restAfter rests Rest times as long as the time since began, but at most walkRestMax.
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
	if w.MakeWay != nil {
		w.MakeWay()
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

// fetchLeaf fetches one leaf that is missing or damaged here. If nobody has it, do gets no data
// and counts it as unreadable.
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
