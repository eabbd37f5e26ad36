package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Suspicious activity reports (decision 48): an escalation opens a report, which must be
// filed within 30 days of log time. People move it from draft to ready, from ready to filed,
// and at last to closed. A ready report may become a draft again.

// sarSoon is how long before a report's deadline a leaf tells of it.
const sarSoon = 5 * engine.DayLength

var sarStates = [...]string{wire.SARDraft: "DRAFT", wire.SARReady: "READY", wire.SARFiled: "FILED", wire.SARClosed: "CLOSED"}

// SARState is a report's state as leaves and answers name it.
func SARState(state uint8) string {
	if int(state) >= len(sarStates) {
		return ""
	}
	return sarStates[state]
}

// ParseSARState returns the number of a named state, and false for an unknown name.
func ParseSARState(name string) (uint8, bool) {
	for state := wire.SARDraft; state <= wire.SARClosed; state++ {
		if sarStates[state] == name {
			return state, true
		}
	}
	return 0, false
}

// sarMoves tells whether a report may go from one state to another.
func sarMoves(from, to uint8) bool {
	switch from {
	case wire.SARDraft:
		return to == wire.SARReady || to == wire.SARClosed
	case wire.SARReady:
		return to == wire.SARDraft || to == wire.SARFiled || to == wire.SARClosed
	case wire.SARFiled:
		return to == wire.SARClosed
	}
	return false
}

// isUnfiled reports whether a report still has to be filed.
func (r *SARRow) isUnfiled() bool { return r.State == wire.SARDraft || r.State == wire.SARReady }

// openSAR opens the report of an escalated record, whose disposition is written next. In a
// full table the oldest report makes room if it needs no more filing; otherwise the new one
// is a leaf without a row.
func (m *desk) openSAR(record uint64, two bool) {
	for m.sars.Len() >= m.limits.SARs {
		if m.sars.At(m.sars.First()).isUnfiled() {
			m.out.SARsUnlisted++
			return
		}
		m.sars.DropFront()
	}
	m.sars.Append(SARRow{Leaf: record, Later: m.nextLeaf(), DueAt: m.now + m.limits.SARDue, First: m.nextLeaf(), State: wire.SARDraft, Two: two})
}

// sarOf finds the report of a record.
func (m *desk) sarOf(record uint64) (at uint64, found bool) {
	disposed, done := m.disposedBy[record]
	if !done {
		return 0, false
	}
	first := m.dispositions.At(disposed).Later
	return searchReviews(m.sars.First(), m.sars.Next(), first, func(i uint64) uint64 { return m.sars.At(i).First })
}

// applySAR moves a report to its next state. The caller names the state that it saw, and a
// report in another state is not moved.
func (m *desk) applySAR(b *wire.SAR, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	at, found := m.sarOf(b.Leaf)
	if !found {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.sars.At(at)
	if row.State != b.From || !sarMoves(b.From, b.To) {
		r.Value = uint64(row.State)
		refuse(r, wire.RefusedTransition)
		return
	}
	who, counts := m.settlePersons(sarAct(b, row), &b.Common, r)
	if !counts {
		return
	}
	event := leaf.SARMoved{ // Before the row moves on: it may be all that knows the report's newest leaf.
		Reviewed: m.describeReviewed(b.Leaf), From: SARState(b.From), To: SARState(b.To), DueAt: row.DueAt, Persons: who,
	}
	moved := m.sars.Edit(at)
	moved.State, moved.Later = b.To, m.nextLeaf()
	m.writeAct(leaf.KindSARMoved, event, &who, &b.Common, r, filtersOf(&event.Reviewed)...)
}

// sarAct is what a step of a report does. Two persons file a report, whatever the policy says. They
// close it if the policy says so, or if two persons escalated its case; a draft is one person's work.
func sarAct(b *wire.SAR, row *SARRow) *act {
	said := wire.SAR{Leaf: b.Leaf, From: b.From, To: b.To, Filing: b.Filing}
	a := &act{
		kind: wire.KindSAR, topic: b.Leaf, said: &said, record: &said, reviewed: b.Leaf,
		event: leaf.ActProposed{Kind: leaf.KindSARMoved, From: SARState(b.From), To: SARState(b.To)},
	}
	if b.To == wire.SARFiled || b.To == wire.SARClosed {
		a.names, a.always = engine.ActSARMove, row.Two || b.To == wire.SARFiled
	}
	return a
}

// tellSARs writes a leaf for each report whose deadline is near and that is not filed: once,
// in order, a bounded number in each tick.
func (m *desk) tellSARs() {
	at := max(m.sarsTold, m.sars.First())
	for n := 0; n < m.limits.ExpiredAtOneTick && at < m.sars.Next(); n++ {
		row := m.sars.At(at)
		if m.now < row.DueAt-sarSoon {
			break
		}
		if at++; row.isUnfiled() {
			m.writeSARDue(at - 1)
		}
	}
	m.sarsTold = at
}

// writeSARDue writes that a report is due. Where the row of its review is gone, the report's own row
// is all that knows the newest leaf about the record.
func (m *desk) writeSARDue(at uint64) {
	row, told := m.sars.Edit(at), m.nextLeaf()
	m.writeReviewDue(leaf.DueSAR, row.Leaf, row.DueAt)
	row.Later = told
}

func (m *desk) forgetSAR() { m.sars.DropFront() }

// SAR returns the report that a disposition's leaf opened.
func (v *View) SAR(first uint64) (SARRow, bool) {
	at, found := searchReviews(v.sars.First(), v.sars.Next(), first, func(i uint64) uint64 { return v.sars.At(i).First })
	if !found {
		return SARRow{}, false
	}
	return *v.sars.At(at), true
}

// SARs calls fn with reports until fn returns false: those opened by leaves before first,
// newest first, or, if ascending, by leaves after it, oldest first, which is the order of
// their deadlines.
func (v *View) SARs(first uint64, ascending bool, fn func(SARRow) bool) {
	at, found := searchReviews(v.sars.First(), v.sars.Next(), first, func(i uint64) uint64 { return v.sars.At(i).First })
	if ascending {
		if found {
			at++
		}
		for ; at < v.sars.Next() && fn(*v.sars.At(at)); at++ {
		}
		return
	}
	for ; at > v.sars.First() && fn(*v.sars.At(at - 1)); at-- {
	}
}

// SARsOpen returns how many reports are not filed, and how many of those are late.
func (v *View) SARsOpen() (open, late int) {
	for i := v.sars.First(); i < v.sars.Next(); i++ {
		if row := v.sars.At(i); row.isUnfiled() {
			open++
			if v.Time >= row.DueAt {
				late++
			}
		}
	}
	return open, late
}
