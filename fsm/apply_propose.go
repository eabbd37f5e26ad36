package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Proposals of acts that need two persons (persons.go). Another person confirms or withdraws
// a proposal; after a day of log time it lapses, and so it does when the proposer's key ends.

// proposalOn finds the open proposal on a topic. It lapses a proposal whose time is over, if
// no tick has done so yet.
func (m *desk) proposalOn(topic [16]byte) (at uint64, open bool) {
	at, open = m.proposalAt[topic]
	return at, open && !m.lapseOver(at)
}

// lapseOver lapses a proposal if its time is over or its proposer's key has ended.
func (m *desk) lapseOver(at uint64) bool {
	row := m.proposals.At(at)
	if m.now < row.At+m.limits.ProposalKept && keyEnded(m.now, m.proposerOf(row)) == 0 {
		return false
	}
	m.lapseProposal(at)
	return true
}

// proposerOf returns the key of who proposed; nil, which no correct row has: there is none.
func (m *desk) proposerOf(row *proposalRow) *wire.APIKey {
	if row.Key == 0 || uint64(row.Key) > uint64(len(m.settings.Keys)) {
		return nil
	}
	return m.settings.Keys[row.Key-1]
}

// proposalNamed finds the open proposal that a leaf made.
func (m *desk) proposalNamed(later uint64) (at uint64, open bool) {
	at, open = searchReviews(m.proposals.First(), m.proposals.Next(), later, func(i uint64) uint64 { return m.proposals.At(i).Later })
	return at, open && m.proposals.At(at).Kind != 0 && !m.lapseOver(at)
}

// openProposal writes a proposal and its leaf. The leaf holds the edge's part of the act, so
// that the second person reads what he confirms.
func (m *desk) openProposal(a *act, hash [32]byte, names engine.Acts, common *wire.Common, r *wire.Result) {
	row := proposalRow{
		Leaf: a.reviewed, Later: m.size, At: m.now, Topic: a.topicHash(hash), Hash: hash, Key: common.Key.Row,
		Kind: a.kind, Acts: names, Disposition: a.disposition,
	}
	if a.record != nil {
		row.Act = &keptAct{Fragment: common.Fragment, Filters: common.Filters, Body: wire.Encode(a.record)}
	}
	if m.proposals.Len() >= m.limits.Proposals || row.Act != nil && m.actsKept >= m.limits.ProposedActs {
		refuse(r, wire.RefusedFull)
		return
	}
	m.proposalAt[row.Topic] = m.proposals.Append(row)
	proposal := m.describeProposal(&row)
	if row.Act != nil {
		m.actsKept++
	}
	if row.Disposition == 0 {
		of, filters := m.describeCase(&row)
		a.event.Case, a.event.LapsesAt, a.event.Proposal = of, m.now+m.limits.ProposalKept, proposal
		m.writeEvent(leaf.KindActProposed, a.event, common, r, filters...)
		return
	}
	m.out.Proposals = append(m.out.Proposals, LeafLink{Leaf: row.Leaf, Later: row.Later})
	event := leaf.Proposed{
		Reviewed: m.describeReviewed(row.Leaf), Disposition: dispositionNames[row.Disposition], LapsesAt: m.now + m.limits.ProposalKept, Proposal: proposal,
	}
	m.writeEvent(leaf.KindProposed, event, common, r, filtersOf(&event.Reviewed)...)
}

// describeReviewed returns the members that name its review in the leaf that is written next.
func (m *desk) describeReviewed(record uint64) leaf.Reviewed {
	return leaf.Reviewed{TxnID: m.ids.TxnID(record), ReviewedLeaf: record, RecordLink: m.linkRecord(record, m.agentOf(record))}
}

// describeCase returns the members that name the case of an act in the leaf that is written
// next, and what it is found by. The leaf is none of those about the record and its agent: those show
// to an operator, who must learn of no report.
func (m *desk) describeCase(row *proposalRow) (of leaf.Case, filters []uint64) {
	if row.Leaf == 0 {
		return of, nil
	}
	of = leaf.Case{TxnID: m.txnOf(row.Leaf), ReviewedLeaf: row.Leaf}
	return of, []uint64{engine.FilterKey(engine.FilterTxn, of.TxnID)}
}

