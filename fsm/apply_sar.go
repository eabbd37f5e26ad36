package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Suspicious activity reports (decisions 48 and 155): an escalation opens a report, or an officer
// does, of whatever record. It must be filed within 30 days of log time. People write its narrative,
// and move it from draft to ready, from ready to filed, and at last to closed. A ready report may
// become a draft again.

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

// isOpen reports whether a record with this report has no room for another one.
func (r *SARRow) isOpen() bool { return r.State != wire.SARClosed }

// sarOf finds the newest report of a record.
func (m *desk) sarOf(record uint64) (at uint64, found bool) {
	at, found = m.sarAt[record]
	return at, found
}

// escalateSAR opens the report of an escalated record, whose disposition is written next, if it has
// none that is open; it returns true if it has one. Where no report can make room, the new one is a
// leaf without a row.
func (m *desk) escalateSAR(record uint64, two bool) (had bool) {
	at, found := m.sarOf(record)
	if found && m.sars.At(at).isOpen() {
		row := m.sars.Edit(at)
		row.Two = row.Two || two
		return true
	}
	if m.addSAR(record, two) == nil {
		m.out.SARsUnlisted++
	}
	return false
}

// addSAR adds the report that the leaf opens that is written next. In a full table the oldest one makes
// room if it needs no more filing; nil: there is no room.
func (m *desk) addSAR(record uint64, two bool) *SARRow {
	for m.sars.Len() >= m.limits.SARs {
		if m.sars.At(m.sars.First()).isUnfiled() {
			return nil
		}
		m.forgetSAR()
	}
	if at, found := m.sarOf(record); found {
		two = two || m.sars.At(at).Two // What two persons escalated once, one does not end.
	}
	row := SARRow{Leaf: record, Later: m.nextLeaf(), DueAt: m.now + m.limits.SARDue, First: m.nextLeaf(), State: wire.SARDraft, Two: two}
	m.sarAt[record] = m.sars.Append(row)
	return m.sars.At(m.sarAt[record])
}

