package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
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
	if same := m.operatorsNamed[ref.Name]; ref.Slot == 0 && same.count == 1 && !ref.Another {
		return same.first
	}
	return ref.Slot
}

// findOperator returns the operator that a reference means. Slot 0 without a refusal says that
// enterOperator would make one. It changes nothing.
func (m *registry) findOperator(ref *wire.OperatorRef) (engine.OperatorSlot, wire.Refusal) {
	same := m.operatorsNamed[ref.Name]
	switch {
	case ref.Slot != 0 && m.operators.Has(uint64(ref.Slot)):
		return ref.Slot, 0
	case ref.Slot != 0:
		return 0, wire.RefusedNotFound
	case !m.soundOperatorName(ref):
		return 0, wire.RefusedMalformed
	case same.count == 1 && !ref.Another:
		return same.first, 0
	case same.count > 1 && !ref.New && !ref.Another:
		return 0, wire.RefusedAmbiguous
	case m.operators.Len() >= m.limits.Operators:
		return 0, wire.RefusedFull
	}
	return 0, 0
}

func (m *registry) soundOperatorName(ref *wire.OperatorRef) bool {
	return ref.Name != "" && max(len(ref.Name), len(ref.Fold)) <= m.limits.OperatorNameBytes
}

// enterOperator returns the slot of the operator that a reference means, and makes one where
// its name is new. On 0 the record is refused.
func (m *registry) enterOperator(ref *wire.OperatorRef, r *wire.Result) engine.OperatorSlot {
	slot, why := m.findOperator(ref)
	switch {
	case why != 0:
		refuse(r, why)
	case slot == 0:
		slot = m.addOperator(ref)
	}
	return slot
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

// walletFits tells whether an operator has room for a wallet. An operator that is yet to be made
// (slot 0) has.
func (m *registry) walletFits(slot engine.OperatorSlot, wallet string) bool {
	if slot == 0 || wallet == "" {
		return true
	}
	profile := *m.operatorProfiles.At(uint64(slot))
	return len(profile.Wallets) < m.limits.OperatorWallets || walletAt(profile, wallet) >= 0
}

func walletAt(p *engine.OperatorProfile, wallet string) int {
	return slices.IndexFunc(p.Wallets, func(w engine.OperatorWallet) bool { return w.Wallet == wallet })
}

// noteWallet enters an agent's wallet among those of its operator. Only the newest answer of the
// list counts.
func (m *registry) noteWallet(agent *engine.AgentProfile, agents uint32) {
	if agent.OperatorWallet == "" {
		return
	}
	m.editWallets(agent.Operator, func(p *engine.OperatorProfile) (judged bool) {
		at := walletAt(p, agent.OperatorWallet)
		if at < 0 {
			p.Wallets = append(p.Wallets, engine.OperatorWallet{Wallet: agent.OperatorWallet})
			at, judged = len(p.Wallets)-1, true
		}
		w := &p.Wallets[at]
		judged = judged || w.Matched != agent.WalletMatched
		w.Matched = agent.WalletMatched
		w.Agents += agents
		return judged
	})
}

// replaceWallet follows a re-issue. An agent that goes to another operator leaves its wallet with
// the one before: what hit that operator goes on to hit its other agents.
func (m *registry) replaceWallet(old, renewed *engine.AgentProfile) {
	same := old.Operator == renewed.Operator
	if same && old.OperatorWallet == renewed.OperatorWallet {
		m.noteWallet(renewed, 0)
		return
	}
	m.noteWallet(renewed, 1)
	if !same || old.OperatorWallet == "" {
		return
	}
	m.leaveWallet(old.Operator, old.OperatorWallet)
}

// leaveWallet takes an agent off a wallet of an operator. Without agents it is none of the
// operator's any more.
func (m *registry) leaveWallet(slot engine.OperatorSlot, wallet string) {
	m.editWallets(slot, func(p *engine.OperatorProfile) (judged bool) {
		at := walletAt(p, wallet)
		if at < 0 {
			panic("BUG: a wallet of an agent is none of its operator's")
		}
		if p.Wallets[at].Agents--; p.Wallets[at].Agents == 0 {
			p.Wallets = slices.Delete(p.Wallets, at, at+1)
			return true
		}
		return false
	})
}

// noteTax counts an agent whose tax number was or is listed, for the operator that it has now. An
// agent that went to another operator goes on to count for the one before.
func (m *registry) noteTax(slot engine.OperatorSlot, was, is bool) {
	if was == is {
		return
	}
	m.editWallets(slot, func(p *engine.OperatorProfile) (judged bool) {
		if is {
			p.TaxMatched++
			return p.TaxMatched == 1
		}
		p.TaxMatched--
		return p.TaxMatched == 0
	})
}

// taxListed notes that an agent's tax number came on the list. It reports whether that is new.
func (m *registry) taxListed(slot engine.AgentSlot) bool {
	old := *m.profiles.At(uint64(slot))
	if old.TaxMatched || len(old.EINSealed) == 0 {
		return false
	}
	profile := *old
	profile.Rev++
	profile.TaxMatched = true
	m.replaceProfile(&profile)
	m.noteTax(profile.Operator, false, true)
	return true
}

// editWallets replaces an operator's profile. The revision rises if edit says that what is judged
// has changed.
func (m *registry) editWallets(slot engine.OperatorSlot, edit func(*engine.OperatorProfile) (judged bool)) {
	profile := **m.operatorProfiles.At(uint64(slot))
	profile.Wallets = slices.Clone(profile.Wallets)
	if edit(&profile) {
		profile.Rev++
	}
	m.replaceOperator(&profile)
}

func (m *registry) replaceOperator(profile *engine.OperatorProfile) {
	*m.operatorProfiles.Edit(uint64(profile.Slot)) = profile
	m.out.Operators = append(m.out.Operators, profile)
}

// applyOperatorLimit sets what all agents of an operator may spend on a UTC day. The institution
// sets it, so that nobody widens what holds for himself.
func (m *registry) applyOperatorLimit(b *wire.OperatorLimit, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch {
	case !m.operators.Has(uint64(b.Operator)):
		refuse(r, wire.RefusedNotFound)
		return
	case !m.isInstitutions(&b.Common):
		refuse(r, wire.RefusedScope)
		return
	case b.Limit != nil && *b.Limit < 0:
		refuse(r, wire.RefusedMalformed)
		return
	}
	profile := **m.operatorProfiles.At(uint64(b.Operator))
	if profile.Rev != b.BaseRev {
		r.Value = uint64(profile.Rev)
		refuse(r, wire.RefusedVersion)
		return
	}
	profile.DailyLimit = b.Limit
	profile.Rev++
	m.replaceOperator(&profile)
	id := m.ids.OperatorID(uint32(b.Operator))
	m.writeEvent("operator.limit", leaf.OperatorChanged{OperatorID: id, Rev: uint64(profile.Rev)}, &b.Common, r, m.operatorFilter(b.Operator))
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
