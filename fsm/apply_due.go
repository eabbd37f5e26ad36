package fsm

import (
	"errors"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// What falls due: things that log time alone brings about and somebody should be told
// of (decision 50). A row waits in a heap by time for its tick; what it speaks of may
// have changed by then, so it says what must still be so (Mark), and is silent where
// that is not. Verdicts go by the tables and never by a row here: a tick that is late,
// or a full heap, leaves an event out or late and changes nothing else. An agent has one
// row for each of its kinds, however often it is issued, attested or flagged again: nobody
// fills the heap with what would leave out the events of others. (Where a transfer ended,
// what waits of the attestation that ended with it stays for its 24 hours; rows of one
// moment are one.)

// before orders the heap.
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

// remind has an event told at a time to come, where there is room.
func (m *Machine) remind(at engine.Time, kind leaf.Due, subject, mark uint64) {
	if at > m.now && m.dues.Len() < m.limits.Dues {
		m.remindNext(at, kind, subject, mark)
	}
}

// remindNext has what follows on a row that was just taken told at its time, or by this
// very tick where that is over: no tick may have come in between.
func (m *Machine) remindNext(at engine.Time, kind leaf.Due, subject, mark uint64) {
	m.raiseDue(m.dues.Append(dueRow{At: at, Kind: uint8(kind), Subject: subject, Mark: mark}))
}

// remindOfTransfer tells when a transfer of ownership takes effect. Its row is found and
// moved where the agent has one already: a transfer may be brought forward, ended and
// flagged again without end.
func (m *Machine) remindOfTransfer(slot uint64, from engine.Time) {
	at, waits := m.transferAt[slot]
	switch {
	case !waits:
		m.remind(from, leaf.DueOwnership, slot, 0)
	case from > m.now: // Else what waits says nothing.
		m.dues.Edit(at).At = from
		m.sinkDue(m.raiseDue(at))
	}
}

func (m *Machine) swapDues(a, b uint64) {
	one, other := *m.dues.At(a), *m.dues.At(b)
	*m.dues.Edit(a), *m.dues.Edit(b) = other, one
	m.placeDue(a)
	m.placeDue(b)
}

// placeDue keeps where the row of an agent's transfer stands.
func (m *Machine) placeDue(at uint64) {
	if row := m.dues.At(at); leaf.Due(row.Kind) == leaf.DueOwnership {
		m.transferAt[row.Subject] = at
	}
}

// takeDue takes the earliest row out.
func (m *Machine) takeDue() dueRow {
	first, last := *m.dues.At(1), m.dues.Next()-1
	if leaf.Due(first.Kind) == leaf.DueOwnership {
		delete(m.transferAt, first.Subject)
	}
	if last != 1 {
		*m.dues.Edit(1) = *m.dues.At(last)
		m.placeDue(1)
	}
	m.dues.DropBack()
	if m.dues.Len() > 0 {
		m.sinkDue(1)
	}
	return first
}

// raiseDue moves a row up to its place in the heap, and says where that is.
func (m *Machine) raiseDue(at uint64) uint64 {
	m.placeDue(at)
	for ; at > 1 && m.dues.At(at).before(m.dues.At(at/2)); at /= 2 {
		m.swapDues(at, at/2)
	}
	return at
}

// sinkDue moves a row down to its place.
func (m *Machine) sinkDue(at uint64) {
	for {
		least := at
		for _, child := range [2]uint64{2 * at, 2*at + 1} {
			if m.dues.Has(child) && m.dues.At(child).before(m.dues.At(least)) {
				least = child
			}
		}
		if least == at {
			return
		}
		m.swapDues(at, least)
		at = least
	}
}

// fallDue tells of what is due, the earliest first, a bounded number a tick.
func (m *Machine) fallDue() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.dues.Len() > 0 && m.dues.At(1).At <= m.now; n++ {
		row := m.takeDue()
		if m.dues.Len() > 0 && *m.dues.At(1) == row {
			continue // Said twice is told once.
		}
		switch leaf.Due(row.Kind) {
		case leaf.DueAgentExpiring, leaf.DueAgentExpired:
			m.agentDue(&row)
		case leaf.DueAttestationExpiring, leaf.DueAttestationStale:
			m.attestationDue(&row)
		case leaf.DueOwnership:
			m.ownershipDue(&row)
		case leaf.DueListStale:
			m.listDue(&row)
		case leaf.DueSigningKey:
			m.signingKeyDue(&row)
		case leaf.DueAPIKey:
			m.apiKeyDue(&row)
		case leaf.DueCleared:
			m.clearedDue(&row)
		}
	}
}

