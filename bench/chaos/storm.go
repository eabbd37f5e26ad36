package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"railguard/engine"
)

// storm is a constant load of every kind of call, from some clients over all
// nodes, until it is stopped.
type storm struct {
	cancel  context.CancelFunc
	clients sync.WaitGroup
}

// load says how hard a storm blows.
type load struct {
	clients int
	pause   time.Duration // Between two operations of a client.
	pinned  bool          // Clients stay at their node.
	calm    bool          // Screening calls alone.
}

// loadPause leaves a small machine room for the faults, and the checkers histories
// that they can finish.
const loadPause = 16 * time.Millisecond

// load is the storm of a scenario.
func (s *stage) load() load {
	return load{clients: 8, pause: loadPause}
}

func (r *room) storm(ctx context.Context, l load) *storm {
	ctx, cancel := context.WithCancel(ctx)
	s := &storm{cancel: cancel}
	for range l.clients {
		c := r.client()
		c.pinned = l.pinned
		s.clients.Add(1)
		go func() {
			defer s.clients.Done()
			for ctx.Err() == nil {
				c.something(ctx, r.groups, l.calm)
				pause(ctx, l.pause)
			}
		}()
	}
	return s
}

// stop lets every client finish the operation it is at.
func (s *storm) stop() {
	s.cancel()
	s.clients.Wait()
}

// pause waits, shorter when the context ends.
func pause(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// amounts of screening calls: most small, some above a single limit, some that
// need an attestation.
var amounts = []engine.USD{
	1 * engine.Dollar, 2*engine.Dollar + 500_000, 7 * engine.Dollar, 10 * engine.Dollar, 10 * engine.Dollar, 25 * engine.Dollar,
	40 * engine.Dollar, 60 * engine.Dollar, 120 * engine.Dollar,
}

var dispositions = []string{"APPROVED", "REJECTED", "ESCALATE_SAR"}

// something does one random operation. The call in hand outlives ctx: its
// outcome matters.
func (c *client) something(ctx context.Context, groups []*group, calm bool) {
	ctx = context.WithoutCancel(ctx)
	g := groups[c.random.IntN(len(groups))]
	accounts := g.known()
	a := accounts[c.random.IntN(len(accounts))]
	amount := amounts[c.random.IntN(len(amounts))]
	if a.autonomous && c.random.IntN(2) == 0 {
		amount = 12_000 * engine.Dollar
	}
	dice := c.random.IntN(1000)
	if calm {
		dice = 0
	}
	switch {
	case dice < 580:
		c.screen(ctx, a, amount)
	case dice < 780:
		c.screenBare(ctx, a, amount)
	case dice < 860:
		if p, ok := g.pick(false, c.random.IntN(reviewsKept)); ok {
			c.read(ctx, g, p)
		}
	case dice < 920:
		if p, ok := g.pick(true, c.random.IntN(reviewsKept)); ok {
			c.review(ctx, g, p, dispositions[c.random.IntN(len(dispositions))])
		}
	case dice < 940:
		c.suspendFor(ctx, a)
	case dice < 960:
		c.changeStatus(ctx, opReinstate, a)
	case dice < 975:
		if i := slices.IndexFunc(accounts, func(a *account) bool { return a.autonomous }); i >= 0 {
			c.attest(ctx, accounts[i])
		}
	case dice < 985:
		c.register(ctx, g, c.newcomer(g))
	case dice < 990:
		if a.index >= len(standardAccounts()) { // Those every test needs live on.
			c.changeStatus(ctx, opRevoke, a)
		}
	default:
		c.screen(ctx, a, amount)
	}
}

// suspendFor suspends an agent, and most often reinstates it soon: a group whose
// agents are all suspended tests nothing.
func (c *client) suspendFor(ctx context.Context, a *account) {
	c.changeStatus(ctx, opSuspend, a)
	if c.random.IntN(4) != 0 {
		c.screen(ctx, a, engine.Dollar)
		c.changeStatus(ctx, opReinstate, a)
	}
}

// newcomer is the plan of an agent that comes during a storm.
func (c *client) newcomer(g *group) account {
	if c.random.IntN(2) == 0 {
		return account{parent: 0, fleet: true, daily: 200 * engine.Dollar, single: 80 * engine.Dollar}
	}
	return account{parent: -1, fleet: true, daily: 500 * engine.Dollar, single: 100 * engine.Dollar}
}

// newRandom is a client's source: a run is repeated with its seed as far as the
// schedule of processes allows.
func newRandom(seed uint64, client int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(client)))
}
