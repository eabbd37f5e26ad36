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

// soundUsed tells whether an edge can have found that.
func (m *ledger) soundUsed(found wire.Used) bool { return found.By == 0 || m.hasLeaf(found.By-1) }

// useOf returns the record that uses a reference. The state has the newest uses only (decision
// 125). An older one is found by the edge, in files beside the state; stale means that it looked
// less far than the state needs.
func (m *ledger) useOf(key engine.ReferenceKey, found wire.Used) (record uint64, used, stale bool) {
	if key == (engine.ReferenceKey{}) {
		return 0, false, false
	}
	if record, used, known := m.referenceUsed(key); known {
		return record, used, false
	}
	if found.Looked < m.usedFrom {
		return 0, false, true
	}
	return max(found.By, 1) - 1, found.By != 0, false
}

// referenceUsed returns the record that uses a reference, as far as the state knows.
func (m *ledger) referenceUsed(key engine.ReferenceKey) (record uint64, used, known bool) {
	at, known := m.referenceAt[key]
	if !known {
		return 0, false, false
	}
	row := m.references.At(at)
	return row.Leaf, !row.Free && row.At+m.limits.ReferenceKept > m.now, true
}

// ReferenceUsed returns the leaf of the record that uses a reference: another call with it
// would be a second payment. known is false if the state may have forgotten it. It is for readers
// between two entries, because a View does not have the map.
func (m *Machine) ReferenceUsed(key engine.ReferenceKey) (record uint64, used, known bool) {
	record, used, known = m.ledger.referenceUsed(key)
	return record, used, known || m.ledger.usedFrom == 0
}

// takeReference notes that a record uses a reference from the leaf told on, or that it is free.
func (m *ledger) takeReference(row referenceRow) {
	if m.references.Len() >= m.limits.References { // From now on the oldest use is found in the files alone.
		m.usedFrom = m.references.At(m.references.First()).Told + 1
		m.forgetReference()
	}
	row.At = m.now
	m.referenceAt[row.Key] = m.references.Append(row)
}

// useReference notes that a record uses a reference, if that is free: the leaf that says so is
// written next. It returns the filters of that leaf.
func (m *ledger) useReference(key engine.ReferenceKey, used bool, record uint64) []uint64 {
	if key == (engine.ReferenceKey{}) || used {
		return nil
	}
	return m.tellReference(referenceRow{Key: key, Leaf: record})
}

// tellReference notes what the next leaf tells of a reference, and returns the filters of that leaf.
func (m *ledger) tellReference(row referenceRow) []uint64 {
	row.Told = m.size
	m.takeReference(row)
	return []uint64{engine.ReferenceFilter(row.Key)}
}

// freeReference gives back a reference that the record used, unless another one uses it by now.
// The leaf that says so is written next; freeReference returns its filters.
func (m *ledger) freeReference(key engine.ReferenceKey, record uint64, since engine.Day) []uint64 {
	by, used, known := m.referenceUsed(key)
	if key == (engine.ReferenceKey{}) || known && (!used || by != record) || m.now >= since.Start()+m.limits.ReferenceKept {
		return nil // What is 30 days old is free, and another may use it.
	}
	return m.tellReference(referenceRow{Key: key, Leaf: record, Free: true})
}

func (m *ledger) forgetReference() {
	first := m.references.First()
	if key := m.references.At(first).Key; m.referenceAt[key] == first { // Else it was freed or used since.
		delete(m.referenceAt, key)
	}
	m.references.DropFront()
}

func (m *ledger) forgetOutcome() {
	first := m.outcomes.First()
	if row := m.outcomes.At(first); m.outcomeAt[row.Leaf] == first { // Else a late settle came.
		delete(m.outcomeAt, row.Leaf)
	}
	m.outcomes.DropFront()
}
