package fsm

import (
	"strings"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Shares (decision 116). All owners of API keys use the same tables. A quarter of each table is
// divided equally among them, in rows and in bytes: that is what each has for itself, whatever
// the others do. The rest is lent to whoever comes first. A call is refused only if its owner
// has used its own part up and the rest is lent out, so nobody pays for another's rows.
//
// Shares are not stored: they are counted from the rows, and each row says whose it is. So a
// state that was restored has the same ones.

// Owner is whose rows they are: 0 is the institution, another number below callers the slot of
// an operator. A caller is callers plus the row of its first API key.
type Owner uint64

const callers Owner = 1 << 32

const (
	lentParts   = 4  // One of so many parts of a table is divided among the owners.
	ownersLeast = 16 // For so many owners the table is divided at least.
)

// Part is a part of a table.
type Part struct{ Rows, Bytes int64 }

func (p Part) plus(q Part) Part  { return Part{p.Rows + q.Rows, p.Bytes + q.Bytes} }
func (p Part) minus(q Part) Part { return Part{p.Rows - q.Rows, p.Bytes - q.Bytes} }

// above returns what of a part is above another.
func (p Part) above(q Part) Part { return Part{max(p.Rows-q.Rows, 0), max(p.Bytes-q.Bytes, 0)} }

func (p Part) over(n int64) Part { return Part{p.Rows / n, p.Bytes / n} }

func (p Part) times(n int64) Part { return Part{p.Rows * n, p.Bytes * n} }

// oneRow is a row of fixed size.
var oneRow = Part{Rows: 1}

// shares counts who has what of one table.
type shares struct {
	held map[Owner]Part // What each owner has, and each operator without an API key.
	pool Part           // What the institution has, and all operators without an API key.
	all  Part
	lent Part // What owners have above their own parts.

	limits   *engine.Limits // The three below hold for these limits and this number of owners.
	dividers int64
	most     Part
	own      Part // What each owner has for itself.

	greatest Part // The most that one owner had when greatestShares looked last; for the gauges.
}

// sharedBounds are the bounds of the shared tables. A bound of 0 bytes is none: the rows have a
// fixed size, so that their number bounds their bytes.
var sharedBounds = [wire.SharedTables + 1]func(*engine.Limits) Part{
	wire.TableAgents:    func(l *engine.Limits) Part { return Part{int64(l.Agents), l.AgentBytes} },
	wire.TableFleets:    func(l *engine.Limits) Part { return Part{int64(l.Fleets), l.FleetBytes} },
	wire.TableUsers:     func(l *engine.Limits) Part { return Part{int64(l.Users), l.UserBytes} },
	wire.TableStatuses:  func(l *engine.Limits) Part { return Part{int64(l.Statuses), 0} },
	wire.TableHolds:     func(l *engine.Limits) Part { return Part{int64(l.Holds), 0} },
	wire.TableReviews:   func(l *engine.Limits) Part { return Part{int64(l.OpenReviews), 0} },
	wire.TableAlerts:    func(l *engine.Limits) Part { return Part{int64(l.Alerts), 0} },
	wire.TableSanctions: func(l *engine.Limits) Part { return Part{int64(l.SanctionsAlerts), 0} },
	wire.TableCases:     func(l *engine.Limits) Part { return Part{int64(l.SanctionsCases), 0} },
}

// sharedBytes is what a row of a shared table costs in memory, with the maps that find it. What
// an agent, a fleet or a user has beyond it counts in bytes (weights.go).
var sharedBytes = [wire.SharedTables + 1]int64{
	wire.TableAgents: 1024, wire.TableFleets: 256, wire.TableUsers: 512, wire.TableStatuses: 32, wire.TableHolds: 144,
	wire.TableReviews: 128, wire.TableAlerts: 128, wire.TableSanctions: 128, wire.TableCases: 256,
}

// owners are those who have API keys. The lists of the settings only grow, and a key's owner
// never changes.
type owners struct {
	ofKey []Owner // By the row of the key; ofKey[0] is the node itself.
	named map[string]Owner
	keyed map[Owner]bool // Without the institution.
	list  []Owner        // The same, in the order of their first keys.
}

// agentOwner returns whose row an agent is.
func agentOwner(p *engine.AgentProfile) Owner { return Owner(p.Operator) }

// ownerAt returns the owner of a row of the API keys. The institution also has what nobody knows
// the key of.
func (m *core) ownerAt(row uint32) Owner {
	m.learnOwners()
	if uint64(row) >= uint64(len(m.owners.ofKey)) {
		return 0
	}
	return m.owners.ofKey[row]
}

// learnOwners takes over keys that were added since the last call.
func (m *core) learnOwners() {
	o := &m.owners
	if len(o.ofKey) == len(m.settings.Keys)+1 {
		return
	}
	if o.named == nil {
		*o = owners{ofKey: []Owner{0}, named: map[string]Owner{"": 0}, keyed: map[Owner]bool{}}
	}
	for _, key := range m.settings.Keys[len(o.ofKey)-1:] {
		owner, known := o.named[key.Owner]
		if !known {
			owner = m.newOwner(key.Owner)
		}
		o.ofKey = append(o.ofKey, owner)
	}
}

// newOwner takes over an owner with its first key. What an operator has had without a key is its
// own from now on.
func (m *core) newOwner(name string) Owner {
	owner := callers + Owner(len(m.owners.ofKey))
	if slot, is := m.ids.ParseOperator(name); is && strings.HasPrefix(name, wire.OwnerOperatorPrefix) {
		owner = Owner(slot)
	}
	m.owners.named[name], m.owners.keyed[owner] = owner, true
	m.owners.list = append(m.owners.list, owner)
	for i := range m.counted {
		m.counted[i].separate(owner)
	}
	return owner
}

// dividers is for how many owners each table is divided: a power of two, and at least twice as
// many as there are, so that those who come later find room.
func (o *owners) dividers() int64 {
	n := int64(ownersLeast)
	for n < 2*int64(len(o.keyed)+1) {
		n *= 2
	}
	return n
}

// sharesOf returns the counters of a table, up to date with the limits and the owners.
func (m *core) sharesOf(table wire.SharedTable) *shares {
	m.learnOwners()
	s := &m.counted[table]
	if dividers := m.owners.dividers(); s.limits != m.limits || s.dividers != dividers {
		s.divide(sharedBounds[table](m.limits), dividers, &m.owners)
		s.limits = m.limits
	}
	return s
}

// divide divides a table anew.
func (s *shares) divide(most Part, dividers int64, o *owners) {
	s.most, s.dividers, s.own = most, dividers, most.over(lentParts*dividers)
	s.lent = s.pool.above(s.own)
	for _, owner := range o.list {
		s.lent = s.lent.plus(s.held[owner].above(s.own))
	}
}

// separate takes what an operator has out of the pool.
func (s *shares) separate(owner Owner) {
	held := s.held[owner]
	s.lent = s.lent.minus(s.pool.above(s.own))
	s.pool = s.pool.minus(held)
	s.lent = s.lent.plus(s.pool.above(s.own)).plus(held.above(s.own))
}

// heldBy returns what counts for an owner: its own rows, or those of the pool.
func (s *shares) heldBy(owner Owner, o *owners) Part {
	if o.keyed[owner] {
		return s.held[owner]
	}
	return s.pool
}

// count adds a part to an owner's, or takes one off.
func (s *shares) count(owner Owner, change Part, o *owners) {
	before := s.heldBy(owner, o)
	s.all = s.all.plus(change)
	if owner != 0 {
		if s.held == nil {
			s.held = map[Owner]Part{}
		}
		if s.held[owner] = s.held[owner].plus(change); s.held[owner] == (Part{}) {
			delete(s.held, owner)
		}
	}
	if !o.keyed[owner] {
		s.pool = s.pool.plus(change)
	}
	s.lent = s.lent.minus(before.above(s.own)).plus(s.heldBy(owner, o).above(s.own))
}

// hasRoom tells whether an owner may have more. Less is always possible.
func (s *shares) hasRoom(owner Owner, more Part, o *owners) bool {
	before := s.heldBy(owner, o)
	after := before.plus(more)
	lent := s.lent.minus(before.above(s.own)).plus(after.above(s.own))
	free := s.most.minus(s.own.times(s.dividers)) // What may be lent.
	all := s.all.plus(more)
	rows := more.Rows <= 0 || all.Rows <= s.most.Rows && (after.Rows <= s.own.Rows || lent.Rows <= free.Rows)
	bytes := more.Bytes <= 0 || s.most.Bytes == 0 || all.Bytes <= s.most.Bytes && (after.Bytes <= s.own.Bytes || lent.Bytes <= free.Bytes)
	return rows && bytes
}

// hasRoom tells whether an owner may have more of a table.
func (m *core) hasRoom(table wire.SharedTable, owner Owner, more Part) bool {
	return m.sharesOf(table).hasRoom(owner, more, &m.owners)
}

// refuseShare refuses a record whose owner would have more of a table than it may. It returns
// true if r holds the refusal.
func (m *core) refuseShare(table wire.SharedTable, owner Owner, more Part, r *wire.Result) bool {
	if m.hasRoom(table, owner, more) {
		return false
	}
	m.refuseTable(table, r)
	return true
}

// refuseTable refuses a record because of an owner's share of a table.
func (m *core) refuseTable(table wire.SharedTable, r *wire.Result) {
	refuse(r, wire.RefusedShare)
	r.Value = uint64(table)
	m.out.SharesRefused[table]++
}

// take counts a part for an owner. The caller has asked hasRoom, or what it counts must not be
// refused.
func (m *core) take(table wire.SharedTable, owner Owner, part Part) {
	m.sharesOf(table).count(owner, part, &m.owners)
}

// giveBack takes a part off an owner's.
func (m *core) giveBack(table wire.SharedTable, owner Owner, part Part) {
	m.sharesOf(table).count(owner, Part{}.minus(part), &m.owners)
}

// greatestShares looks for the greatest share of one table, another at each tick.
func (m *core) greatestShares() {
	table := wire.SharedTable(uint64(m.now/engine.Second)%uint64(wire.SharedTables)) + 1
	s := m.sharesOf(table)
	s.greatest = s.pool
	for _, owner := range m.owners.list {
		held := s.held[owner]
		s.greatest = Part{max(s.greatest.Rows, held.Rows), max(s.greatest.Bytes, held.Bytes)}
	}
}

// SharedFill is how full a shared table is.
type SharedFill struct {
	All, Most Part // A bound of 0 bytes is none.
	Own       Part // What each owner has for itself.
	Greatest  Part // The most that one owner had within the last seconds.
}

// fillOf returns how full a table is. Its bytes are with those that each row costs.
func (m *core) fillOf(table wire.SharedTable) SharedFill {
	s, most := &m.counted[table], sharedBounds[table](m.limits)
	own := most.over(lentParts * m.owners.dividers())
	cost := func(p Part) Part { return Part{p.Rows, p.Bytes + p.Rows*sharedBytes[table]} }
	return SharedFill{All: cost(s.all), Most: cost(most), Own: cost(own), Greatest: cost(s.greatest)}
}

// sharedFills returns how full all shared tables are.
func (m *core) sharedFills() (fills [wire.SharedTables + 1]SharedFill) {
	for table := wire.SharedTable(1); table <= wire.SharedTables; table++ {
		fills[table] = m.fillOf(table)
	}
	return fills
}
