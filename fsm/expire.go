package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyTick does the periodic work, and takes the leader's digest of a past state, which
// every node compares off the hot path.
func (m *Machine) applyTick(body []byte, r *wire.Result) {
	var tick wire.Tick
	if len(body) > 0 {
		if err := wire.DecodeBody(body, &tick); err != nil || len(tick.Digest) > 32 {
			refuse(r, wire.RefusedMalformed)
			return
		}
	}
	if len(tick.Digest) == 32 {
		m.out.CheckIndex, m.out.CheckDigest = tick.Index, tick.Digest
	}
	m.registry.sweepUsers()
	m.ledger.sweepActivity()
	m.registry.sweepAttestations()
	m.keys.retireKeys()
	m.ledger.expireHolds()
	m.desk.lapseProposals()
	m.desk.lapseLooks()
	m.desk.tellOverdue()
	m.desk.tellSARs()
	m.keys.forgetDeadLetters()
	m.registry.forgetStatuses()
	m.fallDue()
	m.greatestShares()
	r.Code = wire.Unchanged
}

// expireRows runs at every entry. It moves the retention of leaves on, and then drops the
// rows that have expired by their tables' declarations.
func (m *Machine) expireRows() {
	m.expireDays()
	for _, table := range planned.tables {
		table.expireRows(m)
	}
}

func (m *desk) forgetReview() {
	at := m.reviews.First()
	if m.reviews.At(at).State == ReviewOpen {
		m.reviewClosed(at)
	}
	m.reviews.DropFront()
	if m.open.First() < m.reviews.First()/openWord {
		m.open.DropFront()
	}
}

func (m *desk) forgetDisposition() {
	delete(m.disposedBy, m.dispositions.At(m.dispositions.First()).Leaf)
	m.dispositions.DropFront()
}

// sweepAttestations drops attestations that are 25 hours old. Each tick looks at some agents
// in turn. Log time determines which ones, so no position has to be stored.
func (m *registry) sweepAttestations() {
	first, count := m.attestations.First(), uint64(m.attestations.Len())
	step := min(uint64(m.limits.ForgottenAtOneTime), count)
	at := uint64(0)
	if count > 0 {
		at = uint64(m.now/engine.Second) * step % count
	}
	for range step {
		m.forgetAttestations(first + at)
		if at++; at == count {
			at = 0
		}
	}
}

// forgetAttestations drops the attestations of an agent that are too old. They are in order,
// the newest first.
func (m *registry) forgetAttestations(slot uint64) {
	held := *m.attestations.At(slot)
	if held == nil {
		return
	}
	left := len(*held)
	for left > 0 && m.now >= (*held)[left-1].At+m.limits.AttestationStored {
		left--
	}
	switch {
	case left == 0:
		m.replaceAttestations(engine.AgentSlot(slot), nil)
	case left < len(*held):
		kept := slices.Clone((*held)[:left]) // A clone, because readers may have the old slice.
		m.replaceAttestations(engine.AgentSlot(slot), &kept)
	}
}

// retireKeys drops signing keys whose last token has certainly expired: 91 days and a day for
// clock skew after a newer key for credentials, itself not revoked, began to sign; a day after a
// newer key for permits, which last minutes.
func (m *keys) retireKeys() {
	keys := m.settings.SigningKeys
	grace := [...]engine.Time{wire.ForCredentials: m.limits.AgentValidity + engine.DayLength, wire.ForPermits: engine.DayLength}
	var over [len(grace)]int // How many keys for each are over, by their place.
	for i, key := range keys {
		if key.RevokedAt == 0 && key.ActivateAt != 0 && key.ActivateAt+grace[key.For] <= m.now {
			over[key.For] = i
		}
	}
	isOver := func(i int) bool { return i < over[keys[i].For] }
	left := make([]*wire.SigningKey, 0, len(keys))
	for i, key := range keys {
		if !isOver(i) {
			left = append(left, key)
		}
	}
	if len(left) < len(keys) {
		m.editSettings().SigningKeys = left
	}
}

// A leaf tells once of each review that waits longer than the policy's review.sla allows.
// Reviews become overdue in the order of their rows, so one position is stored: all reviews
// before it have been handled.

// overdueLooked is how many rows one tick looks at for each leaf it may write.
const overdueLooked = 16

// tellOverdue writes a leaf for each open review that is overdue, a bounded number in each
// tick.
func (m *desk) tellOverdue() {
	wait := m.policy().ReviewSLA
	if wait == 0 {
		return
	}
	at, told := max(m.overdueTold, m.reviews.First()), 0
	for n := 0; n < overdueLooked*m.limits.ExpiredAtOneTick && told < m.limits.ExpiredAtOneTick && at < m.reviews.Next(); n++ {
		row := m.reviews.At(at)
		if m.now < row.At+wait {
			break
		}
		if at++; row.State == ReviewOpen {
			m.writeReviewDue(row.Leaf, row.At+wait)
			told++
		}
	}
	m.overdueTold = at
}

// writeReviewDue writes that a review is due.
func (m *desk) writeReviewDue(record uint64, due engine.Time) {
	event := leaf.ReviewDue{Reviewed: m.describeReviewed(record), DueAt: due}
	m.writeDueEvent(leaf.DueReviewSLA, event, filtersOf(&event.Reviewed)...)
}
