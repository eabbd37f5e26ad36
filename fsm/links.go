package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
)

// Every leaf about a record names the leaf about it that stands before, and every leaf about an
// agent has its number among them and names the one before (decision 102). So a reader of some
// of these leaves sees that others are missing. The newest leaf about a record follows from the
// rows that are kept for other reasons; only a review has a field for it, because most of what
// officers do leaves no row.

// linkRecord places the leaf that is written next among those about a record, and among those
// about its agent, if it has one.
func (m *desk) linkRecord(record uint64, agent engine.AgentSlot) leaf.RecordLink {
	link := leaf.RecordLink{RecordPrevious: m.newestAbout(record)}
	if at, found := m.reviewRowOf(record); found {
		m.reviews.Edit(at).Newest = m.size
	}
	if m.registry.agents.Has(uint64(agent)) {
		link.AgentID = m.ids.AgentID(uint32(agent))
	}
	if m.registry.hasAgent(agent) { // A retired one's leaves have their last number.
		link.Link = m.registry.linkAgent(agent)
	}
	return link
}

// newestAbout returns the newest written leaf about a record: the record itself, or what became
// of it since. Of a review that found no room in the queue, proposals that were closed are not
// known any more.
func (m *desk) newestAbout(record uint64) uint64 {
	newest := max(record, m.payments.endedBy(record))
	if at, found := m.reviewRowOf(record); found {
		newest = max(newest, m.reviews.At(at).Newest)
	}
	if at, done := m.disposedBy[record]; done && m.hasLeaf(m.dispositions.At(at).Later) {
		newest = max(newest, m.dispositions.At(at).Later)
	}
	if at, open := m.proposalAt[dispositionTopic(record)]; open && m.hasLeaf(m.proposals.At(at).Later) {
		newest = max(newest, m.proposals.At(at).Later)
	}
	return newest
}

// agentOf returns the agent whose call was reviewed; 0: none, or it is not known any more.
func (m *desk) agentOf(record uint64) engine.AgentSlot {
	if at, found := m.reviewRowOf(record); found {
		return m.reviews.At(at).Agent
	}
	if at, done := m.disposedBy[record]; done {
		return m.dispositions.At(at).Agent
	}
	return 0
}

// markEnded notes that the payment of a record has ended, if the record was reviewed.
func (m *desk) markEnded(record uint64) {
	if at, found := m.reviewRowOf(record); found {
		m.reviews.Edit(at).Ended = true
	}
}

// hasEnded tells whether a payment under review has ended.
func (m *desk) hasEnded(record uint64) bool {
	at, found := m.reviewRowOf(record)
	return found && m.reviews.At(at).Ended
}

// reviewRowOf finds the row of a review, open or decided.
func (m *desk) reviewRowOf(record uint64) (at uint64, found bool) {
	return searchReviews(m.reviews.First(), m.reviews.Next(), record, func(i uint64) uint64 { return m.reviews.At(i).Leaf })
}

// filtersOf returns what a leaf about a review is found by.
func filtersOf(r *leaf.Reviewed) []uint64 {
	filters := []uint64{engine.FilterKey(engine.FilterTxn, r.TxnID)}
	if r.AgentID != "" {
		filters = append(filters, engine.FilterKey(engine.FilterAgent, r.AgentID))
	}
	return filters
}
