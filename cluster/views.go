package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"railguard/fsm"
)

// viewEvery is the shortest time between two freezes for readers. After a freeze the writer
// copies every page that it touches.
const viewEvery = 5 * time.Millisecond

// viewCache gives frozen states to readers. A reader gets a state with everything that was
// applied when it asked. Readers that ask at the same time share one freeze.
type viewCache struct {
	gate   gate // Held during a freeze and the pause before it. Readers that wait for it share the result.
	last   *fsm.View
	of     uint64        // The value of forget at the last freeze.
	forget atomic.Uint64 // Counts restores. A state from before a restore is not given out.
	frozen time.Time
	freeze func() *fsm.View // The state between two entries.
}

// viewKept is how long a state that no reader asks for is kept.
const viewKept = 2 * time.Second

// dropOldViews drops a state that nobody has asked for lately, as it would keep every page that
// is replaced.
func (c *viewCache) dropOldViews(now time.Time) {
	if !c.gate.tryEnter() {
		return
	}
	if now.Sub(c.frozen) > viewKept {
		c.last = nil
	}
	c.gate.leaveGate()
}

// dropViews drops the last state, as it would keep all that was replaced since.
func (c *viewCache) dropViews() {
	c.forget.Add(1)
	if c.gate.tryEnter() {
		c.last = nil
		c.gate.leaveGate()
	}
}

// View returns a frozen state with at least index minIndex, and with everything that was
// applied here at the call.
func (s *state) View(ctx context.Context, minIndex uint64) (*fsm.View, error) {
	if err := s.progress.awaitIndex(ctx, minIndex); err != nil {
		return nil, err
	}
	wanted := s.commands.Load()
	c := &s.views
	if err := c.gate.enterGate(ctx); err != nil {
		return nil, err
	}
	defer c.gate.leaveGate()
	restores := c.forget.Load()
	if c.last != nil && c.of == restores && c.last.Index >= wanted {
		return c.last, nil
	}
	if pause := viewEvery - time.Since(c.frozen); c.last != nil && pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.of, c.last, c.frozen = restores, c.freeze(), time.Now()
	return c.last, nil
}

// gate is a mutex whose waiters can be cancelled. It is for locks that are held during a wait;
// a plain mutex is for a few instructions.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) enterGate(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) tryEnter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) leaveGate() { <-g }
