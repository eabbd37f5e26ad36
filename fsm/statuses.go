package fsm

import (
	"math"

	"railguard/engine"
)

// Every version of a credential has a position of its own in the status lists, given out
// one after another when the version is issued, and never again (decision 53). A row says
// whose version that is; its value is not stored, it follows from the party's own row,
// its ancestors, its operator and its key (status_lists.go). So Apply only has to see to
// it that whoever remembers values learns which may have changed: it touches the page of
// a row (Edit makes it another one), or notes that many may have.

// keyMark stands for a signing key's id in a row. Of 64 keys no two have the same mark in
// practice; if two had, revoking one would revoke both.
func keyMark(kid string) uint32 { return uint32(engine.FilterKey(engine.FilterKind, kid)) }

// statusesFull tells whether no version can be issued any more.
func (m *registry) statusesFull() bool {
	return m.statuses.Len() >= m.limits.Statuses || m.statuses.Next() > math.MaxUint32-StatusListSize
}

// enterStatus gives a version its position; statusesFull was asked before.
func (m *registry) enterStatus(row statusRow) uint32 {
	if row.Matched {
		m.standing.changed = m.index // A position that nobody has reads VALID, this one does not.
	}
	return uint32(m.statuses.Append(row))
}

// enterAgentStatus gives an agent's current version its position.
func (m *registry) enterAgentStatus(p *engine.AgentProfile, older uint32) {
	p.Status = m.enterStatus(statusRow{
		Slot: uint32(p.Slot), Expires: uint32(p.ExpiresAt / engine.Second), Older: older, Key: keyMark(p.KeyID),
		Version: p.CredentialVersion, Kind: CredentialAgent, Matched: p.WalletMatched || p.NameMatched,
	})
	if m.operators.At(uint64(p.Operator)).Suspended {
		m.standing.changed = m.index
	}
}

func (m *registry) enterUserStatus(p *engine.UserProfile, older uint32) {
	p.Status = m.enterStatus(statusRow{
		Slot: uint32(p.Slot), Expires: uint32(p.ExpiresAt / engine.Second), Older: older, Key: keyMark(p.KeyID),
		Version: p.CredentialVersion, Kind: CredentialUser, Matched: p.NameMatched,
	})
}

// agentStatusMoved notes that the values of an agent's versions may be others now: of
// those from the least good one of before on, and of its descendants.
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
	m.standing.wide = m.index // Renewed again and again within one overlap.
}

// allStatusesMoved notes that any value may be another one now.
func (m *registry) allStatusesMoved() { m.standing.wide, m.standing.changed = m.index, m.index }

// turnMinute freezes the state for the status lists when an entry has brought log time into
// another minute: the lists of a minute are the same on every node.
func (m *Machine) turnMinute(before engine.Time) {
	if m.registry.enterMinute(before) {
		m.out.Statuses = m.Freeze()
	}
}

// enterMinute tells whether log time has come into another minute than the one before, and
// notes by which entry.
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

// statusMeta is what a snapshot's first row tells of the positions.
type statusMeta struct {
	First   uint64 `cbor:"1,keyasint"`
	Next    uint64 `cbor:"2,keyasint"`
	Minute  uint64 `cbor:"3,keyasint"`
	Changed uint64 `cbor:"4,keyasint"`
}

// startStatuses takes over what the snapshot says of the positions.
func (m *registry) startStatuses(meta *statusMeta) error {
	if meta.First == 0 || meta.First > meta.Next || meta.Next > math.MaxUint32+1 || meta.Next-meta.First > uint64(m.limits.Statuses)+StatusListSize ||
		meta.Minute > m.index || meta.Changed > m.index {
		return errRow
	}
	m.standing = standing{minute: meta.Minute, changed: meta.Changed}
	return nil
}
