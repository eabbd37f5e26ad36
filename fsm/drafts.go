package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Drafts are what persons typed and did not send yet (decision 145): they outlive a page, a session
// and a node. Nobody but their own subject reads them, and they are no part of the record.

// draftRow is one draft. Rows are in the order of At; one without text was replaced or dropped.
type draftRow struct {
	At      engine.Time
	Subject string // Of whom, as wire.Subject names it.
	Name    string
	Said    *wire.DraftText
}

// draftKey identifies a draft.
type draftKey struct{ subject, name string }

func codeDraftRow(c *coder, row *draftRow) {
	codeSigned(c, &row.At)
	c.codeText(&row.Subject)
	c.codeText(&row.Name)
	codeValue(c, &row.Said)
}

var draftDeclaration = &tableOf[draftRow, draftPage]{
	section: section{number: sectionDrafts, most: func(l *engine.Limits) int { return 2 * l.Drafts }},
	of:      func(t *tables) *Table[draftRow, draftPage] { return &t.drafts }, code: codeDraftRow, queue: true, leafless: true,
	fits:   func(m *Machine) fitting[draftRow] { return m.desk.fitsDraft },
	over:   func(m *Machine, row *draftRow) bool { return row.Said == nil || m.now >= row.At+m.limits.DraftKept },
	forget: func(m *Machine) { m.desk.forgetDraft() },
}

func (m *desk) fitsDraft(at uint64, row, before *draftRow) bool {
	if before != nil && row.At < before.At {
		return false
	}
	return row.Said == nil || m.soundDraft(row.Name, row.Said) && row.Subject != "" && enterOnce(m.draftAt, draftKey{row.Subject, row.Name}, at)
}

func (m *desk) forgetDraft() {
	m.dropDraft(m.drafts.First())
	m.drafts.DropFront()
}

// dropDraft empties a row.
func (m *desk) dropDraft(at uint64) {
	row := m.drafts.At(at)
	if row.Said == nil {
		return
	}
	delete(m.draftAt, draftKey{row.Subject, row.Name})
	*m.drafts.Edit(at) = draftRow{At: row.At}
}

// soundDraft tells whether a draft is within its bounds.
func (m *desk) soundDraft(name string, said *wire.DraftText) bool {
	if !SoundDraftName(name) || len(said.Text) > m.limits.DraftBytes || len(said.Fields) > m.limits.DraftFields {
		return false
	}
	size := 0
	for i, field := range said.Fields {
		if i > 0 && field.Name <= said.Fields[i-1].Name {
			return false
		}
		size += len(field.Name) + len(field.Value)
	}
	return size <= m.limits.DraftBytes
}

// draftNameMax is how long the name of a draft may be.
const draftNameMax = 128

// SoundDraftName tells whether a text may be the name of a draft.
func SoundDraftName(name string) bool {
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '_', b == '.', b == ':', b == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= draftNameMax
}

// applyDraft keeps or drops a draft of whoever sends it. It writes no leaf.
func (m *desk) applyDraft(b *wire.Draft, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !SoundDraftName(b.Name) || b.Said != nil && !m.soundDraft(b.Name, b.Said) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	r.Code, r.Time = wire.Unchanged, m.now
	key := draftKey{m.subjectOf(&b.Common).String(), b.Name}
	if at, known := m.draftAt[key]; known {
		if b.Said != nil && m.drafts.At(at).At == m.now && equalDrafts(m.drafts.At(at).Said, b.Said) {
			return
		}
		m.dropDraft(at)
	}
	if b.Said == nil {
		return
	}
	m.roomForDraft(key.subject)
	m.draftAt[key] = m.drafts.Append(draftRow{At: m.now, Subject: key.subject, Name: key.name, Said: b.Said})
}

func equalDrafts(a, b *wire.DraftText) bool {
	return a.Text == b.Text && slices.Equal(a.Fields, b.Fields)
}

// roomForDraft drops the oldest draft of a person who has as many as there may be, and the oldest of
// all where the table is full.
func (m *desk) roomForDraft(subject string) {
	own, oldest := 0, uint64(0)
	for i := m.drafts.Next(); i > m.drafts.First(); i-- {
		if row := m.drafts.At(i - 1); row.Said != nil && row.Subject == subject {
			own, oldest = own+1, i-1
		}
	}
	if own >= m.limits.DraftsOfPerson {
		m.dropDraft(oldest)
	}
	if len(m.draftAt) >= m.limits.Drafts {
		for m.drafts.At(m.drafts.First()).Said == nil {
			m.drafts.DropFront()
		}
		m.forgetDraft()
	}
	if m.drafts.Len() >= 2*m.limits.Drafts {
		m.packDrafts()
	}
}

// packDrafts drops the rows without text. The others keep their order.
func (m *desk) packDrafts() {
	to := m.drafts.First()
	for i := to; i < m.drafts.Next(); i++ {
		row := *m.drafts.At(i)
		if row.Said == nil {
			continue
		}
		if to != i {
			*m.drafts.Edit(to) = row
			m.draftAt[draftKey{row.Subject, row.Name}] = to
		}
		to++
	}
	for m.drafts.Next() > to {
		m.drafts.DropBack()
	}
}

// Draft is a draft as its own subject reads it.
type Draft struct {
	Name  string
	At    engine.Time
	Until engine.Time // When it is gone.
	Said  *wire.DraftText
}

// Drafts returns the drafts of a subject, newest first.
func (v *View) Drafts(subject wire.Subject) (drafts []Draft) {
	kept, own := engine.LimitsOf(v.Format).DraftKept, subject.String()
	for i := v.drafts.Next(); i > v.drafts.First(); i-- {
		if row := v.drafts.At(i - 1); row.Said != nil && row.Subject == own && v.Time < row.At+kept {
			drafts = append(drafts, Draft{row.Name, row.At, row.At + kept, row.Said})
		}
	}
	return drafts
}
