package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Holds (decisions 47 and 94): a held payment counts against every limit like a spent one until
// it is settled or released. If its time is over and nobody has said what became of it, it is
// unresolved and goes on counting, unless the policy says that holds return by themselves. Each
// hold ends once. A settle reports what has happened in the world, so no limit can refuse it.

// soundHold tells whether the time of a hold is 0 (no hold) or within its bounds.
func (m *ledger) soundHold(seconds uint32) bool {
	return seconds == 0 || seconds >= m.limits.HoldSecondsLeast && seconds <= m.limits.HoldSecondsMost
}

// soundPermit tells whether the time of a permit is 0 (no permit) or within its bounds.
func (m *ledger) soundPermit(seconds uint32) bool {
	return seconds == 0 || seconds >= m.limits.PermitSecondsLeast && seconds <= m.limits.PermitSecondsMost
}

// holdOf returns for how many seconds a PROCEED is held; 0: it is not. A permit holds its payment
// until a minute after its own end. Afterwards the hold is as any other: whoever had the permit may
// have paid.
func (m *ledger) holdOf(s *wire.Screen) uint32 {
	if s.Hold == 0 && s.Permit != 0 {
		return s.Permit + m.limits.PermitHoldBeyond
	}
	return s.Hold
}

// refuseHold refuses a call without room for its hold. It returns true if r holds the refusal.
func (m *ledger) refuseHold(s *wire.Screen, owner Owner, r *wire.Result) bool {
	return m.holdOf(s) != 0 && m.refuseShare(wire.TableHolds, owner, oneRow, r)
}

// openHold opens a hold from now on and counts it on today's date.
func (m *ledger) openHold(row holdRow) {
	row.Day = m.now.Day()
	m.registry.changeBooks(row.payer(), func(s *engine.Spend) { s.Hold(row.Day, row.Amount) })
	m.holdHeap.add(row)
	m.countHold(&row)
}

// countHold counts a hold for its owner and for its agent.
func (m *ledger) countHold(row *holdRow) {
	m.take(wire.TableHolds, m.ownerAt(row.Screener), oneRow)
	m.registry.countHolds(row.Agent, 1)
}

// uncountHold takes a hold off the counters.
func (m *ledger) uncountHold(row *holdRow) {
	m.registry.changeBooks(row.payer(), func(s *engine.Spend) { s.Unhold(row.Day, row.Amount) })
}

// endHold removes a hold from the counters and the table and notes how it ended. The leaf of
// the ending is written next; endHold returns its filters about the reference.
func (m *ledger) endHold(at uint64, state HoldState) (holdRow, []uint64) {
	row := *m.holds.At(at)
	m.uncountHold(&row)
	m.dropHold(at)
	m.noteEnding(outcomeRow{Leaf: row.Leaf, State: state, Before: row.told()})
	if state == HoldSettled {
		return row, nil
	}
	return row, m.freeReference(row.Reference, row.Leaf, row.Day)
}

// noteEnding notes how a payment ended, or that it was settled late. The leaf that tells of it is
// written next.
func (m *ledger) noteEnding(row outcomeRow) {
	if row.Late == 0 {
		row.Later, row.At = m.size, m.now
	}
	if m.outcomes.Len() >= m.limits.Outcomes { // From now on the oldest ending is found in the files alone.
		m.endedFrom = m.outcomes.At(m.outcomes.First()).told() + 1
		m.forgetOutcome()
	}
	m.outcomeAt[row.Leaf] = m.outcomes.Append(row)
	m.officers.markEnded(row.Leaf)
	m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: row.Leaf, Later: row.Later})
	if row.Late != 0 {
		m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: row.Leaf, Later: row.Late, Late: true})
	}
}

// pastOf returns how a payment ended. The state has the newest endings only (decision 125). An
// older one is found by the edge, in files beside the state, and the record says up to which leaf
// it looked; stale means that this is too little, so that its edge has to look again.
func (m *ledger) pastOf(record uint64, past *wire.Past) (row outcomeRow, ended, stale bool) {
	if at, known := m.outcomeAt[record]; known {
		return *m.outcomes.At(at), true, false
	}
	if _, open := m.holdAt[record]; open || record >= m.endedFrom {
		return outcomeRow{}, false, false
	}
	if past == nil || past.Looked < m.endedFrom {
		return outcomeRow{}, false, true
	}
	return outcomeRow{
		Leaf: record, Later: past.Later, Late: past.Late, At: past.At, State: HoldState(past.State), Before: past.Before,
	}, past.State != 0, false
}

