package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Reminders (decision 50) announce what happens when log time passes. A row waits in a heap
// by time until a tick takes it. Its subject may have changed by then: Mark says what must
// still hold, and if it does not, the row is dropped silently. No verdict depends on a row:
// when a tick is late or the heap is full, an event is late or left out, and nothing else
// changes. An agent has one row of each kind, however often it is re-issued, attested or
// flagged, so nobody can fill the heap and suppress the events of others. One exception: when
// a re-issue ends a transfer, it ends the attestation too, and the attestation's row stays
// for its 24 hours. Equal rows are told once.

func (row *dueRow) before(other *dueRow) bool {
	switch {
	case row.At != other.At:
		return row.At < other.At
	case row.Kind != other.Kind:
		return row.Kind < other.Kind
	case row.Subject != other.Subject:
		return row.Subject < other.Subject
	}
	return row.Mark < other.Mark
}

// addReminder adds a reminder for a later time. If the calendar is full, it leaves the
// reminder out.
func (m *calendar) addReminder(at engine.Time, kind leaf.Due, subject, mark uint64) {
	if at > m.now && m.dues.Len() < m.limits.Dues {
		m.addReminderNow(at, kind, subject, mark)
	}
}

// addReminderNow adds the reminder that follows on the one just taken. If its time is already
// over because no tick came in between, the same tick tells it.
func (m *calendar) addReminderNow(at engine.Time, kind leaf.Due, subject, mark uint64) {
	m.dueHeap.add(dueRow{At: at, Kind: uint8(kind), Subject: subject, Mark: mark})
}

// remindOfTransfer adds a reminder of the time when a transfer of ownership takes effect, or
// moves the reminder that the agent has already: a transfer may be brought forward, ended
// and flagged again any number of times.
func (m *calendar) remindOfTransfer(slot uint64, from engine.Time) {
	at, waits := m.transferAt[slot]
	switch {
	case !waits:
		m.addReminder(from, leaf.DueOwnership, slot, 0)
	case from > m.now: // Otherwise the waiting row no longer fits the agent and is dropped silently.
		m.dues.Edit(at).At = from
		m.dueHeap.settle(at)
	}
}

// placeDue remembers the position of the row of an agent's transfer.
func (m *calendar) placeDue(row *dueRow, at uint64) {
	if leaf.Due(row.Kind) == leaf.DueOwnership {
		m.transferAt[row.Subject] = at
	}
}

func (m *calendar) takeDue() dueRow {
	first := *m.dues.At(1)
	if leaf.Due(first.Kind) == leaf.DueOwnership {
		delete(m.transferAt, first.Subject)
	}
	m.dueHeap.drop(1)
	return first
}

// fallDue tells of the reminders that are due, the earliest first, a bounded number in each tick.
func (m *Machine) fallDue() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.calendar.dues.Len() > 0 && m.calendar.dues.At(1).At <= m.now; n++ {
		row := m.calendar.takeDue()
		if m.calendar.dues.Len() > 0 && *m.calendar.dues.At(1) == row {
			continue // Two equal rows are told once.
		}
		switch leaf.Due(row.Kind) {
		case leaf.DueAgentExpiring, leaf.DueAgentExpired:
			m.registry.agentDue(&row)
		case leaf.DueAttestationExpiring, leaf.DueAttestationStale:
			m.registry.attestationDue(&row)
		case leaf.DueOwnership:
			m.registry.ownershipDue(&row)
		case leaf.DueListStale:
			m.rulebook.listDue(&row)
		case leaf.DueSigningKey:
			m.keys.signingKeyDue(&row)
		case leaf.DueAPIKey:
			m.keys.apiKeyDue(&row)
		case leaf.DueCleared:
			m.rulebook.clearedDue(&row)
		case leaf.DueSanctionsSoon, leaf.DueSanctionsLate:
			m.desk.sanctionsDue(&row)
		}
	}
}

// remindOfAgent adds the reminder of a credential's end.
func (m *registry) remindOfAgent(p *engine.AgentProfile) {
	kind, at := m.agentReminder(p)
	m.calendar.addReminder(at, kind, uint64(p.Slot), uint64(p.CredentialVersion))
}

// agentReminder returns the next reminder of a credential's end: the notice before it, or the
// end itself.
func (m *registry) agentReminder(p *engine.AgentProfile) (leaf.Due, engine.Time) {
	if at := p.ExpiresAt - m.limits.ExpiryNotice; at > m.now {
		return leaf.DueAgentExpiring, at
	}
	return leaf.DueAgentExpired, p.ExpiresAt
}

func (m *registry) agentDue(row *dueRow) {
	if !m.hasAgent(engine.AgentSlot(row.Subject)) || m.agents.At(row.Subject).Status == engine.Revoked {
		return
	}
	p := *m.profiles.At(row.Subject)
	if uint64(p.CredentialVersion) != row.Mark { // The agent was re-issued: its one row continues with the new credential.
		kind, at := m.agentReminder(p)
		if p.ExpiresAt >= row.At { // A credential with an earlier end has a row of its own.
			m.calendar.addReminderNow(at, kind, row.Subject, uint64(p.CredentialVersion))
		}
		return
	}
	if leaf.Due(row.Kind) == leaf.DueAgentExpiring {
		m.calendar.addReminderNow(p.ExpiresAt, leaf.DueAgentExpired, row.Subject, row.Mark)
	}
	event := leaf.CredentialDue{Version: p.CredentialVersion, ExpiresAt: p.ExpiresAt, AgentID: m.ids.AgentID(uint32(row.Subject)), Link: m.linkAgent(p.Slot)}
	m.writeDueEvent(leaf.Due(row.Kind), event, engine.FilterKey(engine.FilterAgent, event.AgentID))
}

