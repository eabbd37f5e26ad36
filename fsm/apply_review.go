package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

var dispositionNames = [4]string{wire.Approved: leaf.WordApproved, wire.Rejected: leaf.WordRejected, wire.EscalateSAR: leaf.WordEscalateSAR}

// applyDisposition records a reviewer's decision. The edge has read the leaf and has answered
// 404, 422 and 400 where they can no longer change. Apply decides what can: whether a
// disposition exists. An approval books the amount on today's date, on the record's agent,
// its ancestors and the fleet; no limit can refuse it.
func (m *desk) applyDisposition(b *wire.Disposition, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasLeaf(b.Leaf) || b.Disposition == 0 || b.Disposition > wire.EscalateSAR || b.Amount < 0 || !m.payments.soundHold(b.Hold) ||
		!m.payments.soundUsed(b.Used) || !m.settings.Rules().HasAll(b.Rules) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if at, done := m.disposedBy[b.Leaf]; done {
		r.Value = m.dispositions.At(at).Later
		refuse(r, wire.RefusedDispositioned)
		return
	}
	if m.dispositions.Len() >= m.limits.ClosedReviews {
		refuse(r, wire.RefusedFull)
		return
	}
	if b.Disposition == wire.Approved && m.payments.goesStale(b, r) {
		return
	}
	proposer := m.proposerOn(b.Leaf)
	who, counts := m.settlePersons(m.dispositionAct(b), &b.Common, r)
	if !counts {
		return
	}
	var over, notHeld bool
	var taken []uint64
	var payBy engine.Time
	if b.Disposition == wire.Approved {
		payBy = m.approvalEnd(b)
		over, notHeld, taken = m.payments.bookApproval(b, payBy)
	}
	later := m.nextLeaf()
	m.disposedBy[b.Leaf] = m.dispositions.Append(dispositionRow{Leaf: b.Leaf, Later: later, At: m.now, Agent: b.Agent, Kind: b.Disposition, PayBy: payBy})
	hadReport := b.Disposition == wire.EscalateSAR && m.escalateSAR(b.Leaf, len(who.Persons) > 1)
	if at, open := m.reviewAt(b.Leaf); open {
		row := m.reviews.Edit(at)
		row.State, row.Disposition = ReviewDone, later
		m.reviewClosed(at)
	}
	m.out.Dispositions = append(m.out.Dispositions, LeafLink{Leaf: b.Leaf, Later: later})
	event := leaf.Dispositioned{
		Reviewed: m.describeReviewed(b.Leaf), Disposition: dispositionNames[b.Disposition], ReviewedAt: m.now,
		SAREscalated: b.Disposition == wire.EscalateSAR, HadReport: hadReport, Persons: who, SecondLook: m.lookAgain(b, proposer),
	}
	if b.Disposition == wire.Approved {
		event.OverLimitApproved, event.PayBy, event.NotHeld = &over, payBy, notHeld
	}
	m.writeAct(leaf.KindDispositioned, event, &who, &b.Common, r, append(taken, filtersOf(&event.Reviewed)...)...)
}

// dispositionAct is what a disposition does. Its name is there only if the amount or any rule that
// triggered demands two persons: those of the review's row, and those that the edge read in the leaf.
func (m *desk) dispositionAct(b *wire.Disposition) *act {
	a := &act{
		kind: wire.KindDisposition, topic: b.Leaf, said: []uint64{b.Leaf, uint64(b.Disposition)},
		reviewed: b.Leaf, disposition: b.Disposition,
	}
	rules := b.Rules
	if at, found := m.reviewRowOf(b.Leaf); found {
		rules |= m.reviews.At(at).Rules
	}
	if m.policy().TwoDecide(b.Amount, rules) {
		a.names = engine.ActDisposition
	}
	return a
}

// dispositionTopic is the topic of a disposition of a record.
func dispositionTopic(record uint64) [16]byte {
	return (&act{kind: wire.KindDisposition, topic: record}).topicHash([32]byte{})
}

// approvalEnd returns when an approval of now ends: as the policy says, and not after the hold
// that the call asked for.
func (m *desk) approvalEnd(b *wire.Disposition) engine.Time {
	good := m.policy().ApprovalLapse
	if b.Hold != 0 {
		good = min(good, engine.Time(b.Hold)*engine.Second)
	}
	return m.now + good
}

// goesStale sends an approval back whose edge looked less far for the payment's reference than it
// has to. It returns true if it does.
func (m *ledger) goesStale(b *wire.Disposition, r *wire.Result) bool {
	_, _, stale := m.useOf(b.Reference, b.Used)
	if stale {
		goStale(r, m.usedFrom)
	}
	return stale
}

// bookApproval holds an approved payment until the approval ends, and uses its reference. A
// payment that was settled before anybody approved it is booked already. over says that a
// total is above its limit now; notHeld, that there was no room for a hold, so that the
// payment counts as spent.
func (m *ledger) bookApproval(b *wire.Disposition, until engine.Time) (over, notHeld bool, taken []uint64) {
	if m.officers.hasEnded(b.Leaf) || !m.registry.agents.Has(uint64(b.Agent)) {
		return false, false, nil
	}
	_, used, _ := m.useOf(b.Reference, b.Used)
	reference := b.Reference
	if taken = m.useReference(reference, used, b.Leaf); taken == nil {
		reference = engine.ReferenceKey{}
	}
	by := payer{b.Agent, b.Fleet, b.Operator}
	over, notHeld = m.registry.overLimit(by, b.Amount), !m.hasRoom(wire.TableHolds, m.ownerAt(b.Screener), oneRow)
	if notHeld {
		m.registry.bookSpend(by, b.Amount)
	} else {
		m.openHold(holdRow{
			Leaf: b.Leaf, ExpiresAt: until, Amount: b.Amount, Reference: reference, Agent: b.Agent, Fleet: b.Fleet, Operator: b.Operator,
			Screener: b.Screener, Approved: true,
		})
	}
	return over, notHeld, taken
}