// soundPast tells whether an edge can have found what it says of the payment of a record.
func (m *ledger) soundPast(record uint64, p *wire.Past) bool {
	return p == nil || p.State == 0 && p.Later == 0 && p.Late == 0 ||
		HoldState(p.State) <= HoldExpired && p.Later > record && m.hasLeaf(max(p.Later, p.Late)) && p.Before < p.Later
}

// expireHolds looks at holds whose time is over, the earliest first, a bounded number in each
// tick. The others count as held until the next tick.
func (m *ledger) expireHolds() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.holds.Len() > 0; n++ {
		if m.now < m.holds.At(m.holds.First()).ExpiresAt {
			return
		}
		m.expireHold(m.holds.First())
	}
}

// expireOver looks at the hold of a record if its time is over and no tick has looked at it yet.
func (m *ledger) expireOver(record uint64) {
	if at, open := m.holdAt[record]; open && m.now >= m.holds.At(at).ExpiresAt {
		m.expireHold(at)
	}
}

// expireHold does what follows when the time of a hold is over. A payment returns where the policy
// says that what nobody ends returns, or that none can be made that was not redeemed; a redeemed one
// never does.
func (m *ledger) expireHold(at uint64) {
	row := *m.holds.At(at)
	switch {
	case row.Unresolved != 0 && m.recordEnds(row.Leaf) > m.now: // Log time leapt, and the record is kept longer.
		m.holds.Edit(at).ExpiresAt = m.recordEnds(row.Leaf)
		m.holdHeap.settle(at)
	case row.Unresolved != 0: // Its record is gone, so nobody can say any more what became of the payment.
		m.uncountHold(&row)
		m.dropHold(at)
	case row.Redeemed == 0 && !row.Counts && !row.Spent && (m.policy().HoldsReturn || m.policy().PermitNeed == engine.PermitOfAll):
		_, freed := m.endHold(at, HoldExpired)
		m.writeHoldOver(&row, leaf.DueHold, HoldExpired, freed...)
	default:
		m.leaveUnresolved(at)
		m.writeHoldOver(&row, leaf.DueUnresolved, HoldUnresolved)
		m.alertUnresolved(&row)
	}
}

// leaveUnresolved makes a hold wait for somebody who says what became of the payment. The leaf
// that says so is written next.
func (m *ledger) leaveUnresolved(at uint64) {
	row := m.holds.Edit(at)
	row.Unresolved, row.ExpiresAt = m.size, m.recordEnds(row.Leaf)
	m.noteUnresolved(unresolvedRow(row))
	m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: row.Leaf, Later: m.size})
	m.holdHeap.settle(at)
}

// alertUnresolved opens an alert if the payment that has just become unresolved was redeemed, or
// makes its agent's payments reach the number or the sum of the policy.
func (m *ledger) alertUnresolved(row *holdRow) {
	of, policy := m.unresolvedOf[row.Agent], m.policy()
	before := of
	before.remove(row.Amount)
	if row.Redeemed != 0 || of.Count == policy.UnresolvedCount ||
		policy.UnresolvedSum != engine.NoLimit && of.Sum() >= policy.UnresolvedSum && (before.Count == 0 || before.Sum() < policy.UnresolvedSum) {
		m.officers.alertUnresolved(row, of)
	}
}

// writeHoldOver writes that the time of a hold is over. If an approval opened it, the leaf says
// that the approval has lapsed.
func (m *ledger) writeHoldOver(row *holdRow, due leaf.Due, state HoldState, keys ...uint64) {
	if row.Approved && row.Redeemed == 0 {
		due = leaf.DueApproval
	}
	keys = append(keys, engine.FilterKey(engine.FilterTxn, m.ids.TxnID(row.Leaf)), engine.EndingFilter(row.Leaf))
	if row.Agent != 0 {
		keys = append(keys, engine.FilterKey(engine.FilterAgent, m.ids.AgentID(uint32(row.Agent))))
	}
	m.writeDueEvent(due, leaf.HoldOver{Payment: m.paymentOf(row.Leaf, row.Agent, state, row.Amount), ExpiredAt: row.ExpiresAt, Redeemed: row.Redeemed != 0}, keys...)
}

// paymentOf returns the members that name its payment in the leaf that is written next.
func (m *ledger) paymentOf(record uint64, agent engine.AgentSlot, state HoldState, amount engine.USD) leaf.Payment {
	return leaf.Payment{
		TxnID: m.ids.TxnID(record), ScreenedLeaf: record, State: state.String(), Amount: amount, RecordLink: m.officers.linkRecord(record, agent),
	}
}

