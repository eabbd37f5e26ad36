package fsm

import (
	"encoding/binary"

	"railguard/engine"
)

// The desk: tables of what time, officers and receivers of events need: what falls
// due, proposals of four eyes, alerts, suspicious activity reports, cursors of webhooks
// and dead letters.

// dueRow is something that happens by log time alone. The table is a binary heap by
// time, kind and subject.
type dueRow struct {
	At      engine.Time
	Kind    uint8 // As leaf.Due*.
	Subject uint64
	Mark    uint64 // What must still be so; else the row says nothing.
}

// proposalRow is a disposition that waits for a second person, in the order of the
// proposals' leaves.
type proposalRow struct {
	Leaf        uint64 // The record under review.
	Later       uint64 // The proposal.
	At          engine.Time
	By          [16]byte // Of reviewedBy, normalised: the first half of SHA-256.
	Key         uint32   // The API key's row.
	Disposition uint8    // 0: confirmed, withdrawn or lapsed.
}

// AlertRow is an alert, in the order of their leaves.
type AlertRow struct {
	Leaf    uint64 // Its own.
	At      engine.Time
	Subject uint64 // As wire.AlertSubject makes it.
	List    uint64 // The list version that is the reason; 0: none is.
	Later   uint64 // The leaf that acknowledged it; 0: it is open.
	Kind    uint8  // wire.AlertRetroHit and its like.
}

// alertKey is what makes two alerts the same one.
type alertKey struct {
	list, subject uint64
	kind          uint8
}

// SARRow is a suspicious activity report, in the order of their leaves.
type SARRow struct {
	Leaf  uint64 // The record under review.
	Later uint64 // The newest of the report's leaves.
	DueAt engine.Time
	First uint64 // The disposition that opened it.
	State uint8
}

// cursorRow is how far a webhook is: everything before was received, or is a dead letter.
type cursorRow struct {
	Webhook uint32
	Seq     uint64
	N       uint8
	At      engine.Time
}

// deadLetterRow is an event that a receiver did not take, in the order of giving up.
type deadLetterRow struct {
	Webhook  uint32 // 0: it was sent again.
	Seq      uint64
	N        uint8
	Attempts uint8 // 0: it is to be sent again.
	Status   uint16
	At       engine.Time
}

type (
	duePage        = [16]dueRow
	proposalPage   = [16]proposalRow
	alertPage      = [16]AlertRow
	sarPage        = [16]SARRow
	cursorPage     = [16]cursorRow
	deadLetterPage = [16]deadLetterRow
)

type desk struct {
	dues        Table[dueRow, duePage] // From position 1 on.
	proposals   Table[proposalRow, proposalPage]
	alerts      Table[AlertRow, alertPage]
	sars        Table[SARRow, sarPage]
	cursors     Table[cursorRow, cursorPage] // From position 1 on, in no order.
	deadLetters Table[deadLetterRow, deadLetterPage]

	// Private to Apply, rebuilt by Restore, never iterated.
	transferAt map[uint64]uint64     // Ownership's rows among what falls due, by agent.
	proposalAt map[uint64]uint64     // Open ones, by the record under review.
	cursorAt   map[uint32]uint64     // By webhook.
	deadAt     map[sendingKey]uint64 // Dead letters and what is to be sent again.
	deadOf     map[uint32]int        // How many of these each webhook has.
	alertAt    map[alertKey]uint64
	alertsOpen AlertCounts // Follows from the rows.
}

type frozenDesk struct {
	dues        Frozen[dueRow, duePage]
	proposals   Frozen[proposalRow, proposalPage]
	alertsOpen  AlertCounts
	alerts      Frozen[AlertRow, alertPage]
	sars        Frozen[SARRow, sarPage]
	cursors     Frozen[cursorRow, cursorPage]
	deadLetters Frozen[deadLetterRow, deadLetterPage]
}

func (d *desk) begin() {
	d.dues.startAt(1)
	d.cursors.startAt(1)
	d.transferAt, d.proposalAt = map[uint64]uint64{}, map[uint64]uint64{}
	d.cursorAt = map[uint32]uint64{}
	d.deadAt, d.deadOf = map[sendingKey]uint64{}, map[uint32]int{}
	d.alertAt = map[alertKey]uint64{}
}

func (d *desk) freeze() frozenDesk {
	return frozenDesk{
		dues: d.dues.Freeze(), proposals: d.proposals.Freeze(), alerts: d.alerts.Freeze(), alertsOpen: d.alertsOpen,
		sars: d.sars.Freeze(), cursors: d.cursors.Freeze(), deadLetters: d.deadLetters.Freeze(),
	}
}

// firsts are where the tables that forget from the front begin.
func (d *frozenDesk) firsts() [4]uint64 {
	return [4]uint64{d.proposals.first, d.alerts.first, d.sars.first, d.deadLetters.first}
}

func (d *desk) startAt(firsts []uint64) {
	d.proposals.startAt(firsts[0])
	d.alerts.startAt(firsts[1])
	d.sars.startAt(firsts[2])
	d.deadLetters.startAt(firsts[3])
}

