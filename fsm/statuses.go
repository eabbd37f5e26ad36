package fsm

import (
	"math"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Every version of a credential has its own position in the status lists. Positions are given
// out in order at issuance, and never again (decision 53). A row says whose version it is.
// Its value is not stored: it follows from the party's own row, its ancestors, its operator
// and its key (status_lists.go). So Apply only marks which values may have changed: it
// touches the page of a row with Edit, or notes that many may have changed.

// keyMark is the stored form of a signing key's id. Among 64 keys two equal marks are
// practically impossible; if it happened, revoking one key would revoke both.
func keyMark(kid string) uint32 { return uint32(engine.FilterKey(engine.FilterKind, kid)) }

func (m *registry) statusesFull() bool {
	return m.statuses.Len() >= m.limits.Statuses || m.statuses.Next() > math.MaxUint32-StatusListSize
}

// enterStatus gives a version its position. The caller has checked statusesFull.
func (m *registry) enterStatus(row statusRow) uint32 {
	if row.Matched {
		// The list matched at issuance, so this version reads SUSPENDED from the start. Its
		// position read VALID until now.
		m.standing.changed = m.index
	}
	m.take(wire.TableStatuses, Owner(row.Operator), oneRow)
	return uint32(m.statuses.Append(row))
}

func (m *registry) enterAgentStatus(p *engine.AgentProfile, older uint32) {
	p.Status = m.enterStatus(statusRow{
		Slot: uint32(p.Slot), Expires: uint32(p.ExpiresAt / engine.Second), Older: older, Key: keyMark(p.KeyID),
		Version: p.CredentialVersion, Kind: CredentialAgent, Operator: uint32(p.Operator), Matched: p.WalletMatched || p.NameMatched || p.TaxMatched,
	})
	if m.operators.At(uint64(p.Operator)).Suspended {
		m.standing.changed = m.index
	}
}

func (m *registry) enterUserStatus(p *engine.UserProfile, older uint32) {
	p.Status = m.enterStatus(statusRow{
		Slot: uint32(p.Slot), Expires: uint32(p.ExpiresAt / engine.Second), Older: older, Key: keyMark(p.KeyID),
		Version: p.CredentialVersion, Kind: CredentialUser, Operator: uint32(p.Operator), Matched: p.NameMatched,
	})
}

// agentStatusMoved notes that the values of an agent's versions from least on, and of its
// descendants, may have changed.
func (m *registry) agentStatusMoved(slot engine.AgentSlot, newest uint32, least uint16) {
	m.touchStatuses(newest, least)
	if m.agents.At(uint64(slot)).Children > 0 {
		m.standing.kin = m.index
	}
}

// touchStatuses touches the pages of a party's versions, from the newest one down to the
// version least.
func (m *registry) touchStatuses(newest uint32, least uint16) {
	m.standing.changed = m.index
	at := uint64(newest)
	for range m.limits.StatusVersions {
		if !m.statuses.Has(at) || m.statuses.At(at).Version < least {
			return
		}
		at = uint64(m.statuses.Edit(at).Older)
	}
	m.standing.wide = m.index // There are more versions than are followed, because of many renewals within one overlap.
}

// allStatusesMoved notes that any value may have changed.
func (m *registry) allStatusesMoved() { m.standing.wide, m.standing.changed = m.index, m.index }

// turnMinute freezes the state for the status lists when an entry moves log time into a new
// minute. So the lists of a minute are the same on every node.
func (m *Machine) turnMinute(before engine.Time) {
	if m.registry.enterMinute(before) {
		m.out.Statuses = m.Freeze()
	}
}

// enterMinute tells whether log time has moved into a new minute, and notes the entry.
func (m *registry) enterMinute(before engine.Time) bool {
	every := m.limits.StatusEvery
	if m.settings.Genesis == nil || m.now/every == before/every && m.standing.minute != 0 {
		return false
	}
	m.standing.minute = m.index
	return true
}

// forgetStatuses drops the oldest positions a minute after their versions have ended: the
// lists of the running minute must be the same with and without them.
func (m *registry) forgetStatuses() {
	for n := 0; n < m.limits.ForgottenAtOneTime && m.statuses.Len() > 0; n++ {
		row := m.statuses.At(m.statuses.First())
		if m.now < engine.Time(row.Expires)*engine.Second+m.limits.StatusEvery {
			return
		}
		if row.Slot != 0 {
			m.giveBack(wire.TableStatuses, Owner(row.Operator), oneRow)
		}
		m.statuses.DropFront()
	}
}

// beginStatuses skips the rest of the newest list, because the lost machines may have given
// its positions out.
func (m *registry) beginStatuses() uint32 {
	next := (m.statuses.Next() + StatusListSize - 1) / StatusListSize * StatusListSize
	placeAt(&m.statuses, next)
	m.standing.changed = m.index
	return uint32(next)
}

// statusMeta is the part of a snapshot's first row about the positions.
type statusMeta struct {
	First   uint64 `cbor:"1,keyasint"`
	Next    uint64 `cbor:"2,keyasint"`
	Minute  uint64 `cbor:"3,keyasint"`
	Changed uint64 `cbor:"4,keyasint"`
}

// startStatuses takes over the snapshot's values about the positions.
func (m *registry) startStatuses(meta *statusMeta) error {
	if meta.First == 0 || meta.First > meta.Next || meta.Next > math.MaxUint32+1 || meta.Next-meta.First > uint64(m.limits.Statuses)+StatusListSize ||
		meta.Minute > m.index || meta.Changed > m.index {
		return errRow
	}
	m.standing = standing{minute: meta.Minute, changed: meta.Changed}
	return nil
}
