package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	restEvery    = 250 * time.Millisecond // To ask costs the node a scan of its log.
	restPatience = 2 * settlePatience     // For one step. A new leader must compile both lists first that it compares, and a whole published list takes it long beside others.
	restMost     = 6 * time.Minute
)

// rest waits until no node writes leaves any more. The retro-screening that an activated list
// requires takes at most a quarter of a core (package retrace): after each millisecond of work it
// rests three times as long as that work took, and where others use the core, the work takes longer.
// So no fixed time is enough for it beside other tests. What a fault would show is that it stands
// still, and so restPatience counts from its last step.
func (c *cluster) rest(ctx context.Context, by *caller) (time.Duration, error) {
	began := time.Now()
	moved, last := began, ""
	for {
		quiet, place := c.quiet(ctx, by)
		now := time.Now()
		switch {
		case quiet:
			return now.Sub(began), nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case place != "" && place != last:
			last, moved = place, now
		}
		if now.Sub(moved) > restPatience || now.Sub(began) > restMost {
			return 0, fmt.Errorf("the log does not come to rest: waited %v, the last step was %v ago: %s", now.Sub(began).Round(time.Second), now.Sub(moved).Round(time.Second), last)
		}
		pause(ctx, restEvery)
	}
}

// quiet reports whether no node writes leaves any more: the retro-screening is done, and all nodes
// have the same tree. place says how far the retro-screening is if it is not done.
func (c *cluster) quiet(ctx context.Context, by *caller) (quiet bool, place string) {
	first := ""
	for i, n := range c.members() {
		if done, place := lookedBack(ctx, by, n); !done {
			return false, place
		}
		a, err := by.get(ctx, n.api+"/log/checkpoint")
		if err != nil || a.status != http.StatusOK {
			return false, ""
		}
		tree, _, _ := strings.Cut(string(a.body), "\n\n") // Only the text before the signatures is compared, because the signatures may differ.
		if i == 0 {
			first = tree
		}
		if tree != first {
			return false, ""
		}
	}
	return true, ""
}

// lookedBack reports whether the retro-screening for the active list is done, and how far it is
// otherwise. The first list has none.
func lookedBack(ctx context.Context, by *caller, n *node) (done bool, place string) {
	var list struct {
		Active struct {
			Version uint64 `json:"listVersion"`
		} `json:"active"`
	}
	var runs struct {
		Data []struct {
			Version  uint64 `json:"listVersion"`
			State    string `json:"state"`
			Progress struct {
				Leaf    uint64 `json:"leaf"`
				EndLeaf uint64 `json:"endLeaf"`
			} `json:"progress"`
		} `json:"data"`
	}
	if errors.Join(by.read(ctx, n.api+"/v1/ofac", &list), by.read(ctx, n.api+"/v1/ofac/retro", &runs)) != nil {
		return false, ""
	}
	if list.Active.Version <= 1 {
		return true, ""
	}
	if len(runs.Data) == 0 {
		return false, "not begun"
	}
	run := &runs.Data[0]
	if run.Version == list.Active.Version && run.State == "done" {
		return true, ""
	}
	return false, fmt.Sprintf("%s for list version %d of %d at leaf %d of %d", run.State, run.Version, list.Active.Version, run.Progress.Leaf, run.Progress.EndLeaf)
}