// dueHead begins the leaf of something that fell due.
func (m *Machine) dueHead(row *dueRow) []byte {
	return plain(m.head(leaf.KindDue), "type", leaf.Due(row.Kind).String())
}

func (m *Machine) writeDue(head []byte, keys ...uint64) {
	filters := append(m.filters(len(keys)+1), engine.FilterKey(engine.FilterKind, leaf.KindDue))
	m.appendLeaf(append(head, '}'), append(filters, keys...))
}

func (m *Machine) writeAgentDue(head []byte, slot uint64) {
	id := m.ids.AgentID(uint32(slot))
	m.writeDue(plain(head, "agentId", id), engine.FilterKey(engine.FilterAgent, id))
}

// remindOfAgent tells before a credential ends, and when it has.
func (m *Machine) remindOfAgent(p *engine.AgentProfile) {
	kind, at := m.agentReminder(p)
	m.remind(at, kind, uint64(p.Slot), uint64(p.CredentialVersion))
}

// agentReminder is what is told next of a credential's end.
func (m *Machine) agentReminder(p *engine.AgentProfile) (leaf.Due, engine.Time) {
	if at := p.ExpiresAt - m.limits.ExpiryNotice; at > m.now {
		return leaf.DueAgentExpiring, at
	}
	return leaf.DueAgentExpired, p.ExpiresAt
}

func (m *Machine) agentDue(row *dueRow) {
	if !m.agents.Has(row.Subject) || m.agents.At(row.Subject).Status == engine.Revoked {
		return
	}
	p := *m.profiles.At(row.Subject)
	if uint64(p.CredentialVersion) != row.Mark { // Issued again since: the one row of the agent goes on with that.
		kind, at := m.agentReminder(p)
		if p.ExpiresAt >= row.At { // Else, issued for a shorter time, it has a row of its own.
			m.remindNext(at, kind, row.Subject, uint64(p.CredentialVersion))
		}
		return
	}
	if leaf.Due(row.Kind) == leaf.DueAgentExpiring {
		m.remindNext(p.ExpiresAt, leaf.DueAgentExpired, row.Subject, row.Mark)
	}
	head := number(m.dueHead(row), "credentialVersion", int64(p.CredentialVersion))
	m.writeAgentDue(instant(head, "expiresAt", p.ExpiresAt), row.Subject)
}

// remindOfAttestation tells before an attestation ends, and when it has.
func (m *Machine) remindOfAttestation(slot engine.AgentSlot) {
	if row := m.agents.At(uint64(slot)); row.AttestedAt != 0 && (*m.profiles.At(uint64(slot))).Type == engine.Autonomous {
		m.remind(row.AttestedAt+m.limits.AttestationValidity-m.limits.AttestationNotice, leaf.DueAttestationExpiring, uint64(slot), uint64(row.AttestedAt))
	}
}

func (m *Machine) attestationDue(row *dueRow) {
	if !m.agents.Has(row.Subject) || m.agents.At(row.Subject).AttestedAt == 0 {
		return
	}
	agent := m.agents.At(row.Subject)
	until := agent.AttestedAt + m.limits.AttestationValidity
	if uint64(agent.AttestedAt) != row.Mark { // Attested again since: the one row of the agent goes on with that.
		m.remindNext(until-m.limits.AttestationNotice, leaf.DueAttestationExpiring, row.Subject, uint64(agent.AttestedAt))
		return
	}
	if leaf.Due(row.Kind) == leaf.DueAttestationExpiring {
		m.remindNext(until, leaf.DueAttestationStale, row.Subject, row.Mark)
	}
	if agent.Status == engine.Revoked || (*m.profiles.At(row.Subject)).ExpiresAt <= m.now {
		return
	}
	m.writeAgentDue(instant(instant(m.dueHead(row), "attestedAt", agent.AttestedAt), "validUntil", until), row.Subject)
}

