package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
)

// The ledger's bookings on parties. The counters are in the rows of agents and fleets, so the
// ledger calls the registry to change them.

// changeBooks calls change with each counter that a payment counts in: the agent's, its
// ancestors' and the fleet's.
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

// placeActivity stores the position of an agent's activity row in the agent's row; 0: it has
// none.
func (m *registry) placeActivity(slot engine.AgentSlot, at uint32) {
	m.agents.Edit(uint64(slot)).Activity = at
}

// countedFrom returns the second of the agent's first transaction, from which its pace is
// counted.
func (m *registry) countedFrom(slot engine.AgentSlot, now engine.Time) int64 {
	row := m.agents.At(uint64(slot))
	if row.CountedFrom == 0 {
		row = m.agents.Edit(uint64(slot))
		row.CountedFrom = engine.UnixSecond(now)
	}
	return row.CountedFrom
}

// countNear counts a payment near a limit for an operator and returns what its row holds.
func (m *registry) countNear(slot engine.OperatorSlot, now engine.Time, policy *engine.Policy, amount engine.USD) engine.Near {
	return m.operators.Edit(uint64(slot)).Near.Add(now, policy, amount)
}

// linkAgent counts the leaf that is written next among the leaves about an agent.
func (m *registry) linkAgent(slot engine.AgentSlot) (link leaf.Link) {
	row := m.agents.Edit(uint64(slot))
	row.Sequence++
	link.AgentSequence, link.AgentPrevious = row.Sequence, row.LastLeaf
	row.LastLeaf = m.size
	return link
}

// noteProfile keeps which profile leaf the day's records of a user refer to.
func (m *registry) noteProfile(slot engine.UserSlot, use engine.ProfileUse) {
	m.users.Edit(uint64(slot)).Judged = use
}
