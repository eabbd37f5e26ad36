package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Holds (decision 47): a held PROCEED counts against every limit like a spent one until it is
// settled or released, or its time is over. Each hold ends exactly once. A settle reports
// what has happened in the world, so no limit can refuse it.

// soundHold tells whether the time of a hold is 0 (no hold) or within its bounds.
func (m *ledger) soundHold(seconds uint32) bool {
	return seconds == 0 || seconds >= m.limits.HoldSecondsLeast && seconds <= m.limits.HoldSecondsMost
}

// paymentsFull tells whether a table has no room for the hold or the reference of a call.
func (m *ledger) paymentsFull(seconds uint32, reference engine.ReferenceKey) bool {
	return seconds != 0 && m.holds.Len() >= m.limits.Holds || reference != (engine.ReferenceKey{}) && m.referencesFull()
}

// openHold opens a hold from now on and counts it on today's date.
func (m *ledger) openHold(row holdRow, seconds uint32) {
	row.Day, row.ExpiresAt = m.now.Day(), m.now+engine.Time(seconds)*engine.Second
	m.registry.changeBooks(row.Agent, row.Fleet, func(s *engine.Spend) { s.Hold(row.Day, row.Amount) })
	m.holdHeap.add(row)
}

// endHold removes an open hold from the counters and the table and notes how it ended. The
// leaf of the ending is written next.
func (m *ledger) endHold(at uint64, state HoldState) holdRow {
	row := *m.holds.At(at)
	m.registry.changeBooks(row.Agent, row.Fleet, func(s *engine.Spend) { s.Unhold(row.Day, row.Amount) })
	m.dropHold(at)
	m.noteEnding(row.Leaf, state)
	if state != HoldSettled {
		m.freeReference(row.Reference, row.Leaf)
	}
	return row
}

// noteEnding notes how a payment ended. In a full table the oldest ending makes room, because
// no limit of ours may refuse what has happened in the world.
func (m *ledger) noteEnding(record uint64, state HoldState) {
	if m.outcomes.Len() >= m.limits.Outcomes {
		m.forgetOutcome()
		m.out.OutcomesDisplaced++
	}
	m.outcomeAt[record] = m.outcomes.Append(outcomeRow{Leaf: record, Later: m.size, At: m.now, State: state})
	m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: record, Later: m.size})
}

// heldUntil returns when the open hold of a record ends, and false if it has none.
func (m *ledger) heldUntil(record uint64) (until engine.Time, held bool) {
	at, held := m.holdAt[record]
	if !held {
		return 0, false
	}
	return m.holds.At(at).ExpiresAt, true
}

// hasEnded tells whether a payment is known to have ended.
func (m *ledger) hasEnded(record uint64) bool {
	_, ended := m.outcomeAt[record]
	return ended
}

// expireHolds ends holds whose time is over, the earliest first, a bounded number in each
// tick. The others count against limits until the next tick, which is the safe side.
func (m *ledger) expireHolds() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.holds.Len() > 0; n++ {
		if m.now < m.holds.At(m.holds.First()).ExpiresAt {
			return
		}
		m.expireHold(m.holds.First())
	}
}

func (m *ledger) expireHold(at uint64) {
	row := m.endHold(at, HoldExpired)
	txn := m.ids.TxnID(row.Leaf)
	keys := []uint64{engine.FilterKey(engine.FilterTxn, txn)}
	if row.Agent != 0 {
		keys = append(keys, engine.FilterKey(engine.FilterAgent, m.ids.AgentID(uint32(row.Agent))))
	}
	m.writeDueEvent(leaf.DueHold, leaf.HoldExpired{
		Payment: m.paymentOf(row.Leaf, row.Agent, HoldExpired, row.Amount), ExpiredAt: row.ExpiresAt,
	}, keys...)
}

// paymentOf returns the members that name its payment in the leaf that is written next.
func (m *ledger) paymentOf(record uint64, agent engine.AgentSlot, state HoldState, amount engine.USD) leaf.Payment {
	return leaf.Payment{
		TxnID: m.ids.TxnID(record), ScreenedLeaf: record, State: state.String(), Amount: amount, RecordLink: m.officers.linkRecord(record, agent),
	}
}

// endedBy returns the newest written leaf that ended a payment; 0: none.
func (m *ledger) endedBy(record uint64) uint64 {
	at, ended := m.outcomeAt[record]
	if !ended {
		return 0
	}
	row := m.outcomes.At(at)
	if row.Late != 0 && row.Late < m.size {
		return row.Late
	}
	if row.Later < m.size {
		return row.Later
	}
	return 0
}

// applyHold settles or releases a payment. A hold whose time is over counts as ended even
// before the tick that expires it.
func (m *ledger) applyHold(b *wire.Hold, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Leaf >= m.size || b.Recorded < 0 || b.Amount < 0 || b.Verdict > engine.Unknown ||
		b.Op != wire.HoldSettle && (b.Op != wire.HoldRelease || b.Amount != 0) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if at, open := m.holdAt[b.Leaf]; open && m.now >= m.holds.At(at).ExpiresAt {
		m.expireHold(at)
	}
	if b.Op == wire.HoldSettle {
		m.settlePayment(b, r)
		return
	}
	m.releasePayment(b, r)
}

