package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

func (m *registry) applyFleet(b *wire.Fleet, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	profile := b.Profile
	if !m.soundFleet(&profile) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.fleets.Next() > userSlots {
		refuse(r, wire.RefusedFull)
		return
	}
	if m.refuseShare(wire.TableFleets, Owner(m.operatorMeant(&b.Operator)), fleetPart(&profile), r) {
		return
	}
	if profile.Operator = m.enterOperator(&b.Operator, r); profile.Operator == 0 {
		return
	}
	m.take(wire.TableFleets, Owner(profile.Operator), fleetPart(&profile))
	profile.Slot, profile.Rev, profile.CreatedAt = engine.FleetSlot(m.fleets.Append(engine.FleetRow{Kept: true})), 1, m.now
	m.fleetProfiles.Append(&profile)
	m.out.Fleets = append(m.out.Fleets, &profile)
	id := m.ids.FleetID(uint32(profile.Slot))
	m.writeEvent("fleet.created", leaf.FleetCreated{
		FleetID: id, OperatorID: m.ids.OperatorID(uint32(profile.Operator)), Date: string(m.now.Day().AppendDate(nil)),
	}, &b.Common, r, engine.FilterKey(engine.FilterFleet, id), m.operatorFilter(profile.Operator))
}

func (m *registry) applyFleetUpdate(b *wire.FleetUpdate, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasFleet(b.Fleet) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	old := *m.fleetProfiles.At(uint64(b.Fleet))
	if old.Rev != b.BaseRev {
		r.Value = uint64(old.Rev)
		refuse(r, wire.RefusedVersion)
		return
	}
	if !eventOf(b.Event, "fleet.", leaf.FleetChanged{}) || !m.soundFleet(&b.Profile) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	profile := b.Profile
	profile.Slot, profile.Operator, profile.OperatorLegalName = old.Slot, old.Operator, old.OperatorLegalName
	profile.CreatedAt, profile.NameMatched, profile.Rev = old.CreatedAt, old.NameMatched, old.Rev+1
	more := fleetPart(&profile).minus(fleetPart(old))
	if m.refuseShare(wire.TableFleets, Owner(profile.Operator), more, r) {
		return
	}
	m.take(wire.TableFleets, Owner(profile.Operator), more)
	*m.fleetProfiles.Edit(uint64(b.Fleet)) = &profile
	m.out.Fleets = append(m.out.Fleets, &profile)
	id := m.ids.FleetID(uint32(b.Fleet))
	m.writeNamed(b.Event, leaf.FleetChanged{FleetID: id, OperatorID: m.ids.OperatorID(uint32(profile.Operator)), Rev: uint64(profile.Rev)}, &b.Common, r, engine.FilterKey(engine.FilterFleet, id))
}

// applyAssign puts agents into a fleet, or takes them out of it: all of them or none.
func (m *registry) applyAssign(b *wire.Assign, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasFleet(b.Fleet) || len(b.Agents) == 0 || len(b.Agents) > m.limits.RecordTargets {
		refuse(r, wire.RefusedNotFound)
		return
	}
	changed := 0
	for i, slot := range b.Agents {
		counts, ok := m.checkAssigned(b, slot, b.Agents[:i], r)
		if !ok {
			return
		}
		if counts {
			changed++
		}
	}
	fleet := m.fleets.At(uint64(b.Fleet))
	if !b.Remove && int(fleet.Agents)+changed > m.limits.FleetAgents {
		refuse(r, wire.RefusedFull)
		return
	}
	if changed == 0 {
		r.Code, r.Value = wire.Unchanged, uint64(fleet.Agents)
		return
	}
	m.moveAgents(b)
	m.writeAssign(b, r)
}

// checkAssigned checks one agent of an Assign; counts says whether the Assign changes the
// agent.
func (m *registry) checkAssigned(b *wire.Assign, slot engine.AgentSlot, before []engine.AgentSlot, r *wire.Result) (counts, ok bool) {
	if !m.hasAgent(slot) {
		refuse(r, wire.RefusedNotFound)
		return false, false
	}
	profile := *m.profiles.At(uint64(slot))
	fleet := *m.fleetProfiles.At(uint64(b.Fleet))
	for _, earlier := range before {
		if earlier == slot {
			refuse(r, wire.RefusedMalformed)
			return false, false
		}
	}
	switch {
	case profile.Parent != 0: // A delegate is in the fleet of its root.
		refuse(r, wire.RefusedParent)
	case b.Remove && profile.Fleet != b.Fleet:
		refuse(r, wire.RefusedNotInFleet)
	case b.Remove && profile.FleetInstitutions && !m.isInstitutions(&b.Common):
		refuse(r, wire.RefusedScope)
	case !b.Remove && profile.Fleet != 0 && profile.Fleet != b.Fleet:
		refuse(r, wire.RefusedInFleet)
	case !b.Remove && profile.Operator != fleet.Operator:
		refuse(r, wire.RefusedOperator)
	default:
		return b.Remove || profile.Fleet == 0, true
	}
	r.Value = uint64(slot)
	return false, false
}

func (m *registry) moveAgents(b *wire.Assign) {
	row := m.fleets.Edit(uint64(b.Fleet))
	for _, slot := range b.Agents {
		old := *m.profiles.At(uint64(slot))
		target := b.Fleet
		if b.Remove {
			target = 0
		}
		if old.Fleet == target {
			continue
		}
		profile := *old
		profile.Fleet, profile.Rev = target, old.Rev+1
		profile.FleetInstitutions = !b.Remove && m.isInstitutions(&b.Common)
		m.replaceProfile(&profile)
		if b.Remove {
			row.Agents--
		} else {
			row.Agents++
		}
	}
}

func (m *registry) writeAssign(b *wire.Assign, r *wire.Result) {
	kind := "fleet.assigned"
	if b.Remove {
		kind = "fleet.removed"
	}
	id := m.ids.FleetID(uint32(b.Fleet))
	event := leaf.FleetAssigned{FleetID: id, AgentCount: uint64(m.fleets.At(uint64(b.Fleet)).Agents)}
	for _, slot := range b.Agents {
		event.AgentIDs = append(event.AgentIDs, m.ids.AgentID(uint32(slot)))
	}
	m.writeEvent(kind, event, &b.Common, r, engine.FilterKey(engine.FilterFleet, id))
}
