package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// This file declares the tables of open holds, of how payments ended, and of the payment
// references in use.

// The open holds are a binary heap: none expires before the one at half its position.

func (r *holdRow) before(other *holdRow) bool {
	return r.ExpiresAt < other.ExpiresAt || r.ExpiresAt == other.ExpiresAt && r.Leaf < other.Leaf
}

func (m *ledger) placeHold(row *holdRow, at uint64) { m.holdAt[row.Leaf] = at }

func (m *ledger) dropHold(at uint64) {
	row := m.holds.At(at)
	if row.Unresolved != 0 {
		m.forgetUnresolved(row)
	}
	delete(m.holdAt, row.Leaf)
	m.registry.countHolds(row.Agent, -1)
	m.giveBack(wire.TableHolds, m.ownerAt(row.Screener), oneRow)
	m.holdHeap.drop(at)
}

// Payment references (decision 47): a payment that uses a reference keeps it for 30 days. If
// its hold is released or expires, the reference becomes free.

func (m *ledger) referenceUsed(key engine.ReferenceKey) (record uint64, used bool) {
	if key == (engine.ReferenceKey{}) {
		return 0, false
	}
	at, known := m.referenceAt[key]
	if !known || m.references.At(at).At+m.limits.ReferenceKept <= m.now {
		return 0, false
	}
	return m.references.At(at).Leaf, true
}

// ReferenceUsed returns the leaf of the record that uses a reference: another call with it
// would be a second payment. It is for readers between two entries, because a View does not
// have the map.
func (m *Machine) ReferenceUsed(key engine.ReferenceKey) (record uint64, used bool) {
	return m.ledger.referenceUsed(key)
}

// roomForReference tells whether an owner may use another reference. If it has used its share up,
// its own oldest reference makes room, once that is a day old.
func (m *ledger) roomForReference(owner Owner) bool {
	if m.hasRoom(wire.TableReferences, owner, oneRow) {
		return true
	}
	at, found := m.oldestReference(owner)
	return found && m.references.At(at).At+m.limits.ReferenceYoung <= m.now
}

// oldestReference returns the position of an owner's oldest reference.
func (m *ledger) oldestReference(owner Owner) (at uint64, found bool) {
	at = m.references.skipGaps(max(m.oldestOf[owner], m.references.First()))
	for at < m.references.Next() {
		if row := m.references.At(at); row.Key != (engine.ReferenceKey{}) && row.Owner == owner {
			found = true
			break
		}
		at = m.references.skipGaps(at + 1)
	}
	m.oldestOf[owner] = at // Only a shorter way for the next search: what was passed never comes back.
	return at, found
}

// useReference notes that a record uses a reference, if it is free. Without room it does nothing:
// calls were refused before (refusePayment), but a settle or an approval cannot be refused for
// that.
func (m *ledger) useReference(key engine.ReferenceKey, record uint64, owner Owner) {
	if _, used := m.referenceUsed(key); used || key == (engine.ReferenceKey{}) || !m.roomForReference(owner) {
		return
	}
	if at, known := m.referenceAt[key]; known {
		m.dropReference(at)
	}
	if !m.hasRoom(wire.TableReferences, owner, oneRow) {
		at, _ := m.oldestReference(owner)
		m.dropReference(at)
	}
	m.take(wire.TableReferences, owner, oneRow)
	m.referenceAt[key] = m.references.Append(referenceRow{Key: key, Leaf: record, At: m.now, Owner: owner})
}

// freeReference gives back a reference that the record used.
func (m *ledger) freeReference(key engine.ReferenceKey, record uint64) {
	if at, known := m.referenceAt[key]; known && m.references.At(at).Leaf == record {
		m.dropReference(at)
	}
}

// dropReference empties a row, and frees its page if that has no other.
func (m *ledger) dropReference(at uint64) {
	row := m.references.Edit(at)
	m.giveBack(wire.TableReferences, row.Owner, oneRow)
	delete(m.referenceAt, row.Key)
	*row = referenceRow{}
	m.references.Release(at, func(row *referenceRow) bool { return row.Key == (engine.ReferenceKey{}) })
}

func (m *ledger) forgetReference() {
	first := m.references.First()
	if m.references.At(first).Key != (engine.ReferenceKey{}) {
		m.dropReference(first)
	}
	m.references.DropFront()
}

// referenceOver tells whether a reference was given back, or is free by now.
func (m *ledger) referenceOver(row *referenceRow) bool {
	return row.Key == (engine.ReferenceKey{}) || row.At+m.limits.ReferenceKept <= m.now
}

func (m *ledger) forgetOutcome() {
	first := m.outcomes.First()
	if row := m.outcomes.At(first); m.outcomeAt[row.Leaf] == first { // Else a late settle came.
		delete(m.outcomeAt, row.Leaf)
	}
	m.outcomes.DropFront()
}