// remindOfAttestation adds the reminder that an attestation will end.
func (m *registry) remindOfAttestation(slot engine.AgentSlot) {
	if row := m.agents.At(uint64(slot)); row.AttestedAt != 0 && (*m.profiles.At(uint64(slot))).Type == engine.Autonomous {
		m.calendar.addReminder(row.AttestedAt+m.limits.AttestationValidity-m.limits.AttestationNotice, leaf.DueAttestationExpiring, uint64(slot), uint64(row.AttestedAt))
	}
}

func (m *registry) attestationDue(row *dueRow) {
	if !m.hasAgent(engine.AgentSlot(row.Subject)) || m.agents.At(row.Subject).AttestedAt == 0 {
		return
	}
	agent := m.agents.At(row.Subject)
	until := agent.AttestedAt + m.limits.AttestationValidity
	if uint64(agent.AttestedAt) != row.Mark { // The agent was attested again: its one row continues with the new attestation.
		m.calendar.addReminderNow(until-m.limits.AttestationNotice, leaf.DueAttestationExpiring, row.Subject, uint64(agent.AttestedAt))
		return
	}
	if leaf.Due(row.Kind) == leaf.DueAttestationExpiring {
		m.calendar.addReminderNow(until, leaf.DueAttestationStale, row.Subject, row.Mark)
	}
	if agent.Status == engine.Revoked || (*m.profiles.At(row.Subject)).ExpiresAt <= m.now {
		return
	}
	event := leaf.AttestationDue{AttestedAt: agent.AttestedAt, ValidUntil: until, AgentID: m.ids.AgentID(uint32(row.Subject)), Link: m.linkAgent(engine.AgentSlot(row.Subject))}
	m.writeDueEvent(leaf.Due(row.Kind), event, engine.FilterKey(engine.FilterAgent, event.AgentID))
}

func (m *registry) ownershipDue(row *dueRow) {
	if !m.hasAgent(engine.AgentSlot(row.Subject)) || m.agents.At(row.Subject).OwnershipFrom != row.At || m.agents.At(row.Subject).Status == engine.Revoked {
		return
	}
	event := leaf.OwnershipDue{EffectiveAt: row.At, AgentID: m.ids.AgentID(uint32(row.Subject)), Link: m.linkAgent(engine.AgentSlot(row.Subject))}
	m.writeDueEvent(leaf.DueOwnership, event, engine.FilterKey(engine.FilterAgent, event.AgentID))
}

// remindOfList adds a reminder of the time when the active list becomes older than the policy
// allows. List and policy may change: listDue tells only if the row's time is still the right
// one.
func (m *rulebook) remindOfList() {
	if age := m.settings.Policy.ListAgeMax; m.settings.List != nil && age > 0 {
		m.calendar.addReminder(m.settings.ListSynced+age, leaf.DueListStale, 0, m.settings.ListVersion)
	}
}

func (m *rulebook) listDue(row *dueRow) {
	s := m.settings
	if s.List == nil || s.ListVersion != row.Mark || s.ListSynced+s.Policy.ListAgeMax != row.At {
		return
	}
	m.writeDueEvent(leaf.DueListStale, leaf.ListDue{Version: s.ListVersion, SyncedAt: s.ListSynced})
}

func (m *keys) remindOfSigningKey(key *wire.SigningKey) {
	m.calendar.addReminder(key.ActivateAt, leaf.DueSigningKey, engine.FilterKey(engine.FilterKind, key.KID), 0)
}

func (m *keys) signingKeyDue(row *dueRow) {
	for _, key := range m.settings.SigningKeys {
		if engine.FilterKey(engine.FilterKind, key.KID) == row.Subject && key.ActivateAt == row.At && key.RevokedAt == 0 {
			m.writeDueEvent(leaf.DueSigningKey, leaf.SigningKeyChanged{KID: key.KID, ActivateAt: key.ActivateAt})
			return
		}
	}
}

// remindOfKey adds the reminder before an API key expires; at is its index among the keys.
func (m *keys) remindOfKey(at int, key *wire.APIKey) {
	if key.ExpiresAt != 0 {
		m.calendar.addReminder(key.ExpiresAt-m.limits.ExpiryNotice, leaf.DueAPIKey, uint64(at), uint64(key.ExpiresAt))
	}
}

func (m *keys) apiKeyDue(row *dueRow) {
	if row.Subject >= uint64(len(m.settings.Keys)) {
		return
	}
	key := m.settings.Keys[row.Subject]
	if key.RevokedAt != 0 || uint64(key.ExpiresAt) != row.Mark {
		return
	}
	m.writeDueEvent(leaf.DueAPIKey, leaf.KeyDue{Key: leaf.Key{ID: key.ID, Prefix: key.Prefix}, ExpiresAt: key.ExpiresAt})
}

func (m *rulebook) clearedDue(row *dueRow) {
	at := slices.IndexFunc(m.settings.Cleared, func(pair *wire.ClearedPair) bool { return uint64(pair.ID) == row.Subject })
	if at < 0 || m.settings.Cleared[at].ExpiresAt != row.At {
		return
	}
	m.writeDueEvent(leaf.DueCleared, leaf.PairDue{Pair: leaf.Pair{ID: row.Subject}, ExpiredAt: row.At})
}