func (d *frozenDesk) write(b *blockWriter) {
	rowsOf(b, sectionDues, &d.dues, appendDueRow)
	rowsOf(b, sectionProposals, &d.proposals, appendProposalRow)
	rowsOf(b, sectionAlerts, &d.alerts, appendAlertRow)
	rowsOf(b, sectionSARs, &d.sars, appendSARRow)
	rowsOf(b, sectionCursors, &d.cursors, appendCursorRow)
	rowsOf(b, sectionDeadLetters, &d.deadLetters, appendDeadLetterRow)
}

func (d *frozenDesk) sum(by *Digester, out []byte) []byte {
	out = sumTable(by, out, sectionDues, &d.dues, appendDueRow)
	out = sumTable(by, out, sectionProposals, &d.proposals, appendProposalRow)
	out = sumTable(by, out, sectionAlerts, &d.alerts, appendAlertRow)
	out = sumTable(by, out, sectionSARs, &d.sars, appendSARRow)
	out = sumTable(by, out, sectionCursors, &d.cursors, appendCursorRow)
	return sumTable(by, out, sectionDeadLetters, &d.deadLetters, appendDeadLetterRow)
}

// read reads rows of the desk's sections.
func (d *desk) read(section uint16, r *rowReader, rows uint32, limits *engine.Limits) error {
	switch section {
	case sectionDues:
		return readRows(r, rows, &d.dues, limits.Dues, readDueRow)
	case sectionProposals:
		return readRows(r, rows, &d.proposals, limits.Proposals, readProposalRow)
	case sectionAlerts:
		return readRows(r, rows, &d.alerts, alertRowsMax(limits), readAlertRow)
	case sectionSARs:
		return readRows(r, rows, &d.sars, limits.SARs, readSARRow)
	case sectionCursors:
		return readRows(r, rows, &d.cursors, limits.Webhooks, readCursorRow)
	case sectionDeadLetters:
		return readRows(r, rows, &d.deadLetters, limits.DeadLetters*buriedFactor, readDeadLetterRow)
	}
	return errSection
}

func appendDueRow(dst []byte, row *dueRow) []byte {
	dst = append(binary.AppendVarint(dst, int64(row.At)), row.Kind)
	return binary.AppendUvarint(binary.AppendUvarint(dst, row.Subject), row.Mark)
}

func readDueRow(r *rowReader) dueRow {
	return dueRow{At: r.time(), Kind: r.byte(), Subject: r.unsigned(), Mark: r.unsigned()}
}

func appendProposalRow(dst []byte, row *proposalRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Leaf), row.Later)
	dst = append(binary.AppendVarint(dst, int64(row.At)), row.By[:]...)
	return append(binary.AppendUvarint(dst, uint64(row.Key)), row.Disposition)
}

func readProposalRow(r *rowReader) (row proposalRow) {
	row.Leaf, row.Later, row.At = r.unsigned(), r.unsigned(), r.time()
	r.fill(row.By[:])
	row.Key, row.Disposition = uint32(r.unsigned()), r.byte()
	return row
}

func appendAlertRow(dst []byte, row *AlertRow) []byte {
	dst = binary.AppendVarint(binary.AppendUvarint(dst, row.Leaf), int64(row.At))
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Subject), row.List)
	return append(binary.AppendUvarint(dst, row.Later), row.Kind)
}

func readAlertRow(r *rowReader) AlertRow {
	return AlertRow{Leaf: r.unsigned(), At: r.time(), Subject: r.unsigned(), List: r.unsigned(), Later: r.unsigned(), Kind: r.byte()}
}

func appendSARRow(dst []byte, row *SARRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Leaf), row.Later)
	return append(binary.AppendUvarint(binary.AppendVarint(dst, int64(row.DueAt)), row.First), row.State)
}

func readSARRow(r *rowReader) SARRow {
	return SARRow{Leaf: r.unsigned(), Later: r.unsigned(), DueAt: r.time(), First: r.unsigned(), State: r.byte()}
}

func appendCursorRow(dst []byte, row *cursorRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Webhook)), row.Seq)
	return binary.AppendVarint(append(dst, row.N), int64(row.At))
}

func readCursorRow(r *rowReader) cursorRow {
	return cursorRow{Webhook: uint32(r.unsigned()), Seq: r.unsigned(), N: r.byte(), At: r.time()}
}

func appendDeadLetterRow(dst []byte, row *deadLetterRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Webhook)), row.Seq)
	dst = append(dst, row.N, row.Attempts)
	return binary.AppendVarint(binary.AppendUvarint(dst, uint64(row.Status)), int64(row.At))
}

func readDeadLetterRow(r *rowReader) deadLetterRow {
	return deadLetterRow{
		Webhook: uint32(r.unsigned()), Seq: r.unsigned(), N: r.byte(), Attempts: r.byte(), Status: uint16(r.unsigned()), At: r.time(),
	}
}