func (m *desk) describeProposal(row *proposalRow) leaf.Proposal {
	return leaf.Proposal{
		ProposalID: m.ids.ProposalID(row.Later), Acts: row.Acts.Names(), Hash: row.Hash, ProposedBy: m.proposerOf(row).Subject().String(),
	}
}

// describeEnd returns the leaf of a proposal that ended without being confirmed, and what it is
// found by.
func (m *desk) describeEnd(row *proposalRow) (event any, filters []uint64) {
	if row.Disposition == 0 {
		of, filters := m.describeCase(row)
		return leaf.ActWithdrawn{Case: of, ProposedLeaf: row.Later, Proposal: m.describeProposal(row)}, filters
	}
	withdrawn := leaf.Withdrawn{
		Reviewed: m.describeReviewed(row.Leaf), Disposition: dispositionNames[row.Disposition], ProposedLeaf: row.Later, Proposal: m.describeProposal(row),
	}
	return withdrawn, filtersOf(&withdrawn.Reviewed)
}

// closeProposal closes a proposal. Its row is dropped when it comes to the front of the
// table.
func (m *desk) closeProposal(at uint64) {
	row := m.proposals.Edit(at)
	delete(m.proposalAt, row.Topic)
	if row.Disposition != 0 {
		m.out.Proposals = append(m.out.Proposals, LeafLink{Leaf: row.Leaf})
	}
	if row.Act != nil {
		m.actsKept--
	}
	row.Kind, row.Act = 0, nil
}

// applyWithdraw takes a proposal back, its proposer's own too: a slip must not wait for somebody
// else. Nothing is lost by it, because the proposal and its end are leaves (decision 145).
func (m *desk) applyWithdraw(b *wire.Withdraw, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasLeaf(b.Leaf) || !m.hasLeaf(b.Proposal) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, open := m.proposalNamed(b.Proposal)
	if b.Proposal == 0 {
		at, open = m.proposalOn(dispositionTopic(b.Leaf))
	}
	if !open {
		refuse(r, wire.RefusedNotProposed)
		return
	}
	row := *m.proposals.At(at)
	if caller, ended := m.callerKey(&b.Common), m.settings.endedBy(&row); ended != nil && samePerson(caller, ended) && !samePerson(caller, m.proposerOf(&row)) {
		refuse(r, wire.RefusedOwnEnd)
		return
	}
	m.closeProposal(at)
	kind := leaf.KindActWithdrawn
	if row.Disposition != 0 {
		kind = leaf.KindWithdrawn
	}
	event, filters := m.describeEnd(&row)
	m.writeEvent(kind, event, &b.Common, r, filters...)
}

// applyConfirm does what was proposed, with the second person's key. The part that owns the
// act judges it again: what cannot be done any more is refused, and the proposal stays until
// it lapses.
func (m *Machine) applyConfirm(b *wire.Confirm, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	at, open := m.desk.proposalNamed(b.Proposal)
	if !open {
		refuse(r, wire.RefusedNotProposed)
		return
	}
	row := m.desk.proposals.At(at)
	switch row.Kind {
	case wire.KindSAR:
		confirmAct(b, row.Act, r, m.desk.applySAR)
	case wire.KindSanctions:
		confirmAct(b, row.Act, r, m.desk.applySanctions)
	case wire.KindListActivate:
		confirmAct(b, row.Act, r, m.rulebook.applyListActivate)
	case wire.KindPolicy:
		confirmAct(b, row.Act, r, m.rulebook.applyPolicy)
	case wire.KindWhitelist:
		confirmAct(b, row.Act, r, m.rulebook.applyWhitelist)
	case wire.KindAPIKey:
		confirmAct(b, row.Act, r, m.keys.applyAPIKey)
	case wire.KindCleared:
		confirmAct(b, row.Act, r, m.rulebook.applyCleared)
	case wire.KindTime:
		confirmAct(b, row.Act, r, m.applyTime)
	case wire.KindPersonEnd:
		confirmAct(b, row.Act, r, m.keys.applyPersonEnd)
	default: // A disposition: the second person sends his own.
		refuse(r, wire.RefusedMalformed)
	}
}

