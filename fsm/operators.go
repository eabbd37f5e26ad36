package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// An operator is its slot. Several may have one legal name, and none owns what another has
// because their names are alike: a name only finds the operator that an institution's call
// means, and only where one operator has it.

// namesakes are the operators of one legal name.
type namesakes struct {
	first engine.OperatorSlot
	count uint32
}

// similarMost is how many operators of one fold are remembered.
const similarMost = 10

// noteOperator enters an operator into the maps of names.
func (m *registry) noteOperator(p *engine.OperatorProfile) {
	same := m.operatorsNamed[p.LegalName]
	if same.count++; same.count == 1 {
		same.first = p.Slot
	}
	m.operatorsNamed[p.LegalName] = same
	if like := m.operatorsLike[p.Fold]; len(like) < similarMost {
		m.operatorsLike[p.Fold] = append(like, p.Slot)
	}
}

// operatorMeant returns the operator that a reference means if there is one already, else 0.
func (m *registry) operatorMeant(ref *wire.OperatorRef) engine.OperatorSlot {
	if same := m.operatorsNamed[ref.Name]; ref.Slot == 0 && same.count == 1 {
		return same.first
	}
	return ref.Slot
}

// enterOperator returns the slot of the operator that a reference means, and makes one where
// its name is new. On 0 the record is refused.
func (m *registry) enterOperator(ref *wire.OperatorRef, r *wire.Result) engine.OperatorSlot {
	same := m.operatorsNamed[ref.Name]
	switch {
	case ref.Slot != 0 && m.operators.Has(uint64(ref.Slot)):
		return ref.Slot
	case ref.Slot != 0:
		refuse(r, wire.RefusedNotFound)
		return 0
	case ref.Name == "" || len(ref.Name) > m.limits.OperatorNameBytes || len(ref.Fold) > m.limits.OperatorNameBytes:
		refuse(r, wire.RefusedMalformed)
		return 0
	case same.count == 1:
		return same.first
	case same.count > 1 && !ref.New:
		refuse(r, wire.RefusedAmbiguous)
		return 0
	case m.operators.Len() >= m.limits.Operators:
		refuse(r, wire.RefusedFull)
		return 0
	}
	return m.addOperator(ref)
}

func (m *registry) addOperator(ref *wire.OperatorRef) engine.OperatorSlot {
	profile := &engine.OperatorProfile{
		Slot:      engine.OperatorSlot(m.operators.Append(engine.OperatorRow{})),
		LegalName: ref.Name, Fold: ref.Fold, CreatedAt: m.now, Rev: 1,
	}
	m.operatorProfiles.Append(profile)
	m.noteOperator(profile)
	m.out.Operators = append(m.out.Operators, profile)
	return profile.Slot
}

// operatorFilter is the filter key that finds an operator's leaves.
func (m *registry) operatorFilter(slot engine.OperatorSlot) uint64 {
	return engine.FilterKey(engine.FilterOperator, m.ids.OperatorID(uint32(slot)))
}

// operatorID is an operator's id, "" for none.
func (m *registry) operatorID(slot engine.OperatorSlot) string {
	if slot == 0 {
		return ""
	}
	return m.ids.OperatorID(uint32(slot))
}

// filtersOf are the filter keys that find the leaves of a user, and of its operator if it has
// one.
func (m *registry) filtersOf(id string, operator engine.OperatorSlot) []uint64 {
	filters := append(m.filters(4), engine.FilterKey(engine.FilterAgent, id))
	if operator != 0 {
		filters = append(filters, m.operatorFilter(operator))
	}
	return filters
}

// OperatorsNamed returns how many operators have a legal name (as engine.LegalText writes it),
// and the first of them.
func (m *Machine) OperatorsNamed(name string) (first engine.OperatorSlot, count int) {
	same := m.registry.operatorsNamed[name]
	return same.first, int(same.count)
}

// OperatorsLike returns operators whose names have the fold, at most ten.
func (m *Machine) OperatorsLike(fold string) []engine.OperatorSlot {
	return append([]engine.OperatorSlot(nil), m.registry.operatorsLike[fold]...)
}
