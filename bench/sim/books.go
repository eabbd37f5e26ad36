package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"railguard/engine"
)

// Limits say who may spend how much on a UTC day, as the test has set it up. So the books do not
// depend on the limits and sums that the nodes report.
type Limits struct {
	Agents map[engine.AgentSlot]Account // An agent that is not in the map has no limit.
	Fleets map[engine.FleetSlot]engine.USD
	Need   engine.PermitNeed // Which payments are to be redeemed before they are settled.
}

// Account is what the books know of an agent.
type Account struct {
	Daily    engine.USD
	Parent   engine.AgentSlot
	Fleet    engine.FleetSlot // Fleet of a root agent at the beginning.
	Operator string           // Operator of the agent; "": acme.
}

// chain returns an agent and its ancestors, nearest first.
func (l Limits) chain(agent engine.AgentSlot) (slots []engine.AgentSlot) {
	for ; agent != 0; agent = l.Agents[agent].Parent {
		slots = append(slots, agent)
	}
	return slots
}

// books walk through the history in the order of the log and check it.
// No PROCEED lifts what an agent, an ancestor or a fleet spent on a date above its limit. Held
// amounts count as spent. Approved reviews count, too, but are not refused because of a limit. No
// payment goes through while its agent, an ancestor, its operator or its user is suspended or
// revoked. Each payment ends once: it is settled or released, or it expires when its time is over
// and not before. It is redeemed at most once, and returns by itself neither then nor ever after
// (leavebooks.go). A review has at most one disposition. A verdict is made with the list and the
// fleet in force. Time never goes back.
type books struct {
	found    problems
	limits   Limits
	fleet    map[engine.AgentSlot]engine.FleetSlot // The present fleet of each root agent.
	spent    map[string]engine.USD                 // Spent amounts, by subject and date.
	stopped  map[string]string                     // By subject: whether it is suspended or revoked.
	disposed map[int64]int
	paid     map[int64]*paid // Payments that went through or were approved, by their leaf.
	blocked  int64           // The payment that the last leaf judged a BLOCK; -1: none.
	silent   map[int64]int   // How many alerts tell of each payment that was redeemed and is unresolved.
	list     int64
	last     string

	counts map[string]int // How often each kind of event occurred in the history.
}

func newBooks(limits Limits) *books {
	b := &books{
		limits: limits, fleet: map[engine.AgentSlot]engine.FleetSlot{}, spent: map[string]engine.USD{},
		stopped: map[string]string{}, disposed: map[int64]int{}, paid: map[int64]*paid{}, counts: map[string]int{}, blocked: -1, silent: map[int64]int{},
	}
	for slot, account := range limits.Agents {
		b.fleet[slot] = account.Fleet
	}
	return b
}

// checkLeaves walks through a whole history and returns what is wrong in it.
func checkLeaves(leaves [][]byte, limits Limits) problems {
	b := newBooks(limits)
	for i, leaf := range leaves {
		b.leaf(i, leaf)
	}
	b.end()
	return b.found
}

// leaf books one leaf.
func (b *books) leaf(i int, leaf []byte) {
	leaf = shown(leaf)
	at := member(leaf, "time") + member(leaf, "screenedAt")
	if at < b.last || len(at) != len("2000-01-01T00:00:00.000Z") {
		b.found.add("leaf %d: time %q after %q", i, at, b.last)
		return
	}
	b.last = at
	date := at[:len("2000-01-01")]
	agent := engine.AgentSlot(digits(member(leaf, "agent")))
	amount := engine.USD(digits(member(leaf, "amount")))
	fleet := engine.FleetSlot(digits(member(leaf, "fleet")))
	b.withdrawn(i, leaf)
	switch kind := member(leaf, "kind"); kind {
	case "payment.confirmed", "payment.redeemed":
		b.leave(i, at, leaf)
	case "screen":
		if list := digits(member(leaf, "list")); list != b.list { // The edge must have used the list in force.
			b.found.add("leaf %d: judged with list %d, active is %d", i, list, b.list)
		}
		if now := b.fleetOf(agent); fleet != now {
			b.found.add("leaf %d: judged in fleet %d, agent %d is in %d", i, fleet, agent, now)
		}
		b.counts[member(leaf, "verdict")]++
		if member(leaf, "verdict") == "PROCEED" {
			b.proceed(i, agent, member(leaf, "user"))
			b.book(i, date, agent, fleet, amount, true)
			b.hold(i, at, member(leaf, "hold"), paid{agent: agent, fleet: fleet, user: member(leaf, "user"), amount: amount, date: date})
		}
	case "hold.settled", "hold.released", "due":
		if kind == "due" && member(leaf, "state") == "" {
			break // It follows from the time, and no account changes.
		}
		b.finish(i, at, kind, amount, leaf)
	case "alert.opened":
		b.alert(leaf)
	case "list.activated":
		b.list = number(leaf, "listVersion")
	case "fleet.assigned":
		b.fleet[agent] = fleet
	case "fleet.removed":
		b.fleet[agent] = 0
	case "review.dispositioned":
		reviewed := number(leaf, "reviewedLeaf")
		if b.disposed[reviewed]++; b.disposed[reviewed] > 1 {
			b.found.add("leaf %d: another disposition of leaf %d", i, reviewed)
		}
		if member(leaf, "disposition") == "APPROVED" {
			b.counts["approved"]++
			b.book(i, date, agent, fleet, amount, false)
			b.paid[reviewed] = &paid{agent: agent, fleet: fleet, amount: amount, date: date, approved: true, until: instant(member(leaf, "payBy"))}
		}
	default:
		subject, event, _ := strings.Cut(kind, ".")
		switch event {
		case "suspended", "revoked":
			b.counts[event]++
			b.stopped[subject+" "+member(leaf, subject)] = event
		case "reinstated":
			delete(b.stopped, subject+" "+member(leaf, subject))
		}
	}
}

