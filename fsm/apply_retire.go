package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Retired agents and fleets give back their rows, and with them their parts of their owners'
// shares (decision 121). A slot is given out once, so their ids stay theirs, and their leaves stay
// as long as others. Like those of erased users, a page without rows frees its memory.

// isAgent tells whether a row is an agent's, and not a retired one's; isFleet tells it of a fleet.
func isAgent(row *engine.AgentRow) bool { return row.MinVersion != 0 }

func isFleet(row *engine.FleetRow) bool { return row.Kept }

func isProfile[V any](profile **V) bool { return *profile != nil }

// hasAgent tells whether there is an agent that was not retired; hasFleet tells it of a fleet.
func (t *registryTables) hasAgent(slot engine.AgentSlot) bool {
	return t.agents.Has(uint64(slot)) && *t.profiles.At(uint64(slot)) != nil
}

func (t *registryTables) hasFleet(slot engine.FleetSlot) bool {
	return t.fleets.Has(uint64(slot)) && *t.fleetProfiles.At(uint64(slot)) != nil
}

func (m *registry) applyRetire(b *wire.Retire, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch {
	case (b.Agent == 0) == (b.Fleet == 0):
		refuse(r, wire.RefusedMalformed)
	case b.Agent != 0 && !m.hasAgent(b.Agent) || b.Fleet != 0 && !m.hasFleet(b.Fleet):
		refuse(r, wire.RefusedNotFound)
	case b.Agent != 0:
		m.retireAgent(b, r)
	default:
		m.retireFleet(b, r)
	}
}

// mayRetire tells whether nothing needs an agent's row any more: none of its credentials is within
// its validity, no status list shows one, it has no delegates, no call of the last day, and no
// payment that waits for somebody who says what became of it.
func (m *registry) mayRetire(row *engine.AgentRow) bool {
	return row.Status == engine.Revoked && m.now >= row.StatusAt+m.limits.AgentValidity+m.limits.StatusEvery &&
		row.Children == 0 && row.Activity == 0 && row.Holds == 0
}

func (m *registry) retireAgent(b *wire.Retire, r *wire.Result) {
	row, profile := m.agentAt(b.Agent)
	if !m.mayRetire(row) {
		r.State = row.Status
		refuse(r, wire.RefusedTransition)
		return
	}
	id, operator := m.ids.AgentID(uint32(b.Agent)), engine.OperatorSlot(agentOwner(profile))
	event := leaf.AgentRetired{AgentID: id, OperatorID: m.ids.OperatorID(uint32(operator)), Link: m.linkAgent(b.Agent)}
	m.giveBack(wire.TableAgents, Owner(operator), agentPart(profile, *m.attestations.At(uint64(b.Agent))))
	m.operators.Edit(uint64(operator)).Agents--
	m.dropWallet(operator, profile.OperatorWallet)
	if profile.Parent != 0 {
		m.agents.Edit(uint64(profile.Parent)).Children--
	}
	if profile.Fleet != 0 {
		m.fleets.Edit(uint64(profile.Fleet)).Agents--
	}
	at := uint64(b.Agent)
	*m.agents.Edit(at), *m.profiles.Edit(at), *m.attestations.Edit(at) = engine.AgentRow{}, nil, nil
	m.agents.Release(at, func(row *engine.AgentRow) bool { return !isAgent(row) })
	m.profiles.Release(at, func(profile **engine.AgentProfile) bool { return !isProfile(profile) })
	m.out.AgentsGone = append(m.out.AgentsGone, b.Agent)
	m.writeEvent("agent.retired", event, &b.Common, r, engine.FilterKey(engine.FilterAgent, id), m.operatorFilter(operator))
}

// dropWallet takes a retired agent off the wallets of its operator. A listed wallet goes on to hit
// the operator.
func (m *registry) dropWallet(operator engine.OperatorSlot, wallet string) {
	profile := *m.operatorProfiles.At(uint64(operator))
	if at := walletAt(profile, wallet); wallet != "" && at >= 0 && !profile.Wallets[at].Matched {
		m.leaveWallet(operator, wallet)
	}
}

func (m *registry) retireFleet(b *wire.Retire, r *wire.Result) {
	_, profile := m.fleetAt(b.Fleet)
	if m.fleets.At(uint64(b.Fleet)).Agents > 0 {
		refuse(r, wire.RefusedTransition)
		return
	}
	m.giveBack(wire.TableFleets, Owner(profile.Operator), fleetPart(profile))
	at := uint64(b.Fleet)
	*m.fleets.Edit(at), *m.fleetProfiles.Edit(at) = engine.FleetRow{}, nil
	m.fleets.Release(at, func(row *engine.FleetRow) bool { return !isFleet(row) })
	m.fleetProfiles.Release(at, func(profile **engine.FleetProfile) bool { return !isProfile(profile) })
	m.out.FleetsGone = append(m.out.FleetsGone, b.Fleet)
	id := m.ids.FleetID(uint32(b.Fleet))
	m.writeEvent("fleet.retired", leaf.FleetRetired{FleetID: id, OperatorID: m.ids.OperatorID(uint32(profile.Operator))}, &b.Common, r,
		engine.FilterKey(engine.FilterFleet, id), m.operatorFilter(profile.Operator))
}
