package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"railguard/engine"
)

// storm is a constant load of all kinds of calls. Some clients make them at all nodes until the
// storm is stopped.
type storm struct {
	cancel  context.CancelFunc
	clients sync.WaitGroup
}

// load says how hard a storm blows.
type load struct {
	clients int
	pause   time.Duration // Between two operations of a client.
	pinned  bool          // Each client always asks the same node.
	calm    bool          // Clients make only screening calls.
}

// loadPause is so long that a small machine has time for the faults, and that the histories stay
// short enough for the checkers.
const loadPause = 16 * time.Millisecond

// load returns the usual load for a scenario.
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

// stop waits until every client has finished its present operation.
func (s *storm) stop() {
	s.cancel()
	s.clients.Wait()
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// amounts are those of screening calls. Most are small, some are above the limit for a single
// payment, and some need an attestation.
var amounts = []engine.USD{
	1 * engine.Dollar, 2*engine.Dollar + 500_000, 7 * engine.Dollar, 10 * engine.Dollar, 10 * engine.Dollar, 25 * engine.Dollar,
	40 * engine.Dollar, 60 * engine.Dollar, 120 * engine.Dollar,
}

var dispositions = []string{"APPROVED", "REJECTED", "ESCALATE_SAR"}

// something does one random operation. An operation that has begun goes on after ctx is done,
// because its outcome matters.
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
		if a.index >= len(standardAccounts()) { // The agents that every test needs are never revoked.
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

// newcomer returns the plan of an agent that is registered during a storm.
func (c *client) newcomer(g *group) account {
	if c.random.IntN(2) == 0 {
		return account{parent: 0, fleet: true, daily: 200 * engine.Dollar, single: 80 * engine.Dollar}
	}
	return account{parent: -1, fleet: true, daily: 500 * engine.Dollar, single: 100 * engine.Dollar}
}

// newRandom returns a client's source of random choices. The same seed gives the same choices,
// but the schedule of the processes may still differ.
func newRandom(seed uint64, client int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(client)))
}