// fleetOf returns the fleet of an agent's root.
func (b *books) fleetOf(agent engine.AgentSlot) engine.FleetSlot {
	slots := b.limits.chain(agent)
	if len(slots) == 0 {
		return 0
	}
	return b.fleet[slots[len(slots)-1]]
}

// proceed checks that no party of a payment is suspended or revoked.
func (b *books) proceed(i int, agent engine.AgentSlot, user string) {
	subjects := []string{"user " + user}
	for _, slot := range b.limits.chain(agent) {
		operator := b.limits.Agents[slot].Operator
		if operator == "" {
			operator = acme
		}
		subjects = append(subjects, fmt.Sprintf("agent %d", slot), "operator "+operator)
	}
	for _, subject := range subjects {
		if why := b.stopped[subject]; why != "" {
			b.found.add("leaf %d: agent %d goes through, and %s is %s", i, agent, subject, why)
		}
	}
}

// book adds an amount to an agent, its ancestors and a fleet; If limited is set, none of them may
// rise above its limit.
func (b *books) book(i int, date string, agent engine.AgentSlot, fleet engine.FleetSlot, amount engine.USD, limited bool) {
	slots := b.limits.chain(agent)
	if len(slots) > 1 && limited {
		b.counts["of a delegate"]++
	}
	if fleet != 0 && limited {
		b.counts["of a fleet"]++
	}
	for _, slot := range slots {
		account, known := b.limits.Agents[slot]
		b.add(i, fmt.Sprintf("agent %d on %s", slot, date), amount, account.Daily, limited && known)
	}
	if fleet != 0 {
		limit, known := b.limits.Fleets[fleet]
		b.add(i, fmt.Sprintf("fleet %d on %s", fleet, date), amount, limit, limited && known)
	}
}

func (b *books) add(i int, purse string, amount, limit engine.USD, limited bool) {
	b.spent[purse] += amount
	if limited && b.spent[purse] > limit {
		b.found.add("leaf %d: %s spent %d of %d", i, purse, b.spent[purse], limit)
	}
}

// paid is a payment that went through.
type paid struct {
	agent  engine.AgentSlot
	fleet  engine.FleetSlot
	user   string
	amount engine.USD
	date   string
	until  time.Time // When the hold expires.
	ended  string    // How the payment ended; "": it has not.
	late   bool      // The payment was settled after its hold had ended.

	unresolved bool // The time of its hold is over, and it still counts.
	approved   bool // An officer let it go through.
	given      bool // A confirmation let it go through.
	spent      bool // It had no hold before it was judged again.
	redeemed   bool // Its leave was taken.
}

func (b *books) hold(i int, at, seconds string, p paid) {
	if seconds != "" {
		b.counts["held"]++
		p.until = instant(at).Add(time.Duration(digits(seconds)) * time.Second)
	}
	b.paid[int64(i)] = &p
}

// finish books how a payment ended.
func (b *books) finish(i int, at, kind string, amount engine.USD, leaf []byte) {
	record := number(leaf, "screenedLeaf")
	p := b.paid[record]
	how := strings.TrimPrefix(kind, "hold.")
	if kind == "due" {
		how = member(leaf, "state")
	}
	b.checkOver(i, record, p, how, leaf)
	if how == "unresolved" { // It goes on counting, and may still be settled or released.
		if p != nil && (p.unresolved || p.ended != "" || !p.until.IsZero() && instant(at).Before(p.until)) {
			b.found.add("leaf %d: leaf %d is unresolved, and had ended or was held until later", i, record)
		} else if p != nil {
			p.unresolved = true
			b.counts[how]++
		}
		return
	}
	late := strings.Contains(string(leaf), `"late":true`)
	switch {
	case p == nil || how == "expired" && (p.until.IsZero() || instant(at).Before(p.until)):
		b.found.add("leaf %d: leaf %d is %s, and was not held until then", i, record, how)
	case late != (p.ended != ""):
		b.found.add("leaf %d: leaf %d is %s, late: %v, and was %q before", i, record, how, late, p.ended)
	case late && p.late || late && how != "settled":
		b.found.add("leaf %d: leaf %d ends a second time: %s", i, record, how)
	case late:
		p.late = true
		b.counts["settled late"]++
		b.book(i, at[:len("2000-01-01")], p.agent, p.fleet, amount, false)
	default:
		p.ended = how
		b.counts[how]++
		if how != "settled" {
			amount = 0
		}
		b.book(i, p.date, p.agent, p.fleet, min(amount, p.amount)-p.amount, false)
		b.book(i, at[:len("2000-01-01")], p.agent, p.fleet, max(amount-p.amount, 0), false)
	}
}

// endsWithin is how long a hold may exist after its time is over. A tick ends it, and ticks come
// once a second and with a new leader.
const endsWithin = 5 * time.Second

// end checks that there is no hold whose time is over.
func (b *books) end() {
	b.endLeaves()
	for record, p := range b.paid {
		if !p.until.IsZero() && p.ended == "" && !p.unresolved && p.until.Add(endsWithin).Before(instant(b.last)) {
			b.found.add("leaf %d: held until %v, and never ended by %s", record, p.until, b.last)
		}
	}
}

// instant reads a time in a leaf.
func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic("BUG: a leaf's time: " + err.Error())
	}
	return at
}

func digits(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
