package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// operatorBook is an operator: its revision, and of each wallet how many agents have it and what
// the list said last.
type operatorBook struct {
	name    string
	rev     uint32
	agents  map[string]int
	matched map[string]bool
	limit   *engine.USD
}

// ownerOf returns the operator of an agent.
func (l *bookkeeping) ownerOf(slot engine.AgentSlot) engine.OperatorSlot {
	return engine.OperatorSlot(l.slotOf(l.agents[slot].operator))
}

// count says that n agents more have a wallet, which the list matched or not.
func (o *operatorBook) count(wallet string, n int, matched bool) {
	if wallet == "" {
		return
	}
	before, known := o.matched[wallet]
	o.agents[wallet] += n
	if !known || before != matched {
		o.rev++
	}
	o.matched[wallet] = matched
}

// drop says that one agent less has a wallet.
func (o *operatorBook) drop(wallet string) {
	if wallet == "" {
		return
	}
	if o.agents[wallet]--; o.agents[wallet] == 0 {
		delete(o.agents, wallet)
		delete(o.matched, wallet)
		o.rev++
	}
}

// operator returns the name of the operator that a reference means. The first reference makes
// it.
func (l *bookkeeping) operator(ref *wire.OperatorRef) string {
	if ref.Slot != 0 {
		return l.operators[ref.Slot-1].name
	}
	if l.bookOf(ref.Name) == nil {
		l.operators = append(l.operators, &operatorBook{name: ref.Name, rev: 1, agents: map[string]int{}, matched: map[string]bool{}})
	}
	return ref.Name
}

// bookOf returns the operator of a name. In these histories no two have one.
func (l *bookkeeping) bookOf(name string) *operatorBook {
	at := l.slotOf(name)
	if at == 0 {
		return nil
	}
	return l.operators[at-1]
}

func (l *bookkeeping) slotOf(name string) uint32 {
	return uint32(1 + slices.IndexFunc(l.operators, func(o *operatorBook) bool { return o.name == name }))
}

// evidence checks that the amounts spent according to the leaf are those booked.
func (l *bookkeeping) evidence(s *wire.Screen, slots []engine.AgentSlot, fleet engine.FleetSlot, r *wire.Result) {
	var e leaf.Screen
	if err := leaf.DecodeScreen(r.Data, &e); err != nil {
		l.add("leaf %d: %v", r.Leaf, err)
		return
	}
	p := l.profiles[e.Profile.Leaf]
	if e.At != l.now || e.Amount != s.Amount || int(e.LevelCount) != len(slots) || e.InFleet != (fleet != 0) || p == nil || len(p.Agents) != len(slots) {
		l.add("leaf %d: its evidence is of another call: %s", r.Leaf, shown(r.Data))
		return
	}
	for i, one := range slots {
		mine := purse{agent: one, day: l.now.Day()}
		if spent := l.spent[mine]; e.Levels[i].Spent != spent || e.Levels[i].Held != l.held[mine] || p.Agents[i].Policy.DailyLimit != l.agents[one].limit ||
			p.Agents[i].Slot != one {
			l.add("leaf %d: evidence %v of agent %d, booked are %d of %d", r.Leaf, e.Levels[i], one, spent, l.agents[one].limit)
		}
	}
	owner := purse{operator: l.ownerOf(s.Agent), day: l.now.Day()}
	if !e.InOperator || e.OperatorSpent != l.spent[owner] || e.OperatorHeld != l.held[owner] {
		l.add("leaf %d: evidence %v, %v of operator %d, booked are %d, %d", r.Leaf, e.OperatorSpent, e.OperatorHeld, owner.operator, l.spent[owner], l.held[owner])
	}
	if fleet == 0 {
		return
	}
	if spent := l.spent[purse{fleet: fleet, day: l.now.Day()}]; e.FleetSpent != spent || e.FleetHeld != l.held[purse{fleet: fleet, day: l.now.Day()}] || p.Fleet.DailyLimit != l.fleets[fleet].limit {
		l.add("leaf %d: evidence %v of fleet %d, booked are %d of %d", r.Leaf, e.FleetSpent, fleet, spent, l.fleets[fleet].limit)
	}
}
