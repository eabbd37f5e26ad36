package cluster

import (
	"context"
	"sync"
	"time"

	"railguard/fsm"
)

// viewEvery is the shortest time between two freezes for readers: a freeze makes
// the writer copy every page it touches afterwards.
const viewEvery = 5 * time.Millisecond

// viewCache hands frozen states to readers. A reader gets a state that holds all
// that was applied when it asked; readers who ask together share one freeze.
type viewCache struct {
	mu     sync.Mutex // Held over a freeze and the pause before it: who waits shares the result.
	last   *fsm.View
	frozen time.Time
}

func (c *viewCache) drop() {
	c.mu.Lock()
	c.last = nil
	c.mu.Unlock()
}

// View returns a frozen state of at least index minIndex, and of at least what was
// applied here when it was called.
func (n *Node) View(ctx context.Context, minIndex uint64) (*fsm.View, error) {
	if err := n.progress.await(ctx, minIndex); err != nil {
		return nil, err
	}
	wanted := n.commands.Load()
	c := &n.views
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.Index >= wanted {
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
	c.last, c.frozen = n.adapter.Freeze(), time.Now()
	return c.last, nil
}
