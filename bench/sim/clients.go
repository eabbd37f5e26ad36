package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"railguard/audit/audittest"
	"railguard/engine"
	"railguard/fsm/wire"
)

// The agents of a schedule, by slot. Two root agents have limits of their own and are in a fleet
// with a limit. One root agent will be revoked, and one belongs to another operator, which is
// suspended now and then. The others are delegates of these.
const (
	spender engine.AgentSlot = iota + 1
	miser
	outcast
	truant
	child      // A delegate of spender.
	grandchild // A delegate of child; its limit is never reached.
	orphan     // A delegate of outcast.

	convoy engine.FleetSlot = 1
	clerk  engine.UserSlot  = 1
	beta                    = "beta" // The operator of truant.
)

var spendLimits = Limits{
	Agents: map[engine.AgentSlot]Account{
		spender: {Daily: 60 * engine.Dollar, Fleet: convoy}, miser: {Daily: 20 * engine.Dollar, Fleet: convoy},
		outcast: {Daily: 1000 * engine.Dollar}, truant: {Daily: 1000 * engine.Dollar, Operator: beta},
		child: {Daily: 15 * engine.Dollar, Parent: spender}, grandchild: {Daily: 1000 * engine.Dollar, Parent: child},
		orphan: {Daily: 1000 * engine.Dollar, Parent: outcast},
	},
	Fleets: map[engine.FleetSlot]engine.USD{convoy: 50 * engine.Dollar},
}

// prepare registers the agents and fleets of a world in which no fault happens yet.
func prepare(w *World, h *History) {
	ctx, host := context.Background(), w.hosts[0]
	until := func(do func() *Op) {
		for {
			if op := do(); op != nil && op.Err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	until(func() *Op {
		return h.once(ctx, host, h.begin(host, wire.KindFleet, "fleet"), wire.Encode(&wire.Fleet{
			Common:  wire.Common{Fragment: []byte(`"name":"fleet"`)},
			Profile: engine.FleetProfile{FleetName: "convoy", OperatorLegalName: acme, DailyLimit: spendLimits.Fleets[convoy]}, Operator: wire.OperatorRef{Name: acme},
		}))
	})
	for slot := spender; slot <= orphan; slot++ {
		until(func() *Op { return h.register(ctx, host, fmt.Sprintf("agent-%d", slot), spendLimits.Agents[slot]) })
	}
	until(func() *Op {
		return h.once(ctx, host, h.begin(host, wire.KindUser, "user"), wire.Encode(&wire.User{
			Common:  wire.Common{Fragment: []byte(`"name":"user"`)},
			Profile: engine.UserProfile{LegalName: "Nia", OperatorLegalName: acme},
			Basis:   engine.Basis{List: host.Node().Settings().ListVersion},
		}))
	})
	w.AwaitEqual(time.Minute)
}

// shortestHold is the shortest time for which a payment is held, in seconds.
const shortestHold = 30

// hold opens some holds that expire in the middle of the schedule. Until then all nodes are without
// power, so that what was acknowledged must stand on the disks. Nodes that run and have nothing to do
// would cost more than all the rest of a schedule.
func (h *History) hold(w *World) {
	for i := range 12 {
		name := fmt.Sprintf("hold-%d", i)
		held := h.Screen(context.Background(), w.hosts[i%len(w.hosts)], payment{name: name, agent: grandchild, amount: engine.Dollar, hold: shortestHold})
		if i%3 == 0 && held != nil && held.Err == nil && held.Verdict == "PROCEED" { // These never return by themselves.
			h.Leave(context.Background(), w.hosts[0], &leave{of: held, op: wire.PayRedeem, name: "redeem " + name})
		}
		time.Sleep(300 * time.Millisecond)
	}
	for _, host := range w.hosts {
		host.PowerOff(audittest.LoseAll)
	}
	for _, host := range w.hosts {
		host.reap()
	}
	time.Sleep(shortestHold*time.Second - 5*time.Second)
	w.StartAll()
}

// load runs clients on all nodes until stop is closed.
type load struct {
	world   *World
	history *History
	seed    uint64
	pause   time.Duration // Mean time between a client's calls.
	named   string        // Begins the names of its calls.
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
	any := func(try int) *Host { return hosts[(c+try)%len(hosts)] }
	var first payment // The client's first payment with a key that was acknowledged.
	for i := 0; l.rest(time.Duration(1 + random.Int64N(2*int64(l.pause)))); i++ {
		name := fmt.Sprintf("%sc%d-%d", l.named, c, i)
		agent := []engine.AgentSlot{spender, spender, miser, outcast, truant, child, grandchild, grandchild, orphan}[random.IntN(9)]
		pay := payment{name: name, agent: agent, amount: engine.Dollar}
		if random.IntN(5) == 0 {
			pay.user = clerk
		}
		if random.IntN(3) == 0 {
			pay.hold = shortestHold
		}
		switch n := random.IntN(34); {
		case n < 9:
			h.Screen(ctx, host, pay)
		case n < 15: // The client tries at any node until it gets an answer.
			pay.idem = keyOf(name)
			if op := h.Pay(ctx, any, pay, l.stop); op.Err == nil && first.idem == nil {
				first = pay
			} else if first.idem != nil && random.IntN(4) == 0 { // Its answer was lost, say. The state has forgotten the key meanwhile.
				h.repeat(ctx, host, first)
			}
		case n < 17:
			h.Register(ctx, host, name)
		case n < 20:
			var idem *wire.Idem
			if random.IntN(2) == 0 {
				idem = keyOf(name)
			}
			h.Dispose(ctx, any, random.IntN, name, idem, l.stop)
		case n < 21:
			h.Move(ctx, host, []engine.AgentSlot{spender, miser}[random.IntN(2)], convoy, random.IntN(2) == 0, name)
		case n < 23:
			l.turn(ctx, host, random, name)
		case n < 27:
			var idem *wire.Idem
			if random.IntN(2) == 0 {
				idem = keyOf(name)
			}
			h.Finish(ctx, any, random.IntN, name, idem, l.stop)
		case n < 33:
			l.takeLeave(ctx, any, random, name)
		case i > 20 && c == 0:
			h.Revoke(ctx, host, outcast, name)
		}
	}
}

// turn suspends or reinstates a party. It reinstates more often.
func (l *load) turn(ctx context.Context, host *Host, random *rand.Rand, name string) {
	whose := []subject{
		{target: wire.TargetAgent, slot: uint32(truant)}, {target: wire.TargetAgent, slot: uint32(child)},
		{target: wire.TargetUser, slot: uint32(clerk)}, {target: wire.TargetOperator, operator: beta},
	}[random.IntN(4)]
	l.history.Turn(ctx, host, whose, []engine.Status{engine.Suspended, engine.Active, engine.Active}[random.IntN(3)], name)
}

func (l *load) reader(host *Host) {
	for l.rest(8 * l.pause) {
		l.history.Read(context.Background(), host)
	}
}
