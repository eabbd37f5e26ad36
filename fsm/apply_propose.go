package fsm

import (
	"crypto/sha256"

	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Four eyes (decision 48): if the policy wants two persons, the first disposition is only a
// proposal. Another person with another key confirms or withdraws it; after a day of log time
// it lapses. A case has at most one open proposal.

// twoDecide tells whether the amount or the rule of a case demands two persons.
func (m *desk) twoDecide(b *wire.Disposition) bool {
	two := m.settings.Policy.FourEyes
	return two != nil && (b.Amount >= two.AmountFrom() || two.Rules&(1<<b.Rule) != 0)
}

// personHash is the stored form of the proposer's name.
func personHash(by string) (hash [16]byte) {
	sum := sha256.Sum256([]byte(by))
	copy(hash[:], sum[:])
	return hash
}

// proposalOf finds the open proposal on a case. It lapses a proposal whose time is over, if
// no tick has done so yet.
func (m *desk) proposalOf(record uint64) (at uint64, open bool) {
	if at, open = m.proposalAt[record]; open && m.now >= m.proposals.At(at).At+m.limits.ProposalKept {
		m.lapseProposal(at)
		return 0, false
	}
	return at, open
}

// keyRow returns the row of the API key that a call came with; 0: the node itself.
func keyRow(common *wire.Common) uint32 {
	if common.Key == nil {
		return 0
	}
	return common.Key.Row
}

// samePerson tells whether a caller is the proposer, by name or by key.
func (p *proposalRow) samePerson(by string, common *wire.Common) bool {
	return p.By == personHash(by) || p.Key == keyRow(common)
}

// decideFourEyes decides whether a disposition counts, or must first be confirmed by a second
// person. If it does not count, r holds the answer. confirms is the leaf of the proposal that
// the disposition confirms, or 0.
func (m *desk) decideFourEyes(b *wire.Disposition, r *wire.Result) (confirms uint64, counts bool) {
	at, open := m.proposalOf(b.Leaf)
	if !m.twoDecide(b) { // A proposal may be open because the policy demanded two persons before.
		if open {
			m.closeProposal(at)
		}
		return 0, true
	}
	if !open {
		m.openProposal(b, r)
		return 0, false
	}
	row := m.proposals.At(at)
	r.Value = row.Later
	switch {
	case row.samePerson(b.By, &b.Common):
		refuse(r, wire.RefusedSamePerson)
	case row.Disposition != b.Disposition:
		refuse(r, wire.RefusedProposed)
	default:
		confirms, r.Value = row.Later, 0
		m.closeProposal(at)
		return confirms, true
	}
	return 0, false
}

func (m *desk) openProposal(b *wire.Disposition, r *wire.Result) {
	if m.proposals.Len() >= m.limits.Proposals {
		refuse(r, wire.RefusedFull)
		return
	}
	m.proposalAt[b.Leaf] = m.proposals.Append(proposalRow{
		Leaf: b.Leaf, Later: m.size, At: m.now, By: personHash(b.By), Key: keyRow(&b.Common), Disposition: b.Disposition,
	})
	m.out.Proposals = append(m.out.Proposals, LeafLink{Leaf: b.Leaf, Later: m.size})
	event := leaf.Proposed{
		Reviewed: m.describeReviewed(b.Leaf), Disposition: dispositionNames[b.Disposition], LapsesAt: m.now + m.limits.ProposalKept,
	}
	m.writeEvent(leaf.KindProposed, event, &b.Common, r, filtersOf(&event.Reviewed)...)
}

// describeReviewed returns the members that name its review in the leaf that is written next.
func (m *desk) describeReviewed(record uint64) leaf.Reviewed {
	return leaf.Reviewed{TxnID: m.ids.TxnID(record), ReviewedLeaf: record, RecordLink: m.linkRecord(record, m.agentOf(record))}
}

func (m *desk) describeWithdrawn(row *proposalRow) leaf.Withdrawn {
	return leaf.Withdrawn{Reviewed: m.describeReviewed(row.Leaf), Disposition: dispositionNames[row.Disposition], ProposedLeaf: row.Later}
}

// closeProposal closes a proposal. Its row is dropped when it comes to the front of the
// table.
func (m *desk) closeProposal(at uint64) {
	row := m.proposals.Edit(at)
	delete(m.proposalAt, row.Leaf)
	row.Disposition = 0
	m.out.Proposals = append(m.out.Proposals, LeafLink{Leaf: row.Leaf})
}

// applyWithdraw takes back what another person proposed.
func (m *desk) applyWithdraw(b *wire.Withdraw, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Leaf >= m.size || b.By == "" || len(b.By) > m.limits.FieldBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, open := m.proposalOf(b.Leaf)
	if !open {
		refuse(r, wire.RefusedNotProposed)
		return
	}
	row := *m.proposals.At(at)
	if row.samePerson(b.By, &b.Common) {
		r.Value = row.Later
		refuse(r, wire.RefusedSamePerson)
		return
	}
	m.closeProposal(at)
	event := m.describeWithdrawn(&row)
	m.writeEvent(leaf.KindWithdrawn, event, &b.Common, r, filtersOf(&event.Reviewed)...)
}

// lapseProposals ends proposals that are more than a day old, the oldest first, a bounded
// number in each tick.
func (m *desk) lapseProposals() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.proposals.Len() > 0; n++ {
		row := m.proposals.At(m.proposals.First())
		if row.Disposition != 0 {
			if m.now < row.At+m.limits.ProposalKept {
				return
			}
			m.lapseProposal(m.proposals.First())
		}
		m.proposals.DropFront()
	}
}

func (m *desk) lapseProposal(at uint64) {
	row := *m.proposals.At(at)
	m.closeProposal(at)
	event := m.describeWithdrawn(&row)
	m.writeDueEvent(leaf.DueProposal, event, filtersOf(&event.Reviewed)...)
}
