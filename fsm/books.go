package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
)

// The ledger's bookings on parties. The counters are in the rows of agents, fleets and operators,
// so the ledger calls the registry to change them.

// payer is whose counters a payment counts in: the agent's and its ancestors', those of the fleet
// of the agent's root, and those of the agent's operator, as they were when it was screened.
type payer struct {
	agent    engine.AgentSlot
	fleet    engine.FleetSlot
	operator engine.OperatorSlot
}

// payerOf returns whose counters a payment counts in that an agent makes now.
func (m *registry) payerOf(slot engine.AgentSlot) payer {
	return payer{slot, m.fleetOf(slot), (*m.profiles.At(uint64(slot))).Operator}
}

func (r *holdRow) payer() payer { return payer{r.Agent, r.Fleet, r.Operator} }

// changeBooks calls change with each counter that a payment counts in.
func (m *registry) changeBooks(by payer, change func(*engine.Spend)) {
	slot := by.agent
	for range engine.DepthMax + 1 {
		if !m.hasAgent(slot) {
			break
		}
		change(&m.agents.Edit(uint64(slot)).Spend)
		slot = (*m.profiles.At(uint64(slot))).Parent
	}
	if m.hasFleet(by.fleet) {
		change(&m.fleets.Edit(uint64(by.fleet)).Spend)
	}
	if m.operators.Has(uint64(by.operator)) {
		change(&m.operators.Edit(uint64(by.operator)).Spend)
	}
}

// overLimit tells whether an amount lifts any counter above its limit.
func (m *registry) overLimit(by payer, amount engine.USD) bool {
	over := func(spend *engine.Spend, limit engine.USD) bool {
		return spend.Counted(m.now.Day()).Plus(amount).Exceeds(limit)
	}
	slot := by.agent
	for range engine.DepthMax + 1 {
		if !m.hasAgent(slot) {
			break
		}
		profile := *m.profiles.At(uint64(slot))
		if over(&m.agents.At(uint64(slot)).Spend, profile.Policy.DailyLimit) {
			return true
		}
		slot = profile.Parent
	}
	if fleet := uint64(by.fleet); m.hasFleet(by.fleet) && over(&m.fleets.At(fleet).Spend, (*m.fleetProfiles.At(fleet)).DailyLimit) {
		return true
	}
	operator := uint64(by.operator)
	return m.operators.Has(operator) && over(&m.operators.At(operator).Spend, m.policy().LimitOf((*m.operatorProfiles.At(operator)).DailyLimit))
}

func (m *registry) fleetOf(slot engine.AgentSlot) engine.FleetSlot {
	root := (*m.profiles.At(uint64(slot))).Root
	return (*m.profiles.At(uint64(root))).Fleet
}

// bookSpend books an amount on today's date.
func (m *registry) bookSpend(by payer, amount engine.USD) {
	day := m.now.Day()
	m.changeBooks(by, func(books *engine.Spend) { books.Add(day, amount) })
}

// placeActivity stores the position of an agent's activity row in the agent's row; 0: it has
// none.
func (m *registry) placeActivity(slot engine.AgentSlot, at uint32) {
	m.agents.Edit(uint64(slot)).Activity = at
}

// countHolds counts the payments of an agent that are held or unresolved.
func (m *registry) countHolds(slot engine.AgentSlot, more int) {
	if m.hasAgent(slot) {
		row := m.agents.Edit(uint64(slot))
		row.Holds = uint32(int(row.Holds) + more)
	}
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