// settling is what a settle found and what it did to the counters.
type settling struct {
	counted                     engine.USD // How much of the payment was counted until now.
	late, notAllowed, overLimit bool
}

func (m *ledger) settlePayment(b *wire.Hold, r *wire.Result) {
	var s settling
	at, ended := m.outcomeAt[b.Leaf]
	holdAt, open := m.holdAt[b.Leaf]
	switch {
	case ended && (m.outcomes.At(at).State == HoldSettled || m.outcomes.At(at).Late != 0):
		row := m.outcomes.At(at)
		r.Code, r.Leaf, r.Time = wire.Unchanged, max(row.Later, row.Late), row.At
		return
	case ended:
		s.late = true
		m.outcomes.Edit(at).Late = m.size
		m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: b.Leaf, Later: m.size})
	case !open && m.endingForgotten(b.Leaf): // The payment may count already, or have been returned. Counting it twice is the safe side.
		s.late = true
		m.noteEnding(b.Leaf, HoldSettled)
	case open:
		row := m.endHold(holdAt, HoldSettled)
		s.counted = row.Amount
		paid := min(b.Amount, row.Amount)
		m.registry.changeBooks(row.Agent, row.Fleet, func(books *engine.Spend) { books.AddOn(row.Day, paid) })
	default:
		day, counts := m.countsOn(b)
		if s.notAllowed = !counts; counts {
			s.counted = b.Recorded
			rest := max(b.Recorded-b.Amount, 0)
			m.registry.changeBooks(b.Agent, b.Fleet, func(books *engine.Spend) { books.Return(day, rest) })
		}
		m.noteEnding(b.Leaf, HoldSettled)
	}
	if more := b.Amount - s.counted; more > 0 {
		s.overLimit = m.registry.overLimit(b.Agent, b.Fleet, more)
		day := m.now.Day()
		m.registry.changeBooks(b.Agent, b.Fleet, func(books *engine.Spend) { books.Add(day, more) })
	}
	m.useReference(b.Reference, b.Leaf)
	m.writeSettled(b, &s, r)
}

func (m *ledger) writeSettled(b *wire.Hold, s *settling, r *wire.Result) {
	state := HoldSettled
	if at, ended := m.outcomeAt[b.Leaf]; ended {
		state = m.outcomes.At(at).State
	}
	m.writePayment(leaf.KindHoldSettled, leaf.Settled{
		Payment: m.paymentOf(b.Leaf, b.Agent, state, b.Amount), Counted: s.counted, Late: s.late, OverLimit: s.overLimit, NotAllowed: s.notAllowed,
	}, b, r)
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

func (s *settling) listMarks() [3]settleMark {
	return [3]settleMark{
		{s.late, wire.AlertLate}, {s.overLimit, wire.AlertOverLimit}, {s.notAllowed, wire.AlertNotAllowed},
	}
}

func (m *ledger) writePayment(kind string, event any, b *wire.Hold, r *wire.Result) {
	txn := engine.FilterKey(engine.FilterTxn, m.ids.TxnID(b.Leaf))
	if b.Agent == 0 {
		m.writeEvent(kind, event, &b.Common, r, txn)
		return
	}
	m.writeEvent(kind, event, &b.Common, r, txn, engine.FilterKey(engine.FilterAgent, m.ids.AgentID(uint32(b.Agent))))
}

// countsOn returns the date on which a payment without a hold counts. It returns false if the
// payment counts nowhere: it did not go through, or nobody has approved it.
func (m *ledger) countsOn(b *wire.Hold) (engine.Day, bool) {
	if b.Verdict == engine.Proceed {
		return b.ScreenedAt.Day(), true
	}
	if b.Verdict == engine.Review {
		return m.officers.approvedOn(b.Leaf)
	}
	return 0, false
}

func (m *ledger) releasePayment(b *wire.Hold, r *wire.Result) {
	var returned engine.USD
	if at, ended := m.outcomeAt[b.Leaf]; ended {
		row := m.outcomes.At(at)
		if row.State == HoldReleased {
			r.Code, r.Leaf, r.Time = wire.Unchanged, row.Later, row.At
			return
		}
		r.Value = row.Later
		refuse(r, wire.RefusedEnded)
		return
	}
	if at, open := m.holdAt[b.Leaf]; open {
		returned = m.endHold(at, HoldReleased).Amount
	} else {
		if m.endingForgotten(b.Leaf) { // It may have been returned already.
			refuse(r, wire.RefusedFull)
			return
		}
		day, counts := m.countsOn(b)
		if !counts {
			refuse(r, wire.RefusedNotHeld)
			return
		}
		if m.now.Day() > day+1 {
			refuse(r, wire.RefusedLate)
			return
		}
		returned = b.Recorded
		m.registry.changeBooks(b.Agent, b.Fleet, func(s *engine.Spend) { s.Return(day, returned) })
		m.freeReference(b.Reference, b.Leaf)
		m.noteEnding(b.Leaf, HoldReleased)
	}
	m.writePayment(leaf.KindHoldReleased, m.paymentOf(b.Leaf, b.Agent, HoldReleased, returned), b, r)
}
