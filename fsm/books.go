package fsm

import "railguard/engine"

// What the ledger books on parties. The counters stand in the rows of agents and fleets, so
// the registry changes them, and the ledger asks it to.

// changeBooks calls change with the counters that a payment stands on: the agent's, its
// ancestors', the fleet's.
func (m *registry) changeBooks(slot engine.AgentSlot, fleet engine.FleetSlot, change func(*engine.Spend)) {
	for range engine.DepthMax + 1 {
		if !m.agents.Has(uint64(slot)) {
			break
		}
		change(&m.agents.Edit(uint64(slot)).Spend)
		slot = (*m.profiles.At(uint64(slot))).Parent
	}
	if m.fleets.Has(uint64(fleet)) {
		change(&m.fleets.Edit(uint64(fleet)).Spend)
	}
}

// overLimit tells whether an amount lifts any counter above its limit.
func (m *registry) overLimit(slot engine.AgentSlot, fleetSlot engine.FleetSlot, amount engine.USD) bool {
	day := m.now.Day()
	for range engine.DepthMax + 1 {
		if !m.agents.Has(uint64(slot)) {
			break
		}
		profile := *m.profiles.At(uint64(slot))
		if m.agents.At(uint64(slot)).Spend.Counted(day).Plus(amount).Exceeds(profile.Policy.DailyLimit) {
			return true
		}
		slot = profile.Parent
	}
	if !m.fleets.Has(uint64(fleetSlot)) {
		return false
	}
	fleet := *m.fleetProfiles.At(uint64(fleetSlot))
	return m.fleets.At(uint64(fleetSlot)).Spend.Counted(day).Plus(amount).Exceeds(fleet.DailyLimit)
}

// fleetOf returns the fleet of an agent's root, 0 for none.
func (m *registry) fleetOf(slot engine.AgentSlot) engine.FleetSlot {
	root := (*m.profiles.At(uint64(slot))).Root
	return (*m.profiles.At(uint64(root))).Fleet
}

// bookSpend books an amount on an agent, its ancestors and a fleet, on today's date.
func (m *registry) bookSpend(slot engine.AgentSlot, amount engine.USD, fleet engine.FleetSlot) {
	day := m.now.Day()
	for range engine.DepthMax + 1 {
		if slot == 0 {
			break
		}
		m.agents.Edit(uint64(slot)).Spend.Add(day, amount)
		slot = (*m.profiles.At(uint64(slot))).Parent
	}
	if fleet != 0 && m.fleets.Has(uint64(fleet)) {
		m.fleets.Edit(uint64(fleet)).Spend.Add(day, amount)
	}
}

// placeActivity tells an agent where its activity stands; 0: nowhere.
func (m *registry) placeActivity(slot engine.AgentSlot, at uint32) {
	m.agents.Edit(uint64(slot)).Activity = at
}

// countedFrom is the second from which on an agent's transactions are counted: that of the
// first one.
func (m *registry) countedFrom(slot engine.AgentSlot, now engine.Time) int64 {
	row := m.agents.At(uint64(slot))
	if row.CountedFrom == 0 {
		row = m.agents.Edit(uint64(slot))
		row.CountedFrom = engine.UnixSecond(now)
	}
	return row.CountedFrom
}

// nextRecord counts the record that is written next in its agent's sequence, and returns
// its number and the leaf of the record before.
func (m *registry) nextRecord(slot engine.AgentSlot) (sequence, previous uint64) {
	row := m.agents.Edit(uint64(slot))
	row.Sequence++
	previous, row.LastLeaf = row.LastLeaf, m.size
	return row.Sequence, previous
}

// noteProfile keeps which profile leaf the day's records of a user refer to.
func (m *registry) noteProfile(slot engine.UserSlot, use engine.ProfileUse) {
	m.users.Edit(uint64(slot)).Judged = use
}