// applySAR opens a report, writes its narrative or moves it on.
func (m *desk) applySAR(b *wire.SAR, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Leaf >= m.size {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, found := m.sarOf(b.Leaf)
	switch {
	case b.Op == wire.SAROpen:
		m.openSAR(b, r)
	case b.Op != wire.SARWrite && b.Op != wire.SARMove:
		refuse(r, wire.RefusedMalformed)
	case !found:
		refuse(r, wire.RefusedNotFound)
	case b.Op == wire.SARWrite:
		m.writeNarrative(at, b, r)
	default:
		m.moveSAR(at, b, r)
	}
}

// openSAR opens a report of any record, whatever became of its payment. A record has one open report
// at most.
func (m *desk) openSAR(b *wire.SAR, r *wire.Result) {
	if at, found := m.sarOf(b.Leaf); found && m.sars.At(at).isOpen() {
		r.Value = uint64(m.sars.At(at).State)
		refuse(r, wire.RefusedExists)
		return
	}
	row := m.addSAR(b.Leaf, false)
	if row == nil {
		refuse(r, wire.RefusedFull)
		return
	}
	event := leaf.SAROpened{SARCase: m.describeSAR(row, 0), DueAt: row.DueAt}
	m.writeEvent(leaf.KindSAROpened, event, &b.Common, r, m.sarFilter(row))
}

// describeSAR returns the members that name a report in the leaf that is written next. previous is the
// report's leaf before it; 0: there is none.
func (m *desk) describeSAR(row *SARRow, previous uint64) leaf.SARCase {
	return leaf.SARCase{TxnID: m.txnOf(row.Leaf), ReviewedLeaf: row.Leaf, ReportLeaf: row.First, ReportPrevious: previous}
}

func (m *desk) sarFilter(row *SARRow) uint64 {
	return engine.FilterKey(engine.FilterTxn, m.txnOf(row.Leaf))
}

// writeNarrative replaces the narrative of a report that is not filed, if it is still the one that the
// caller saw. One of a ready report leaves nothing open. A step that waits for its second person was
// proposed of another narrative: it lapses.
func (m *desk) writeNarrative(at uint64, b *wire.SAR, r *wire.Result) {
	row := m.sars.At(at)
	switch {
	case b.Narrative == [32]byte{}:
		refuse(r, wire.RefusedMalformed)
		return
	case !row.isUnfiled():
		r.Value = uint64(row.State)
		refuse(r, wire.RefusedTransition)
		return
	case b.Seen != row.Narrative:
		refuse(r, wire.RefusedVersion)
		return
	case row.State == wire.SARReady && !b.Finished:
		refuse(r, wire.RefusedUnfinished)
		return
	}
	if proposal, open := m.proposalOn(sarTopic(b.Leaf)); open {
		m.lapseProposal(proposal)
	}
	event := leaf.SARWritten{SARCase: m.describeSAR(row, row.Later), State: SARState(row.State), Hash: b.Narrative, Finished: b.Finished}
	written := m.sars.Edit(at)
	written.Narrative, written.Finished, written.Later = b.Narrative, b.Finished, m.nextLeaf()
	m.writeEvent(leaf.KindSARWritten, event, &b.Common, r, m.sarFilter(written))
}

// moveSAR moves a report to its next state. The caller names the state and the narrative that it saw,
// and another report is not moved. None becomes ready or filed whose narrative nobody finished.
func (m *desk) moveSAR(at uint64, b *wire.SAR, r *wire.Result) {
	row := m.sars.At(at)
	switch {
	case row.State != b.From || !sarMoves(b.From, b.To):
		r.Value = uint64(row.State)
		refuse(r, wire.RefusedTransition)
		return
	case (b.To == wire.SARReady || b.To == wire.SARFiled) && !row.Finished:
		refuse(r, wire.RefusedUnfinished)
		return
	case b.Seen != row.Narrative:
		refuse(r, wire.RefusedVersion)
		return
	}
	who, counts := m.settlePersons(sarAct(b, row), &b.Common, r)
	if !counts {
		return
	}
	event := leaf.SARMoved{
		SARCase: m.describeSAR(row, row.Later), From: SARState(b.From), To: SARState(b.To), DueAt: row.DueAt, Hash: row.Narrative, Persons: who,
	}
	moved := m.sars.Edit(at)
	moved.State, moved.Later = b.To, m.nextLeaf()
	m.writeAct(leaf.KindSARMoved, event, &who, &b.Common, r, m.sarFilter(moved))
}

// sarAct is what a step of a report does. Two persons file a report, whatever the policy says. They
// close it if the policy says so, or if two persons escalated its case; a draft is one person's work.
func sarAct(b *wire.SAR, row *SARRow) *act {
	said := *b
	said.Common = wire.Common{}
	a := &act{
		kind: wire.KindSAR, topic: b.Leaf, said: &said, record: &said, reviewed: b.Leaf,
		event: leaf.ActProposed{Kind: leaf.KindSARMoved, From: SARState(b.From), To: SARState(b.To)},
	}
	if b.To == wire.SARFiled || b.To == wire.SARClosed {
		a.names, a.always = engine.ActSARMove, row.Two || b.To == wire.SARFiled
	}
	return a
}

// sarTopic is the topic of a step of a record's report.
func sarTopic(record uint64) [16]byte {
	return (&act{kind: wire.KindSAR, topic: record}).topicHash([32]byte{})
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

// writeSARDue writes that a report is due.
func (m *desk) writeSARDue(at uint64) {
	row := m.sars.Edit(at)
	event := leaf.SARDue{SARCase: m.describeSAR(row, row.Later), DueAt: row.DueAt}
	row.Later = m.nextLeaf()
	m.writeDueEvent(leaf.DueSAR, event, m.sarFilter(row))
}

func (m *desk) forgetSAR() {
	first := m.sars.First()
	if record := m.sars.At(first).Leaf; m.sarAt[record] == first {
		delete(m.sarAt, record)
	}
	m.sars.DropFront()
}

// SAROf returns the newest report of a record.
func (v *View) SAROf(record uint64) (SARRow, bool) {
	for at := v.sars.Next(); at > v.sars.First(); at-- {
		if row := v.sars.At(at - 1); row.Leaf == record {
			return *row, true
		}
	}
	return SARRow{}, false
}

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