func (m *Machine) ownershipDue(row *dueRow) {
	if !m.agents.Has(row.Subject) || m.agents.At(row.Subject).OwnershipFrom != row.At || m.agents.At(row.Subject).Status == engine.Revoked {
		return
	}
	m.writeAgentDue(instant(m.dueHead(row), "effectiveAt", row.At), row.Subject)
}

// remindOfList tells when the active list is older than the policy has it. Either may
// change meanwhile: the row holds where its time is still theirs.
func (m *Machine) remindOfList() {
	if age := m.settings.Policy.ListAgeMax; m.settings.List != nil && age > 0 {
		m.remind(m.settings.ListSynced+age, leaf.DueListStale, 0, m.settings.ListVersion)
	}
}

func (m *Machine) listDue(row *dueRow) {
	s := m.settings
	if s.List == nil || s.ListVersion != row.Mark || s.ListSynced+s.Policy.ListAgeMax != row.At {
		return
	}
	m.writeDue(instant(number(m.dueHead(row), "listVersion", int64(s.ListVersion)), "syncedAt", s.ListSynced))
}

func (m *Machine) remindOfSigningKey(key *wire.SigningKey) {
	m.remind(key.ActivateAt, leaf.DueSigningKey, engine.FilterKey(engine.FilterKind, key.KID), 0)
}

func (m *Machine) signingKeyDue(row *dueRow) {
	for _, key := range m.settings.SigningKeys {
		if engine.FilterKey(engine.FilterKind, key.KID) == row.Subject && key.ActivateAt == row.At && key.RevokedAt == 0 {
			m.writeDue(instant(plain(m.dueHead(row), "kid", key.KID), "activateAt", key.ActivateAt))
			return
		}
	}
}

// remindOfKey tells before an API key ends; at is its place among the keys.
func (m *Machine) remindOfKey(at int, key *wire.APIKey) {
	if key.ExpiresAt != 0 {
		m.remind(key.ExpiresAt-m.limits.ExpiryNotice, leaf.DueAPIKey, uint64(at), uint64(key.ExpiresAt))
	}
}

func (m *Machine) apiKeyDue(row *dueRow) {
	if row.Subject >= uint64(len(m.settings.Keys)) {
		return
	}
	key := m.settings.Keys[row.Subject]
	if key.RevokedAt != 0 || uint64(key.ExpiresAt) != row.Mark {
		return
	}
	head := quoted(m.dueHead(row), "keyId", key.ID)
	m.writeDue(instant(quoted(head, "prefix", key.Prefix), "expiresAt", key.ExpiresAt))
}

func (m *Machine) clearedDue(row *dueRow) {
	at := slices.IndexFunc(m.settings.Cleared, func(pair *wire.ClearedPair) bool { return uint64(pair.ID) == row.Subject })
	if at < 0 || m.settings.Cleared[at].ExpiresAt != row.At {
		return
	}
	m.writeDue(instant(number(m.dueHead(row), "clearedId", int64(row.Subject)), "expiredAt", row.At))
}

// checkDues demands a heap of rows that are known, one of each transfer.
func (m *Machine) checkDues() error {
	transfers := 0
	for i := m.dues.First(); i < m.dues.Next(); i++ {
		row := m.dues.At(i)
		if leaf.Due(row.Kind).String() == "" || i > 1 && row.before(m.dues.At(i/2)) {
			return errors.New("dues: broken row")
		}
		if m.placeDue(i); leaf.Due(row.Kind) == leaf.DueOwnership {
			transfers++
		}
	}
	if len(m.transferAt) != transfers {
		return errors.New("dues: two rows of one transfer")
	}
	return nil
}
