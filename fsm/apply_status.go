package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

func (m *registry) applyStatus(b *wire.Status, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch b.Target {
	case wire.TargetAgent:
		m.agentStatus(b, r)
	case wire.TargetUser:
		m.userStatus(b, r)
	case wire.TargetOperator:
		m.operatorStatus(b, r)
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

// checkTransition checks one step of decision 35's table. derived is the status that callers
// see, which includes the party's own expiry.
func checkTransition(own, derived, to engine.Status, since engine.Time, r *wire.Result) bool {
	r.State = derived
	if own == to && derived == to {
		r.Code, r.Time = wire.Unchanged, since
		return false
	}
	allowed := false
	switch to {
	case engine.Suspended:
		allowed = derived == engine.Active
	case engine.Active:
		allowed = derived == engine.Suspended
	case engine.Revoked:
		allowed = own != engine.Revoked
	}
	if !allowed {
		refuse(r, wire.RefusedTransition)
	}
	return allowed
}

// mayMove judges one change of status, by the table of transitions and by who suspended. Only
// the institution lifts its own suspension, and it may take over an operator's suspension by
// suspending again. institutions says whether the institution suspended; mayMove updates it.
func (m *registry) mayMove(own, derived engine.Status, institutions *bool, b *wire.Status, since engine.Time, r *wire.Result) bool {
	broad := m.isInstitutions(&b.Common)
	suspended := own == engine.Suspended && derived == engine.Suspended
	switch {
	case suspended && b.To == engine.Active && *institutions && !broad:
		r.State = derived
		refuse(r, wire.RefusedScope)
		return false
	case suspended && b.To == engine.Suspended && broad && !*institutions:
		r.State = derived
	case !checkTransition(own, derived, b.To, since, r):
		return false
	}
	*institutions = broad && b.To == engine.Suspended
	return true
}

func (m *registry) agentStatus(b *wire.Status, r *wire.Result) {
	slot := uint64(b.Slot)
	if !m.hasAgent(engine.AgentSlot(slot)) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.agents.At(slot)
	derived := row.Status
	if derived != engine.Revoked && m.now >= (*m.profiles.At(slot)).ExpiresAt {
		derived = engine.Expired
	}
	institutions := row.Institutions
	if !m.mayMove(row.Status, derived, &institutions, b, row.StatusAt, r) {
		return
	}
	row = m.agents.Edit(slot)
	row.Institutions = institutions
	row.Status, row.StatusReason, row.StatusAt = b.To, b.ReasonCode, m.now
	m.agentStatusMoved(engine.AgentSlot(b.Slot), (*m.profiles.At(slot)).Status, row.MinVersion)
	id := m.ids.AgentID(b.Slot)
	kind := statusKinds[b.Target][b.To]
	m.writeStatus(kind, id, derived, b, r, engine.FilterKey(engine.FilterAgent, id))
}

func (m *registry) userStatus(b *wire.Status, r *wire.Result) {
	profile := m.userHeld(engine.UserSlot(b.Slot))
	if profile == nil {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.users.At(uint64(b.Slot))
	derived := row.Status
	if derived != engine.Revoked && m.now >= profile.ExpiresAt {
		derived = engine.Expired
	}
	institutions := row.Institutions
	if !m.mayMove(row.Status, derived, &institutions, b, row.StatusAt, r) {
		return
	}
	row = m.users.Edit(uint64(b.Slot))
	row.Institutions = institutions
	row.Status, row.StatusReason, row.StatusAt = b.To, b.ReasonCode, m.now
	m.touchStatuses(profile.Status, row.MinVersion)
	id := m.ids.UserID(b.Slot)
	m.writeStatus(statusKinds[b.Target][b.To], id, derived, b, r, engine.FilterKey(engine.FilterAgent, id))
}

func (m *registry) operatorStatus(b *wire.Status, r *wire.Result) {
	slot := engine.OperatorSlot(b.Slot)
	if !m.operators.Has(uint64(slot)) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.operators.At(uint64(slot))
	current := engine.Active
	if row.Suspended {
		current = engine.Suspended
	}
	if b.To == engine.Revoked {
		refuse(r, wire.RefusedTransition)
		return
	}
	institutions, since := row.Institutions, row.StatusAt
	if since == 0 { // The status was never changed.
		since = (*m.operatorProfiles.At(uint64(slot))).CreatedAt
	}
	if !m.mayMove(current, current, &institutions, b, since, r) {
		return
	}
	row = m.operators.Edit(uint64(slot))
	row.Suspended, row.Institutions, row.StatusAt = b.To == engine.Suspended, institutions, m.now
	m.allStatusesMoved()
	id := m.ids.OperatorID(uint32(slot))
	r.Value = uint64(row.Agents)
	m.writeStatus(statusKinds[b.Target][b.To], id, current, b, r, m.operatorFilter(slot))
}

var statusKinds = [4][4]string{
	wire.TargetAgent:    {engine.Active: "agent.reinstated", engine.Suspended: "agent.suspended", engine.Revoked: "agent.revoked"},
	wire.TargetUser:     {engine.Active: "user.reinstated", engine.Suspended: "user.suspended", engine.Revoked: "user.revoked"},
	wire.TargetOperator: {engine.Active: "operator.reinstated", engine.Suspended: "operator.suspended"},
}

func (m *registry) writeStatus(kind, id string, previous engine.Status, b *wire.Status, r *wire.Result, filter uint64) {
	event := leaf.StatusChanged{Previous: previous.String(), Status: b.To.String(), ChangedAt: m.now}
	switch b.Target {
	case wire.TargetAgent:
		event.AgentID, event.Link = id, m.linkAgent(engine.AgentSlot(b.Slot))
	case wire.TargetUser:
		event.UserID = id
	default:
		event.OperatorID, event.Agents = id, &r.Value
	}
	m.writeEvent(kind, event, &b.Common, r, filter)
	r.State = b.To
}

// applyOwnership flags an ownership transfer: R8 from its effective time until
// the credential is re-issued. A flag can be cancelled before that.
func (m *registry) applyOwnership(b *wire.Ownership, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	slot := uint64(b.Agent)
	if !m.hasAgent(engine.AgentSlot(slot)) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	id := m.ids.AgentID(uint32(b.Agent))
	row := m.agents.At(slot)
	kind := "ownership.flagged"
	switch {
	case row.Status == engine.Revoked && !b.Cancel:
		r.State = engine.Revoked
		refuse(r, wire.RefusedInactive)
		return
	case b.Cancel && row.OwnershipFrom == 0:
		r.Code = wire.Unchanged
		return
	case b.Cancel && !m.isOfficers(&b.Common):
		refuse(r, wire.RefusedScope)
		return
	case b.Cancel:
		kind = "ownership.cancelled"
	case b.Operator.Slot == 0 && !m.soundOperatorName(&b.Operator):
		refuse(r, wire.RefusedMalformed)
		return
	case b.Operator.Slot != 0 && !m.operators.Has(uint64(b.Operator.Slot)):
		refuse(r, wire.RefusedNotFound)
		return
	case !m.mayFlag(b, row.OwnershipFrom != 0):
		refuse(r, wire.RefusedTransfer)
		return
	}
	m.noteTransfer(b)
	row = m.agents.Edit(slot)
	event := leaf.Ownership{AgentID: id, Link: m.linkAgent(b.Agent)}
	if b.Cancel {
		row.OwnershipFrom, row.OwnershipAt = 0, 0
	} else {
		from, before := max(m.now, b.EffectiveAt), row.OwnershipFrom
		if before != 0 { // A second flag may bring it forward; only cancelling it can delay it.
			from = min(from, before)
		}
		row.OwnershipFrom, row.OwnershipAt = from, m.now
		if from != before { // Otherwise a reminder already waits for this time.
			m.calendar.remindOfTransfer(slot, from)
		}
		event.FlaggedAt, event.EffectiveAt, event.NewOperatorID = m.now, row.OwnershipFrom, m.operatorID(b.Operator.Slot)
	}
	m.writeEvent(kind, event, &b.Common, r, engine.FilterKey(engine.FilterAgent, id))
}

// mayFlag tells whether a flag may name this operator. Once an operator is named, only a key
// with broader rights may name another. Otherwise an operator could name itself and so choose
// whom the re-issue must name.
func (m *registry) mayFlag(b *wire.Ownership, flagged bool) bool {
	profile := *m.profiles.At(uint64(b.Agent))
	return !flagged || transferOf(b).goesTo(profile) || m.isOfficers(&b.Common) ||
		!profile.TransferInstitutions && m.isInstitutions(&b.Common)
}

// transfer is the operator that a flag names: an operator, or else any of this name.
type transfer struct {
	to   engine.OperatorSlot
	name string
}

func transferOf(b *wire.Ownership) transfer {
	if b.Cancel || b.Operator.Slot != 0 {
		return transfer{to: b.Operator.Slot}
	}
	return transfer{name: b.Operator.Name}
}

func (t transfer) goesTo(p *engine.AgentProfile) bool {
	return t == transfer{p.TransferTo, p.TransferName}
}

// endsTransfer tells whether a re-issue for an operator ends the transfer that is flagged on an
// agent.
func (m *registry) endsTransfer(ref *wire.OperatorRef, p *engine.AgentProfile) bool {
	to, name := m.operatorMeant(ref), ref.Name
	if p.TransferTo != 0 {
		return to == p.TransferTo
	}
	if to != 0 && m.operators.Has(uint64(to)) {
		name = (*m.operatorProfiles.At(uint64(to))).LegalName
	}
	return name == p.TransferName
}

// noteTransfer stores who the new operator is, for the re-issue that ends the transfer; nobody
// for a cancelled transfer.
func (m *registry) noteTransfer(b *wire.Ownership) {
	old := *m.profiles.At(uint64(b.Agent))
	flag := transferOf(b)
	institutions := !b.Cancel && (m.isInstitutions(&b.Common) || flag.goesTo(old) && old.TransferInstitutions)
	profile := *old
	profile.Rev++
	profile.OwnershipTransfer = engine.OwnershipTransfer{TransferTo: flag.to, TransferName: flag.name, TransferInstitutions: institutions}
	m.replaceProfile(&profile)
}