// confirmAct applies a kept record for the second person.
func confirmAct[B any, P interface {
	*B
	Adopt(*wire.Common)
	Keep([]byte, []uint64)
}](b *wire.Confirm, kept *keptAct, r *wire.Result, do func(*B, *wire.Result)) {
	var record B
	if err := wire.DecodeBody(kept.Body, &record); err != nil {
		panic("BUG: a kept record that cannot be read: " + err.Error())
	}
	P(&record).Keep(kept.Fragment, kept.Filters)
	P(&record).Adopt(&b.Common)
	do(&record, r)
}

// dropTopic lapses the open proposal on the one thing of a kind, because it was changed in
// another way and what was proposed no longer fits.
func (m *desk) dropTopic(kind wire.Kind) {
	topic := (&act{kind: kind, whole: true}).topicHash([32]byte{})
	if at, open := m.proposalAt[topic]; open {
		m.lapseProposal(at)
	}
}

// lapseProposals ends proposals that are more than a day old, the oldest first, a bounded
// number in each tick.
func (m *desk) lapseProposals() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.proposals.Len() > 0; n++ {
		if first := m.proposals.First(); m.proposals.At(first).Kind != 0 && !m.lapseOver(first) {
			return
		}
		m.proposals.DropFront()
	}
}

func (m *desk) lapseProposal(at uint64) {
	row := *m.proposals.At(at)
	m.closeProposal(at)
	due := leaf.DueAct
	if row.Disposition != 0 {
		due = leaf.DueProposal
	}
	event, filters := m.describeEnd(&row)
	m.writeDueEvent(due, event, filters...)
}

// Waiting is a proposal that waits for its second person.
type Waiting struct {
	Leaf        uint64 // The record under review; 0: the act is about no review.
	Later       uint64 // The proposal's leaf.
	LapsesAt    engine.Time
	Key         *wire.APIKey // The proposer's.
	Kind        wire.Kind    // Of the record that would be applied.
	Acts        engine.Acts
	Hash        [32]byte
	Disposition uint8        // 0: it is another act.
	Against     *wire.APIKey // A key of the person whom it would end; nil: it ends nobody.
}

// Seconds is Seconds for a proposal: whom it ends has no say in it.
func (w *Waiting) Seconds(now engine.Time, key *wire.APIKey) wire.Refusal {
	why := Seconds(now, w.Key, key)
	if why == 0 && w.Against != nil && samePerson(w.Against, key) {
		why = wire.RefusedOwnEnd
	}
	return why
}

// waitingAt returns the proposal of a row; false: it is over.
func (v *View) waitingAt(at uint64) (Waiting, bool) {
	row := v.proposals.At(at)
	if row.Kind == 0 {
		return Waiting{}, false
	}
	key, lapses := v.settings.Keys[row.Key-1], row.At+engine.LimitsOf(v.Format).ProposalKept
	return Waiting{row.Leaf, row.Later, lapses, key, row.Kind, row.Acts, row.Hash, row.Disposition, v.settings.endedBy(row)}, v.Time < lapses && keyEnded(v.Time, key) == 0
}

// Proposal returns the open proposal that a leaf made.
func (v *View) Proposal(later uint64) (Waiting, bool) {
	at, found := searchReviews(v.proposals.First(), v.proposals.Next(), later, func(i uint64) uint64 { return v.proposals.At(i).Later })
	if !found {
		return Waiting{}, false
	}
	return v.waitingAt(at)
}

// Proposals calls fn with open proposals until fn returns false: those before a leaf, newest
// first, or, if ascending, those after it, oldest first.
func (v *View) Proposals(leaf uint64, ascending bool, fn func(Waiting) bool) {
	first, next := v.proposals.First(), v.proposals.Next()
	at, found := searchReviews(first, next, leaf, func(i uint64) uint64 { return v.proposals.At(i).Later })
	if ascending && found {
		at++
	}
	for {
		if !ascending {
			at--
		}
		if at < first || at >= next {
			return
		}
		if waiting, open := v.waitingAt(at); open && !fn(waiting) {
			return
		}
		if ascending {
			at++
		}
	}
}
