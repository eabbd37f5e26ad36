package fsm

import "railguard/engine"

// calendar is the part that knows what falls due, and when. All other parts may ask it to
// add a reminder; Machine.fallDue hands each reminder that is due to the part that it is for.
type calendar struct {
	*core
	*calendarTables
	dueHeap    heapOf[dueRow, duePage]
	transferAt map[uint64]uint64 // Rows of ownership transfers, by agent; rebuilt by Restore.
}

func newCalendar(c *core, t *calendarTables) *calendar {
	m := &calendar{core: c, calendarTables: t, transferAt: map[uint64]uint64{}}
	m.beginHeap()
	return m
}

func (m *calendar) beginHeap() {
	m.dueHeap = heapOf[dueRow, duePage]{&m.dues, (*dueRow).before, m.placeDue}
}

// calendarTables are the table of what falls due.
type calendarTables struct {
	dues Table[dueRow, duePage] // From position 1 on: a binary heap.
}

var calendarDeclarations = []declaration{
	&tableOf[dueRow, duePage]{
		section: section{number: sectionDues, most: func(l *engine.Limits) int { return l.Dues }},
		of:      func(t *tables) *Table[dueRow, duePage] { return &t.dues }, code: codeDueRow, from: 1,
		fits: func(m *Machine) fitting[dueRow] { return m.calendar.fitsDue },
	},
}

// dueRow is something that happens by log time alone. The table is a binary heap by
// time, kind and subject.
type dueRow struct {
	At      engine.Time
	Kind    uint8 // As leaf.Due*.
	Subject uint64
	Mark    uint64 // What must still be so; else the row says nothing.
}

func codeDueRow(c *coder, row *dueRow) {
	codeSigned(c, &row.At)
	codeByte(c, &row.Kind)
	codeUnsigned(c, &row.Subject)
	codeUnsigned(c, &row.Mark)
}
