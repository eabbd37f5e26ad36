package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"railguard/fsm"
)

// viewEvery is the shortest time between two freezes for readers: a freeze makes
// the writer copy every page it touches afterwards.
const viewEvery = 5 * time.Millisecond

// viewCache hands frozen states to readers. A reader gets a state that holds all
// that was applied when it asked; readers who ask together share one freeze.
type viewCache struct {
	gate   gate // Held over a freeze and the pause before it: who waits shares the result.
	last   *fsm.View
	of     uint64        // The value of forget when last was frozen.
	forget atomic.Uint64 // Counts restores: a state from before one is not handed out.
	frozen time.Time
	freeze func() *fsm.View // The state between two entries.
}

// viewKept is how long a state is kept for readers that do not come.
const viewKept = 2 * time.Second

// dropOldViews forgets a state that nobody has asked for: it would keep every page that is
// replaced.
func (c *viewCache) dropOldViews(now time.Time) {
	if !c.gate.tryEnter() {
		return
	}
	if now.Sub(c.frozen) > viewKept {
		c.last = nil
	}
	c.gate.leaveGate()
}

// dropViews forgets the last state: it would keep all that was replaced since.
func (c *viewCache) dropViews() {
	c.forget.Add(1)
	if c.gate.tryEnter() {
		c.last = nil
		c.gate.leaveGate()
	}
}

// View returns a frozen state of at least index minIndex, and of at least what was
// applied here when it was called.
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

// gate lets one in at a time, like a mutex, but who waits can be called away.
// For what is held over a wait; a plain mutex is for a few instructions.
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