// reviewAt finds the position of an open review by binary search: reviews are
// appended in leaf order.
func (m *desk) reviewAt(leaf uint64) (uint64, bool) {
	at, found := m.reviewRowOf(leaf)
	return at, found && m.reviews.At(at).State == ReviewOpen
}

// enterReview puts a record into the queue. The call was refused if its owner has no room there.
func (m *desk) enterReview(row ReviewRow) { m.reviewOpened(m.reviews.Append(row)) }

// decision is what the ledger asks of a disposition.
type decision struct {
	made, approved, escalated bool

	day   engine.Day  // When it was approved.
	payBy engine.Time // When the approval ends.
}

// decisionOn returns what was decided on a record under review.
func (m *desk) decisionOn(record uint64) decision {
	at, made := m.disposedBy[record]
	if !made {
		return decision{}
	}
	row := m.dispositions.At(at)
	return decision{made: true, approved: row.Kind == wire.Approved, escalated: row.Kind == wire.EscalateSAR, day: row.At.Day(), payBy: row.PayBy}
}

// openWord is how many reviews one word (row) of the table "open" covers.
const openWord = 64

func (m *desk) reviewOpened(at uint64) {
	m.openWordOf(at)
	*m.open.Edit(at / openWord) |= 1 << (at % openWord)
	m.openReviews++
	m.take(wire.TableReviews, m.reviews.At(at).Owner, oneRow)
}

func (m *desk) reviewClosed(at uint64) {
	*m.open.Edit(at / openWord) &^= 1 << (at % openWord)
	m.openReviews--
	m.giveBack(wire.TableReviews, m.reviews.At(at).Owner, oneRow)
}

// openWordOf adds the word for a review's row to the table "open" if it is missing.
func (m *desk) openWordOf(at uint64) {
	if at/openWord == m.open.Next() {
		m.open.Append(0)
	}
}

func searchReviews(low, high, leaf uint64, at func(uint64) uint64) (uint64, bool) {
	end := high
	for low < high {
		middle := low + (high-low)/2
		if at(middle) < leaf {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < end && at(low) == leaf
}

// applyQueue claims, releases, assigns or comments an open review. A claim is advisory and
// lapses with log time; a second disposition is still refused with 409.
func (m *desk) applyQueue(b *wire.Queue, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if len(b.Leaves) == 0 || len(b.Leaves) > m.limits.RecordTargets || len(b.Who) > m.limits.FieldBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if b.Op == wire.QueueComment {
		m.commentReview(b, r)
		return
	}
	why := wire.RefusedNotOpen
	for _, leaf := range b.Leaves {
		at, open := m.reviewAt(leaf)
		if !open {
			continue
		}
		if m.heldByOther(m.reviews.At(at).Claim, b.Who) && !b.Force {
			why = wire.RefusedClaimed
			continue
		}
		m.claimReview(leaf, at, b, r)
		return
	}
	refuse(r, why)
}

// heldByOther tells whether somebody else's claim is in force.
func (m *desk) heldByOther(c *Claim, who string) bool {
	return c != nil && c.Assignee != "" && c.Assignee != who && (c.LeaseUntil == 0 || m.now < c.LeaseUntil)
}

const commented = leaf.KindCommented // Named here because commentReview has a variable leaf.

// commentReview adds a comment's leaf to a review, open or decided.
func (m *desk) commentReview(b *wire.Queue, r *wire.Result) {
	leaf := b.Leaves[0]
	at, found := m.reviewRowOf(leaf)
	if !found {
		refuse(r, wire.RefusedNotOpen)
		return
	}
	claim := Claim{}
	if old := m.reviews.At(at).Claim; old != nil {
		claim = *old
	}
	key := uint32(0)
	if b.Key != nil {
		key = b.Key.Row
	}
	if !m.roomForComment(claim.Comments, key) {
		refuse(r, wire.RefusedFull)
		return
	}
	claim.Comments = append(claim.Comments[:len(claim.Comments):len(claim.Comments)], Comment{Leaf: m.size, Key: key})
	m.reviews.Edit(at).Claim = &claim
	m.out.Comments = append(m.out.Comments, LeafLink{Leaf: leaf, Later: m.size})
	m.writeQueue(commented, leaf, nil, b, r)
}

func (m *desk) claimReview(leaf, at uint64, b *wire.Queue, r *wire.Result) {
	claim := Claim{}
	if old := m.reviews.At(at).Claim; old != nil {
		claim.Comments = old.Comments
	}
	kind := "review.claimed"
	switch b.Op {
	case wire.QueueClaim:
		claim.Assignee, claim.LeaseUntil = b.Who, m.now+m.limits.ClaimLease
	case wire.QueueAssign:
		kind = "review.assigned"
		claim.Assignee = b.Who
	case wire.QueueRelease:
		kind = "review.released"
	default:
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.reviews.Edit(at).Claim = &claim
	m.writeQueue(kind, leaf, &claim, b, r)
}

func (m *desk) writeQueue(kind string, record uint64, claim *Claim, b *wire.Queue, r *wire.Result) {
	event := leaf.Claimed{Reviewed: m.describeReviewed(record)}
	if claim != nil {
		event.Assignee, event.LeaseUntil = &claim.Assignee, claim.LeaseUntil
	}
	m.writeEvent(kind, event, &b.Common, r, filtersOf(&event.Reviewed)...)
	r.Value = record
}
