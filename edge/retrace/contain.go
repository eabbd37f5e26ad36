package retrace

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A fault of ours that one record or party brings out must not end the node: what is judged here is
// replicated, so every node would end of it, and again after each start. The record or party is
// passed over instead, and counted (decision 119).

// errPanicked is wrapped by what contain returns after a panic.
var errPanicked = errors.New("BUG: a panic")

// contain runs do and returns its error, or the panic in it with its stack.
func contain(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())
		}
	}()
	return do()
}

// passOver returns an error, but nil for a panic, which it logs and counts.
func (r *Retro) passOver(err error, what string, at uint64) error {
	if !errors.Is(err, errPanicked) {
		return err
	}
	r.sources.Panicked()
	r.log.Error("retro-screening: passed over, look at it by hand", what, at, "error", err)
	return nil
}
