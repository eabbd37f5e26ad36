package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// applyStatus suspends, reinstates or revokes an agent, a user or an operator.
func (m *Machine) applyStatus(b *wire.Status, r *wire.Result) {
	if m.settled(&b.Common, r) {
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

// transition checks one step of the table of decision 35. derived is the
// status shown to callers, own expiry included.
func transition(own, derived, to engine.Status, since engine.Time, r *wire.Result) bool {
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

func (m *Machine) agentStatus(b *wire.Status, r *wire.Result) {
	slot := uint64(b.Slot)
	if !m.agents.Has(slot) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.agents.At(slot)
	derived := row.Status
	if derived != engine.Revoked && m.now >= (*m.profiles.At(slot)).ExpiresAt {
		derived = engine.Expired
	}
	if !transition(row.Status, derived, b.To, row.StatusAt, r) {
		return
	}
	row = m.agents.Edit(slot)
	row.Status, row.StatusReason, row.StatusAt = b.To, b.ReasonCode, m.now
	id := m.ids.AgentID(b.Slot)
	kind := statusKinds[b.Target][b.To]
	m.writeStatus(kind, "agentId", id, derived, b, r, engine.FilterKey(engine.FilterAgent, id))
}

func (m *Machine) userStatus(b *wire.Status, r *wire.Result) {
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
	if !transition(row.Status, derived, b.To, row.StatusAt, r) {
		return
	}
	row = m.users.Edit(uint64(b.Slot))
	row.Status, row.StatusReason, row.StatusAt = b.To, b.ReasonCode, m.now
	id := m.ids.UserID(b.Slot)
	m.writeStatus(statusKinds[b.Target][b.To], "userId", id, derived, b, r, engine.FilterKey(engine.FilterAgent, id))
}

func (m *Machine) operatorStatus(b *wire.Status, r *wire.Result) {
	slot, known := m.operatorByKey[b.OperatorKey]
	if !known {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.operators.At(uint64(slot))
	current := engine.Active
	if row.Suspended {
		current = engine.Suspended
	}
	if b.To == engine.Revoked || !transition(current, current, b.To, row.StatusAt, r) {
		if b.To == engine.Revoked {
			refuse(r, wire.RefusedTransition)
		}
		return
	}
	row = m.operators.Edit(uint64(slot))
	row.Suspended, row.StatusAt = b.To == engine.Suspended, m.now
	id := m.ids.OperatorID(uint32(slot))
	r.Value = uint64(row.Agents)
	m.writeStatus(statusKinds[b.Target][b.To], "operatorId", id, current, b, r, engine.FilterKey(engine.FilterOperator, b.OperatorKey))
}

var statusKinds = [4][4]string{
	wire.TargetAgent:    {engine.Active: "agent.reinstated", engine.Suspended: "agent.suspended", engine.Revoked: "agent.revoked"},
	wire.TargetUser:     {engine.Active: "user.reinstated", engine.Suspended: "user.suspended", engine.Revoked: "user.revoked"},
	wire.TargetOperator: {engine.Active: "operator.reinstated", engine.Suspended: "operator.suspended"},
}

func (m *Machine) writeStatus(kind, member, id string, previous engine.Status, b *wire.Status, r *wire.Result, filter uint64) {
	head := plain(m.head(kind), member, id)
	head = plain(head, "previousStatus", previous.String())
	head = plain(head, "credentialStatus", b.To.String())
	head = instant(head, "changedAt", m.now)
	if b.Target == wire.TargetOperator {
		head = number(head, "agents", int64(r.Value))
	}
	m.write(head, &b.Common, kind, r, filter)
	r.State = b.To
}

// applyOwnership flags an ownership transfer: R8 from its effective time until
// the credential is re-issued. A flag can be cancelled before that.
func (m *Machine) applyOwnership(b *wire.Ownership, r *wire.Result) {
	if m.settled(&b.Common, r) {
		return
	}
	slot := uint64(b.Agent)
	if !m.agents.Has(slot) {
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
	case b.Cancel:
		kind = "ownership.cancelled"
	}
	row = m.agents.Edit(slot)
	head := plain(m.head(kind), "agentId", id)
	if b.Cancel {
		row.OwnershipFrom, row.OwnershipAt = 0, 0
	} else {
		from := max(m.now, b.EffectiveAt)
		if row.OwnershipFrom != 0 { // A second flag may bring it forward; only a cancelling puts it off.
			from = min(from, row.OwnershipFrom)
		}
		row.OwnershipFrom, row.OwnershipAt = from, m.now
		head = instant(head, "flaggedAt", m.now)
		head = instant(head, "effectiveAt", row.OwnershipFrom)
	}
	m.write(head, &b.Common, kind, r, engine.FilterKey(engine.FilterAgent, id))
}
