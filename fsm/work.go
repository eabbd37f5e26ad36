package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Work says who works on an alert, a sanctions case, a report or a BLOCK (decision 145). An open
// review has its claim in its own row. A claim is advice, and lapses with log time.

// workRow is the claim of one subject. Rows are in the order of First.
type workRow struct {
	Subject uint64 // A value of wire.WorkSubject.
	First   uint64 // The first leaf about who works on it.
	Claim   *Claim
}

func codeWorkRow(c *coder, row *workRow) {
	codeUnsigned(c, &row.Subject)
	codeUnsigned(c, &row.First)
	if c.reading {
		row.Claim = new(Claim)
	}
	codeClaim(c, row.Claim)
}

var workDeclaration = &tableOf[workRow, workPage]{
	section: section{number: sectionWorks, most: func(l *engine.Limits) int { return l.Works }},
	of:      func(t *tables) *Table[workRow, workPage] { return &t.works }, code: codeWorkRow, queue: true,
	fits:   func(m *Machine) fitting[workRow] { return m.desk.fitsWork },
	over:   func(m *Machine, row *workRow) bool { return row.First < m.oldest },
	forget: func(m *Machine) { m.desk.forgetWork() },
}

func (m *desk) fitsWork(at uint64, row, before *workRow) bool {
	kind, subject := wire.SplitWork(row.Subject)
	return kind <= wire.WorkReport && m.hasLeaf(subject) && m.hasLeaf(row.First) && (before == nil || row.First > before.First) && enterOnce(m.workAt, row.Subject, at)
}

func (m *desk) forgetWork() {
	delete(m.workAt, m.works.At(m.works.First()).Subject)
	m.works.DropFront()
}

// packWorks drops the claims that nobody holds. The rows keep their order.
func (m *desk) packWorks() {
	to := m.works.First()
	for i := to; i < m.works.Next(); i++ {
		row := *m.works.At(i)
		if !m.isHeld(row.Claim) {
			delete(m.workAt, row.Subject)
			continue
		}
		if to != i {
			*m.works.Edit(to) = row
			m.workAt[row.Subject] = to
		}
		to++
	}
	for m.works.Next() > to {
		m.works.DropBack()
	}
}

// isHeld tells whether a claim is in force.
func (m *desk) isHeld(c *Claim) bool {
	return c != nil && c.Assignee != "" && (c.LeaseUntil == 0 || m.now < c.LeaseUntil)
}

// applyWork changes who works on something, or adds a comment to it.
func (m *desk) applyWork(b *wire.Work, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Op < wire.QueueClaim || b.Op > wire.QueueComment || len(b.Who) > m.limits.FieldBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	event, why := m.describeWork(b)
	if why != 0 {
		refuse(r, why)
		return
	}
	claim := Claim{}
	at, known := m.workAt[b.Subject]
	if known {
		claim = *m.works.At(at).Claim
	}
	if b.Op != wire.QueueComment && m.heldByOther(&claim, b.Who) && !b.Force {
		refuse(r, wire.RefusedClaimed)
		return
	}
	if b.Op == wire.QueueComment && !m.roomForComment(claim.Comments, keyRow(&b.Common)) {
		refuse(r, wire.RefusedFull)
		return
	}
	if !known && m.works.Len() >= m.limits.Works {
		if m.packWorks(); m.works.Len() >= m.limits.Works {
			refuse(r, wire.RefusedFull)
			return
		}
	}
	m.changeWork(&claim, b, &event)
	if known {
		m.works.Edit(at).Claim = &claim
	} else {
		m.workAt[b.Subject] = m.works.Append(workRow{Subject: b.Subject, First: m.nextLeaf(), Claim: &claim})
	}
	m.writeEvent(leaf.KindWorked, event, &b.Common, r)
}

// changeWork makes the step in a claim and tells of it in the event.
func (m *desk) changeWork(claim *Claim, b *wire.Work, event *leaf.Worked) {
	switch b.Op {
	case wire.QueueComment:
		event.Op = "commented"
		claim.Comments = append(claim.Comments[:len(claim.Comments):len(claim.Comments)], Comment{Leaf: m.nextLeaf(), Key: keyRow(&b.Common)})
		return
	case wire.QueueClaim:
		event.Op, claim.Assignee, claim.LeaseUntil = "claimed", b.Who, m.now+m.limits.ClaimLease
	case wire.QueueAssign:
		event.Op, claim.Assignee, claim.LeaseUntil = "assigned", b.Who, 0
	case wire.QueueRelease:
		event.Op, claim.Assignee, claim.LeaseUntil = "released", "", 0
	}
	assignee := claim.Assignee
	event.Assignee, event.LeaseUntil = &assignee, claim.LeaseUntil
}

// describeWork names what a step is about, or tells why there is nothing to work on.
func (m *desk) describeWork(b *wire.Work) (event leaf.Worked, why wire.Refusal) {
	kind, subject := wire.SplitWork(b.Subject)
	switch kind {
	case wire.WorkRecord:
		event.TxnID = m.ids.TxnID(subject)
		if _, open := m.reviewAt(subject); !m.hasLeaf(subject) || open { // The claim of an open review is in its row.
			return event, wire.RefusedTransition
		}
		return event, 0
	case wire.WorkAlert:
		event.AlertID = m.ids.AlertID(subject)
		at, found := m.alertOf(subject)
		if !found {
			return event, wire.RefusedNotFound
		}
		if m.alerts.At(at).Later != 0 && b.Op != wire.QueueComment {
			return event, wire.RefusedNotOpen
		}
		return event, 0
	case wire.WorkCase:
		event.CaseID = m.ids.CaseID(subject)
		if _, found := m.caseOf(subject); !found {
			return event, wire.RefusedNotFound
		}
		return event, 0
	case wire.WorkReport:
		event.TxnID, event.Report = m.ids.TxnID(subject), true
		if _, found := m.sarOf(subject); !found {
			return event, wire.RefusedNotFound
		}
		return event, 0
	}
	return event, wire.RefusedMalformed
}

// WorkOn returns the claim of what somebody works on: of a record that is an open review, that of the
// queue. nil: nobody claimed it or commented on it.
func (v *View) WorkOn(subject uint64) *Claim {
	if kind, record := wire.SplitWork(subject); kind == wire.WorkRecord {
		if row, found := v.Review(record); found && row.State == ReviewOpen {
			return row.Claim
		}
	}
	for i := v.works.First(); i < v.works.Next(); i++ {
		if row := v.works.At(i); row.Subject == subject {
			return row.Claim
		}
	}
	return nil
}

// Works calls fn with every claim that is in no review's row, until fn returns false. Whoever asks
// about many subjects reads all of them once.
func (v *View) Works(fn func(subject uint64, claim *Claim) bool) {
	for i := v.works.First(); i < v.works.Next(); i++ {
		if row := v.works.At(i); !fn(row.Subject, row.Claim) {
			return
		}
	}
}