// endedBy returns the newest written leaf that says what became of a payment; 0: none.
func (m *ledger) endedBy(record uint64) uint64 {
	if at, held := m.holdAt[record]; held {
		row := m.holds.At(at)
		if m.hasLeaf(row.told()) {
			return row.told()
		}
		return row.Newest
	}
	at, ended := m.outcomeAt[record]
	if !ended {
		return 0
	}
	row := m.outcomes.At(at)
	if row.Late != 0 && m.hasLeaf(row.Late) {
		return row.Late
	}
	if m.hasLeaf(row.Later) {
		return row.Later
	}
	return row.Before
}

// applyHold settles or releases a payment. A hold whose time is over is treated so even before
// the tick that looks at it.
func (m *ledger) applyHold(b *wire.Hold, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasLeaf(b.Leaf) || b.Recorded < 0 || b.Amount < 0 || b.Verdict > engine.Unknown ||
		!m.soundPast(b.Leaf, b.Past) || !m.soundUsed(b.Used) || b.Op != wire.HoldSettle && (b.Op != wire.HoldRelease || b.Amount != 0) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.expireOver(b.Leaf)
	past, ended, stale := m.pastOf(b.Leaf, b.Past)
	by, used, unknown := m.useOf(b.Reference, b.Used)
	if stale || unknown {
		goStale(r, max(m.endedFrom, m.usedFrom))
		return
	}
	if b.Op == wire.HoldSettle {
		m.settlePayment(b, &past, ended, used, r)
		return
	}
	m.releasePayment(b, &past, ended, used && by == b.Leaf, r)
}

// payerIn returns whose counters the payment counts in, as its record names them.
func payerIn(b *wire.Hold) payer { return payer{b.Agent, b.Fleet, b.Operator} }

// settling is what a settle found and what it did to the counters.
type settling struct {
	counted                     engine.USD // How much of the payment was counted until now.
	late, notAllowed, overLimit bool
	unpermitted                 bool
}

func (m *ledger) settlePayment(b *wire.Hold, past *outcomeRow, ended, used bool, r *wire.Result) {
	var s settling
	holdAt, open := m.holdAt[b.Leaf]
	if ended && (past.State == HoldSettled || past.Late != 0) {
		r.Code, r.Leaf, r.Time = wire.Unchanged, past.told(), past.At
		return
	}
	if refusal := m.refuseSettle(b, ended); refusal != 0 {
		refuse(r, refusal)
		return
	}
	switch {
	case ended:
		s.late = true
		past.Late = m.size
		m.noteEnding(*past)
	case open:
		row, _ := m.endHold(holdAt, HoldSettled)
		s.counted, s.unpermitted = row.Amount, row.Redeemed == 0 && !row.Counts && m.policy().MustRedeem(row.Approved)
		paid := min(b.Amount, row.Amount)
		m.registry.changeBooks(row.payer(), func(books *engine.Spend) { books.AddOn(row.Day, paid) })
	default:
		day, counts := m.countsOn(b)
		if s.notAllowed = !counts; counts {
			s.counted, s.unpermitted = b.Recorded, m.policy().MustRedeem(b.Verdict == engine.Review)
			rest := max(b.Recorded-b.Amount, 0)
			m.registry.changeBooks(payerIn(b), func(books *engine.Spend) { books.Return(day, rest) })
		}
		m.noteEnding(outcomeRow{Leaf: b.Leaf, State: HoldSettled})
	}
	if more := b.Amount - s.counted; more > 0 {
		s.overLimit = m.registry.overLimit(payerIn(b), more)
		m.registry.bookSpend(payerIn(b), more)
	}
	m.writeSettled(b, &s, r, m.useReference(b.Reference, used, b.Leaf)...)
}

func (m *ledger) writeSettled(b *wire.Hold, s *settling, r *wire.Result, filters ...uint64) {
	state := HoldSettled
	if at, ended := m.outcomeAt[b.Leaf]; ended {
		state = m.outcomes.At(at).State
	}
	m.writePayment(leaf.KindHoldSettled, leaf.Settled{
		Payment: m.paymentOf(b.Leaf, b.Agent, state, b.Amount), Counted: s.counted, Late: s.late, OverLimit: s.overLimit, NotAllowed: s.notAllowed,
		Forwarded: b.Forwarded, Unpermitted: s.unpermitted,
	}, b, r, filters...)
	for _, mark := range s.listMarks() {
		if mark.set {
			m.officers.alertPayment(mark.alert, b, r.Leaf)
		}
	}
}

// settleMark is a fact about a settle that a person must know, and its alert.
type settleMark struct {
	set   bool
	alert uint8
}

