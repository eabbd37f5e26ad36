package fsm

import (
	"encoding/binary"

	"github.com/transparency-dev/merkle/compact"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/fsm/leaf"
)

// core is what every part stands on: the entry that is being applied, log time, the
// settings, ids, and the leaves that are written. A part reads all of it. It is changed by
// the core's own methods alone, but for the settings, where each field has one owner
// (TestPartsOwnTheirFields).
type core struct {
	format engine.Format
	index  uint64
	term   uint64
	now    engine.Time    // Log time: the highest stamp seen.
	limits *engine.Limits // Of the format.

	settings *Settings // Immutable; edited through edit.
	edited   bool      // settings was replaced by the entry being applied.

	*coreTables
	idemByKey map[[16]byte]uint64 // Position in idem; rebuilt by Restore, never iterated.

	ids      *IDs
	ratchet  leaf.Ratchet // Salts of leaves.
	frontier *compact.Range
	size     uint64 // Leaves written.
	oldest   uint64 // First leaf within retention.

	hash        merkle.Hasher
	filterBlock []uint64 // What is left of the block that filters are cut from.
	out         *Effects // Only during Apply.
	birth       *birth
}

// coreTables are the tables of the core: what every record and every leaf goes through.
type coreTables struct {
	idem Table[idemRow, idemPage] // Idempotency keys, in the order of their calls.
	days Table[dayRow, dayPage]   // The first leaf of each UTC date.
}

var coreDeclarations = []declaration{
	&tableOf[idemRow, idemPage]{
		section: sectionIdempotency, of: func(t *tables) *Table[idemRow, idemPage] { return &t.idem },
		codec: codec[idemRow]{appendIdemRow, readIdemRow}, queue: 3,
		most:   func(l *engine.Limits) int { return l.Idempotency },
		over:   func(m *Machine, row *idemRow) bool { return row.At+m.limits.IdempotencyKept <= m.now },
		forget: func(m *Machine) { m.forgetOldestKey() },
	},
	&tableOf[dayRow, dayPage]{
		section: sectionDays, of: func(t *tables) *Table[dayRow, dayPage] { return &t.days },
		codec: codec[dayRow]{appendDayRow, readDayRow}, queue: 4,
		most: func(*engine.Limits) int { return 1 << 20 },
	},
}

func appendIdemRow(dst []byte, row *idemRow) []byte {
	dst = append(dst, row.Key[:]...)
	dst = append(dst, row.Body[:]...)
	dst = binary.AppendUvarint(dst, row.Leaf)
	return binary.AppendVarint(dst, int64(row.At))
}

func readIdemRow(r *rowReader) (row idemRow) {
	r.fill(row.Key[:])
	r.fill(row.Body[:])
	row.Leaf, row.At = r.unsigned(), r.time()
	return row
}

func appendDayRow(dst []byte, row *dayRow) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Day)), row.First)
}

func readDayRow(r *rowReader) dayRow {
	return dayRow{Day: engine.Day(r.unsigned()), First: r.unsigned()}
}

type idemRow struct {
	Key  [16]byte
	Body [16]byte
	Leaf uint64
	At   engine.Time
}

type dayRow struct {
	Day   engine.Day
	First uint64 // First leaf of that UTC date.
}
