package fsm

import "railguard/engine"

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
	m.countOwner(row.Screener, -1)
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

// referencesFull tells whether the table is full and its oldest reference is too young to
// make room.
func (m *ledger) referencesFull() bool {
	if m.references.Len() < m.limits.References {
		return false
	}
	oldest := m.references.At(m.references.First())
	return oldest.Key != (engine.ReferenceKey{}) && oldest.At+m.limits.ReferenceYoung > m.now
}

// useReference notes that a record uses a reference, if it is free. If the table is full of
// young references, it does nothing: calls were refused before (paymentsFull), but a settle
// or an approval cannot be refused for that.
func (m *ledger) useReference(key engine.ReferenceKey, record uint64) {
	if _, used := m.referenceUsed(key); used || key == (engine.ReferenceKey{}) || m.referencesFull() {
		return
	}
	if at, known := m.referenceAt[key]; known {
		m.references.Edit(at).Key = engine.ReferenceKey{}
	}
	if m.references.Len() >= m.limits.References {
		m.forgetReference()
	}
	m.referenceAt[key] = m.references.Append(referenceRow{Key: key, Leaf: record, At: m.now})
}

// freeReference gives back a reference that the record used.
func (m *ledger) freeReference(key engine.ReferenceKey, record uint64) {
	at, known := m.referenceAt[key]
	if !known || m.references.At(at).Leaf != record {
		return
	}
	m.references.Edit(at).Key = engine.ReferenceKey{}
	delete(m.referenceAt, key)
}

func (m *ledger) forgetReference() {
	if key := m.references.At(m.references.First()).Key; key != (engine.ReferenceKey{}) {
		delete(m.referenceAt, key)
	}
	m.references.DropFront()
}

// referenceOver tells whether a reference was given back, or is free by now.
func (m *ledger) referenceOver(row *referenceRow) bool {
	return row.Key == (engine.ReferenceKey{}) || row.At+m.limits.ReferenceKept <= m.now
}

func (m *ledger) forgetOutcome() {
	delete(m.outcomeAt, m.outcomes.At(m.outcomes.First()).Leaf)
	m.outcomes.DropFront()
}

// endingForgotten tells whether a full table may have dropped the ending of a payment. A
// table that is not full has lost only the endings of records past their retention.
func (m *ledger) endingForgotten(record uint64) bool {
	return m.outcomes.First() > 0 && m.outcomes.Len() >= m.limits.Outcomes && record < m.outcomes.At(m.outcomes.First()).Later
}