func (s *settling) listMarks() [4]settleMark {
	return [4]settleMark{
		{s.late, wire.AlertLate}, {s.overLimit, wire.AlertOverLimit}, {s.notAllowed, wire.AlertNotAllowed}, {s.unpermitted, wire.AlertUnpermitted},
	}
}

func (m *ledger) writePayment(kind string, event any, b *wire.Hold, r *wire.Result, filters ...uint64) {
	filters = append(filters, engine.FilterKey(engine.FilterTxn, m.ids.TxnID(b.Leaf)), engine.EndingFilter(b.Leaf))
	if b.Agent != 0 {
		filters = append(filters, engine.FilterKey(engine.FilterAgent, m.ids.AgentID(uint32(b.Agent))))
	}
	m.writeEvent(kind, event, &b.Common, r, filters...)
}

// countsOn returns the date on which a payment without a hold counts. It returns false if the
// payment counts nowhere: it did not go through, or nobody has approved it.
func (m *ledger) countsOn(b *wire.Hold) (engine.Day, bool) {
	if b.Verdict == engine.Proceed {
		return b.ScreenedAt.Day(), true
	}
	if b.Verdict == engine.Review {
		decided := m.officers.decisionOn(b.Leaf)
		return decided.day, decided.approved
	}
	return 0, false
}

// mayGiveBack tells whether a call may take off what counts of a payment. Whoever spends does
// not say what was spent: only a settler does, or a screener too if the policy lets screeners
// settle. What this product's facilitator has seen itself counts too.
func (m *ledger) mayGiveBack(b *wire.Hold) bool {
	return b.Forwarded || m.policy().SettlementSelf || m.settlesFor(&b.Common, m.screenerOf(b))
}

// screenerOf returns the row of the API key that screened a payment: that of its hold, or else
// the one that the edge read in the record.
func (m *ledger) screenerOf(b *wire.Hold) uint32 {
	if at, open := m.holdAt[b.Leaf]; open {
		return m.holds.At(at).Screener
	}
	return b.Screener
}

// refuseSettle returns why a settle is refused; 0: it is not. A call that may not give back
// can only confirm or raise what counts, and only while an approval is good.
func (m *ledger) refuseSettle(b *wire.Hold, ended bool) wire.Refusal {
	if m.mayGiveBack(b) {
		return 0
	}
	decided := decision{}
	if b.Verdict == engine.Review {
		decided = m.officers.decisionOn(b.Leaf)
	}
	switch {
	case decided.approved && m.now >= decided.payBy:
		return wire.RefusedLapsed
	case ended || b.Amount >= b.Recorded: // A payment counts with its recorded amount, or not at all.
		return 0
	case b.Verdict == engine.Proceed, b.Verdict == engine.Review && (decided.approved || !decided.made || decided.escalated): // What nobody has decided yet may count soon.
		return wire.RefusedSettler
	}
	return 0
}

func (m *ledger) releasePayment(b *wire.Hold, past *outcomeRow, ended, owns bool, r *wire.Result) {
	var returned engine.USD
	var freed []uint64
	if ended {
		if past.State == HoldReleased {
			r.Code, r.Leaf, r.Time = wire.Unchanged, past.Later, past.At
			return
		}
		r.Value = past.Later
		refuse(r, wire.RefusedEnded)
		return
	}
	at, open := m.holdAt[b.Leaf]
	if refusal := m.refuseRelease(b, open); refusal != 0 {
		refuse(r, refusal)
		return
	}
	if open {
		var row holdRow
		row, freed = m.endHold(at, HoldReleased)
		returned = row.Amount
	} else {
		day, _ := m.countsOn(b)
		returned = b.Recorded
		m.registry.changeBooks(payerIn(b), func(s *engine.Spend) { s.Return(day, returned) })
		if owns {
			freed = m.freeReference(b.Reference, b.Leaf, b.ScreenedAt.Day())
		}
		m.noteEnding(outcomeRow{Leaf: b.Leaf, State: HoldReleased})
	}
	m.writePayment(leaf.KindHoldReleased, m.paymentOf(b.Leaf, b.Agent, HoldReleased, returned), b, r, freed...)
}

// refuseRelease returns why a release of a payment that has not ended is refused; 0: it is not.
func (m *ledger) refuseRelease(b *wire.Hold, open bool) wire.Refusal {
	day, counts := m.countsOn(b)
	switch {
	case !open && !counts:
		return wire.RefusedNotHeld
	case !open && m.now.Day() > day+1:
		return wire.RefusedLate
	case !m.mayGiveBack(b):
		return wire.RefusedSettler
	}
	return 0
}
