package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"railguard/engine"
)

// The agents of a schedule: two that spend under a limit, one that will be revoked.
const (
	spender engine.AgentSlot = iota + 1
	miser
	outcast
)

var spendLimits = Limits{spender: 60 * engine.Dollar, miser: 20 * engine.Dollar, outcast: 1000 * engine.Dollar}

// prepare registers the agents, in a world that is calm.
func prepare(w *World, h *History) {
	for slot := spender; slot <= outcast; slot++ {
		for h.register(context.Background(), w.hosts[0], fmt.Sprintf("agent-%d", slot), spendLimits[slot]).Err != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// load runs clients on all nodes until stop is closed.
type load struct {
	world   *World
	history *History
	seed    uint64
	pause   time.Duration // Mean time between a client's calls.
	stop    chan struct{}
	ending  sync.Once
	all     sync.WaitGroup
}

func (l *load) run(clients int) {
	for c := range clients {
		random := rand.New(rand.NewPCG(l.seed, uint64(100+c)))
		l.all.Go(func() { l.client(c, random) })
	}
	for _, host := range l.world.hosts {
		l.all.Go(func() { l.reader(host) })
	}
}

// end stops the clients and waits for them.
func (l *load) end() {
	l.ending.Do(func() { close(l.stop) })
	l.all.Wait()
}

// rest waits a while, and reports whether to go on.
func (l *load) rest(d time.Duration) bool {
	select {
	case <-l.stop:
		return false
	case <-time.After(d):
		return true
	}
}

func (l *load) client(c int, random *rand.Rand) {
	hosts, h, ctx := l.world.hosts, l.history, context.Background()
	host := hosts[c%len(hosts)]
	for i := 0; l.rest(time.Duration(1 + random.Int64N(2*int64(l.pause)))); i++ {
		name := fmt.Sprintf("c%d-%d", c, i)
		agent := []engine.AgentSlot{spender, spender, miser, outcast}[random.IntN(4)]
		pay := payment{name: name, agent: agent, amount: engine.Dollar}
		switch n := random.IntN(20); {
		case n < 9:
			h.Screen(ctx, host, pay)
		case n < 14: // At any node, until it is answered.
			pay.idem = keyOf(name)
			h.Pay(ctx, func(try int) *Host { return hosts[(c+try)%len(hosts)] }, pay, l.stop)
		case n < 16:
			h.Register(ctx, host, name)
		case n < 19:
			h.Dispose(ctx, host, random.IntN, name)
		case i > 20 && c == 0:
			h.Revoke(ctx, host, outcast, name)
		}
	}
}

func (l *load) reader(host *Host) {
	for l.rest(8 * l.pause) {
		l.history.Read(context.Background(), host)
	}
}
