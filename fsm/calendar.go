package fsm

import "railguard/engine"

// calendar is the part that keeps reminders and their times. All other parts may add
// reminders; Machine.fallDue hands each one that is due to the part it belongs to.
type calendar struct {
	*core
	*calendarTables
	dueHeap    heapOf[dueRow, duePage]
	transferAt map[uint64]uint64 // Positions of ownership transfers' rows, by agent; rebuilt by Restore.
}

func newCalendar(c *core, t *calendarTables) *calendar {
	m := &calendar{core: c, calendarTables: t, transferAt: map[uint64]uint64{}}
	m.beginHeap()
	return m
}

func (m *calendar) beginHeap() {
	m.dueHeap = heapOf[dueRow, duePage]{&m.dues, (*dueRow).before, m.placeDue}
}

// calendarTables holds the table of reminders.
type calendarTables struct {
	dues Table[dueRow, duePage] // A binary heap from position 1 on.
}

var calendarDeclarations = []declaration{
	&tableOf[dueRow, duePage]{
		section: section{number: sectionDues, most: func(l *engine.Limits) int { return l.Dues }, shownAs: "dues"},
		of:      func(t *tables) *Table[dueRow, duePage] { return &t.dues }, code: codeDueRow, from: 1,
		fits: func(m *Machine) fitting[dueRow] { return m.calendar.fitsDue },
	},
}

// dueRow is a reminder of something that happens by log time alone. The table is a binary
// heap by time, kind, subject and mark.
type dueRow struct {
	At      engine.Time
	Kind    uint8 // One of leaf.Due*.
	Subject uint64
	Mark    uint64 // What must still hold when the row is due; otherwise it is dropped.
}

func codeDueRow(c *coder, row *dueRow) {
	codeSigned(c, &row.At)
	codeByte(c, &row.Kind)
	codeUnsigned(c, &row.Subject)
	codeUnsigned(c, &row.Mark)
}
