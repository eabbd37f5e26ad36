package fsm

import "railguard/engine"

// Payment references (decision 47): the one payment that uses a reference holds it for
// 30 days. A hold that is released or expires gives it back.

// referenceUsed returns the record that uses a reference.
func (m *Machine) referenceUsed(key engine.ReferenceKey) (record uint64, used bool) {
	if key == (engine.ReferenceKey{}) {
		return 0, false
	}
	at, known := m.referenceAt[key]
	if !known || m.references.At(at).At+m.limits.ReferenceKept <= m.now {
		return 0, false
	}
	return m.references.At(at).Leaf, true
}

// ReferenceUsed returns the leaf of the record that uses a reference: a call with it would
// be a second one. It is for readers between two entries, who get no map of a View.
func (m *Machine) ReferenceUsed(key engine.ReferenceKey) (record uint64, used bool) {
	return m.referenceUsed(key)
}

// referencesFull tells whether the oldest reference of a full table is too young to
// make room.
func (m *Machine) referencesFull() bool {
	if m.references.Len() < m.limits.References {
		return false
	}
	oldest := m.references.At(m.references.First())
	return oldest.Key != (engine.ReferenceKey{}) && oldest.At+m.limits.ReferenceYoung > m.now
}

// useReference has a record use a reference that is free. Where the table is full of
// young ones it is not remembered: calls were refused before (paymentsFull), and what
// comes here after the fact cannot be.
func (m *Machine) useReference(key engine.ReferenceKey, record uint64) {
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
func (m *Machine) freeReference(key engine.ReferenceKey, record uint64) {
	at, known := m.referenceAt[key]
	if !known || m.references.At(at).Leaf != record {
		return
	}
	m.references.Edit(at).Key = engine.ReferenceKey{}
	delete(m.referenceAt, key)
}

func (m *Machine) forgetReference() {
	if key := m.references.At(m.references.First()).Key; key != (engine.ReferenceKey{}) {
		delete(m.referenceAt, key)
	}
	m.references.DropFront()
}

func (m *Machine) expireReferences() {
	for n := 0; n < m.limits.ForgottenAtOneTime && m.references.Len() > 0; n++ {
		row := m.references.At(m.references.First())
		if row.Key != (engine.ReferenceKey{}) && row.At+m.limits.ReferenceKept > m.now {
			return
		}
		m.forgetReference()
	}
}

// expireOutcomes forgets how payments ended, with the leaves that say so.
func (m *Machine) expireOutcomes() {
	for n := 0; n < m.limits.ForgottenAtOneTime && m.outcomes.Len() > 0; n++ {
		row := m.outcomes.At(m.outcomes.First())
		if row.Later >= m.oldest {
			return
		}
		m.forgetOutcome()
	}
}

func (m *Machine) forgetOutcome() {
	delete(m.outcomeAt, m.outcomes.At(m.outcomes.First()).Leaf)
	m.outcomes.DropFront()
}

// endingForgotten tells whether a payment of which no ending is known may have had one
// that a full table displaced. In one that is not full only those of records past their
// retention are gone.
func (m *Machine) endingForgotten(record uint64) bool {
	return m.outcomes.First() > 0 && m.outcomes.Len() >= m.limits.Outcomes && record < m.outcomes.At(m.outcomes.First()).Later
}
